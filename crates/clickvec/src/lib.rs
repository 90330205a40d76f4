//! Sentence vectors learned from a search engine's click log.

pub mod error;
pub mod encoder;
pub mod math;
pub mod rng;
pub mod text;

pub use error::{Error, Result};
