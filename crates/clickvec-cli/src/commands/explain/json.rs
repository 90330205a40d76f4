//! The JSON output. Cells and units are counted from 1, as in the text, on pages and by the service; words are places, from 0.

use clickvec::encoder::Direction;
use clickvec::explain::{
    DirectionCounts, Evidence, Keywords, Match, Panel, SharedUnit, TextView, WordPair, WordShares,
};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct JsonWord<'a> {
    word: &'a str,
    known: bool,
    /// The words of a merged tail.
    #[serde(skip_serializing_if = "is_one")]
    parts: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    keyword: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_gate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    along: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    without: Option<f64>,
}

fn is_one(parts: &usize) -> bool {
    *parts == 1
}

#[derive(Serialize)]
pub(super) struct JsonText<'a> {
    text: &'a str,
    words: Vec<JsonWord<'a>>,
    /// Number of further words, which the model does not read.
    cut: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cells: Vec<JsonCounts>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    winners: Vec<JsonWinner>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    states: Vec<JsonPanel<'a>>,
}

/// Which of the most active cells each word changed.
#[derive(Serialize)]
struct JsonCounts {
    direction: &'static str,
    most_active: Vec<usize>,
    assigned: Vec<Option<Vec<usize>>>,
}

#[derive(Serialize)]
struct JsonWinner {
    unit: usize,
    value: f32,
    word: usize,
}

#[derive(Serialize)]
struct JsonPanel<'a> {
    state: String,
    direction: &'static str,
    /// For each word, the values of all units.
    values: Vec<&'a [f32]>,
}

#[derive(Serialize)]
struct JsonUnit {
    unit: usize,
    product: f64,
    query: f32,
    title: f32,
    query_word: Option<usize>,
    title_word: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct JsonMatch<'a> {
    model: &'a str,
    encoder: String,
    score: f32,
    query: JsonText<'a>,
    title: JsonText<'a>,
    /// What each dimension of the vectors adds to the score.
    units: &'a [f64],
    shared: Vec<JsonUnit>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    maximum: Vec<JsonUnit>,
    /// The pairs of words that make the texts match; their shares sum to the score.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pairs: Vec<JsonPairOfWords>,
}

#[derive(Serialize)]
struct JsonPairOfWords {
    query_word: usize,
    title_word: usize,
    share: f64,
}

pub(super) fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "forward",
        Direction::Backward => "backward",
    }
}

/// A text, with its `shares` if it is part of a match, and with its states if they are wanted.
pub(super) fn text<'a>(
    text: &'a TextView,
    keywords: Option<&'a Keywords>,
    shares: Option<&WordShares>,
    states: bool,
) -> JsonText<'a> {
    let word = |(place, word): (usize, &'a clickvec::explain::Word)| JsonWord {
        word: &word.text,
        known: word.known,
        parts: word.parts,
        keyword: keywords.map(|keywords| keywords.is_keyword[place]),
        input_gate: keywords.and_then(|keywords| keywords.input_gate.get(place).copied()),
        along: shares.map(|shares| shares.along[place]),
        without: shares.map(|shares| shares.without[place]),
    };
    let (cells, winners) = match keywords.map(|keywords| &keywords.evidence) {
        Some(Evidence::Changes(counts)) => (counts.iter().map(json_counts).collect(), Vec::new()),
        Some(Evidence::Winners(winners)) => {
            let winner = |winner: &clickvec::explain::Winner| JsonWinner {
                unit: winner.unit + 1,
                value: winner.value,
                word: winner.word,
            };
            (Vec::new(), winners.iter().map(winner).collect())
        }
        None => (Vec::new(), Vec::new()),
    };
    let panel = |panel: &'a Panel| JsonPanel {
        state: panel.quantity.state.to_string(),
        direction: direction(panel.quantity.direction),
        values: (0..text.words.len()).map(|word| panel.at(word)).collect(),
    };
    JsonText {
        text: &text.text,
        words: text.words.iter().enumerate().map(word).collect(),
        cut: text.cut,
        cells,
        winners,
        states: if states { text.panels.iter().map(panel).collect() } else { Vec::new() },
    }
}

fn json_counts(counts: &DirectionCounts) -> JsonCounts {
    let numbers = |cells: &[usize]| cells.iter().map(|cell| cell + 1).collect();
    let assigned = counts.assigned.iter().map(|cells| cells.as_deref().map(numbers)).collect();
    JsonCounts { direction: direction(counts.direction), most_active: numbers(&counts.cells), assigned }
}

/// A match as one model sees it.
pub(super) fn of_match<'a>(
    model: &'a str,
    encoder: String,
    found: &'a Match,
    keywords: [Option<&'a Keywords>; 2],
    states: bool,
    top: usize,
) -> JsonMatch<'a> {
    let units = |units: &[SharedUnit]| {
        let unit = |unit: &SharedUnit| JsonUnit {
            unit: unit.unit + 1,
            product: unit.product,
            query: unit.query,
            title: unit.title,
            query_word: unit.query_word,
            title_word: unit.title_word,
        };
        units.iter().take(top).map(unit).collect()
    };
    let pair = |pair: &WordPair| JsonPairOfWords {
        query_word: pair.query_word,
        title_word: pair.title_word,
        share: pair.share,
    };
    JsonMatch {
        model,
        encoder,
        score: found.score,
        query: text(&found.query, keywords[0], Some(&found.query_words), states),
        title: text(&found.title, keywords[1], Some(&found.title_words), states),
        units: &found.units,
        shared: units(&found.shared),
        maximum: units(&found.maximum),
        pairs: found.word_pairs().iter().map(pair).collect(),
    }
}
