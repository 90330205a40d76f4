//! Exact search that reads a seventh of most vectors: codes rule out those that cannot be among the best.

use std::mem;
use std::ops::Range;

use super::batch;
use super::best::Best;
use super::codes::{Codes, MIDDLE, ZERO};
use super::flat::{query_length, query_lengths, rounding};
use super::rows::Rows;
use super::{FlatIndex, Hit, SearchScratch, Shared};
use crate::Result;
use crate::math::nibbles::{self, GROUP, MAX_DIMENSION, MAX_PROBES, Probe, ROWS};

/// The number of blocks that all queries of a batch scan, a few queries at a time, while the blocks are in the
/// second-level cache.
const CACHED_BLOCKS: usize = 256;
/// The largest code of a number in a query.
const LARGEST: f64 = 127.0;
/// A bound on the length of any vector of an index.
const LONGEST: f64 = 1.01;

/// A [`FlatIndex`] with codes of 8 bits per number, which make its searches several times as fast.
///
/// The hits are those of [`FlatIndex::search`], bit for bit. Let v̂ approximate a vector v, as its codes times its
/// scale s, and q̂ a query q, as its codes times a step t. Since
///
/// q·v = q̂·v̂ + q̂·(v − v̂) + (q − q̂)·v ≤ q̂·v̂ + ‖q̂‖·‖v − v̂‖ + ‖q − q̂‖·‖v‖
///
/// whole numbers bound the score. Vectors whose bound does not exceed the worst of the best hits so far are skipped,
/// and the others are scored as everywhere else. A first bound uses the high four bits of each code. The low four are
/// read only if that bound does not rule the vector out.
///
/// Each vector takes 4·d bytes of floats, d bytes of codes (d rounded up to a multiple of 8), and 4 bytes of scale:
/// 484 bytes at d = 96. A search reads only 52 of them for nearly all vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantizedIndex {
    rows: Rows,
    codes: Codes,
}

impl QuantizedIndex {
    /// Computes the codes, on all threads of the pool.
    pub fn new(flat: FlatIndex) -> QuantizedIndex {
        let codes = Codes::encode(flat.dimension(), flat.vectors(), None);
        QuantizedIndex { rows: Rows::Floats(flat), codes }
    }

    /// An index with codes that were computed before.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Vectors`] if their sizes do not fit the vectors.
    #[doc(hidden)]
    pub fn of_codes(flat: FlatIndex, codes: Codes) -> Result<QuantizedIndex> {
        codes.check(flat.dimension(), flat.len())?;
        Ok(QuantizedIndex { rows: Rows::Floats(flat), codes })
    }

    /// An index of vectors [n, dimension] in 16 bits a number, as bits, with the codes of these.
    ///
    /// # Errors
    ///
    /// Those of [`QuantizedIndex::of_codes`].
    #[doc(hidden)]
    pub fn of_halves(dimension: usize, numbers: Shared<u16>, codes: Codes) -> Result<QuantizedIndex> {
        let rows = Rows::of_halves(dimension, numbers)?;
        codes.check(dimension, rows.len())?;
        Ok(QuantizedIndex { rows, codes })
    }

    /// An index of `len` vectors that are what their codes say.
    ///
    /// # Errors
    ///
    /// Those of [`QuantizedIndex::of_codes`].
    #[doc(hidden)]
    pub fn of_codes_alone(dimension: usize, len: usize, codes: Codes) -> Result<QuantizedIndex> {
        let rows = Rows::of_codes(dimension, len)?;
        codes.check(dimension, len)?;
        Ok(QuantizedIndex { rows, codes })
    }

    /// The codes.
    #[doc(hidden)]
    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    /// The vectors, if they are kept as floats.
    pub fn flat(&self) -> Option<&FlatIndex> {
        match &self.rows {
            Rows::Floats(flat) => Some(flat),
            _ => None,
        }
    }

    /// The vectors as floats, however they are kept.
    ///
    /// # Errors
    ///
    /// None for an index that was made.
    #[doc(hidden)]
    pub fn floats(&self) -> Result<FlatIndex> {
        self.rows.floats(&self.codes)
    }

    /// The number of vectors.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no vectors.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of numbers in a vector.
    pub fn dimension(&self) -> usize {
        self.rows.dimension()
    }

