//! From a text to words, from a word to letter trigrams, from texts to a batch.

pub mod batch;
mod interner;
pub mod trigram;
pub mod words;

pub use interner::{Interner, WordId};
pub use trigram::{Dictionary, DuplicateTrigram, Feature, Trigram, for_each_trigram};
pub use words::{WordBuffer, for_each_word, words};
