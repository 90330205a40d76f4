//! Tests of both translation models, and of their parts.

use rand::RngExt as _;

use super::alignment::{Alignment, symmetrize, viterbi};
use super::ibm1::{Bitext, Ibm1};
use super::phrases::{PhraseCounts, PhraseTable, extract};
use super::table::TranslationTable;
use crate::systems::testing::{NO_CLICKS, assert_close, corpus, fault, is_kept_by_a_file, train, train_watched};
use clickvec::internals::rng::stream;
use clickvec_eval::internals::WordLists;
use clickvec_eval::internals::{Numbers, RankerState};
use clickvec_eval::ranker::Corpus;
use clickvec_eval::ranker::{Ranker, RankerSpec, System};

/// Clicks on titles of two words, where `big` means `large`, `car` means `auto`, and `red` means itself.
const SMALL: [(&str, &str); 5] =
    [("large auto", "big car"), ("large", "big"), ("red auto", "red car"), ("red", "red"), ("auto red", "car red new")];

fn small() -> Corpus {
    corpus(&["big car", "red car", "red new car", "new", "small bus"], &SMALL)
}

fn lists(texts: &[&[u32]]) -> WordLists {
    let mut lists = WordLists::default();
    texts.iter().for_each(|text| lists.push(text.iter().copied()));
    lists
}

#[test]
fn the_first_steps_of_model_1_by_hand() {
    // Sources `0 1` and `0`, targets `2 3` and `2`; the empty word is a source of both.
    let (sources, targets) = (lists(&[&[0, 1], &[0], &[], &[1]]), lists(&[&[2, 3], &[2], &[3], &[]]));
    let bitext = Bitext { sources: &sources, targets: &targets, weights: &[1.0, 2.0, 1.0, 1.0] };
    let mut model = Ibm1::new(bitext, 4, 0.0).unwrap();
    // All t are ½. The words of the first target have 3 choices, and the word of the second has 2.
    let expected = 2.0 * (0.5f64).ln() + 2.0 * (0.5f64).ln();
    assert_close(&[model.step()], &[expected]);
    // In the first pair each choice has 1/3. In the second, the word 0 and the empty word have 2 · ½ each.
    let t = [(2, 0, 0.8), (3, 0, 0.2), (2, 1, 0.5), (3, 1, 0.5), (3, 3, 0.0)];
    let found = t.map(|(target, source, _)| model.probability(target, source));
    assert_close(&found, &t.map(|(.., expected)| expected));
    assert_close(&[model.probability_of_empty(2), model.probability_of_empty(3)], &[0.8, 0.2]);
    let expected = (2.1f64 / 3.0).ln() + (0.9f64 / 3.0).ln() + 2.0 * (1.6f64 / 2.0).ln();
    assert_close(&[model.step()], &[expected]);
    assert_close(&[model.probability(2, 1)], &[(0.5 / 2.1) / (0.5 / 2.1 + 0.5 / 0.9)]);
}

#[test]
fn a_prior_is_so_many_translations_to_itself() {
    let (sources, targets) = (lists(&[&[0, 1]]), lists(&[&[0, 2]]));
    let bitext = Bitext { sources: &sources, targets: &targets, weights: &[3.0] };
    let mut model = Ibm1::new(bitext, 3, 2.0).unwrap();
    // Word 0 has the entries 0 and 2, word 1 has 0, 1 and 2, and the empty word has 0 and 2. All are 1/3.
    let third = (1.0f64 / 3.0).ln();
    assert_close(&[model.step()], &[3.0 * 2.0 * third + 2.0 * 2.0 * third]);
    // Each target word assigns a third to each of its 3 choices, and counts 3 times.
    let found = [(0, 0), (2, 0), (0, 1), (1, 1), (2, 1)].map(|(target, source)| model.probability(target, source));
    assert_close(&found, &[3.0 / 4.0, 1.0 / 4.0, 1.0 / 4.0, 2.0 / 4.0, 1.0 / 4.0]);
}

