//! Nearest vectors: which rows of a table of vectors point where the query points, and the folder that keeps them.

mod batch;
mod best;
mod codes;
pub(crate) mod file;
mod flat;
mod quantized;

use std::cmp::Ordering;

pub use flat::{FlatIndex, SearchScratch};
pub use quantized::QuantizedIndex;

/// One vector that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Which vector, counted from 0.
    pub position: u32,
    /// Its dot product with the query: the cosine, if the query has unit length.
    pub score: f32,
}

impl Hit {
    /// The order of results: higher scores first, of equal ones the lower position. Total, so that results are the same
    /// on every run.
    pub fn best_first(&self, other: &Hit) -> Ordering {
        other.score.total_cmp(&self.score).then(self.position.cmp(&other.position))
    }
}
