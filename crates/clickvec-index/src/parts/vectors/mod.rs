//! The vectors of a segment, and data that makes searching them fast: codes of 8 bits and, for many vectors, lists of similar
//! ones, of which a search compares the nearest.

mod cluster;
mod format;
mod write;

use bytemuck::Pod;
use clickvec::index::{FlatIndex, Hit, QuantizedIndex, SearchScratch};
use clickvec::internals::index::{Blocks, Codes, Scope, Shared};
use clickvec::internals::npy;
use serde::{Deserialize, Serialize};

use crate::bits;
use crate::error::{Error, Result, malformed};
use crate::folder::Folder;
use crate::map::Map;
pub use format::VectorFormat;
pub(crate) use write::Rounded;

/// The file of the vectors.
pub(crate) const VECTORS_FILE: &str = "vectors.npy";
/// The vectors as whole numbers.
pub(crate) const CODES_FILE: &str = "codes.bin";
/// The lists of similar vectors.
pub(crate) const LISTS_FILE: &str = "lists.json";
/// The centres of the lists.
pub(crate) const CENTROIDS_FILE: &str = "centroids.f32";
/// The codes of each vector in its second list.
pub(crate) const COPIES_FILE: &str = "copies.bin";

/// The number of vectors from which on they are put into lists. Fewer are scanned in about a millisecond.
pub(crate) const MANY_VECTORS: usize = 200_000;

/// If a page has more hits than this, a search compares [`DEEPER`] times as many lists.
pub(crate) const MANY_HITS: usize = 100;
const DEEPER: usize = 3;
/// A search compares at least this many lists.
const LEAST: usize = 8;
/// If fewer than one in this many vectors are allowed, each of them is scored: reading them one by one is faster than passing over
/// the codes of all.
const NARROW: usize = 32;

/// The lists that a search compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Nearest,
    /// For a page of many hits.
    More,
    All,
}

/// The vectors of a segment.
pub(crate) struct Vectors {
    pub(crate) format: VectorFormat,
    pub(crate) index: QuantizedIndex,
    pub(crate) lists: Option<Lists>,
}

/// Lists of similar vectors.
pub(crate) struct Lists {
    pub(crate) header: ListHeader,
    /// [lists, dimension], of unit length.
    pub(crate) centroids: Shared<f32>,
    /// The centres as codes, whose reading takes a quarter of the memory traffic.
    codes: Codes,
}

/// The contents of `lists.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ListHeader {
    /// The largest number of lists that a search compares.
    pub(crate) searched: usize,
    /// The largest difference of a list's score from that of the nearest centre at which the list is searched.
    pub(crate) gap: f32,
    /// The share of the ten best titles that this finds, for queries made from titles.
    pub(crate) recall: f64,
    /// The first block of codes of each list, and the end of the last one.
    pub(crate) blocks: Vec<u32>,
    /// The same of the copies; empty if there is one list only.
    pub(crate) copies: Vec<u32>,
}

impl Vectors {
    /// Opens those of a segment.
    pub(crate) fn open(folder: &Folder) -> Result<Vectors> {
        let about = folder.about();
        let (titles, dimension) = (about.titles, about.dimension);
        let kind = folder.parts().get("vectors").map_or("f32", |part| &part.kind);
        let format: VectorFormat =
            kind.parse().map_err(|expected: &str| malformed(folder.path(), expected, kind.to_owned()))?;
        let bad = |name: &str, map: &Map| {
            let expected = format!("{titles} vectors of {dimension} numbers or their codes");
            malformed(&folder.path().join(name), expected, format!("{} bytes that are neither", map.bytes().len()))
        };
        let map = folder.map(CODES_FILE)?;
        let codes = codes_in(&map, dimension).ok_or_else(|| bad(CODES_FILE, &map))?;
        let numbers = || {
            let map = folder.map(VECTORS_FILE)?;
            Ok::<_, Error>((bad(VECTORS_FILE, &map), map))
        };
        let index = match format {
            VectorFormat::F32 => {
                let (bad, map) = numbers()?;
                QuantizedIndex::from_codes(flat_of(&map, titles, dimension).ok_or(bad)?, codes)
            }
            VectorFormat::F16 => {
                let (bad, map) = numbers()?;
                QuantizedIndex::from_halves(dimension, halves_of(&map, titles, dimension).ok_or(bad)?, codes)
            }
            VectorFormat::Int8 => {
                let rows = usize::try_from(titles).map_err(|_| bad(CODES_FILE, &map))?;
                QuantizedIndex::from_codes_alone(dimension, rows, codes)
            }
        };
        let mut index = index.map_err(|_| bad(CODES_FILE, &map))?;
        let has_lists = folder.files().any(|(name, _)| name == LISTS_FILE);
        if !has_lists {
            return Ok(Vectors { format, index, lists: None });
        }
        let header = ListHeader::open(folder)?;
        if !header.copies.is_empty() {
            let map = folder.map(COPIES_FILE)?;
            let copies = codes_in(&map, dimension).ok_or_else(|| bad(COPIES_FILE, &map))?;
            index = index.with_copies(copies).map_err(|_| bad(COPIES_FILE, &map))?;
        }
        let centroids: Shared<f32> = folder.numbers(CENTROIDS_FILE)?;
        let lists = header.blocks.len().saturating_sub(1);
        if Some(centroids.len()) != lists.checked_mul(dimension) {
            let expected = format!("{lists} centres of {dimension} numbers");
            let found = format!("{} bytes", size_of_val(&centroids[..]));
            return Err(malformed(&folder.path().join(CENTROIDS_FILE), expected, found));
        }
        Ok(Vectors { format, index, lists: Some(Lists::new(header, centroids, dimension)) })
    }

