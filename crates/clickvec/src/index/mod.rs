//! What proposes titles for a query: exact search among vectors; and the folder that keeps an index.

mod batch;
mod best;
mod codes;
mod exact;
pub(crate) mod file;
mod flat;
mod quantized;

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::Result;

pub(crate) use exact::ExactIndex;
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

/// A query, for whatever finds candidates for it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Query<'a> {
    /// As it was typed.
    pub text: &'a str,
    /// Its vector of unit length; `None` if the model knows none of its words.
    pub vector: Option<&'a [f32]>,
}

impl<'a> Query<'a> {
    /// A query and its vector.
    pub fn new(text: &'a str, vector: Option<&'a [f32]>) -> Query<'a> {
        Query { text, vector }
    }
}

/// Something that proposes the best titles for a query, by vectors or otherwise. Titles are known by their positions,
/// counted from 0. Any number of threads may ask at the same time.
pub trait Candidates: Send + Sync {
    /// The number of titles.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether only queries with a vector can be answered.
    fn needs_vector(&self) -> bool {
        true
    }

    /// The best `k` in the order of [`Hit::best_first`], or fewer.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Vectors`] if the query's vector is not one of this index.
    fn search(&self, query: &Query<'_>, k: usize) -> Result<Vec<Hit>>;

    /// The best `k` for each of many queries: what [`Candidates::search`] finds for each.
    ///
    /// # Errors
    ///
    /// Those of [`Candidates::search`].
    fn search_batch(&self, queries: &[Query<'_>], k: usize) -> Result<Vec<Vec<Hit>>> {
        queries.par_iter().map(|query| self.search(query, k)).collect()
    }
}
