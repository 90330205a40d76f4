//! Sentence vectors learned from a search engine's click log.

pub mod clicks;
pub mod error;
pub mod files;
pub mod index;
pub mod vectors;

pub use error::{Error, Result};