    /// Makes those of an index in memory.
    pub(crate) fn in_memory(flat: FlatIndex) -> Result<Vectors> {
        Codes::room(flat.dimension(), flat.len())?;
        Ok(Vectors { format: VectorFormat::F32, index: QuantizedIndex::new(flat), lists: None })
    }

    /// Returns the best `k` vectors among those that are allowed, a bit for each. A title without a vector is never found.
    pub(crate) fn search(&self, query: &[f32], k: usize, reach: Reach, allowed: Option<&[u64]>) -> Result<Vec<Hit>> {
        let count = |bits: &[u64]| bits.iter().map(|word| word.count_ones() as usize).sum::<usize>();
        if let Some(allowed) = allowed.filter(|allowed| count(allowed) * NARROW < self.index.len()) {
            return self.search_each(query, k, allowed);
        }
        // In lists that hold mostly what is not allowed, the best that are might be missed.
        let few = allowed.is_some_and(|allowed| 2 * count(allowed) < self.index.len());
        let lists = self.lists.as_ref().filter(|_| !few && reach != Reach::All);
        let blocks = lists.map(|lists| lists.nearest(query, reach == Reach::More));
        let scope = Scope { allowed, blocks: blocks.as_deref() };
        let mut scratch = SearchScratch::default();
        let hits = self.index.search_in(query, k, &scope, &mut scratch)?;
        if hits.iter().all(|hit| hit.score != 0.0) {
            return Ok(hits.to_vec());
        }
        // Titles without a vector, which score 0, came before others that score less.
        let mut with_vector = self.with_vector(query)?;
        if let Some(allowed) = allowed {
            with_vector.iter_mut().zip(allowed).for_each(|(word, allowed)| *word &= allowed);
        }
        let scope = Scope { allowed: Some(&with_vector), ..scope };
        Ok(self.index.search_in(query, k, &scope, &mut scratch)?.to_vec())
    }

    /// Returns the best `k` of few vectors by the score of each.
    fn search_each(&self, query: &[f32], k: usize, allowed: &[u64]) -> Result<Vec<Hit>> {
        let positions = bits::positions(allowed, self.index.len());
        let scores = self.index.scores(query, &positions)?;
        let hits = positions.into_iter().zip(scores).map(|(position, score)| Hit { position, score });
        let mut hits: Vec<Hit> = hits.filter(|hit| hit.score != 0.0).collect();
        hits.sort_unstable_by(Hit::best_first);
        hits.truncate(k);
        Ok(hits)
    }

    /// Returns a bit for each title: whether its score is not 0, that of a title without a vector.
    fn with_vector(&self, query: &[f32]) -> Result<Vec<u64>> {
        let mut positions: Vec<u32> = (0..self.index.len() as u32).collect();
        let mut scores = self.index.scores(query, &positions)?.into_iter();
        positions.retain(|_| scores.next() == Some(0.0));
        Ok(bits::without(self.index.len(), &positions))
    }
}