    /// The hits of [`FlatIndex::search`], found faster.
    ///
    /// # Errors
    ///
    /// Those of [`FlatIndex::search`].
    pub fn search<'s>(&self, query: &[f32], k: usize, scratch: &'s mut SearchScratch) -> Result<&'s [Hit]> {
        if let Some(flat) = self.without_codes() {
            return flat.search(query, k, scratch);
        }
        self.search_in(query, k, &Scope::default(), scratch)
    }

    /// [`QuantizedIndex::search`] among some of the vectors.
    ///
    /// # Errors
    ///
    /// Those of [`FlatIndex::search`].
    #[doc(hidden)]
    pub fn search_in<'s>(
        &self,
        query: &[f32],
        k: usize,
        scope: &Scope<'_>,
        scratch: &'s mut SearchScratch,
    ) -> Result<&'s [Hit]> {
        let length = query_length(self.dimension(), query)?;
        let k = k.min(self.len());
        let (codes, best) = (mem::take(&mut scratch.codes), mem::take(&mut scratch.best));
        let mut question = [Question::new(query, length, &self.codes, k, codes, best)];
        question[0].allowed = scope.allowed;
        match scope.blocks {
            None => self.scan(0..self.blocks(), &mut question),
            Some(ranges) => {
                let inside = |range: &Range<usize>| range.start.min(self.blocks())..range.end.min(self.blocks());
                ranges.iter().for_each(|range| self.scan(inside(range), &mut question));
            }
        }
        let [Question { codes, best, .. }] = question;
        (scratch.codes, scratch.best) = (codes, best);
        scratch.hits.clear();
        scratch.best.drain_into(&mut scratch.hits);
        Ok(&scratch.hits)
    }

    /// The hits of [`FlatIndex::search_batch`], found faster.
    ///
    /// # Errors
    ///
    /// Those of [`FlatIndex::search_batch`].
    pub fn search_batch(&self, queries: &[f32], k: usize) -> Result<Vec<Vec<Hit>>> {
        if let Some(flat) = self.without_codes() {
            return flat.search_batch(queries, k);
        }
        let lengths = query_lengths(self.dimension(), queries)?;
        let k = k.min(self.len());
        let search = |part: Range<usize>| {
            let queries = queries.chunks_exact(self.dimension()).zip(&lengths);
            let question = |(query, &length)| Question::new(query, length, &self.codes, k, Vec::new(), Best::default());
            let mut questions: Vec<Question<'_>> = queries.map(question).collect();
            for first in part.clone().step_by(CACHED_BLOCKS) {
                for questions in questions.chunks_mut(MAX_PROBES) {
                    self.scan(first..part.end.min(first + CACHED_BLOCKS), questions);
                }
            }
            questions.iter_mut().map(|question| question.best.take()).collect()
        };
        Ok(batch::in_parts(self.blocks(), 1, k, search))
    }

    /// The vectors, if they are too long for codes.
    fn without_codes(&self) -> Option<&FlatIndex> {
        self.flat().filter(|flat| flat.dimension() > MAX_DIMENSION)
    }

    /// The number of blocks of [`ROWS`] vectors; the last may not be full.
    fn blocks(&self) -> usize {
        self.codes.scales.len() / ROWS
    }

    /// Compares the vectors of some blocks with at most [`MAX_PROBES`] questions.
    fn scan(&self, blocks: Range<usize>, questions: &mut [Question<'_>]) {
        let plane = &self.codes.high[..blocks.end * nibbles::block_bytes(self.dimension())];
        let scales = &self.codes.scales[..blocks.end * ROWS];
        let mut from = blocks.start;
        while from < blocks.end {
            let probes: [Probe<'_>; MAX_PROBES] =
                std::array::from_fn(|q| questions[q.min(questions.len() - 1)].probe());
            let Some((block, passing)) = nibbles::next_block(plane, scales, &probes[..questions.len()], from) else {
                return;
            };
            for (q, question) in questions.iter_mut().enumerate() {
                if passing >> q & 1 == 1 {
                    self.look_closer(block, question);
                }
            }
            from = block + 1;
        }
    }

    /// Scores those vectors of a block that the full codes do not rule out.
    #[inline(never)]
    fn look_closer(&self, block: usize, question: &mut Question<'_>) {
        let bytes = nibbles::block_bytes(self.dimension());
        let [high, low] = [&self.codes.high, &self.codes.low]
            .map(|plane| nibbles::block_sums(&plane[block * bytes..][..bytes], &question.codes));
        let scales = &self.codes.scales[block * ROWS..][..ROWS];
        for row in 0..ROWS {
            let bound = scales[row] * (16.0 * high[row] as f32 + low[row] as f32 + question.offset);
            if bound <= question.threshold {
                continue;
            }
            // Positions after the last vector are not vectors.
            let row = block * ROWS + row;
            let position = self.codes.position(row);
            if !question.allows(position) {
                continue;
            }
            let of_row = (&self.codes, row);
            if let Some(score) = self.rows.score(question.query, position, of_row, &mut question.decoded) {
                question.show(Hit { position, score });
            }
        }
    }
}

/// A query with its codes, what is needed to bound a score, and its best hits so far.
///
/// Bounds and thresholds are in units of `step`.
#[derive(Debug)]
struct Question<'q> {
    query: &'q [f32],
    /// The codes in whole groups, with zeros after the last number.
    codes: Vec<i8>,
    /// The value of 1 in `codes`.
    step: f64,
    /// A number that is added to the sum over all eight bits.
    offset: f32,
    /// A number that is added to the sum over the high bits.
    coarse_offset: f32,
    /// The part of the bound that is the same for all vectors.
    slack: f64,
    /// The threshold that a bound must exceed.
    threshold: f32,
    /// A bit for each position that may be found; `None` if all may.
    allowed: Option<&'q [u64]>,
    best: Best,
    /// A vector that is not kept as floats.
    decoded: Vec<f32>,
}

