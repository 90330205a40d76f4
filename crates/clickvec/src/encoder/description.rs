//! What explanations, messages and pages need to know of an encoder, so that they need not know its kind.

use super::State;

/// What is known of an encoder besides its sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Description {
    /// How it reads a text.
    pub reading: Reading,
    /// Its gates. An encoder with gates has cells, one without has units.
    pub gates: &'static [State],
    /// Which states of a word are worth a picture where there is room for a few: what it remembers or sees there, and the
    /// gate that lets the word in.
    pub telling: &'static [State],
}

/// How an encoder reads a text, and so what makes a word a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Word by word, with a state that each word changes: a keyword changes the most active cells.
    WordByWord,
    /// Window by window: a keyword wins the largest of the max-pooling units.
    Windows,
    /// All words at once, whatever their order. There is no state at a word, so there are no keywords.
    Bag,
}
