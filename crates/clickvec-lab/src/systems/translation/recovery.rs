//! Both translation models recover the parameters that clicks were drawn from.

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::ibm1::{Bitext, Ibm1};
use super::phrases::PhraseTable;
use crate::systems::testing::train;
use clickvec::internals::rng::stream;
use clickvec_eval::internals::WordLists;
use clickvec_eval::ranker::Corpus;
use clickvec_eval::ranker::{RankerSpec, System};

#[test]
fn a_table_is_recovered_from_what_it_generates() {
    // Word s of 8 becomes 8 + s with 0.5, 8 + (s + 1) % 8 with 0.3, 8 + (s + 3) % 8 with 0.2; the empty word 16 or 8.
    let mut random = stream(5, "translations", 0);
    let (mut sources, mut targets) = (WordLists::default(), WordLists::default());
    for _ in 0..20_000 {
        let source: Vec<u32> = (0..3).map(|_| random.random_range(0..8)).collect();
        let mut word = || {
            let (chosen, position) = (random.random_range(0..4), random.random::<f64>());
            match source.get(chosen) {
                Some(s) => 8 + (s + if position < 0.5 { 0 } else { 1 + 2 * u32::from(position > 0.8) }) % 8,
                None => {
                    if position < 0.7 {
                        16
                    } else {
                        8
                    }
                }
            }
        };
        targets.push([word(), word(), word()]);
        sources.push(source.iter().copied());
    }
    let weights = vec![1.0; sources.len()];
    let mut model = Ibm1::new(Bitext { sources: &sources, targets: &targets, weights: &weights }, 17, 0.0).unwrap();
    (0..100).for_each(|_| _ = model.step());
    for source in 0..8u32 {
        for shift in 0..8 {
            let expected = [0.5, 0.3, 0.0, 0.2, 0.0, 0.0, 0.0, 0.0][shift as usize];
            let found = model.probability(8 + (source + shift) % 8, source);
            assert!((found - expected).abs() < 0.04, "{source} + {shift}: expected {expected}, found {found}");
        }
    }
    let empty = [model.probability_of_empty(16), model.probability_of_empty(8)];
    assert!((empty[0] - 0.7).abs() < 0.04 && (empty[1] - 0.3).abs() < 0.04, "{empty:?}");
}

/// Draws one of some words or texts, with these probabilities, which sum to 1.
fn drawn<'w>(random: &mut Xoshiro256PlusPlus, of: &[(&'w str, f64)]) -> &'w str {
    let mut left = random.random::<f64>();
    let found = of.iter().find(|(_, p)| {
        left -= p;
        left < 0.0
    });
    found.unwrap_or(&of[of.len() - 1]).0
}

/// P(q|w): words that people use as they are, mostly or seldom, and words that they never use.
const TRANSLATIONS: [(&str, &[(&str, f64)]); 6] = [
    ("faucet", &[("tap", 0.5), ("faucet", 0.4), ("sink", 0.1)]),
    ("sink", &[("sink", 0.9), ("basin", 0.1)]),
    ("timber", &[("wood", 0.7), ("lumber", 0.3)]),
    ("red", &[("red", 1.0)]),
    ("lamp", &[("light", 0.6), ("lamp", 0.4)]),
    ("wood", &[("wood", 0.6), ("lumber", 0.2), ("timber", 0.2)]),
];

/// Draws three words of titles, possibly repeated.
fn title(random: &mut Xoshiro256PlusPlus) -> Vec<&'static str> {
    (0..3).map(|_| TRANSLATIONS[random.random_range(0..TRANSLATIONS.len())].0).collect()
}

