//! Sentence vectors learned from a search engine's click log.

pub mod error;
pub mod eval;
pub mod ranker;
pub mod text;

pub use error::{Error, Result};
