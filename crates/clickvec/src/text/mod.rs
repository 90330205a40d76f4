//! From a text to words, and from a word to letter trigrams.

pub mod trigram;
pub mod words;

pub use trigram::{Dictionary, DuplicateTrigram, Trigram, for_each_trigram};
pub use words::{WordBuffer, for_each_word, words};
