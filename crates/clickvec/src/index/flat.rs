//! Exact search: every vector is looked at. The oracle of the faster index, and fast enough for a million titles.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::Hit;
use crate::Result;
use crate::error::VectorFault;

/// Independent partial sums of a dot product: enough to hide the latency of additions.
const LANES: usize = 16;
/// How far from 1 a length may be that still counts as rounding.
const UNIT_TOLERANCE: f64 = 1e-3;

/// Vectors of unit length (or zero), side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct FlatIndex {
    dimension: usize,
    /// [n, dimension]
    vectors: Vec<f32>,
}

/// The working memory of a search, reused from query to query: after the largest `k` nothing is allocated.
#[derive(Debug, Clone, Default)]
pub struct SearchScratch {
    /// The best so far, the worst of them on top.
    heap: BinaryHeap<WorstFirst>,
    hits: Vec<Hit>,
}

impl FlatIndex {
    /// Brings vectors [n, dimension] to unit length; zero vectors stay zero.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Vectors`] with [`VectorFault::Shape`], [`VectorFault::TooMany`] or [`VectorFault::NotFinite`].
    pub fn new(dimension: usize, mut vectors: Vec<f32>) -> Result<FlatIndex> {
        check_shape(dimension, vectors.len())?;
        for (position, vector) in vectors.chunks_exact_mut(dimension).enumerate() {
            let length = finite_length(vector).ok_or(VectorFault::NotFinite { position })?;
            if length > 0.0 {
                vector.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
            }
        }
        Ok(FlatIndex { dimension, vectors })
    }

    /// Takes vectors [n, dimension] that were normalised before, bit for bit: for a loader, which must not trust them.
    ///
    /// # Errors
    ///
    /// Those of [`FlatIndex::new`], and [`VectorFault::NotUnit`].
    pub fn from_unit(dimension: usize, vectors: Vec<f32>) -> Result<FlatIndex> {
        check_shape(dimension, vectors.len())?;
        for (position, vector) in vectors.chunks_exact(dimension).enumerate() {
            let length = squares_in_lanes(vector).sqrt();
            if !length.is_finite() {
                return Err(VectorFault::NotFinite { position }.into());
            }
            if length != 0.0 && (length - 1.0).abs() > UNIT_TOLERANCE {
                return Err(VectorFault::NotUnit { position }.into());
            }
        }
        Ok(FlatIndex { dimension, vectors })
    }

    /// The `k` vectors with the highest dot product, in the order of [`Hit::best_first`]; all of them if there are
    /// fewer. The same query gives the same bits on every run.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Vectors`] with [`VectorFault::Dimension`] or [`VectorFault::NoFiniteLength`].
    pub fn search<'s>(&self, query: &[f32], k: usize, scratch: &'s mut SearchScratch) -> Result<&'s [Hit]> {
        if query.len() != self.dimension {
            return Err(VectorFault::Dimension { expected: self.dimension, found: query.len() }.into());
        }
        // A length that a float can hold bounds every partial sum (Cauchy–Schwarz), so that no score is NaN.
        let length = finite_length(query).filter(|&length| length < f64::from(f32::MAX) / 2.0);
        length.ok_or(VectorFault::NoFiniteLength)?;
        let k = k.min(self.len());
        let SearchScratch { heap, hits } = scratch;
        heap.clear();
        hits.clear();
        if k == 0 {
            return Ok(hits);
        }
        heap.reserve(k);
        for (position, vector) in self.vectors.chunks_exact(self.dimension).enumerate() {
            let score = dot(query, vector);
            keep(heap, k, Hit { position: position as u32, score });
        }
        hits.extend(heap.drain().map(|hit| hit.0));
        hits.sort_unstable_by(Hit::best_first);
        Ok(hits)
    }

    /// How many vectors there are.
    pub fn len(&self) -> usize {
        self.vectors.len() / self.dimension
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }

    /// How many numbers a vector has.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// One vector.
    pub fn vector(&self, position: u32) -> Option<&[f32]> {
        let start = (position as usize).checked_mul(self.dimension)?;
        self.vectors.get(start..start.checked_add(self.dimension)?)
    }

    /// All vectors, [n, dimension].
    pub fn vectors(&self) -> &[f32] {
        &self.vectors
    }
}

/// A hit whose greatest is the worst, for the top of a heap.
#[derive(Debug, Clone, Copy)]
struct WorstFirst(Hit);

impl Ord for WorstFirst {
    fn cmp(&self, other: &WorstFirst) -> Ordering {
        self.0.best_first(&other.0)
    }
}