#[test]
fn the_likelihood_rises_with_every_step() {
    for spec in ["wtm:iterations=40,prior=0", "wtm:iterations=40,prior=3", "ptm:iterations=40"] {
        let (_, objectives) = train_watched(spec, &generated(11).0).unwrap();
        assert_eq!(objectives.len(), 40);
        let rises = objectives.windows(2).all(|two| two[1] > two[0] - 1e-9 * two[0].abs());
        assert!(rises && objectives[39] > objectives[0] + 100.0, "{spec}: {objectives:?}");
    }
}

#[test]
fn pruned_rows_sum_to_1_and_keep_their_best() {
    let (sources, targets) = (lists(&[&[0], &[0, 1], &[1]]), lists(&[&[2, 3, 4], &[2, 2], &[5, 6]]));
    let mut model = Ibm1::new(Bitext { sources: &sources, targets: &targets, weights: &[1.0; 3] }, 7, 0.0).unwrap();
    (0..3).for_each(|_| _ = model.step());
    let (all, some, best) = (model.table(0.0), model.table(0.25), model.table(1.0));
    for table in [&all, &some, &best] {
        for source in 0..2 {
            let total: f64 = (0..7).map(|target| table.row(target).get(source)).sum();
            assert!((total - 1.0).abs() < 1e-12, "{total}");
        }
    }
    assert!(all.len() > some.len() && some.len() > best.len(), "{} {} {}", all.len(), some.len(), best.len());
    assert_close(&[best.row(2).get(0), best.row(3).get(0)], &[1.0, 0.0]);
}

#[test]
fn a_hand_computed_score() {
    // One pair of single words: after any number of steps, `auto` is the translation of `car` with probability 1.
    let corpus = corpus(&["red car", "bus"], &[("auto", "car")]);
    let wtm = train("wtm:prior=0,alpha=0.4,self=0.25", &corpus);
    // `auto` counts once, with the three words of the titles.
    let p = |background: f64, same: f64, translated: f64, length: f64| {
        (0.4 * background + 0.6 * (0.25 * same + 0.75 * translated) / length).ln()
    };
    let expected = [p(0.25, 0.0, 1.0, 2.0), p(0.25, 1.0, 0.0, 1.0), p(0.25, 0.0, 0.0, 1.0), p(0.25, 1.0, 2.0, 4.0)];
    assert_close(&wtm.score("Auto", &["red car", "auto", "", "car car auto unheard"]), &expected);
    // A word that occurs nowhere is left out; `red` occurs only in titles.
    let both = wtm.score("unheard red auto", &["red car"]);
    assert_close(&both, &[p(0.25, 1.0, 0.0, 2.0) + p(0.25, 0.0, 1.0, 2.0)]);
    assert_eq!(wtm.score("unheard", &["unheard", ""]), [0.0, 0.0]);
}

#[test]
fn translations_are_found() {
    let wtm = train("wtm:prior=0", &small());
    let scores = wtm.score("large auto", &["big car", "small bus", "red new car"]);
    assert!(scores[0] > scores[2] && scores[2] > scores[1], "{scores:?}");
}

#[test]
fn weights_of_clicks_are_counts() {
    let once = [("a", "x y"), ("b", "y")];
    let mut weighted = corpus(&["x", "y"], &once);
    weighted.clicks.weights = vec![1.0, 3.0];
    let repeated = corpus(&["x", "y"], &[once[0], once[1], once[1], once[1]]);
    let [weighted, repeated] = [weighted, repeated].map(|corpus| train("wtm", &corpus).score("a b", &["x", "y", "z"]));
    assert_close(&weighted, &repeated);
    // A pair with weight 0 teaches nothing.
    let mut without = corpus(&["x", "y"], &[once[0], once[1], ("c", "x z")]);
    without.clicks.weights = vec![1.0, 3.0, 0.0];
    let scores = train("wtm:prior=0,prune=0", &without).score("c", &["x", "y", "z"]);
    assert!(scores[0].is_finite() && scores[0] == scores[1] && scores[0] == scores[2], "{scores:?}");
    without.clicks.weights = vec![0.0; 3];
    assert_eq!(fault("wtm", &without), NO_CLICKS);
}

