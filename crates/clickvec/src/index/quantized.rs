//! Exact search that reads a seventh of most vectors: codes rule out those that cannot be among the best.

use std::mem;
use std::ops::Range;
use std::sync::OnceLock;

use hashbrown::HashSet;

use super::batch;
use super::best::Best;
use super::codes::{Codes, MIDDLE, ZERO, whole_numbers};
use super::flat::{query_length, query_lengths, rounding};
use super::rows::Rows;
use super::{FlatIndex, Hit, SearchScratch, Shared};
use crate::Result;
use crate::math::nibbles::{self, MAX_DIMENSION, MAX_PROBES, Probe, ROWS};

/// The number of blocks that all queries of a batch scan, a few queries at a time, while the blocks are in the
/// second-level cache.
const CACHED_BLOCKS: usize = 256;
/// The number of vectors that are loaded ahead of the one that is scored.
const AHEAD: usize = 4;
/// The largest code of a number in a query.
const LARGEST: f64 = 127.0;
/// The part of a vector's distance from the high bits of its codes that may lie in the direction of a query, as a multiple of the
/// part if all directions had the same share.
const LIKELY: f64 = 4.0;
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
    /// Codes of the same vectors, or some of them, in other blocks.
    copies: Option<Codes>,
    /// The row of each vector in the codes, if there are no other numbers of the vectors and the rows are in another order.
    row_of_vector: OnceLock<Vec<u32>>,
}

impl QuantizedIndex {
    /// Creates an index with codes computed on all threads of the pool. They take a quarter of the vectors' memory.
    pub fn new(flat: FlatIndex) -> QuantizedIndex {
        let codes = Codes::encode(flat.dimension(), flat.vectors(), None);
        QuantizedIndex::from_rows(Rows::Floats(flat), codes)
    }

    /// Creates an index with codes that were computed before.
    ///
    /// # Errors
    ///
    /// [`clickvec_tables::ErrorKind::Malformed`] if their sizes do not fit the vectors.
    pub fn from_codes(flat: FlatIndex, codes: Codes) -> Result<QuantizedIndex> {
        codes.check(flat.dimension(), flat.len())?;
        Ok(QuantizedIndex::from_rows(Rows::Floats(flat), codes))
    }

    /// Creates an index of vectors [n, dimension] of 16-bit numbers, as bits, with their codes.
    ///
    /// # Errors
    ///
    /// Those of [`QuantizedIndex::from_codes`].
    pub fn from_halves(dimension: usize, numbers: Shared<u16>, codes: Codes) -> Result<QuantizedIndex> {
        let rows = Rows::from_halves(dimension, numbers)?;
        codes.check(dimension, rows.len())?;
        Ok(QuantizedIndex::from_rows(rows, codes))
    }

    /// Creates an index of `len` vectors that are stored as codes alone.
    ///
    /// # Errors
    ///
    /// Those of [`QuantizedIndex::from_codes`].
    pub fn from_codes_alone(dimension: usize, len: usize, codes: Codes) -> Result<QuantizedIndex> {
        let rows = Rows::from_codes(dimension, len)?;
        codes.check(dimension, len)?;
        Ok(QuantizedIndex::from_rows(rows, codes))
    }

    fn from_rows(rows: Rows, codes: Codes) -> QuantizedIndex {
        QuantizedIndex { rows, codes, copies: None, row_of_vector: OnceLock::new() }
    }

    /// Adds copies of the codes, in blocks of their own that only [`QuantizedIndex::search_in`] reads. Their low bits may be left
    /// out, unless the vectors are stored as codes alone.
    ///
    /// # Errors
    ///
    /// [`clickvec_tables::ErrorKind::Malformed`] if they have another form.
    pub fn with_copies(self, copies: Codes) -> Result<QuantizedIndex> {
        copies.check_copies(self.dimension(), matches!(self.rows, Rows::Codes { .. }))?;
        Ok(QuantizedIndex { copies: Some(copies), ..self })
    }

    /// Returns the copies of the codes.
    pub fn copies(&self) -> Option<&Codes> {
        self.copies.as_ref()
    }

    /// Returns the codes.
    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    /// Returns the vectors, if they are stored as floats.
    pub fn flat(&self) -> Option<&FlatIndex> {
        match &self.rows {
            Rows::Floats(flat) => Some(flat),
            _ => None,
        }
    }

    /// Returns the vectors as floats, however they are stored.
    ///
    /// # Errors
    ///
    /// None for an index that was made.
    pub fn floats(&self) -> Result<FlatIndex> {
        self.rows.floats(&self.codes)
    }

    /// Returns the number of vectors.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are no vectors.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of numbers in a vector.
    pub fn dimension(&self) -> usize {
        self.rows.dimension()
    }

    /// Finds the hits of [`FlatIndex::search`], only faster.
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

