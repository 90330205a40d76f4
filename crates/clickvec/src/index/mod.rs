//! The index: what proposes titles for a query, by exact search among vectors, and the folder that stores it.

mod batch;
pub(crate) mod best;
mod codes;
mod exact;
mod flat;
pub(crate) mod quantized;
pub(crate) mod rows;
pub(crate) mod shared;

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::Result;

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
    /// The order of results: higher scores first, and of equal scores the lower position first. The order is total, so
    /// results are the same in every run.
    pub fn best_first(&self, other: &Hit) -> Ordering {
        other.score.total_cmp(&self.score).then(self.position.cmp(&other.position))
    }
}

/// A query as a source of candidates gets it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Query<'a> {
    /// The text, as it was typed.
    pub text: &'a str,
    /// Its vector, of unit length; `None` if the model knows none of its words.
    pub vector: Option<&'a [f32]>,
}

impl<'a> Query<'a> {
    /// A query and its vector.
    pub fn new(text: &'a str, vector: Option<&'a [f32]>) -> Query<'a> {
        Query { text, vector }
    }
}

/// A source of candidates: it proposes the best titles for a query, by vectors or otherwise. Titles are identified by
/// their positions, counted from 0. Any number of threads may ask at the same time.
pub trait Candidates: Send + Sync {
    /// The number of titles.
    fn len(&self) -> usize;

    /// Whether there are no titles.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it can only answer queries that have a vector.
    fn needs_vector(&self) -> bool {
        true
    }

    /// The best `k` titles in the order of [`Hit::best_first`], or fewer.
    ///
    /// # Errors
    ///
    /// [`clickvec_tables::ErrorKind::Mismatch`] if the query's vector does not fit this index.
    fn search(&self, query: &Query<'_>, k: usize) -> Result<Vec<Hit>>;

    /// The best `k` titles for each of many queries, as [`Candidates::search`] finds them.
    ///
    /// # Errors
    ///
    /// Those of [`Candidates::search`].
    fn search_batch(&self, queries: &[Query<'_>], k: usize) -> Result<Vec<Vec<Hit>>> {
        queries.par_iter().map(|query| self.search(query, k)).collect()
    }
}