#[test]
fn parameters_can_be_changed_and_a_file_keeps_them() {
    for (first, second) in [("wtm", "wtm:alpha=0.7,self=0.9"), ("ptm", "ptm:alpha=0.7,self=0.9,phrases=0.2")] {
        is_kept_by_a_file(second, &small());
        let (mut tuned, fresh) = (train(first, &small()), train(second, &small()));
        let titles = ["big car", "red car", "unheard", ""];
        assert_ne!(tuned.score("large red auto", &titles), fresh.score("large red auto", &titles));
        let spec: RankerSpec = second.parse().unwrap();
        tuned.tune(&System::named(&spec.name, &crate::SYSTEMS).unwrap().values(&spec).unwrap());
        assert_eq!(tuned.score("large red auto", &titles), fresh.score("large red auto", &titles));
    }
}

#[test]
fn alignments_of_a_toy_bitext_are_the_right_ones() {
    // The house, the book, a book, a big house, the house is big. In the last, two words are swapped.
    let (the, house, book, a, big, is) = (0, 1, 2, 3, 4, 5);
    let foreign = |words: &[u32]| words.iter().map(|word| word + 6).collect::<Vec<u32>>();
    let sources: [&[u32]; 6] =
        [&[the, house], &[the, book], &[a, book], &[a, big, house], &[the, house, is, big], &[house, is, house]];
    let targets: [&[u32]; 6] =
        [&[the, house], &[the, book], &[a, book], &[a, house, big], &[the, house, is, big], &[house, is, house]];
    let targets = targets.map(foreign);
    let targets: Vec<&[u32]> = targets.iter().map(Vec::as_slice).collect();
    let (source_lists, target_lists) = (lists(&sources), lists(&targets));
    let bitext = Bitext { sources: &source_lists, targets: &target_lists, weights: &[1.0; 6] };
    let [mut forward, mut backward] = [bitext, bitext.reversed()].map(|bitext| Ibm1::new(bitext, 12, 0.0).unwrap());
    (0..20).for_each(|_| _ = (forward.step(), backward.step()));
    let expected: [&[usize]; 6] = [&[0, 1], &[0, 1], &[0, 1], &[0, 2, 1], &[0, 1, 2, 3], &[0, 1, 2]];
    for ((source, target), expected) in sources.into_iter().zip(targets).zip(expected) {
        let (source_spans, target_spans) = (viterbi(&forward, source, target), viterbi(&backward, target, source));
        let expected: Vec<Option<(usize, usize)>> =
            expected.iter().map(|&position| Some((position, position))).collect();
        assert_eq!(symmetrize(&source_spans, &target_spans).source_spans, expected, "{source:?} {target:?}");
    }
    // Nothing in the pairs explains the last word.
    assert_eq!(viterbi(&forward, &[the, book], &foreign(&[book, is, big]))[0], Some(1));
    assert_eq!(viterbi(&forward, &[the], &foreign(&[a])), [None]);
}

#[test]
fn both_directions_are_joined_from_what_they_share() {
    let spans = |spans: &[(usize, usize)]| spans.iter().copied().map(Some).collect::<Vec<_>>();
    // Shared: 0–0. One direction has 1–1, which touches at a corner, and then 2–1. It reaches 2 through 1.
    let grown = symmetrize(&[Some(0), Some(1), None], &[Some(0), None, Some(1)]);
    assert_eq!(grown.source_spans, [Some((0, 0)), Some((1, 2)), None]);
    assert_eq!(grown.target_spans, spans(&[(0, 0), (1, 1), (1, 1)]));
    // A link that touches nothing is left out, and so is a link of two words that have others.
    let apart = symmetrize(&[Some(0), None, Some(2)], &[Some(0), None, None]);
    assert_eq!(
        (apart.source_spans, apart.target_spans),
        (vec![Some((0, 0)), None, None], vec![Some((0, 0)), None, None])
    );
    let taken = symmetrize(&[Some(0), Some(2), Some(2)], &[Some(0), Some(1), Some(2)]);
    assert_eq!(
        (taken.source_spans, taken.target_spans),
        (spans(&[(0, 0), (1, 1), (2, 2)]), spans(&[(0, 0), (1, 1), (2, 2)]))
    );
    // No link is shared.
    assert_eq!(symmetrize(&[Some(1)], &[None, None]).source_spans, [None]);
}