impl ListHeader {
    fn open(folder: &Folder) -> Result<ListHeader> {
        let header: ListHeader = folder.json(LISTS_FILE)?;
        let bad = |expected: String, found| Err(malformed(&folder.path().join(LISTS_FILE), expected, found));
        let lists = header.blocks.len().saturating_sub(1);
        let mut pairs = header.blocks.windows(2).chain(header.copies.windows(2));
        if let Some(pair) = pairs.find(|pair| pair[0] > pair[1]) {
            return bad("ascending blocks".to_owned(), format!("{} after {}", pair[1], pair[0]));
        }
        if !header.copies.is_empty() && header.copies.len() != header.blocks.len() {
            let found = format!("those of {}", header.copies.len() - 1);
            return bad(format!("copies of {lists} lists or of none"), found);
        }
        Ok(header)
    }
}

impl Lists {
    pub(crate) fn new(header: ListHeader, centroids: Shared<f32>, dimension: usize) -> Lists {
        let codes = Codes::encode(dimension, &centroids, None);
        Lists { header, centroids, codes }
    }

    /// Returns the blocks of the lists that are nearest to a query; `deep` takes more.
    ///
    /// A query that is nearer to one centre than to all others finds its titles in a few lists. One that is as near to many
    /// finds them in many. So it is not their number that decides, but how much nearer the nearest is.
    pub(crate) fn nearest(&self, query: &[f32], deep: bool) -> Vec<Blocks> {
        let mut products = self.codes.products(query);
        products.truncate(self.header.blocks.len().saturating_sub(1));
        let best = products.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let most = self.header.searched.saturating_mul(if deep { DEEPER } else { 1 }).clamp(1, products.len().max(1));
        let nearer = |a: &(f32, usize), b: &(f32, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        let inside = |least: f32| {
            products.iter().copied().zip(0..).filter(|&(product, _)| product >= least).collect::<Vec<(f32, usize)>>()
        };
        let near = inside(if deep { f32::NEG_INFINITY } else { best - self.header.gap });
        let (mut order, most) = if near.len() < LEAST { (inside(f32::NEG_INFINITY), LEAST) } else { (near, most) };
        if most < order.len() {
            order.select_nth_unstable_by(most - 1, nearer);
            order.truncate(most);
        }
        // Best first: the sooner the best are found, the more of the rest can be skipped.
        order.sort_unstable_by(nearer);
        let range = |blocks: &[u32], list: usize| {
            let at = |list: usize| blocks.get(list).copied().unwrap_or(0) as usize;
            at(list)..at(list + 1)
        };
        let ListHeader { blocks, copies, .. } = &self.header;
        order.iter().map(|&(_, list)| Blocks { own: range(blocks, list), copies: range(copies, list) }).collect()
    }
}

/// Returns the codes in a mapped file; `None` if it has another form.
pub(crate) fn codes_in(map: &Map, dimension: usize) -> Option<Codes> {
    let (floats, positions) = (|range| map.numbers(range), |range| map.numbers(range));
    Codes::from_file(dimension, map.bytes(), floats, positions, |range| map.numbers(range))
}

/// Returns the vectors in a NumPy file as `clickvec index` writes it; `None` if it has another form.
fn flat_of(map: &Map, rows: u64, dimension: usize) -> Option<FlatIndex> {
    FlatIndex::from_unit_unchecked(
        dimension,
        numbers_of(map, &npy::header(npy::F32, usize::try_from(rows).ok()?, dimension), rows, dimension)?,
    )
    .ok()
}

/// Returns the vectors in a NumPy file of 16 bits a number; `None` if it has another form.
fn halves_of(map: &Map, rows: u64, dimension: usize) -> Option<Shared<u16>> {
    numbers_of(map, &npy::header(npy::F16, usize::try_from(rows).ok()?, dimension), rows, dimension)
}

/// Returns the numbers of a mapped file after its header, which fill it.
fn numbers_of<T: Pod + Send + Sync>(map: &Map, header: &[u8], rows: u64, dimension: usize) -> Option<Shared<T>> {
    let bytes = usize::try_from(rows).ok()?.checked_mul(dimension)?.checked_mul(size_of::<T>())?;
    if !map.bytes().starts_with(header) || map.bytes().len() != header.len().checked_add(bytes)? {
        return None;
    }
    map.numbers(header.len()..header.len() + bytes)
}
