//! Exact search among vectors.

mod batch;
pub(crate) mod best;
mod codes;
mod exact;
mod flat;
pub(crate) mod quantized;
pub(crate) mod rows;
pub(crate) mod shared;

use std::cmp::Ordering;

pub use codes::Codes;
pub use exact::ExactIndex;
pub use flat::{FlatIndex, SearchScratch};
pub use quantized::QuantizedIndex;
pub(crate) use shared::Shared;

/// A vector that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The position of the vector, counted from 0.
    pub position: u32,
    /// Its dot product with the query, which is the cosine if the query has unit length.
    pub score: f32,
}

impl Hit {
    /// Compares hits: higher scores first, and of equal scores the lower position first. The order is total, so results are the
    /// same in every run.
    pub fn best_first(&self, other: &Hit) -> Ordering {
        other.score.total_cmp(&self.score).then(self.position.cmp(&other.position))
    }
}
