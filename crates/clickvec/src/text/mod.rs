//! From a text to words, from a word to letter trigrams or terms, and from texts to a batch.

pub(crate) mod analysis;
pub(crate) mod batch;
mod interner;
mod limit;
pub(crate) mod trigram;
pub mod words;

pub use analysis::{Analysis, for_each_term, terms};
pub use interner::{Interner, WordId};
pub(crate) use limit::JOINT;
pub use limit::{ReadWords, Tail, WordLimit, Words};
pub(crate) use trigram::trigrams_in;
pub use trigram::{Dictionary, Feature, Trigram, WordHash, for_each_trigram};
pub use words::{Accents, TextConfig, Tokens, WordBuffer, for_each_word, is_invisible, words};
