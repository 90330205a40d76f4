//! Exact search that scores every vector. The faster indexes are tested against it.

use std::ops::Range;

use super::batch;
use super::best::Best;
use super::{Hit, Shared};
use crate::Result;
use crate::math::Buffer;
use crate::math::gemm::{Left, gemm_into};
use crate::math::matrix::transpose;
use crate::math::score::{any_above, score, scores};
use crate::math::vector::not_finite;
use crate::vectors::{bad_number, other_dimension};
use clickvec_tables::{Error, ErrorKind};
use std::borrow::Cow;

/// The largest difference of a length from 1 that counts as rounding.
const UNIT_TOLERANCE: f64 = 1e-3;
/// The number of vectors that are scored at once: with 96 numbers each, a quarter of a second-level cache of 512 KiB.
const TILE: usize = 256;
/// The number of queries that are multiplied at once, so that the products of a tile stay in the second-level cache.
const QUERIES: usize = 64;
/// With fewer queries than this, matrix products are slower than one query after another.
const FEW_QUERIES: usize = 4;

/// Vectors of unit length (or zero), one after the other. A clone shares them.
#[derive(Debug, Clone, PartialEq)]
pub struct FlatIndex {
    dimension: usize,
    /// [n, dimension]; shared with indexes made from this one.
    vectors: Shared<f32>,
}

/// The working memory of a search, reused from query to query. Once it fits the largest `k`, nothing more is
/// allocated.
#[derive(Debug, Clone, Default)]
pub struct SearchScratch {
    pub(super) best: Best,
    pub(super) hits: Vec<Hit>,
    /// The query as whole numbers, for [`super::QuantizedIndex`].
    pub(super) codes: Vec<i8>,
}

impl FlatIndex {
    /// Creates an index of vectors [n, dimension], scaled to unit length. Zero vectors stay zero.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`] if they are no whole vectors, or too many; [`ErrorKind::NotFinite`].
    pub fn new(dimension: usize, mut vectors: Vec<f32>) -> Result<FlatIndex> {
        check_shape(dimension, vectors.len())?;
        for (position, vector) in vectors.chunks_exact_mut(dimension).enumerate() {
            let length = length(vector);
            if !length.is_finite() {
                return Err(not_finite_at(position, vector, length));
            }
            if length > 0.0 {
                vector.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
            }
        }
        Ok(FlatIndex { dimension, vectors: vectors.into() })
    }

    /// Creates an index of unit vectors [n, dimension] without reading them; the caller has checked them, or will.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`] if they are no whole vectors, or too many.
    pub fn from_unit_unchecked(dimension: usize, vectors: Shared<f32>) -> Result<FlatIndex> {
        check_shape(dimension, vectors.len())?;
        Ok(FlatIndex { dimension, vectors })
    }

    /// Creates an index of normalised vectors [n, dimension], whose bits it does not change. Checks their lengths, since a file
    /// may hold anything.
    ///
    /// # Errors
    ///
    /// Those of [`FlatIndex::new`], and [`ErrorKind::Malformed`] for another length.
    pub fn from_unit(dimension: usize, vectors: Vec<f32>) -> Result<FlatIndex> {
        check_shape(dimension, vectors.len())?;
        for (position, vector) in vectors.chunks_exact(dimension).enumerate() {
            let length = squares_in_lanes(vector).sqrt();
            if !length.is_finite() {
                return Err(not_finite_at(position, vector, length));
            }
            if length != 0.0 && (length - 1.0).abs() > UNIT_TOLERANCE {
                let found = format!("length {length} in vector {position} (counted from 0)");
                return Err(malformed("vectors of length 1 or 0", found));
            }
        }
        Ok(FlatIndex { dimension, vectors: vectors.into() })
    }