/// The vectors that a search may find; all of them by default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scope<'a> {
    /// A bit for each position.
    pub allowed: Option<&'a [u64]>,
    /// The blocks of codes that are looked at.
    pub blocks: Option<&'a [Range<usize>]>,
}

impl<'q> Question<'q> {
    fn new(query: &'q [f32], length: f64, of: &Codes, k: usize, mut codes: Vec<i8>, mut best: Best) -> Question<'q> {
        let largest = query.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
        let step = f64::from(largest) / LARGEST;
        codes.clear();
        // For a zero query, 0/0 becomes 0.
        codes.extend(query.iter().map(|&x| (f64::from(x) / step).round() as i8));
        codes.resize(query.len().next_multiple_of(GROUP), 0);
        let sum = |f: fn(f64) -> f64| codes.iter().map(|&code| f(f64::from(code))).sum::<f64>();
        let (total, absolute, norm) = (sum(|x| x), sum(f64::abs), sum(|x| x * x).sqrt());
        let off = |(&x, &code): (&f32, &i8)| (f64::from(x) - step * f64::from(code)).powi(2);
        let distance = query.iter().zip(&codes).map(off).sum::<f64>().sqrt();
        // Bounds are sums of floats, none larger than 512·Σ|code| + error. This allows for a few roundings, times the
        // largest scale.
        let floats = f64::from(f32::EPSILON) * 4.0 * (512.0 * absolute + norm * of.coarse_error) * LONGEST / LARGEST;
        let slack = LONGEST * distance + rounding(query.len(), length) + step * floats;
        best.restart(k);
        let mut question = Question {
            query,
            step,
            offset: (norm * of.error - f64::from(ZERO) * total) as f32,
            coarse_offset: (norm * of.coarse_error - (f64::from(ZERO) - MIDDLE) * total) as f32,
            slack,
            threshold: 0.0,
            allowed: None,
            best,
            codes,
            decoded: Vec::new(),
        };
        question.set_threshold();
        question
    }

    fn probe(&self) -> Probe<'_> {
        Probe { query: &self.codes, offset: self.coarse_offset, threshold: self.threshold }
    }

    fn allows(&self, position: u32) -> bool {
        self.allowed.is_none_or(|allowed| {
            allowed.get(position as usize / 64).is_some_and(|bits| bits >> (position % 64) & 1 == 1)
        })
    }

    fn show(&mut self, hit: Hit) {
        if self.best.keep(hit) {
            self.set_threshold();
        }
    }

