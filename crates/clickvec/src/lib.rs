//! Sentence vectors learned from a search engine's click log.

pub mod click_model;
pub mod clicks;
pub mod encoder;
pub mod error;
pub mod eval;
pub mod explain;
pub mod files;
pub mod index;
pub mod loss;
pub mod math;
mod memory;
pub mod model;
mod npy;
pub mod optimizer;
mod pool;
mod ragged;
pub mod ranker;
pub mod rng;
pub mod search;
pub mod settings;
pub mod simulate;
pub mod table;
pub mod tables;
mod tensor_file;
pub mod text;
pub mod train;
pub mod vectors;
pub mod views;

pub use error::{Error, Result};
