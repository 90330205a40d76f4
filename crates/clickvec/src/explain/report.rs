//! A text as JSON: each word with what the model makes of it.

use serde::{Serialize, Serializer};

use super::{Keywords, TextView, Word, WordShares};

/// A text word by word, as programs print it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TextReport<'a> {
    /// The words, in order.
    pub words: Vec<WordReport<'a>>,
    /// The number of further words, which the model does not read.
    pub cut: usize,
    /// Whether words can be keywords. Models that read bags of words have none.
    pub has_keywords: bool,
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
        let word = |(place, word)| WordReport {
            word,
            keyword: keywords.is_some_and(|keywords| keywords.is_keyword[place]),
            input_gate: keywords.and_then(|keywords| keywords.input_gate.get(place).copied()),
            along: shares.and_then(|shares| shares.along.get(place).copied()),
            without: shares.and_then(|shares| shares.without.get(place).copied()),
        };
        let words = self.words.iter().enumerate().map(word).collect();
        TextReport { words, cut: self.cut, has_keywords: keywords.is_some() }
    }
}

/// Writes the number of a cell or unit, counted from 1.
pub(super) fn from_one<S: Serializer>(number: &usize, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(*number as u64 + 1)
}

/// Writes numbers of cells, counted from 1.
pub(super) fn from_one_each<S: Serializer>(numbers: &[usize], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(numbers.iter().map(|number| number + 1))
}

/// Writes the numbers of cells of each word, counted from 1.
pub(super) fn from_one_each_word<S: Serializer>(
    words: &[Option<Vec<usize>>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let numbers =
        |cells: &Option<Vec<usize>>| cells.as_ref().map(|cells| cells.iter().map(|cell| cell + 1).collect::<Vec<_>>());
    serializer.collect_seq(words.iter().map(numbers))
}
