//! Explanations as values of JSON.

use clickvec::explain::{Match, TextView, WordShares};
use serde_json::{Value, json};

/// How many units are given.
const UNITS: usize = 10;

/// Why a title has its score for a query.
pub(crate) fn json(found: &Match) -> Value {
    let pairs = found.word_pairs();
    let pair = |pair: &clickvec::explain::WordPair| {
        json!({
            "query": found.query.words[pair.query_word].shown(),
            "title": found.title.words[pair.title_word].shown(),
            "share": pair.share,
        })
    };
    json!({
        "score": found.score,
        "query": found.query.text,
        "title": found.title.text,
        "query_words": words(&found.query, &found.query_words),
        "title_words": words(&found.title, &found.title_words),
        "query_words_cut": found.query.cut,
        "title_words_cut": found.title.cut,
        "pairs": pairs.iter().map(pair).collect::<Vec<_>>(),
        "units": found.shared.iter().take(UNITS).map(|unit| json!({
            "unit": unit.unit + 1,
            "product": unit.product,
            "query": unit.query,
            "title": unit.title,
            "query_word": unit.query_word.map(|word| found.query.words[word].shown()),
            "title_word": unit.title_word.map(|word| found.title.words[word].shown()),
        })).collect::<Vec<_>>(),
    })
}

fn words(text: &TextView, shares: &WordShares) -> Vec<Value> {
    let shares = shares.without.iter().zip(&shares.along);
    let word = |(word, (without, along)): (&clickvec::explain::Word, (&f64, &f64))| json!({"word": word.shown(), "known": word.known, "without": without, "along": along});
    text.words.iter().zip(shares).map(word).collect()
}
