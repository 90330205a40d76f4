//! Tests of LSA.

use super::*;
use crate::systems::shop::{Shop, ndcg, restored, with_shuffled_words};
use crate::systems::testing::{corpus, fault, is_kept_by_a_file, train, train_watched};

/// Compares within the precision of 32 bits, in which singular vectors are stored.
fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "expected {expected}, found {found}");
    }
}

#[test]
fn a_hand_computed_collection() {
    // C = [[1, 0, 0], [1, 1, 0], [0, 0, 1]], words `a`, `b` and `c`: σ² are (3 ± √5) / 2 and 1.
    let corpus = corpus(&["a b", "b", "", "c"], &[("d", "d e")]);
    let root = 5f64.sqrt();
    let sigma = [((3.0 + root) / 2.0).sqrt(), 1.0, ((3.0 - root) / 2.0).sqrt()];
    let ranker = train("lsa:dimensions=3,weighting=0", &corpus);
    let state = ranker.state();
    assert_near(state.f64s("singular_values", &[Some(3)]).unwrap(), &sigma);
    // C Cᵀ = [[1, 1], [1, 2]] on `a` and `b`: the vectors are (1, σ² − 1), normalised; σ₁² − 1 is the golden ratio.
    let golden = (1.0 + root) / 2.0;
    let left = |word: &str| -> [f64; 2] {
        let length = (1.0 + golden * golden).sqrt();
        match word {
            "a" => [1.0 / length, golden / length],
            _ => [golden / length, -1.0 / length],
        }
    };
    let folded = |words: &[&str], whitening: f64| -> [f64; 2] {
        let scales = [sigma[0].powf(-whitening), sigma[2].powf(-whitening)];
        std::array::from_fn(|i| words.iter().map(|word| left(word)[i]).sum::<f64>() * scales[i])
    };
    let cosine = |a: [f64; 2], b: [f64; 2]| (a[0] * b[0] + a[1] * b[1]) / (a[0].hypot(a[1]) * b[0].hypot(b[1]));
    for whitening in [0.0, 0.5, 1.0] {
        let ranker = train(&format!("lsa:dimensions=3,weighting=0,whitening={whitening}"), &corpus);
        let query = folded(&["a", "b"], whitening);
        let expected = [
            cosine(query, folded(&["a"], whitening)),
            cosine(query, folded(&["b"], whitening)),
            1.0,
            cosine(query, folded(&["a", "a", "b"], whitening)),
            0.0,
            0.0,
            0.0,
        ];
        assert_near(&ranker.score("A b", &["a", "b", "b a unheard", "a b a", "c", "d", ""]), &expected);
    }
    // In one dimension `a` and `b` are equal, and `c` is 0.
    let one = train("lsa:dimensions=1,weighting=0", &corpus);
    assert_near(&one.score("a", &["b", "a b", "c"]), &[1.0, 1.0, 0.0]);
}

#[test]
fn words_are_weighted() {
    let titles = ["a b b", "a c", "a d"];
    let weights = |weighting: usize| {
        let state = train(&format!("lsa:dimensions=2,weighting={weighting}"), &corpus(&titles, &[])).state();
        assert_eq!((0..4).map(|id| state.words().unwrap().word(id).to_owned()).collect::<String>(), "abcd");
        state.f64s("word_weights", &[Some(4)]).unwrap().to_vec()
    };
    assert_near(&weights(0), &[1.0; 4]);
    // `a` is spread evenly over all titles, and each other word is in one title.
    assert_near(&weights(1), &[0.0, 1.0, 1.0, 1.0]);
    let rare = 1.0 + 2f64.ln();
    assert_near(&weights(2), &[1.0, rare, rare, rare]);
    // Twice in one title and once in another: p = 2/3, 1/3.
    let state = train("lsa:dimensions=2,weighting=1", &corpus(&["x x y", "x z", "y z"], &[])).state();
    let entropy = -(2.0 / 3.0 * (2f64 / 3.0).ln() + 1.0 / 3.0 * (1f64 / 3.0).ln());
    let even = 1.0 - 2f64.ln() / 3f64.ln();
    assert_near(state.f64s("word_weights", &[Some(3)]).unwrap(), &[1.0 - entropy / 3f64.ln(), even, even]);
}

#[test]
fn with_all_dimensions_and_no_whitening_it_is_the_cosine_of_the_words() {
    let corpus = corpus(&["red door", "blue door", "lamp red", "lamp tall", "tall"], &[]);
    let ranker = train("lsa:dimensions=5,weighting=0,whitening=0", &corpus);
    let half = 0.5f64;
    assert_near(&ranker.score("red door", &["red door", "blue door", "red", "tall"]), &[1.0, half, half.sqrt(), 0.0]);
}

#[test]
fn other_names_of_what_is_asked_for_are_found() {
    let shop = Shop::new();
    // Titles with other names for the same thing share no word with a query, but share a dimension.
    let (lsa, trigrams) = (train("lsa:dimensions=35", &shop.corpus), train("trigram", &shop.corpus));
    let (found, without) = (ndcg(lsa.as_ref(), &shop.renamed), ndcg(trigrams.as_ref(), &shop.renamed));
    assert!(found > without + 0.05, "{found}, by trigrams {without}");
    let shuffled = restored("lsa:dimensions=35", &with_shuffled_words(&lsa.state()));
    let shuffled = ndcg(shuffled.as_ref(), &shop.renamed);
    assert!(found > shuffled + 0.2, "{found}, shuffled {shuffled}");
}

