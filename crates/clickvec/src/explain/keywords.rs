//! Keywords as the papers define them: words that change the most active cells (LSTM paper, tables I, II), or words
//! that win the most active max-pooling units (CLSM paper, table 3).

use serde::Serialize;

use super::one_based::{from_one, from_one_each, from_one_each_word};
use super::text::changes;
use super::{Panel, TextView};
use crate::encoder::{Direction, State};

/// The definition of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct KeywordOptions {
    /// The number of most active cells to consider in each direction.
    pub cells: usize,
    /// The number of most active max-pooling units of a CLSM to consider.
    pub units: usize,
    /// A cell is assigned to a word if the word changes its activation by more than this fraction of the cells' mean
    /// activation after the last word. The papers do not give their threshold; one relative to the mean suits any
    /// model.
    pub threshold: f32,
    /// The least number of cells that a keyword changes, in each direction that counts it.
    pub at_least: usize,
}

impl Default for KeywordOptions {
    /// Defaults to ten cells, of which a keyword changes at least four, and to five max-pooling units.
    fn default() -> KeywordOptions {
        KeywordOptions { cells: 10, units: 5, threshold: 0.4, at_least: 4 }
    }
}

/// The keywords of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Keywords {
    /// For each word, whether it is a keyword. A word without a known trigram is none.
    pub is_keyword: Vec<bool>,
    /// For each word, the mean of the input gates of all cells in all directions; empty without input gates.
    pub input_gate: Vec<f64>,
    /// The counts behind the keywords.
    pub evidence: Evidence,
}

/// The evidence by which words were chosen as keywords.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// Cells that each word changed, for each direction in which the encoder reads.
    #[serde(rename = "cells")]
    Changes(Vec<DirectionCounts>),
    /// Words that won the most active max-pooling units.
    Winners(Vec<Winner>),
}

/// The cells assigned to each word by an encoder that reads in one direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DirectionCounts {
    /// The direction.
    pub direction: Direction,
    /// The most active cells of the last state, most active first.
    #[serde(rename = "most_active", serialize_with = "from_one_each")]
    pub cells: Vec<usize>,
    /// For each word, which of these cells it changed; `None` for the word that was read first, which changes them all.
    #[serde(serialize_with = "from_one_each_word")]
    pub assigned: Vec<Option<Vec<usize>>>,
}

/// A max-pooling unit and the word that won it: the word at which the unit is largest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Winner {
    /// The unit.
    #[serde(serialize_with = "from_one")]
    pub unit: usize,
    /// Its value.
    pub value: f32,
    /// The word.
    pub word: usize,
}

impl DirectionCounts {
    /// Returns the number of cells that each word changed.
    pub fn counts(&self) -> impl Iterator<Item = Option<usize>> {
        self.assigned.iter().map(|cells| cells.as_ref().map(Vec::len))
    }
}

/// Returns the indices of the `n` values with the largest `key`, largest first; ties keep their order.
pub fn largest(values: &[f32], n: usize, key: impl Fn(f32) -> f32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| key(values[b]).total_cmp(&key(values[a])).then(a.cmp(&b)));
    order.truncate(n);
    order
}

impl TextView {
    /// Returns the keywords; `None` if the encoder reads a bag of words, because it then has no states word by word.
    pub fn keywords(&self, options: &KeywordOptions) -> Option<Keywords> {
        if self.panels.is_empty() {
            return None;
        }
        let activations = self.activations();
        let words = self.words.len();
        let (is_keyword, evidence) = if activations.is_empty() {
            let winner = |unit: usize| Winner { unit, value: self.maximum[unit], word: self.winners[unit] as usize };
            let winners: Vec<Winner> =
                largest(&self.maximum, options.units, |value| value).into_iter().map(winner).collect();
            let is_winner = |word: usize| self.words[word].known && winners.iter().any(|winner| winner.word == word);
            let is_keyword = (0..words).map(is_winner).collect();
            (is_keyword, Evidence::Winners(winners))
        } else {
            let counts: Vec<DirectionCounts> =
                activations.iter().map(|panel| direction_counts(panel, words, options)).collect();
            let is_keyword = |word: usize| {
                let mut counted = counts.iter().filter_map(|counts| counts.assigned[word].as_ref()).peekable();
                // What a word without known trigrams changes comes from the biases alone.
                self.words[word].known
                    && counted.peek().is_some()
                    && counted.all(|cells| cells.len() >= options.at_least)
            };
            ((0..words).map(is_keyword).collect(), Evidence::Changes(counts))
        };
        Some(Keywords { is_keyword, input_gate: self.mean_input_gate(), evidence })
    }

    /// Returns the mean of the input gates at each word; empty without input gates.
    fn mean_input_gate(&self) -> Vec<f64> {
        let gates: Vec<_> = self.panels.iter().filter(|panel| panel.quantity.state == State::InputGate).collect();
        if gates.is_empty() {
            return Vec::new();
        }
        let mean = |word| {
            let (sum, count) = gates.iter().fold((0.0, 0), |(sum, count), panel| {
                let row = panel.at(word);
                (sum + row.iter().map(|&gate| f64::from(gate)).sum::<f64>(), count + row.len())
            });
            sum / count as f64
        };
        (0..self.words.len()).map(mean).collect()
    }
}

/// Returns which of the most active cells each of the words changed, from the activations of one direction.
pub fn direction_counts(panel: &Panel, words: usize, options: &KeywordOptions) -> DirectionCounts {
    let direction = panel.quantity.direction;
    let (first, last) = match direction {
        Direction::Forward => (0, words.saturating_sub(1)),
        Direction::Backward => (words.saturating_sub(1), 0),
    };
    if words == 0 {
        return DirectionCounts { direction, cells: Vec::new(), assigned: Vec::new() };
    }
    let cells = largest(panel.at(last), options.cells, f32::abs);
    let changes = changes(panel, words);
    let total: f32 = cells.iter().map(|&cell| panel.at(last)[cell].abs()).sum();
    let threshold = options.threshold * (total / cells.len().max(1) as f32);
    let assigned = |word: usize| {
        let changed = |&cell: &usize| changes[word][cell].abs() > threshold;
        (word != first).then(|| cells.iter().copied().filter(changed).collect())
    };
    DirectionCounts { direction, assigned: (0..words).map(assigned).collect(), cells }
}
