//! Helpers for the tests of rankers, those of this crate and those of the lab.

use super::SYSTEMS;
use clickvec::Error;
use clickvec_eval::internals::{WordLists, load_ranker};
use clickvec_eval::ranker::{Corpus, RankerSpec, Resources, System, SystemRanker};

/// A corpus of these titles and clicked pairs.
pub(crate) fn corpus(titles: &[&str], clicks: &[(&str, &str)]) -> Corpus {
    let mut corpus = Corpus::default();
    titles.iter().for_each(|title| corpus.add_title(title).unwrap());
    clicks.iter().for_each(|(query, title)| corpus.add_click(query, title, 1.0).unwrap());
    corpus
}

/// The ranker of `spec`, trained on `corpus` alone.
pub(crate) fn train(spec: &str, corpus: &Corpus) -> Box<dyn SystemRanker> {
    try_train(spec, corpus).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn try_train(spec: &str, corpus: &Corpus) -> Result<Box<dyn SystemRanker>, Error> {
    train_watched(spec, corpus).map(|(ranker, _)| ranker)
}

/// The ranker, and the objectives that its training reported.
pub(crate) fn train_watched(spec: &str, corpus: &Corpus) -> Result<(Box<dyn SystemRanker>, Vec<f64>), Error> {
    let spec: RankerSpec = spec.parse().unwrap();
    let system = System::named(&spec.name, &SYSTEMS)?;
    let mut objectives = Vec::new();
    let resources = Resources::from(corpus);
    let ranker =
        system.train(&system.values(&spec)?, &resources, &mut |progress| objectives.extend(progress.objective))?;
    Ok((ranker, objectives))
}

pub(crate) fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12 * expected.abs().max(1.0), "expected {expected}, found {found}");
    }
}

/// Checks that a ranker scores the same, bit for bit, after saving and loading, and when trained again.
pub(crate) fn is_kept_by_a_file(spec: &str, corpus: &Corpus) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ranker.safetensors");
    let parsed: RankerSpec = spec.parse().unwrap();
    let system = System::named(&parsed.name, &SYSTEMS).unwrap();
    let values = system.values(&parsed).unwrap();
    let ranker = train(spec, corpus);
    system.save(&path, &values, ranker.as_ref()).unwrap();
    let (found, found_values, loaded) = load_ranker(&path, &SYSTEMS).unwrap();
    assert_eq!((found.name, &found_values), (system.name, &values));
    let texts = |lists: &WordLists| -> Vec<String> {
        let text = |words: &[u32]| words.iter().map(|&word| corpus.vocabulary.word(word)).collect::<Vec<_>>().join(" ");
        lists.iter().map(text).collect()
    };
    let mut titles = texts(&corpus.titles);
    titles.extend(["".to_owned(), "unheard of".to_owned()]);
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let retrained = train(spec, corpus);
    for query in
        texts(&corpus.titles).iter().chain(&texts(&corpus.clicks.queries)).map(String::as_str).chain(["", "unheard"])
    {
        let scores = ranker.score(query, &titles);
        assert!(scores.iter().all(|score| score.is_finite()), "{query}: {scores:?}");
        assert_eq!(scores, loaded.score(query, &titles), "{query}");
        assert_eq!(scores, retrained.score(query, &titles), "{query}: trained again");
    }
}