    /// Returns the `k` vectors with the highest dot product, in the order of [`Hit::best_first`], or all if there are fewer. The
    /// same query gives the same bits in every run, at every instruction level, and together with any other queries.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mismatch`] for another dimension; [`ErrorKind::NotFinite`] if the vector, or a score, is too large for a float.
    pub fn search<'s>(&self, query: &[f32], k: usize, scratch: &'s mut SearchScratch) -> Result<&'s [Hit]> {
        query_length(self.dimension, query)?;
        let SearchScratch { best, hits, .. } = scratch;
        best.restart(k.min(self.len()));
        let mut tile_scores = [0.0; TILE];
        for (tile, vectors) in self.vectors.chunks(TILE * self.dimension).enumerate() {
            let tile_scores = &mut tile_scores[..vectors.len() / self.dimension];
            scores(query, vectors, tile_scores);
            for (row, &score) in tile_scores.iter().enumerate() {
                if score > best.threshold() {
                    best.keep(Hit { position: (tile * TILE + row) as u32, score });
                }
            }
        }
        hits.clear();
        best.drain_into(hits);
        Ok(hits)
    }

    /// Runs [`FlatIndex::search`] for many queries [m, dimension] at once, on all threads of the pool: the same hits with the
    /// same bits, in less time for each.
    ///
    /// # Errors
    ///
    /// Those of [`FlatIndex::search`], and [`ErrorKind::Malformed`] if they are no whole vectors.
    pub fn search_batch(&self, queries: &[f32], k: usize) -> Result<Vec<Vec<Hit>>> {
        let lengths = query_lengths(self.dimension, queries)?;
        let k = k.min(self.len());
        if lengths.len() < FEW_QUERIES {
            let mut scratch = SearchScratch::default();
            let one = |query| Ok(self.search(query, k, &mut scratch)?.to_vec());
            return queries.chunks_exact(self.dimension).map(one).collect();
        }
        let queries = queries.chunks(QUERIES * self.dimension).zip(lengths.chunks(QUERIES));
        Ok(queries
            .flat_map(|(queries, lengths)| {
                batch::in_parts(self.len(), TILE, k, |part| self.multiply(queries, lengths, k, part))
            })
            .collect())
    }

    /// Returns the best of the vectors in `part` for each query. Matrix products only propose vectors, because they sum in
    /// another order. A vector whose exact score could be among the best is scored again as everywhere else.
    fn multiply(&self, queries: &[f32], lengths: &[f64], k: usize, part: Range<usize>) -> Vec<Vec<Hit>> {
        let (d, m) = (self.dimension, lengths.len());
        let slacks: Vec<f64> = lengths.iter().map(|&length| 2.0 * rounding(d, length)).collect();
        let mut bests = vec![Best::default(); m];
        bests.iter_mut().for_each(|best| best.restart(k));
        let mut thresholds: Vec<f32> = bests.iter().map(Best::threshold).collect();
        // [d, m]
        let mut columns = Buffer::default();
        transpose(queries, d, &mut columns);
        // [TILE, m]
        let mut products = vec![0.0; TILE * m];
        for first in part.clone().step_by(TILE) {
            let rows = TILE.min(part.end - first);
            let vectors = &self.vectors[first * d..][..rows * d];
            gemm_into((rows, m, d), Left::rows(vectors, d), (&columns, m), (&mut products, m));
            for (row, products) in products.chunks_exact(m).take(rows).enumerate() {
                if !any_above(products, &thresholds) {
                    continue;
                }
                for q in 0..m {
                    if products[q] <= thresholds[q] {
                        continue;
                    }
                    let score = score(&queries[q * d..][..d], &vectors[row * d..][..d]);
                    bests[q].keep(Hit { position: (first + row) as u32, score });
                    thresholds[q] = ((f64::from(bests[q].threshold()) - slacks[q]) as f32).next_down();
                }
            }
        }
        bests.iter_mut().map(Best::take).collect()
    }

    /// Returns the number of vectors.
    pub fn len(&self) -> usize {
        self.vectors.len() / self.dimension
    }

    /// Returns whether there are no vectors.
    pub fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }

    /// Returns the number of numbers in a vector.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns the vector at a position.
    pub fn vector(&self, position: u32) -> Option<&[f32]> {
        let start = (position as usize).checked_mul(self.dimension)?;
        self.vectors.get(start..start.checked_add(self.dimension)?)
    }

    /// Returns all vectors, [n, dimension].
    pub fn vectors(&self) -> &[f32] {
        &self.vectors
    }
}

