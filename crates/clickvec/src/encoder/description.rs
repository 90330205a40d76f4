//! The description of an encoder for explanations, messages and pages, which need not know its kind.

use super::State;

/// The properties of an encoder besides its sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Description {
    /// The way it reads a text.
    pub reading: Reading,
    /// Its gates. An encoder with gates has cells, one without has units.
    pub gates: &'static [State],
    /// The states of a word to draw where there is room for a few: what the encoder remembers or sees at the word, and the gate
    /// that lets the word in.
    pub telling: &'static [State],
}

/// The way an encoder reads a text, which determines what makes a word a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Word by word, with a state that each word changes: a keyword changes the most active cells.
    WordByWord,
    /// Window by window: a keyword wins the largest of the max-pooling units.
    Windows,
    /// All words at once, whatever their order. There is no state at a word, so there are no keywords.
    Bag,
}
