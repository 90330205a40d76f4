//! Scores of PLSA, LDA and BLTM compared with numbers computed by hand.

use super::tests::{restore, topics};
use crate::systems::testing::{corpus, train};
use clickvec_eval::internals::{Numbers, RankerState};

/// With one topic only a unigram model is estimated.
#[test]
fn one_topic_is_a_unigram_model_with_a_prior() {
    let corpus = corpus(&["red door red", "blue door", "", "red"], &[("crimson", "red door"), ("door", "door")]);
    // λ = ½, μ = 2. The collection has six words: red three times, door twice, blue once.
    let ulm = |tf: f64, frequency: f64, length: f64| (tf + 2.0 * frequency / 6.0) / (length + 2.0);
    for name in ["plsa", "lda"] {
        let ranker = train(&format!("{name}:topics=1,beta=0.5,alpha=3,mu=2,lambda=0.5"), &corpus);
        let topic = |frequency: f64| (frequency + 0.5) / (6.0 + 3.0 * 0.5);
        let red = (0.5 * ulm(2.0, 3.0, 3.0) + 0.5 * topic(3.0)).ln();
        let blue = (0.5 * ulm(0.0, 1.0, 3.0) + 0.5 * topic(1.0)).ln();
        let found = ranker.score("red blue crimson", &["red door red"])[0];
        assert!((found - red - blue).abs() < 1e-6, "{name}: {found}, expected {}", red + blue);
    }
    let ranker = train("bltm:topics=1,beta=0.5,alpha=3,mu=2,lambda=0.5", &corpus);
    // Each of the two words of queries occurs once.
    let crimson = (0.5 * 1.5f64 / 3.0).ln();
    let red = (0.5 * ulm(2.0, 3.0, 3.0)).ln();
    let door = (0.5 * ulm(1.0, 2.0, 3.0) + 0.5 * 1.5 / 3.0).ln();
    let found = ranker.score("crimson red door sofa", &["red door red"])[0];
    assert!((found - crimson - red - door).abs() < 1e-6, "{found}, expected {}", crimson + red + door);
}

const NONE: u32 = u32::MAX;

/// Creates two topics over `red`, `door` and `lamp` (words of titles), and over `door` and `crimson` (words of queries):
///
/// | | red | door | lamp | | door | crimson |
/// | --- | --- | --- | --- | --- | --- | --- |
/// | topic 1 | 0.4 | 0.2 | 0.4 | | 0.2 | 0.8 |
/// | topic 2 | 0 | 0.1 | 0.9 | | 0.5 | 0.5 |
///
/// The collection has `red` twice, `door` 3 times and `lamp` 5 times.
fn two_topics() -> RankerState {
    let corpus = corpus(&["red door lamp"], &[("crimson", "red")]);
    RankerState::default()
        .with_words(&corpus.vocabulary)
        .with_u32s("collection_frequency", &[2, 3, 5, 0])
        .with_u32s("title_rows", &[0, 1, 2, NONE])
        .with("title_topics", &[3, 2], Numbers::F32(vec![0.4, 0.0, 0.2, 0.1, 0.4, 0.9]))
        .with_u32s("query_rows", &[NONE, 0, NONE, 1])
        .with("query_topics", &[2, 2], Numbers::F32(vec![0.2, 0.5, 0.8, 0.5]))
}

/// Scores `red door`. With α = 2 the prior is 1 for each topic; λ = ½, μ = 2.
fn score(name: &str, query: &str) -> f64 {
    restore(&format!("{name}:topics=2,alpha=2,lambda=0.5,mu=2"), &two_topics()).unwrap().score(query, &["red door"])[0]
}

/// θ₁ of the title `red door` by EM. `red` belongs to topic 1. `door` belongs to it with p = 0.2 θ₁ / (0.2 θ₁ + 0.1 θ₂)
/// = 2θ₁ / (1 + θ₁), and θ₁ becomes (1 + 1 + p) / 4. It stays as it is if 2θ₁² = 1.
const MOST_LIKELY: f64 = std::f64::consts::FRAC_1_SQRT_2;

