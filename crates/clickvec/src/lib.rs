//! Sentence vectors learned from a search engine's click log.

pub mod click_model;
pub mod clicks;
pub mod collection;
pub mod encoder;
pub mod error;
pub mod eval;
pub mod explain;
pub mod files;
pub mod index;
pub mod loss;
pub mod math;
pub mod model;
pub mod optimizer;
pub mod ranker;
pub mod rng;
pub mod settings;
pub mod simulate;
pub mod table;
pub mod tables;
mod tensor_file;
pub mod text;
pub mod train;
pub mod vectors;

pub use error::{Error, Result};