#[test]
fn phrases_keep_to_the_links() {
    let found = |alignment: &Alignment, longest: usize| {
        let mut found = Vec::new();
        extract(alignment, longest, |source, target| found.push((source.start, source.end, target.start, target.end)));
        found.sort_unstable();
        found
    };
    // Source positions 0 and 1 have targets 1 and 0, position 2 has none, and 3 has 2.
    let source_spans = [Some((1, 1)), Some((0, 0)), Some((3, 3))];
    let target_spans = [Some((1, 1)), Some((0, 0)), None, Some((2, 2))];
    let swapped = Alignment { source_spans: source_spans.to_vec(), target_spans: target_spans.to_vec() };
    let expected = [(0, 1, 1, 2), (0, 2, 0, 2), (0, 3, 0, 2), (1, 2, 0, 1), (1, 3, 0, 1), (2, 4, 2, 3), (3, 4, 2, 3)];
    assert_eq!(found(&swapped, 3), expected);
    assert_eq!(found(&swapped, 1), [(0, 1, 1, 2), (1, 2, 0, 1), (3, 4, 2, 3)]);
    // A target word with two links takes both, and one without a link joins its neighbours.
    let wide = Alignment { source_spans: vec![Some((0, 1)), None], target_spans: vec![Some((0, 0)), Some((0, 0))] };
    assert_eq!(found(&wide, 3), [(0, 2, 0, 1), (0, 2, 0, 2)]);
    assert_eq!(found(&wide, 1), []);
}

#[test]
fn phrase_probabilities_are_discounted_shares() {
    // `0 1` is `5 6` with weight 3, `0` alone is `5` with weight 1, and `0` is `7` with weight 4.
    let aligned = |links: usize| {
        let span = (0..links).map(|position| Some((position, position))).collect::<Vec<_>>();
        Alignment { source_spans: span.clone(), target_spans: span }
    };
    let counted = |discount: f64, least: f64| {
        let mut counts = PhraseCounts::default();
        counts.add(&[0, 1], &[5, 6], &aligned(2), 3, 3.0).unwrap();
        counts.add(&[0], &[5], &aligned(1), 3, 1.0).unwrap();
        counts.add(&[0], &[7], &aligned(1), 3, 4.0).unwrap();
        counts.table(8, discount, least).unwrap()
    };
    let probability = |table: &PhraseTable, target: &[u32], source: &[u32]| {
        let mut phrases = Vec::new();
        table.read_title(source, &mut phrases);
        let rows = table.translations(target);
        // The longest phrase at the start of the title comes last among those of its first word.
        let first = if source.len() == 1 { 0 } else { 1 };
        rows[target.len() - 1].map_or(0.0, |row| row.get(phrases[first]))
    };
    let table = counted(2.0, 0.0);
    assert_eq!(table.len(), 4);
    let found = [
        probability(&table, &[5], &[0]),
        probability(&table, &[7], &[0]),
        probability(&table, &[5, 6], &[0, 1]),
        probability(&table, &[5], &[0, 1]),
        probability(&table, &[5, 7], &[0]),
    ];
    assert_close(&found, &[4.0 / 10.0, 4.0 / 10.0, 3.0 / 5.0, 0.0, 0.0]);
    // A phrase is dropped if all its entries are too small.
    let pruned = counted(2.0, 0.5);
    assert_eq!(pruned.len(), 2);
    let mut phrases = Vec::new();
    pruned.read_title(&[0, 1, 0], &mut phrases);
    assert_eq!(phrases, [0, 1]);
    assert!(pruned.translations(&[5, 6])[0].is_none() && pruned.translations(&[5, 6])[1].is_some());
}