#[test]
fn a_score_of_plsa_by_hand() {
    // `lamp`: ULM (0 + 2 · 0.5) / (2 + 2) = 0.25. `door`: ULM (1 + 2 · 0.3) / (2 + 2) = 0.4.
    let (first, second) = (MOST_LIKELY, 1.0 - MOST_LIKELY);
    let (lamp, door) = (0.4 * first + 0.9 * second, 0.2 * first + 0.1 * second);
    let expected = (0.125 + 0.5 * lamp).ln() + (0.2 + 0.5 * door).ln();
    let found = score("plsa", "lamp door");
    assert!((found - expected).abs() < 1e-6, "{found}, expected {expected}");
}

/// The same title by expected counts, starting at the prior's (1, 1). `red` makes them (2, 1). `door` sees them
/// without itself, 0.2 · 2 to 0.1 · 1, so it belongs to topic 1 with 0.8, and they are (2.8, 1.2). Without `red` they
/// are (1.8, 1.2), and it belongs to topic 1 again; without `door` they are (2, 1) as before. Nothing changes any
/// more, and θ = (0.7, 0.3).
#[test]
fn a_score_of_lda_by_hand() {
    // ULM as above; topics: `lamp` 0.4 · 0.7 + 0.9 · 0.3 = 0.55, `door` 0.2 · 0.7 + 0.1 · 0.3 = 0.17.
    let expected = (0.125 + 0.275f64).ln() + (0.2 + 0.085f64).ln();
    let found = score("lda", "lamp door");
    assert!((found - expected).abs() < 1e-6, "{found}, expected {expected}");
}

/// The title is folded in as in PLSA, with the topics of titles. The words of the query use the topics of queries.
#[test]
fn a_score_of_bltm_by_hand() {
    // `crimson`: ULM 0. `door`: ULM 0.4. `lamp` is not a word of queries: ULM 0.25.
    let (first, second) = (MOST_LIKELY, 1.0 - MOST_LIKELY);
    let (crimson, door) = (0.8 * first + 0.5 * second, 0.2 * first + 0.5 * second);
    let expected = (0.5 * crimson).ln() + (0.2 + 0.5 * door).ln() + 0.125f64.ln();
    let found = score("bltm", "crimson door lamp");
    assert!((found - expected).abs() < 1e-6, "{found}, expected {expected}");
}

/// Two titles without a common word, and no priors: the most likely topics are one for each title, wherever EM starts.
#[test]
fn topics_of_two_titles_by_hand() {
    let corpus = corpus(&["red red door", "blue lamp"], &[("crimson", "red red door"), ("azure azure", "blue lamp")]);
    for name in ["plsa", "bltm"] {
        let ranker = train(&format!("{name}:topics=2,alpha=0,beta=0,lambda=0,iterations=200"), &corpus);
        let close = |side: &str, word: &str, expected: [f64; 2]| {
            let mut found = topics(ranker.as_ref(), side, 2, &corpus).iter().map(|of| of[word]).collect::<Vec<_>>();
            found.sort_by(f64::total_cmp);
            assert!(
                found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-4),
                "{name}, {word}: {found:?}, expected {expected:?}"
            );
        };
        let two = 2.0 / 3.0;
        for (word, p) in [("red", two), ("door", 1.0 / 3.0), ("blue", 0.5), ("lamp", 0.5)] {
            close("title", word, [0.0, p]);
        }
        if name == "bltm" {
            close("query", "crimson", [0.0, 1.0]);
            close("query", "azure", [0.0, 1.0]);
            // θ of `red red lamp` is (2/3, 1/3).
            let found = ranker.score("crimson azure azure", &["red red lamp"])[0];
            assert!((found - (two / 9.0).ln()).abs() < 1e-3, "{found}");
        } else {
            // P(door) = 1/3 · 2/3, P(blue) = 1/2 · 1/3.
            let found = ranker.score("door blue", &["red red lamp"])[0];
            assert!((found - (two / 18.0).ln()).abs() < 1e-3, "{found}");
        }
    }
}