    /// Runs [`QuantizedIndex::search`] among some of the vectors. With [`Scope::blocks`] it misses one of the best now and then:
    /// the high bits of codes rule out what is unlikely to be better, not only what cannot be.
    ///
    /// # Errors
    ///
    /// Those of [`FlatIndex::search`].
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
        let mut errors = Errors::new(&self.codes);
        if scope.blocks.is_some() {
            if let Some(copies) = &self.copies {
                errors = errors.max(Errors::new(copies));
            }
            errors.coarse *= (LIKELY / (query.len() as f64).sqrt()).min(1.0);
        }
        let mut question = [Question::new(query, length, errors, k, codes, best)];
        question[0].allowed = scope.allowed;
        match scope.blocks {
            None => self.scan(&self.codes, 0..self.blocks(), &mut question),
            Some(blocks) => {
                question[0].seen = self.copies.is_some().then(HashSet::new);
                for Blocks { own, copies } in blocks {
                    self.scan(&self.codes, own.clone(), &mut question);
                    if let Some(codes) = &self.copies {
                        self.scan(codes, copies.clone(), &mut question);
                    }
                }
            }
        }
        let [Question { codes, best, .. }] = question;
        (scratch.codes, scratch.best) = (codes, best);
        scratch.hits.clear();
        scratch.best.drain_into(&mut scratch.hits);
        Ok(&scratch.hits)
    }

    /// Returns the scores of the vectors at some positions, as a search computes them. A position without a vector has the score
    /// 0.
    ///
    /// # Errors
    ///
    /// Those of [`FlatIndex::search`].
    pub fn scores(&self, query: &[f32], positions: &[u32]) -> Result<Vec<f32>> {
        query_length(self.dimension(), query)?;
        let mut decoded = Vec::new();
        let mut score = |(number, &position): (usize, &u32)| {
            if let Some(&later) = positions.get(number + AHEAD) {
                self.rows.prefetch(later);
            }
            self.rows.score(query, position, (&self.codes, self.row(position)), &mut decoded).unwrap_or(0.0)
        };
        Ok(positions.iter().enumerate().map(&mut score).collect())
    }

    /// Returns the row of the codes that a vector has, if it is stored as codes alone.
    fn row(&self, position: u32) -> usize {
        let (Rows::Codes { len, .. }, Some(positions)) = (&self.rows, &self.codes.rows) else {
            return position as usize;
        };
        let rows = self.row_of_vector.get_or_init(|| {
            let mut rows = vec![0; *len];
            for (row, &position) in (0..).zip(positions.iter()) {
                if let Some(of_vector) = rows.get_mut(position as usize) {
                    *of_vector = row;
                }
            }
            rows
        });
        rows.get(position as usize).map_or(0, |&row| row as usize)
    }

    /// Finds the hits of [`FlatIndex::search_batch`], only faster.
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
            let errors = Errors::new(&self.codes);
            let question = |(query, &length)| Question::new(query, length, errors, k, Vec::new(), Best::default());
            let mut questions: Vec<Question<'_>> = queries.map(question).collect();
            for first in part.clone().step_by(CACHED_BLOCKS) {
                for questions in questions.chunks_mut(MAX_PROBES) {
                    self.scan(&self.codes, first..part.end.min(first + CACHED_BLOCKS), questions);
                }
            }
            questions.iter_mut().map(|question| question.best.take()).collect()
        };
        Ok(batch::in_parts(self.blocks(), 1, k, search))
    }

    /// Returns the vectors, if they are too long for codes.
    fn without_codes(&self) -> Option<&FlatIndex> {
        self.flat().filter(|flat| flat.dimension() > MAX_DIMENSION)
    }

    /// Returns the number of blocks of [`ROWS`] vectors; the last may not be full.
    fn blocks(&self) -> usize {
        self.codes.scales.len() / ROWS
    }

    /// Compares the vectors of some blocks, as far as there are such blocks, with at most [`MAX_PROBES`] questions.
    fn scan(&self, codes: &Codes, blocks: Range<usize>, questions: &mut [Question<'_>]) {
        let end = blocks.end.min(codes.scales.len() / ROWS);
        let plane = &codes.high[..end * nibbles::block_bytes(self.dimension())];
        let scales = &codes.scales[..end * ROWS];
        let mut from = blocks.start;
        while from < end {
            let probes: [Probe<'_>; MAX_PROBES] =
                std::array::from_fn(|q| questions[q.min(questions.len() - 1)].probe());
            let Some((block, passing)) = nibbles::next_block(plane, scales, &probes[..questions.len()], from) else {
                return;
            };
            for (q, question) in questions.iter_mut().enumerate() {
                if passing >> q & 1 == 1 {
                    self.look_closer(codes, block, question);
                }
            }
            from = block + 1;
        }
    }

    /// Scores those vectors of a block that the full codes do not rule out, or the high bits if there are no others.
    #[inline(never)]
    fn look_closer(&self, codes: &Codes, block: usize, question: &mut Question<'_>) {
        let bytes = nibbles::block_bytes(self.dimension());
        let sums = |plane: &Shared<u8>| nibbles::block_sums(&plane[block * bytes..][..bytes], &question.codes);
        let high = sums(&codes.high);
        let (low, offset) = if codes.low.is_empty() {
            ([0; ROWS], question.coarse_offset)
        } else {
            (sums(&codes.low), question.offset)
        };
        let scales = &codes.scales[block * ROWS..][..ROWS];
        let bounds: [f32; ROWS] =
            std::array::from_fn(|row| scales[row] * (16.0 * high[row] as f32 + low[row] as f32 + offset));
        // The vectors are anywhere in memory, so they are loaded together.
        for (row, &bound) in bounds.iter().enumerate() {
            if bound > question.threshold {
                self.rows.prefetch(codes.position(block * ROWS + row));
            }
        }
        for (row, &bound) in bounds.iter().enumerate() {
            if bound <= question.threshold {
                continue;
            }
            // Positions after the last vector are not vectors.
            let row = block * ROWS + row;
            let position = codes.position(row);
            if !question.allows(position) || !question.is_new(position) {
                continue;
            }
            let code_row = (codes, row);
            if let Some(score) = self.rows.score(question.query, position, code_row, &mut question.decoded) {
                question.show(Hit { position, score });
            }
        }
    }
}

/// A query with its codes, the data to bound a score, and its best hits so far.
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
    /// The positions that were scored, where a vector may come twice.
    seen: Option<HashSet<u32>>,
    best: Best,
    /// The floats of a vector that is stored in another form.
    decoded: Vec<f32>,
}