/// Returns the length of a valid query of vectors with this many numbers.
pub(super) fn query_length(dimension: usize, query: &[f32]) -> Result<f64> {
    if query.len() != dimension {
        return Err(other_dimension(dimension, query.len()).within(PLACE));
    }
    // If a float can hold the length, it bounds every partial sum (Cauchy–Schwarz), so no score is NaN.
    let length = length(query);
    if length < f64::from(f32::MAX) / 2.0 {
        return Ok(length);
    }
    Err(match not_finite(query) {
        Some(found) => bad_number(&found),
        None => {
            let expected = format!("a vector of a length below {:e}", f32::MAX / 2.0);
            let error = Error::expected(ErrorKind::NotFinite, expected, format!("{length:e}"));
            error.help("divide its numbers by one number")
        }
    }
    .within(PLACE))
}

/// Returns the lengths of valid queries [m, dimension].
pub(super) fn query_lengths(dimension: usize, queries: &[f32]) -> Result<Vec<f64>> {
    if !queries.len().is_multiple_of(dimension) {
        return Err(bad_shape(dimension, queries.len()));
    }
    queries.chunks_exact(dimension).map(|query| query_length(dimension, query)).collect()
}

/// The place of errors of vectors in memory.
const PLACE: &str = "vectors";

fn malformed(expected: impl Into<Cow<'static, str>>, found: String) -> Error {
    Error::expected(ErrorKind::Malformed, expected, found).within(PLACE)
}

/// Returns the error of numbers that make no whole vectors.
pub(super) fn bad_shape(dimension: usize, values: usize) -> Error {
    malformed(format!("a multiple of the dimension {dimension} (1 or more)"), format!("{values} numbers"))
}

/// Returns the error of more vectors than 32-bit positions.
pub(super) fn too_many(found: usize) -> Error {
    malformed("fewer than 2^32 vectors", found.to_string()).help("split the collection")
}

fn not_finite_at(position: usize, vector: &[f32], length: f64) -> Error {
    let found = not_finite(vector).unwrap_or_else(|| length.to_string());
    let found = format!("{found} in vector {position} (counted from 0)");
    Error::expected(ErrorKind::NotFinite, "finite numbers", found).within(PLACE)
}

pub(super) fn check_shape(dimension: usize, values: usize) -> Result<()> {
    if dimension == 0 || !values.is_multiple_of(dimension) {
        return Err(bad_shape(dimension, values));
    }
    if u32::try_from(values / dimension).is_err() {
        return Err(too_many(values / dimension));
    }
    Ok(())
}

/// Returns how far a score can be from the dot product of a query with a vector of about unit length: twice the error of n
/// roundings to 2⁻²⁴ in any order, and what underflows.
pub(super) fn rounding(dimension: usize, query_length: f64) -> f64 {
    let roundings = dimension as f64 + 16.0;
    roundings * (query_length * f64::from(f32::EPSILON) + f64::from(f32::from_bits(1)))
}

/// Returns the length of a vector. In f64 the squares of floats neither overflow nor vanish.
fn length(vector: &[f32]) -> f64 {
    let squares: f64 = vector.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
    squares.sqrt()
}