#[test]
fn a_hand_computed_score_of_phrases() {
    // All words are equally good, so alignments are parallel. Each phrase has N = 1, so P = ½.
    let corpus = corpus(&["big apple", "bus"], &[("new york", "big apple")]);
    let spec = "alpha=0.4,self=0.25,prior=0";
    let ptm = train(&format!("ptm:discount=1,phrases=0.3,{spec}"), &corpus);
    // Each of five words counts once. Each title word gives each query word ½.
    let word = |translations: f64, length: f64| 0.4 * 0.2 + 0.6 * 0.75 * 0.5 * translations / length;
    let mixed = |phrases: f64, words: f64| 0.3 * phrases + 0.7 * words;
    let both = mixed(0.25, word(2.0, 2.0));
    let [first, last] = [mixed(0.5, word(1.0, 1.0)), mixed(0.0, word(1.0, 1.0))];
    let expected = [mixed(0.25, both * both).ln(), 2.0 * both.ln(), first.ln() + last.ln(), 2.0 * (0.7 * 0.08f64).ln()];
    assert_close(&ptm.score("new york", &["big apple", "apple big", "big", ""]), &expected);
    // An unknown word ends every phrase, but counts in a title's length.
    let one = mixed(0.25, word(1.0, 2.0)).ln();
    assert_close(&ptm.score("new unheard", &["big unheard"]), &[one]);
    assert_close(&ptm.score("unheard", &["big apple"]), &[0.0]);
    let far = mixed(0.5 / 3.0, word(2.0, 3.0)).ln();
    assert_close(&ptm.score("new unheard york", &["big unheard apple"]), &[2.0 * far]);
    // Without phrases it is the word translation model, which ignores order.
    let (words, wtm) = (train(&format!("ptm:phrases=0,{spec}"), &corpus), train(&format!("wtm:{spec}"), &corpus));
    let titles = ["big apple", "apple big", "bus", "", "new york"];
    assert_close(&words.score("new york bus", &titles), &wtm.score("new york bus", &titles));
    let scores = wtm.score("new york", &titles);
    assert_eq!(scores[0], scores[1]);
}

/// Faults of a file that its sizes alone do not show.
#[test]
fn a_table_from_outside_is_checked() {
    let table = |starts: &[u32], sources: &[u32], probabilities: &[f64]| {
        let state = RankerState::default()
            .with_u32s("translation_starts", starts)
            .with_u32s("translation_columns", sources)
            .with_f64s("translation_probabilities", probabilities);
        TranslationTable::restore("translation", 3, 3, &state).map_err(|fault| fault.to_string())
    };
    let good = table(&[0, 2, 2, 3], &[0, 2, 1], &[0.5, 1.0, 0.0]).unwrap();
    assert_eq!((good.row(0).get(2), good.row(1).get(1), good.row(2).get(1)), (1.0, 0.0, 0.0));
    let p = [0.5, 0.5, 0.5];
    for (starts, sources, expected) in [
        ([1, 2, 2, 3], [0, 2, 1], "`translation_starts`: expected rows from 0 to 3, found rows from 1 to 3;"),
        ([0, 2, 1, 3], [0, 2, 1], "`translation_starts`: expected ascending numbers, found 1 after 2 at place 2;"),
        ([0, 2, 2, 2], [0, 2, 1], "`translation_starts`: expected rows from 0 to 3, found rows from 0 to 2;"),
        ([0, 9, 2, 3], [0, 2, 1], "`translation_starts`: expected ascending numbers, found 2 after 9 at place 2;"),
        ([0, 2, 2, 3], [2, 0, 1], "`translation_columns`: expected ascending numbers, found 0 after 2 at place 1;"),
        ([0, 2, 2, 3], [2, 2, 1], "`translation_columns`: expected ascending numbers, found 2 after 2 at place 1;"),
        ([0, 2, 2, 3], [0, 3, 1], "`translation_columns`: expected numbers below 3, found 3 at place 1;"),
    ] {
        let fault = table(&starts, &sources, &p).unwrap_err();
        assert!(fault.starts_with(expected), "{fault}");
    }
    for probability in [-0.5, 1.5] {
        let fault = table(&[0, 2, 2, 3], &[0, 2, 1], &[0.5, probability, 0.5]).unwrap_err();
        assert!(fault.contains(&format!("numbers from 0 to 1, found {probability} at place 1")), "{fault}");
    }
    assert!(table(&[0, 3], &[0, 2, 1], &p).is_err() && table(&[0, 2, 2, 3], &[0, 2, 1], &p[..2]).is_err());
}

