//! From a text to words, from a word to letter trigrams, and from texts to a batch.

pub(crate) mod batch;
mod interner;
pub(crate) mod trigram;
pub mod words;

pub use interner::{Interner, WordId};
pub(crate) use trigram::DuplicateTrigram;
pub use trigram::{Dictionary, Feature, Trigram, for_each_trigram};
pub use words::{WordBuffer, for_each_word, words};
