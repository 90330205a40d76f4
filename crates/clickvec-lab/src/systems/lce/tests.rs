//! Tests of LCE.

use super::*;
use crate::systems::shop::{Shop, ndcg, restored, with_shuffled_words};
use crate::systems::testing::{assert_close, corpus, is_kept_by_a_file, train};

/// Titles, three of which have `ladder`; 12 words.
const TITLES: [&str; 5] = ["steel ladder tall", "ladder steel", "oak ladder", "steel pipe tall", "oak desk"];

#[test]
fn a_hand_computed_collection() {
    let corpus = corpus(&TITLES, &[]);
    // `ladder` occurs 3 times, `steel` 3, `tall` 2 and `oak` 2. `pipe` and `desk` are in no title with `ladder`.
    let (mu, total) = (2.0, 12.0);
    let p = |tf: f64, cf: f64, length: f64| (tf + mu * cf / total) / (length + mu);
    // A single word has no neighbours, and λ_T is λ_T / (λ_T + λ_O + λ_U).
    let posterior = [(1.0, 3.0), (1.0, 2.0), (1.0, 2.0)].map(|(tf, length)| p(tf, 3.0, length).powf(0.5));
    let likelihood = |tf: [f64; 3], cf: f64| -> f64 {
        (0..3).map(|d| posterior[d] * p(tf[d], cf, [3.0, 2.0, 2.0][d])).sum::<f64>() / (cf / total).powf(0.5)
    };
    let steel = likelihood([1.0, 1.0, 0.0], 3.0);
    let (tall, oak) = (likelihood([1.0, 0.0, 0.0], 2.0), likelihood([0.0, 0.0, 1.0], 2.0));
    assert!(steel > oak && oak > tall);
    let sum = steel + oak;
    let expected = |ladder: f64, steel_tf: f64, oak_tf: f64, length: f64| {
        0.7 * 0.5 * p(ladder, 3.0, length).ln()
            + 0.3 * (steel / sum * p(steel_tf, 3.0, length).ln() + oak / sum * p(oak_tf, 2.0, length).ln())
    };
    let lce = train("lce:mu=2,lambda_t=0.5,lambda_o=0.3,lambda_u=0.2,concepts=2,expansion=0.3,rarity=0.5", &corpus);
    let titles = ["steel ladder", "tall ladder oak", "steel", "", "sofa ladder"];
    let all = [
        expected(1.0, 1.0, 0.0, 2.0),
        expected(1.0, 0.0, 1.0, 3.0),
        expected(0.0, 1.0, 0.0, 1.0),
        expected(0.0, 0.0, 0.0, 0.0),
        expected(1.0, 0.0, 0.0, 2.0),
    ];
    assert_close(&lce.score("ladder", &titles), &all);
    assert_close(&lce.score("sofa LADDER", &titles), &all);
    // A second `ladder` in the query doubles the query's part. The concepts are the same, but the posterior is
    // steeper.
    assert!(lce.score("ladder ladder", &titles)[0] < all[0]);
}

#[test]
fn without_expansion_it_is_the_markov_random_field() {
    let shop = Shop::new();
    let mrf = train("mrf:mu=4", &shop.corpus);
    for spec in ["lce:mu=4,expansion=0", "lce:mu=4,concepts=0", "lce:mu=4,feedback=0"] {
        let lce = train(spec, &shop.corpus);
        for query in &shop.judgments.queries {
            let titles: Vec<&str> = query.titles.iter().map(|title| title.text.as_str()).collect();
            assert_eq!(lce.score(&query.text, &titles), mrf.score(&query.text, &titles), "{spec}");
        }
    }
}

#[test]
fn concepts_are_the_words_that_stand_beside_the_query() {
    let lce = train("lce:expansion=0.3", &corpus(&TITLES, &[]));
    let scores = lce.score("ladder", &["steel", "oak", "tall", "desk", "pipe"]);
    assert!(scores[0] > scores[1] && scores[1] > scores[2], "{scores:?}");
    assert!(scores[2] > scores[3] && scores[3] == scores[4], "{scores:?}");
}

#[test]
fn other_names_of_what_is_asked_for_are_found() {
    let shop = Shop::new();
    let (mrf, lce) = (train("mrf", &shop.corpus), train("lce", &shop.corpus));
    let (without, with) = (ndcg(mrf.as_ref(), &shop.renamed), ndcg(lce.as_ref(), &shop.renamed));
    assert!(with > without + 0.02, "{with}, without expansion {without}");
    let shuffled = restored("lce", &with_shuffled_words(&lce.state()));
    let shuffled = ndcg(shuffled.as_ref(), &shop.renamed);
    assert!(with > shuffled + 0.1, "{with}, shuffled {shuffled}");
}

#[test]
fn poor_collections_give_finite_scores() {
    let corpora: [&[&str]; 6] = [&[], &[""], &["a"], &["a", "a", "a"], &["a a a a a a a a a a"], &["a b", "b a"]];
    let specs = [
        "lce",
        "lce:expansion=1",
        "lce:lambda_t=0,lambda_o=0",
        "lce:mu=0.001,rarity=1",
        "lce:mu=1000000,feedback=1,concepts=1000",
    ];
    for titles in corpora {
        for spec in specs {
            let lce = train(spec, &corpus(titles, &[("c", "c d")]));
            for query in ["", "a", "a a", "a b a", "c", "北京 x", "!"] {
                let scores = lce.score(query, &["", "a", "a a a a", "b", "北", "c d", "?"]);
                assert!(scores.iter().all(|score| score.is_finite()), "{titles:?} {spec} {query}: {scores:?}");
            }
        }
    }
    // So improbable that the likelihoods of all titles underflow unless they are relative.
    let long = vec!["a b"; 3000].join(" ");
    let lce = train("lce", &corpus(&["a x", "b y", "c z"], &[]));
    let scores = lce.score(&long, &["x", "z"]);
    assert!(scores[0].is_finite() && scores[0] > scores[1], "{scores:?}");
}

#[test]
fn parameters_can_be_changed_and_a_file_keeps_them() {
    let shop = Shop::new();
    let spec = "lce:mu=3,lambda_t=0.2,lambda_o=0.3,lambda_u=0.4,feedback=5,concepts=7,expansion=0.6,rarity=0.3";
    is_kept_by_a_file(spec, &corpus(&TITLES, &[("red door", "red lamp")]));
    let (mut tuned, fresh) = (train("lce", &shop.corpus), train(spec, &shop.corpus));
    tuned.tune(&SYSTEM.values(&spec.parse().unwrap()).unwrap());
    for query in &shop.judgments.queries {
        let titles: Vec<&str> = query.titles.iter().map(|title| title.text.as_str()).collect();
        assert_eq!(tuned.score(&query.text, &titles), fresh.score(&query.text, &titles));
    }
}