#[test]
fn phrases_from_outside_are_checked() {
    const NONE: u32 = u32::MAX;
    let restore = |sources: &[u32], targets: &[u32]| {
        let state = RankerState::default()
            .with("phrase_sources", &[sources.len() / 3, 3], Numbers::U32(sources.to_vec()))
            .with("phrase_targets", &[targets.len() / 3, 3], Numbers::U32(targets.to_vec()))
            .with_u32s("phrase_starts", &[0, 1])
            .with_u32s("phrase_columns", &[0])
            .with_f64s("phrase_probabilities", &[0.5]);
        PhraseTable::restore(4, &state).map_err(|fault| fault.to_string())
    };
    // In order, a word alone comes after phrases that begin with it.
    let good = [0, 1, NONE, 0, NONE, NONE, 3, 2, 1];
    let table = restore(&good, &[1, 2, NONE]).unwrap();
    assert_eq!(table.translations(&[1, 2])[1].unwrap().get(0), 0.5);
    for (bad, expected) in [
        (
            [0, NONE, NONE, 0, NONE, NONE, 3, 2, 1],
            "rows above [0, 4294967295, 4294967295] after row 0, found [0, 4294967295, 4294967295];",
        ),
        (
            [0, NONE, NONE, 0, 1, NONE, 3, 2, 1],
            "rows above [0, 4294967295, 4294967295] after row 0, found [0, 1, 4294967295];",
        ),
        ([0, 1, NONE, NONE, NONE, NONE, 3, 2, 1], "numbers below 4, then only 4294967295, found [4294967295,"),
        ([0, 1, NONE, 0, NONE, NONE, 3, 2, 4], "numbers below 4, then only 4294967295, found [3, 2, 4] in row 2"),
        ([0, 1, NONE, 0, NONE, 1, 3, 2, 1], "numbers below 4, then only 4294967295, found [0, 4294967295, 1] in row 1"),
    ] {
        let fault = restore(&bad, &[1, 2, NONE]).unwrap_err();
        assert!(fault.contains(expected), "{fault}");
        assert!(restore(&good, &bad[..6]).is_err(), "{bad:?}");
    }
    assert!(restore(&[], &[1, 2, NONE]).is_err() && restore(&good, &[]).is_err());
}