    /// Rounded down, so that every vector whose score could be kept passes.
    fn set_threshold(&mut self) {
        self.threshold = (((f64::from(self.best.threshold()) - self.slack) / self.step) as f32).next_down();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::{floats, halves};

    /// Vectors or queries in arbitrary directions.
    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1u32 << 23) as f32 - 1.0
        };
        (0..count).map(next).collect()
    }

    fn flat(index: &QuantizedIndex) -> &FlatIndex {
        index.flat().unwrap()
    }

    /// The positions of hits and the bits of their scores.
    fn bits(hits: &[Hit]) -> Vec<(u32, u32)> {
        hits.iter().map(|hit| (hit.position, hit.score.to_bits())).collect()
    }

    /// Checks that every way of searching finds the hits of the float scan.
    fn check(dimension: usize, vectors: Vec<f32>, queries: &[f32], k: usize) -> std::result::Result<(), TestCaseError> {
        let index = QuantizedIndex::new(FlatIndex::new(dimension, vectors).unwrap());
        let (mut scratch, mut oracle) = (SearchScratch::default(), SearchScratch::default());
        let batches = [index.search_batch(queries, k).unwrap(), flat(&index).search_batch(queries, k).unwrap()];
        prop_assert_eq!(batches[0].len(), queries.len() / dimension);
        for (q, query) in queries.chunks_exact(dimension).enumerate() {
            let expected = bits(flat(&index).search(query, k, &mut oracle).unwrap());
            prop_assert_eq!(expected.len(), k.min(flat(&index).len()));
            prop_assert_eq!(&bits(index.search(query, k, &mut scratch).unwrap()), &expected, "{}", dimension);
            prop_assert_eq!(&bits(&batches[0][q]), &expected);
            prop_assert_eq!(&bits(&batches[1][q]), &expected);
        }
        Ok(())
    }

    #[test]
    fn the_same_as_the_scan_of_floats_in_every_dimension() {
        for dimension in [1, 3, 17, 95, 96, 97, 128, 300] {
            for count in [0, 1, 15, 16, 17, 1000] {
                for k in [0, 1, 10, 2000] {
                    check(dimension, numbers(count * dimension, 1), &numbers(19 * dimension, 2), k).unwrap();
                }
            }
        }
    }

    #[test]
    fn zeros_duplicates_and_extremes() {
        let d = 24;
        let mut vectors = numbers(500 * d, 3);
        vectors[7 * d..30 * d].fill(0.0);
        vectors.copy_within(40 * d..90 * d, 200 * d);
        vectors.copy_within(40 * d..90 * d, 300 * d);
        vectors[3] = 1e30;
        let mut queries = vectors[40 * d..46 * d].to_vec();
        queries.extend([0.0; 24]);
        queries.extend([1e-40; 24]);
        queries.extend([f32::MIN_POSITIVE; 24]);
        queries.extend([-1e37; 24]);
        for k in [1, 2, 10, 600] {
            check(d, vectors.clone(), &queries, k).unwrap();
            check(d, vectors[40 * d..41 * d].repeat(300), &queries, k).unwrap();
        }
    }

    /// Vectors that were rounded are searched as exactly as others, in any order of their codes.
    #[test]
    fn rounded_vectors_are_what_is_searched() {
        for (dimension, count) in [(1, 40), (3, 16), (17, 17), (96, 1000), (97, 300)] {
            let mut vectors = FlatIndex::new(dimension, numbers(count * dimension, 8)).unwrap().vectors().to_vec();
            vectors[5 * dimension..6 * dimension].fill(0.0);
            let backwards: Vec<u32> = (0..count as u32).rev().collect();
            let bits_of = halves(&vectors);
            let of_halves = floats(&bits_of);
            let of_codes = Codes::rounded(dimension, &vectors);
            for rows in [None, Some(backwards)] {
                let codes = Codes::encode(dimension, &of_halves, rows.clone());
                let one = QuantizedIndex::of_halves(dimension, bits_of.clone().into(), codes).unwrap();
                let codes = Codes::alone(dimension, &of_codes, rows);
                let other = QuantizedIndex::of_codes_alone(dimension, count, codes).unwrap();
                for (index, rounded) in [(one, &of_halves), (other, &of_codes)] {
                    let kept = index.floats().unwrap();
                    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-6;
                    assert!(index.flat().is_none() && kept.vectors().iter().zip(rounded).all(near), "{dimension}");
                    let kept = FlatIndex::from_unit(dimension, kept.vectors().to_vec()).unwrap();
                    let (mut scratch, mut oracle) = (SearchScratch::default(), SearchScratch::default());
                    for query in numbers(9 * dimension, 9).chunks_exact(dimension) {
                        for k in [1, 10, 2 * count] {
                            let mut found = bits(index.search(query, k, &mut scratch).unwrap());
                            let mut expected = bits(kept.search(query, k, &mut oracle).unwrap());
                            // Of equal scores, the order of the codes may decide which is the last.
                            for (position, _) in found.iter_mut().chain(&mut expected) {
                                *position = 0;
                            }
                            assert_eq!(found, expected, "{dimension}");
                        }
                    }
                }
            }
            // Rounding what is rounded changes nothing.
            assert_eq!(halves(&of_halves), bits_of);
            let again = Codes::rounded(dimension, &of_codes);
            assert!(again.iter().zip(&of_codes).all(|(a, b)| (a - b).abs() <= 1e-6), "{dimension}");
        }
    }

    #[test]
    fn batches_do_not_depend_on_threads() {
        let (d, k) = (33, 10);
        let index = QuantizedIndex::new(FlatIndex::new(d, numbers(5000 * d, 4)).unwrap());
        let queries = numbers(70 * d, 5);
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| [index.search_batch(&queries, k).unwrap(), flat(&index).search_batch(&queries, k).unwrap()])
        };
        let one = with(1);
        assert_eq!(one[0], one[1]);
        assert_eq!((one[0].len(), one[0][69].len()), (70, k));
        for threads in [2, 3, 7] {
            assert_eq!(with(threads), one);
        }
    }

    #[test]
    fn few_vectors_are_looked_at_closer() {
        let (d, n) = (96, 20_000);
        let index = QuantizedIndex::new(FlatIndex::new(d, numbers(n * d, 6)).unwrap());
        let query = numbers(d, 7);
        let length = query_length(d, &query).unwrap();
        let mut question = Question::new(&query, length, &index.codes, 10, Vec::new(), Best::default());
        index.scan(0..index.blocks(), std::slice::from_mut(&mut question));
        // With the best hits known, which blocks would still pass?
        let probe = question.probe();
        let (mut passing, mut from) = (0, 0);
        while let Some((block, _)) = nibbles::next_block(&index.codes.high, &index.codes.scales, &[probe], from) {
            (passing, from) = (passing + 1, block + 1);
        }
        assert!((1..index.blocks() / 4).contains(&passing), "{passing} of {} blocks", index.blocks());
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        let index = QuantizedIndex::new(FlatIndex::new(2, vec![1.0, 1.0]).unwrap());
        for query in [&[1.0][..], &[f32::NAN, 0.0], &[f32::INFINITY, 0.0], &[f32::MAX, f32::MAX]] {
            let expected = flat(&index).search(query, 1, &mut SearchScratch::default()).unwrap_err().to_string();
            assert_eq!(index.search(query, 1, &mut SearchScratch::default()).unwrap_err().to_string(), expected);
            if query.len() == 2 {
                assert_eq!(index.search_batch(query, 1).unwrap_err().to_string(), expected);
                assert_eq!(flat(&index).search_batch(query, 1).unwrap_err().to_string(), expected);
            }
        }
        let error = index.search_batch(&[1.0; 3], 1).unwrap_err().to_string();
        assert_eq!(error, flat(&index).search_batch(&[1.0; 3], 1).unwrap_err().to_string());
        assert!(error.contains("multiple of the dimension 2"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_same_as_the_scan_of_floats(
            dimension in 1usize..40,
            // Few distinct values, so that ties are common.
            values in prop::collection::vec(-2i8..=2, 0..1200),
            queries in 1usize..12,
            k in 0usize..40,
        ) {
            let values: Vec<f32> = values.iter().map(|&value| f32::from(value)).collect();
            let whole = values.len() / dimension * dimension;
            let (queries, vectors) = values[..whole].split_at((queries * dimension).min(whole));
            check(dimension, vectors.to_vec(), queries, k)?;
        }
    }
}