/// Sums squares several at a time, for uses where time matters and the last bit does not.
fn squares_in_lanes(vector: &[f32]) -> f64 {
    const LANES: usize = 16;
    let square = |&value: &f32| f64::from(value) * f64::from(value);
    let (blocks, rest) = vector.as_chunks::<LANES>();
    let mut sums = [0.0f64; LANES];
    for block in blocks {
        for lane in 0..LANES {
            sums[lane] += square(&block[lane]);
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(square).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(result: Result<impl std::fmt::Debug>) -> String {
        result.unwrap_err().to_string()
    }

    fn search(index: &FlatIndex, query: &[f32], k: usize) -> Vec<(u32, f32)> {
        let mut scratch = SearchScratch::default();
        index.search(query, k, &mut scratch).unwrap().iter().map(|hit| (hit.position, hit.score)).collect()
    }

    #[test]
    fn equal_scores_come_by_position_and_zero_vectors_stay() {
        let index = FlatIndex::new(2, vec![0.0, 0.0, 3.0, 0.0, 0.0, 2.0, 1e-40, 0.0, -5.0, 0.0]).unwrap();
        assert_eq!((index.len(), index.dimension(), index.is_empty()), (5, 2, false));
        assert_eq!(search(&index, &[1.0, 0.0], 9), [(1, 1.0), (3, 1.0), (0, 0.0), (2, 0.0), (4, -1.0)]);
        assert_eq!(search(&index, &[1.0, 0.0], 1), [(1, 1.0)]);
        assert_eq!(search(&index, &[0.0, 0.0], 2), [(0, 0.0), (1, 0.0)]);
        assert_eq!(search(&index, &[1.0, 0.0], 0), []);
        assert_eq!((index.vector(2), index.vector(5)), (Some(&[0.0, 1.0][..]), None));
    }

    #[test]
    fn no_vectors_no_hits() {
        let index = FlatIndex::new(3, Vec::new()).unwrap();
        assert!(index.is_empty());
        assert_eq!(search(&index, &[1.0, 2.0, 3.0], usize::MAX), []);
    }

    #[test]
    fn a_shape_that_does_not_fit() {
        let expected = "vectors: expected a multiple of the dimension 2 (1 or more), found 3 numbers";
        assert_eq!(message(FlatIndex::new(2, vec![0.0; 3])), expected);
        assert!(FlatIndex::from_unit(0, vec![]).is_err());
    }

    #[test]
    fn more_vectors_than_positions() {
        // Tests only the check: the vectors themselves would take 16 GiB.
        let found = 1usize << 32;
        assert!(message(check_shape(2, 2 * found)).contains("expected fewer than 2^32 vectors, found 4294967296;"));
    }

    #[test]
    fn a_vector_that_is_not_finite() {
        for value in [f32::NAN, f32::INFINITY] {
            let vectors = vec![1.0, 0.0, 0.0, value];
            let expected = format!("vectors: expected finite numbers, found {value} in vector 1 (counted from 0)");
            assert_eq!(message(FlatIndex::new(2, vectors.clone())), expected);
            assert_eq!(message(FlatIndex::from_unit(2, vectors)), expected);
        }
    }

    #[test]
    fn a_loaded_vector_that_is_not_of_unit_length() {
        let error = message(FlatIndex::from_unit(1, vec![-1.0, 0.0, 2.0]));
        assert!(error.ends_with("found length 2 in vector 2 (counted from 0)"), "{error}");
        let index = FlatIndex::new(2, vec![3.0, 4.0, 0.0, 0.0, 1e30, -1e30]).unwrap();
        assert_eq!(FlatIndex::from_unit(2, index.vectors().to_vec()).unwrap(), index);
    }

    #[test]
    fn a_query_of_another_dimension() {
        let index = FlatIndex::new(2, vec![1.0, 0.0]).unwrap();
        let found = message(index.search(&[1.0], 1, &mut SearchScratch::default()));
        assert!(found.starts_with("vectors: expected a vector of 2 numbers, found 1;"), "{found}");
    }

    #[test]
    fn a_query_that_is_not_finite() {
        let index = FlatIndex::new(2, vec![1.0, 1.0]).unwrap();
        let of = |value: f32| message(index.search(&[1.0, value], 1, &mut SearchScratch::default()));
        for value in [f32::NAN, f32::NEG_INFINITY] {
            assert_eq!(of(value), format!("vectors: expected a vector of finite numbers, found {value} in it"));
        }
        let message = of(f32::MAX);
        assert!(
            message.starts_with("vectors: expected a vector of a length below 1.7014117e38, found 3.40282346"),
            "{message}"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_same_as_sorting_all(
            dimension in 1usize..40,
            // Few distinct values, so that ties are common.
            values in prop::collection::vec(-2i8..=2, 0..1200),
            k in 0usize..40,
        ) {
            let (query, rest) = values.split_at(dimension.min(values.len()));
            prop_assume!(query.len() == dimension);
            let float = |values: &[i8]| values.iter().map(|&value| f32::from(value)).collect::<Vec<f32>>();
            let (query, rest) = (float(query), float(&rest[..rest.len() / dimension * dimension]));
            let index = FlatIndex::new(dimension, rest).unwrap();
            let mut expected: Vec<(u32, f32)> = index.vectors().chunks_exact(dimension)
                .enumerate().map(|(position, vector)| (position as u32, score(&query, vector))).collect();
            expected.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
            expected.truncate(k);
            prop_assert_eq!(search(&index, &query, k), expected);
        }
    }
}