/// The vectors that a search may find; all of them by default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scope<'a> {
    /// A bit for each position.
    pub allowed: Option<&'a [u64]>,
    /// The blocks of codes to search, in this order.
    pub blocks: Option<&'a [Blocks]>,
}

/// Blocks to search one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocks {
    /// Blocks of the codes.
    pub own: Range<usize>,
    /// Blocks of the copies.
    pub copies: Range<usize>,
}

/// The largest distances of vectors from their codes, in steps of the codes.
#[derive(Debug, Clone, Copy)]
struct Errors {
    /// With all eight bits.
    full: f64,
    /// With the high bits.
    coarse: f64,
}

impl Errors {
    fn new(codes: &Codes) -> Errors {
        Errors { full: codes.error, coarse: codes.coarse_error }
    }

    fn max(self, other: Errors) -> Errors {
        Errors { full: self.full.max(other.full), coarse: self.coarse.max(other.coarse) }
    }
}

impl<'q> Question<'q> {
    fn new(query: &'q [f32], length: f64, of: Errors, k: usize, codes: Vec<i8>, mut best: Best) -> Question<'q> {
        let (codes, step) = whole_numbers(query, codes);
        let sum = |f: fn(f64) -> f64| codes.iter().map(|&code| f(f64::from(code))).sum::<f64>();
        let (total, absolute, norm) = (sum(|x| x), sum(f64::abs), sum(|x| x * x).sqrt());
        let off = |(&x, &code): (&f32, &i8)| (f64::from(x) - step * f64::from(code)).powi(2);
        let distance = query.iter().zip(&codes).map(off).sum::<f64>().sqrt();
        // Bounds are sums of floats, none larger than 512·Σ|code| + error. This allows for a few roundings, times the
        // largest scale.
        let floats = f64::from(f32::EPSILON) * 4.0 * (512.0 * absolute + norm * of.coarse) * LONGEST / LARGEST;
        let slack = LONGEST * distance + rounding(query.len(), length) + step * floats;
        best.restart(k);
        let mut question = Question {
            query,
            step,
            offset: (norm * of.full - f64::from(ZERO) * total) as f32,
            coarse_offset: (norm * of.coarse - (f64::from(ZERO) - MIDDLE) * total) as f32,
            slack,
            threshold: 0.0,
            allowed: None,
            seen: None,
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

    /// Returns whether a position is seen for the first time, and remembers it.
    fn is_new(&mut self, position: u32) -> bool {
        self.seen.as_mut().is_none_or(|seen| seen.insert(position))
    }

    fn show(&mut self, hit: Hit) {
        if self.best.keep(hit) {
            self.set_threshold();
        }
    }

    /// Updates the threshold, rounded down so that every vector whose score could be a hit passes.
    fn set_threshold(&mut self) {
        self.threshold = (((f64::from(self.best.threshold()) - self.slack) / self.step) as f32).next_down();
    }
}

#[cfg(test)]
mod tests;
