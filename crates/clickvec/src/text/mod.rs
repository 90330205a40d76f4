//! From a text to words, from a word to letter trigrams, from texts to a batch.

pub mod batch;
pub mod trigram;
pub mod words;

pub use trigram::{Dictionary, DuplicateTrigram, Trigram, for_each_trigram};
pub use words::{WordBuffer, for_each_word, words};
