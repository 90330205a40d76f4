//! Sentence vectors learned from a search engine's click log.

pub mod error;
pub mod math;

pub use error::{Error, Result};
