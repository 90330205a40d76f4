//! Sentence vectors learned from a search engine's click log.

pub mod error;

pub use error::{Error, Result};