impl PartialOrd for WorstFirst {
    fn partial_cmp(&self, other: &WorstFirst) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for WorstFirst {
    fn eq(&self, other: &WorstFirst) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for WorstFirst {}

fn check_shape(dimension: usize, values: usize) -> Result<()> {
    if dimension == 0 || !values.is_multiple_of(dimension) {
        return Err(VectorFault::Shape { dimension, values }.into());
    }
    if u32::try_from(values / dimension).is_err() {
        return Err(VectorFault::TooMany { found: values / dimension }.into());
    }
    Ok(())
}

/// Adds a hit to the best `k`; positions only grow, so that an equal score never displaces an earlier one.
#[inline(always)]
fn keep(heap: &mut BinaryHeap<WorstFirst>, k: usize, hit: Hit) {
    if heap.len() < k {
        heap.push(WorstFirst(hit));
    } else if let Some(worst) = heap.peek()
        && hit.score > worst.0.score
        && let Some(mut worst) = heap.peek_mut()
    {
        worst.0 = hit;
    }
}

/// In f64, where the squares of floats neither overflow nor vanish.
fn finite_length(vector: &[f32]) -> Option<f64> {
    let squares: f64 = vector.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
    squares.is_finite().then(|| squares.sqrt())
}

/// Several sums at a time, where the last bit does not matter but the time does.
fn squares_in_lanes(vector: &[f32]) -> f64 {
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

/// The partial sums are added in a fixed order, which is what makes scores reproducible.
#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; LANES];
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    // `+ 0.0`: an empty sum is -0.0, which would come after 0.0 in the order of scores.
    // A tree of halves instead of this plain sum makes the compiler shuffle inside the loop: three times slower.
    sums.iter().sum::<f32>() + rest + 0.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Error;

    fn fault(result: Result<impl std::fmt::Debug>) -> VectorFault {
        match result.unwrap_err() {
            Error::Vectors(fault) => fault,
            other => panic!("{other}"),
        }
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
        assert_eq!(fault(FlatIndex::new(2, vec![0.0; 3])), VectorFault::Shape { dimension: 2, values: 3 });
        assert_eq!(fault(FlatIndex::from_unit(0, vec![])), VectorFault::Shape { dimension: 0, values: 0 });
    }

    #[test]
    fn more_vectors_than_positions() {
        // Only the check: the vectors themselves would take 16 GiB.
        let found = 1usize << 32;
        assert_eq!(fault(check_shape(2, 2 * found)), VectorFault::TooMany { found });
    }

    #[test]
    fn a_vector_that_is_not_finite() {
        for value in [f32::NAN, f32::INFINITY] {
            let vectors = vec![1.0, 0.0, 0.0, value];
            assert_eq!(fault(FlatIndex::new(2, vectors.clone())), VectorFault::NotFinite { position: 1 });
            assert_eq!(fault(FlatIndex::from_unit(2, vectors)), VectorFault::NotFinite { position: 1 });
        }
    }

    #[test]
    fn a_loaded_vector_that_is_not_of_unit_length() {
        assert_eq!(fault(FlatIndex::from_unit(1, vec![-1.0, 0.0, 2.0])), VectorFault::NotUnit { position: 2 });
        let index = FlatIndex::new(2, vec![3.0, 4.0, 0.0, 0.0, 1e30, -1e30]).unwrap();
        assert_eq!(FlatIndex::from_unit(2, index.vectors().to_vec()).unwrap(), index);
    }

    #[test]
    fn a_query_of_another_dimension() {
        let index = FlatIndex::new(2, vec![1.0, 0.0]).unwrap();
        let found = fault(index.search(&[1.0], 1, &mut SearchScratch::default()));
        assert_eq!(found, VectorFault::Dimension { expected: 2, found: 1 });
    }

    #[test]
    fn a_query_that_is_not_finite() {
        let index = FlatIndex::new(2, vec![1.0, 1.0]).unwrap();
        for value in [f32::NAN, f32::NEG_INFINITY, f32::MAX] {
            let found = fault(index.search(&[value, value], 1, &mut SearchScratch::default()));
            assert_eq!(found, VectorFault::NoFiniteLength);
        }
    }

    #[test]
    fn a_dot_product_of_every_length() {
        for length in 0..70 {
            let a: Vec<f32> = (0..length).map(|i| i as f32).collect();
            let b: Vec<f32> = (0..length).map(|i| (i % 5) as f32 - 2.0).collect();
            // Small integers: exact in whatever order.
            assert_eq!(dot(&a, &b), a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>());
        }
        assert!(dot(&[], &[]).is_sign_positive());
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
                .enumerate().map(|(position, vector)| (position as u32, dot(&query, vector))).collect();
            expected.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
            expected.truncate(k);
            prop_assert_eq!(search(&index, &query, k), expected);
        }
    }
}
