//! Explanations as JSON: each word of a text with the model's view of it, and a match.

use serde::Serialize;

use super::{Evidence, Keywords, Match, Panel, SharedUnit, TextView, Word, WordPair, WordShares};

/// A text word by word, as programs print it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TextReport<'a> {
    /// The text as it came.
    pub text: &'a str,
    /// The words, in order.
    pub words: Vec<WordReport<'a>>,
    /// The number of further words, which the model does not read.
    pub cut: usize,
    /// Whether words can be keywords. Models that read bags of words have none.
    pub has_keywords: bool,
    /// The cells that each word changed, or the words that won units, if they were requested.
    #[serde(flatten)]
    pub evidence: Option<&'a Evidence>,
    /// The states at every word, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub states: Option<&'a [Panel]>,
}

/// A match, as programs print it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MatchReport<'a> {
    /// The cosine of the vectors.
    pub score: f32,
    /// The query.
    pub query: TextReport<'a>,
    /// The title.
    pub title: TextReport<'a>,
    /// See [`Match::units`].
    pub units: &'a [f64],
    /// The units that add most.
    pub shared: &'a [SharedUnit],
    /// The max-pooling units with the largest products; empty unless the encoder has any.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub maximum: &'a [SharedUnit],
    /// See [`Match::word_pairs`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<WordPair>,
}

/// A word with its part in the text's vector.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WordReport<'a> {
    /// The word.
    #[serde(flatten)]
    pub word: &'a Word,
    /// Whether it is a keyword.
    pub keyword: bool,
    /// See [`Keywords::input_gate`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_gate: Option<f64>,
    /// See [`WordShares::along`]; `None` without another text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub along: Option<f64>,
    /// See [`WordShares::without`]; `None` without another text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without: Option<f64>,
}

impl TextView {
    /// Returns the words with their keywords and, in a match, their shares.
    pub fn report(&self, keywords: Option<&Keywords>, shares: Option<&WordShares>) -> TextReport<'_> {
        let word = |(position, word)| WordReport {
            word,
            keyword: keywords.is_some_and(|keywords| keywords.is_keyword[position]),
            input_gate: keywords.and_then(|keywords| keywords.input_gate.get(position).copied()),
            along: shares.and_then(|shares| shares.along.get(position).copied()),
            without: shares.and_then(|shares| shares.without.get(position).copied()),
        };
        let words = self.words.iter().enumerate().map(word).collect();
        let has_keywords = keywords.is_some();
        TextReport { text: &self.text, words, cut: self.cut, has_keywords, evidence: None, states: None }
    }
}

impl<'a> TextReport<'a> {
    /// Adds the evidence by which the keywords were chosen.
    pub fn with_evidence(self, keywords: Option<&'a Keywords>) -> TextReport<'a> {
        TextReport { evidence: keywords.map(|keywords| &keywords.evidence), ..self }
    }
}

impl Match {
    /// Returns the match with the keywords of the query and the title and the `top` units.
    pub fn report<'a>(&'a self, [query, title]: [Option<&'a Keywords>; 2], top: usize) -> MatchReport<'a> {
        let most = |units: &'a [SharedUnit]| &units[..top.min(units.len())];
        MatchReport {
            score: self.score,
            query: self.query.report(query, Some(&self.query_words)).with_evidence(query),
            title: self.title.report(title, Some(&self.title_words)).with_evidence(title),
            units: &self.units,
            shared: most(&self.shared),
            maximum: most(&self.maximum),
            pairs: self.word_pairs(),
        }
    }
}
