//! Exact search that builds codes by itself once they are worth it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Codes, FlatIndex, Hit, QuantizedIndex, SearchScratch};
use crate::Result;
use crate::pool::Pool;

/// The number of searches after which codes save more time than they take to build.
const WORTH_CODES: usize = 20;

/// A [`FlatIndex`] that becomes a [`QuantizedIndex`] after some twenty searches. The hits are always the same, bit for
/// bit.
#[derive(Debug)]
pub struct ExactIndex {
    // The vectors, which the codes share.
    flat: FlatIndex,
    codes: OnceLock<QuantizedIndex>,
    searches: AtomicUsize,
    scratch: Pool<SearchScratch>,
}

impl ExactIndex {
    /// Creates an index of these vectors.
    pub fn new(flat: FlatIndex) -> ExactIndex {
        ExactIndex { flat, codes: OnceLock::new(), searches: AtomicUsize::new(0), scratch: Pool::default() }
    }

    /// Builds the codes now. That takes as long as some twenty searches, and every later search is several times as
    /// fast. Without memory for codes, searches go on without them: they find the same.
    pub(crate) fn quantize(&self) {
        if self.codes.get().is_some() || Codes::room(self.flat.dimension(), self.flat.len()).is_ok() {
            self.codes.get_or_init(|| QuantizedIndex::new(self.flat.clone()));
        }
    }

    /// Counts searches. The search that reaches the limit builds the codes; others that run at the same time go on
    /// without them.
    fn count(&self, searches: usize) {
        let before = self.searches.fetch_add(searches, Ordering::Relaxed);
        if before < WORTH_CODES && before + searches >= WORTH_CODES {
            self.quantize();
        }
    }

    /// Returns the number of vectors.
    pub fn len(&self) -> usize {
        self.flat.len()
    }

    /// Returns whether there are no vectors.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the best `k` vectors for a query, as [`FlatIndex::search`] finds them.
    ///
    /// # Errors
    ///
    /// Those of [`FlatIndex::search`].
    pub fn search(&self, query: &[f32], k: usize) -> Result<Vec<Hit>> {
        self.count(1);
        self.scratch.with(SearchScratch::default, |scratch| {
            Ok(match self.codes.get() {
                Some(codes) => codes.search(query, k, scratch)?.to_vec(),
                None => self.flat.search(query, k, scratch)?.to_vec(),
            })
        })
    }

    /// Returns the best `k` vectors for each of many queries, [queries, dimension], as [`ExactIndex::search`] finds them.
    ///
    /// # Errors
    ///
    /// Those of [`ExactIndex::search`].
    pub fn search_batch(&self, queries: &[f32], k: usize) -> Result<Vec<Vec<Hit>>> {
        self.count(queries.len() / self.flat.dimension());
        match self.codes.get() {
            Some(codes) => codes.search_batch(queries, k),
            None => self.flat.search_batch(queries, k),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> ExactIndex {
        let numbers: Vec<f32> = (0..3000).map(|i| (i as f32 * 0.37).sin()).collect();
        ExactIndex::new(FlatIndex::new(6, numbers).unwrap())
    }

    #[test]
    fn codes_are_made_once_and_change_no_hit() {
        let index = index();
        let vectors: Vec<[f32; 6]> = (0..50).map(|i| [1.0, i as f32, 0.5, -1.0, 0.25, 2.0]).collect();
        let first: Vec<Vec<Hit>> = vectors[..19].iter().map(|query| index.search(query, 5).unwrap()).collect();
        assert!(index.codes.get().is_none());
        let second = index.search(&vectors[19], 5).unwrap();
        assert!(index.codes.get().is_some());
        let batch = index.search_batch(vectors.as_flattened(), 5).unwrap();
        assert_eq!((&batch[..19], &batch[19]), (&first[..], &second));
        assert_eq!(batch[0].len(), 5);
        // Each query of a batch counts as a search.
        let other = self::index();
        assert_eq!(other.search_batch(vectors.as_flattened(), 5).unwrap(), batch);
        assert!(other.codes.get().is_some());
    }

    #[test]
    fn threads_ask_at_the_same_time() {
        let index = index();
        let vector = [1.0, 2.0, 0.5, -1.0, 0.25, 2.0];
        let expected = index.search(&vector, 7).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        assert_eq!(index.search(&vector, 7).unwrap(), expected);
                    }
                });
            }
        });
        assert!(index.codes.get().is_some());
    }

    #[test]
    fn a_query_of_another_dimension_is_refused() {
        let error = index().search(&[1.0], 1).unwrap_err().to_string();
        assert!(error.contains('6'), "{error}");
        assert!(index().search_batch(&[1.0], 1).is_err());
    }
}