#[test]
fn what_there_is_little_of_scores_all_the_same() {
    for clicks in [&[][..], &[("", "red")], &[("red", "?")]] {
        for name in ["wtm", "ptm"] {
            assert_eq!(fault(name, &corpus(&["red door"], clicks)), NO_CLICKS);
        }
    }
    for spec in [
        "wtm:iterations=30,prior=0",
        "wtm:iterations=30,prior=1",
        "wtm:alpha=1",
        "wtm:alpha=0.000001,self=1,prune=1",
        "ptm:prior=0,discount=0,phrases=0.99",
        "ptm:words=1,prune=1,alpha=0.000001,self=1",
        "ptm:discount=1e6,phrases=0",
    ] {
        for corpus in [corpus(&[], &[("a", "a")]), corpus(&["a", "a"], &[("a a a", "a a"); 3]), small()] {
            let ranker = train(spec, &corpus);
            for query in ["", "a", "b", "red a", "Ünïcödé 漢字 x", "large large auto new red a"] {
                let scores = ranker.score(query, &["", "a", "b a", "red car 漢", "a a a a a"]);
                assert!(scores.iter().all(|score| score.is_finite()), "{spec} {query}: {scores:?}");
            }
        }
    }
    // The smallest and the largest weights that a log may have.
    let mut extreme = corpus(&["a b"], &[("x y", "a b"), ("x", "b"), ("y z", "c")]);
    extreme.clicks.weights = vec![f32::MAX, 1e-45, f32::MIN_POSITIVE];
    for spec in ["wtm:iterations=50,prior=0", "ptm:iterations=50,prior=0", "ptm"] {
        let (ranker, objectives) = train_watched(spec, &extreme).unwrap();
        let scores = ranker.score("x y z", &["a", "b", "c", ""]);
        assert!(scores.iter().chain(&objectives).all(|score| score.is_finite()), "{scores:?} {objectives:?}");
    }
}

/// Draws clicks of a log in which the title words 0 … 29 have other names in queries, and judgments. Each query has four titles:
/// the first is relevant, and the second half relevant.
fn generated(seed: u64) -> (Corpus, Vec<(String, Vec<String>)>) {
    let mut random = stream(seed, "clicks", 0);
    let mut draw = |count: usize| -> Vec<u32> { (0..count).map(|_| random.random_range(0..30)).collect() };
    let text = |letter: char, words: &[u32]| -> String {
        words.iter().map(|word| format!("{letter}{word}")).collect::<Vec<_>>().join(" ")
    };
    let mut corpus = Corpus::default();
    for _ in 0..600 {
        let title = draw(5);
        corpus.add_title(&text('t', &title)).unwrap();
        // A query has two neighbouring words of the title.
        let first = draw(1)[0] as usize % 4;
        corpus.add_click(&text('q', &title[first..first + 2]), &text('t', &title), 1.0).unwrap();
    }
    let judged = (0..100).map(|_| {
        let query = draw(2);
        let mut titles = [draw(5), draw(5), draw(5), draw(5)];
        titles[0][1..3].copy_from_slice(&query);
        titles[1][2] = query[0];
        (text('q', &query), titles.iter().map(|title| text('t', title)).collect())
    });
    let judged = judged.collect();
    (corpus, judged)
}

/// Returns the mean NDCG of the generated judgments, with the grades 2, 1, 0, 0.
fn ndcg(ranker: &dyn Ranker, judged: &[(String, Vec<String>)]) -> f64 {
    let of = |(query, titles): &(String, Vec<String>)| {
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        let scores = ranker.score(query, &titles);
        let gain = |position: usize| [3.0, 1.0, 0.0, 0.0][position];
        let mut order = [0, 1, 2, 3];
        // Of equal scores, the worse title comes first.
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(b.cmp(&a)));
        let sum =
            |order: [usize; 4]| (2..).zip(order).map(|(n, position)| gain(position) / f64::from(n).log2()).sum::<f64>();
        sum(order) / sum([0, 1, 2, 3])
    };
    judged.iter().map(of).sum::<f64>() / judged.len() as f64
}

#[test]
fn shuffled_clicks_lower_ndcg() {
    let (corpus, judged) = generated(3);
    let (mut shuffled, _) = generated(3);
    let mut queries: Vec<Vec<u32>> = shuffled.clicks.queries.iter().map(<[u32]>::to_vec).collect();
    queries.rotate_left(217);
    shuffled.clicks.queries = WordLists::default();
    queries.iter().for_each(|query| shuffled.clicks.queries.push(query.iter().copied()));
    for name in ["wtm", "ptm"] {
        let [right, wrong] = [&corpus, &shuffled].map(|corpus| ndcg(train(name, corpus).as_ref(), &judged));
        assert!(right > 0.95 && wrong < 0.75, "{name}: {right} and {wrong}");
    }
}
