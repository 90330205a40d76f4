//! Texts: words, letter trigrams, batches.
pub mod batch;