/// Draws a word from P(·|w) for a word w of the title.
fn translated(random: &mut Xoshiro256PlusPlus, title: &[&'static str]) -> &'static str {
    let word = title[random.random_range(0..title.len())];
    let (_, translations) = TRANSLATIONS.iter().find(|(source, _)| *source == word).unwrap();
    drawn(random, translations)
}

/// Draws clicks. Every query word comes from the translations of a title word or, with equal probability, of the empty word,
/// `buy`. Five clicks have a word of their own.
fn translated_clicks() -> Corpus {
    let mut random = stream(6, "translated", 0);
    let mut corpus = Corpus::default();
    for _ in 0..20_000 {
        let title = title(&mut random);
        let query: Vec<&str> = (0..3)
            .map(|_| if random.random_range(0..4) == 0 { "buy" } else { translated(&mut random, &title) })
            .collect();
        corpus.add_click(&query.join(" "), &title.join(" "), 1.0).unwrap();
        corpus.add_title(&title.join(" ")).unwrap();
    }
    (0..5).for_each(|_| corpus.add_click("widget", "gizmo", 1.0).unwrap());
    corpus.add_title("gizmo").unwrap();
    corpus
}

#[test]
fn translations_are_recovered_beside_a_prior_of_self_translation() {
    let corpus = translated_clicks();
    // With almost nothing from elsewhere, P(q|D) of a one-word title is P(q|w).
    let wtm = train("wtm:prior=10,prune=0,iterations=50,alpha=1e-6,self=0", &corpus);
    let p = |query: &str, word: &str| wtm.score(query, &[word])[0].exp();
    let queries = ["tap", "faucet", "sink", "basin", "wood", "lumber", "red", "light", "lamp", "timber", "buy"];
    for (word, translations) in TRANSLATIONS {
        for query in queries {
            let expected = translations.iter().find(|(target, _)| *target == query).map_or(0.0, |(_, p)| *p);
            let found = p(query, word);
            assert!((found - expected).abs() < 0.03, "{query} of {word}: expected {expected}, found {found}");
        }
    }
    // Seen five times as `widget`, and ten times beforehand as itself.
    let found = [p("widget", "gizmo"), p("gizmo", "gizmo")];
    assert!((found[0] - 5.0 / 15.0).abs() < 0.01 && (found[1] - 10.0 / 15.0).abs() < 0.01, "{found:?}");
    let plain = train("wtm:prior=0,prune=0,iterations=50,alpha=1e-6,self=0", &corpus);
    assert!(plain.score("widget", &["gizmo"])[0].exp() > 0.98);
}

/// P(q|D) = α P(q|C) + (1−α) (β tf(q, D) / |D| + (1−β) Σ_w P(q|w) tf(w, D) / |D|). For queries drawn from this, no
/// other α and β are more likely.
#[test]
fn the_weights_of_collection_and_self_translation_are_recovered() {
    const ALPHA: f64 = 0.3;
    const SELF: f64 = 0.4;
    let corpus = translated_clicks();
    let mut wtm = train("wtm:prior=10,iterations=50", &corpus);
    let mut random = stream(7, "mixed", 0);
    // All words of the collection's titles are equally frequent.
    let pairs: Vec<(String, String)> = (0..4000)
        .map(|_| {
            let title = title(&mut random);
            let mut word = || match random.random::<f64>() {
                from if from < ALPHA => TRANSLATIONS[random.random_range(0..TRANSLATIONS.len())].0,
                from if from < ALPHA + (1.0 - ALPHA) * SELF => title[random.random_range(0..title.len())],
                _ => translated(&mut random, &title),
            };
            let query: Vec<&str> = (0..3).map(|_| word()).collect();
            (query.join(" "), title.join(" "))
        })
        .collect();
    let mut likelihood = |alpha: f64, self_weight: f64| -> f64 {
        let spec: RankerSpec = format!("wtm:alpha={alpha},self={self_weight}").parse().unwrap();
        wtm.tune(&System::named("wtm", &crate::SYSTEMS).unwrap().values(&spec).unwrap());
        pairs.iter().map(|(query, title)| wtm.score(query, &[title])[0]).sum()
    };
    let drawn_from = likelihood(ALPHA, SELF);
    for (alpha, self_weight) in [(0.2, SELF), (0.4, SELF), (ALPHA, 0.3), (ALPHA, 0.5), (0.2, 0.5), (0.4, 0.3)] {
        let other = likelihood(alpha, self_weight);
        assert!(drawn_from > other + 5.0, "alpha {alpha}, self {self_weight}: {other}, as drawn {drawn_from}");
    }
}

/// Phrases of titles with the phrases that people use for them, as a whole and not word by word.
const PHRASES: [(&str, &[(&str, f64)]); 6] = [
    ("water closet", &[("toilet", 0.6), ("loo", 0.4)]),
    ("ceiling fan", &[("air mover", 0.7), ("punkah", 0.3)]),
    ("light bulb", &[("globe", 0.5), ("glow lamp", 0.5)]),
    ("crescent wrench", &[("adjustable spanner", 0.8), ("shifter", 0.2)]),
    ("oak", &[("hard wood", 0.5), ("timber", 0.5)]),
    ("crimson", &[("red", 0.9), ("ruby", 0.1)]),
];

#[test]
fn a_planted_phrase_table_is_recovered() {
    let mut random = stream(8, "phrases", 0);
    let mut corpus = Corpus::default();
    for _ in 0..6000 {
        // Three of six phrases in any order; two of them are in the query, in any order.
        let mut of: Vec<usize> = (0..PHRASES.len()).collect();
        for position in 0..3 {
            let other = random.random_range(position..of.len());
            of.swap(position, other);
        }
        let title = [of[0], of[1], of[2]].map(|phrase| PHRASES[phrase].0).join(" ");
        let first = random.random_range(0..3);
        let second = (first + random.random_range(1..3)) % 3;
        let query = [first, second].map(|position| drawn(&mut random, PHRASES[of[position]].1)).join(" ");
        corpus.add_click(&query, &title, 1.0).unwrap();
        corpus.add_title(&title).unwrap();
    }
    let ptm = train("ptm:prior=0,prune=0,iterations=50", &corpus);
    let table = PhraseTable::restore(corpus.vocabulary.len(), &ptm.state()).unwrap();
    let words = |text: &str| -> Vec<u32> { text.split(' ').map(|word| corpus.vocabulary.get(word).unwrap()).collect() };
    let phrases = |words: &[u32]| {
        let mut phrases = Vec::new();
        table.read_title(words, &mut phrases);
        phrases
    };
    let p = |target: &str, source: &str| {
        let (target, source) = (words(target), words(source));
        let within: Vec<u32> = (0..source.len()).flat_map(|position| phrases(&source[position..=position])).collect();
        let all = phrases(&source);
        // The whole phrase, and not one of its words alone.
        let drawn_from = all.iter().find(|phrase| source.len() == 1 || !within.contains(phrase));
        table.translations(&target)[target.len() - 1]
            .map_or(0.0, |row| drawn_from.map_or(0.0, |&drawn_from| row.get(drawn_from)))
    };
    for (source, translations) in PHRASES {
        for (target, expected) in PHRASES
            .iter()
            .flat_map(|(_, of)| *of)
            .map(|(target, _)| (*target, translations.iter().find(|(own, _)| own == target).map_or(0.0, |(_, p)| *p)))
        {
            let found = p(target, source);
            assert!((found - expected).abs() < 0.05, "`{target}` of `{source}`: expected {expected}, found {found}");
        }
    }
}