#[test]
fn what_cannot_be_trained_says_so() {
    let fault = |spec: &str, titles: &[&str]| fault(spec, &corpus(titles, &[("a b", "c d e")]));
    for titles in [&[][..], &[""], &["a b c d"], &["a b c", "", "?"]] {
        let found = usize::from(titles.first().is_some_and(|title| !title.is_empty()));
        let expected = format!("expected at least 2 titles with a word, found {found}; the whole collection has more");
        assert_eq!(fault("lsa:dimensions=1", titles), expected);
    }
    let too_many = |of, most| format!("expected at most {most} dimensions, the number of {of}, found 3; ask for fewer");
    assert_eq!(fault("lsa:dimensions=3", &["a b", "b", "a"]), too_many("words", 2));
    assert_eq!(fault("lsa:dimensions=3", &["a b c d", "e f"]), too_many("titles", 2));
}

#[test]
fn poor_collections_give_finite_scores() {
    let corpora: [&[&str]; 5] = [&["a", "a"], &["a a", "a"], &["a b", "a b", ""], &["a", "b", "北京"], &["a b", "b a"]];
    for titles in corpora {
        for spec in ["lsa:dimensions=1,weighting=0", "lsa:dimensions=1,weighting=1", "lsa:dimensions=1,whitening=0.5"] {
            let ranker = train(spec, &corpus(titles, &[("c", "c d")]));
            for query in ["", "a", "a b a", "c", "北", "!"] {
                let scores = ranker.score(query, &["", "a", "a a a a", "b", "北", "c d", "?"]);
                assert!(scores.iter().all(|score| score.abs() < 1.0 + 1e-6), "{titles:?} {spec} {query}: {scores:?}");
            }
        }
    }
}

#[test]
fn training_has_ever_more_of_the_matrix() {
    let (_, shares) = train_watched("lsa:dimensions=60", &Shop::new().corpus).unwrap();
    assert!(shares.len() > 5 && shares.windows(2).all(|pair| pair[0] <= pair[1]), "{shares:?}");
}

#[test]
fn whitening_can_be_changed_and_a_file_keeps_it() {
    let shop = Shop::new();
    is_kept_by_a_file(
        "lsa:dimensions=2,whitening=0.5",
        &corpus(&["red door red", "", "blue lamp"], &[("red door", "red lamp")]),
    );
    // All words are spread evenly, so there is no dimension at all.
    is_kept_by_a_file("lsa:dimensions=1,weighting=1", &corpus(&["a b", "b a"], &[]));
    let spec = "lsa:dimensions=20,whitening=0.3";
    let (mut tuned, fresh) = (train("lsa:dimensions=20", &shop.corpus), train(spec, &shop.corpus));
    tuned.tune(&SYSTEM.values(&spec.parse().unwrap()).unwrap());
    for query in &shop.judgments.queries {
        let titles: Vec<&str> = query.titles.iter().map(|title| title.text.as_str()).collect();
        assert_eq!(tuned.score(&query.text, &titles), fresh.score(&query.text, &titles));
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let shop = Shop::new();
    let trained = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| train("lsa:dimensions=20", &shop.corpus).state())
    };
    assert_eq!(trained(1), trained(3));
}

#[test]
fn a_damaged_state_is_refused() {
    let state = train("lsa:dimensions=2", &corpus(&["red door", "lamp red"], &[])).state();
    let fault = |state: &RankerState| Lsa::restore(&SYSTEM.values(&"lsa".parse().unwrap()).unwrap(), state).err();
    assert!(fault(&state).is_none());
    let with = |name: &str, numbers: &[f64]| state.clone().with_f64s(name, numbers);
    let left = |shape: [usize; 2], numbers| state.clone().with("left_singular_vectors", &shape, numbers);
    let bad = [
        (with("singular_values", &[1.0]), "expected `left_singular_vectors` to be [3, 1], found F32 [3, 2]"),
        (with("singular_values", &[1.0, 1e-8]), "expected numbers from 0.0000001 to 1, found 0.00000001 at place 1"),
        (with("singular_values", &[1.0, 2.0]), "expected numbers from 0.0000001 to 1, found 2 at place 1"),
        (with("singular_values", &[0.0, 0.0]), "expected a finite number above 0, found 0"),
        (with("singular_values", &[-2.0, -2.0]), "expected a finite number above 0, found -2"),
        (with("word_weights", &[1.0, 1.0]), "expected `word_weights` to be [3], found F64 [2]"),
        (with("word_weights", &[1.0, 1.0, -1.0]), "expected numbers from 0 to 1000000, found -1 at place 2"),
        (with("word_weights", &[1.0, 1.0, f64::NAN]), "expected numbers from 0 to 1000000, found NaN at place 2"),
        (left([2, 3], Numbers::F32(vec![0.1; 6])), "expected `left_singular_vectors` to be [3, 2], found F32 [2, 3]"),
        (left([3, 2], Numbers::F32(vec![2.0; 6])), "expected numbers from -1.001 to 1.001, found 2 at place 0"),
        (left([3, 2], Numbers::F64(vec![0.1; 6])), "to be F32 [3, 2], found F64 [3, 2]"),
    ];
    for (state, expected) in &bad {
        let fault = fault(state).expect("a fault").to_string();
        assert!(fault.contains(expected), "{fault}");
    }
}
