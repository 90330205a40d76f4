//! The vectors of a segment and what makes searching them fast: codes of 8 bits and, for many vectors, lists of similar
//! ones, of which a search looks at the nearest.

use bytemuck::Pod;
use clickvec::index::{FlatIndex, Hit, QuantizedIndex, SearchScratch};
use clickvec::internals::index::{Blocks, Codes, F16, Scope, Shared, npy_header, npy_header_of};
use serde::{Deserialize, Serialize};

use crate::facts::VectorSearch;
use crate::format::VectorFormat;
use crate::map::Map;

/// If a page has more hits than this, a search looks at [`DEEPER`] times as many lists.
pub(crate) const MANY_HITS: usize = 100;
const DEEPER: usize = 3;
/// A search looks at this many lists at least.
const LEAST: usize = 8;

/// How many of the lists a search looks at.
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
    /// The centres as codes, which take a quarter of the memory that has to be read.
    codes: Codes,
}

/// What `lists.json` says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ListHeader {
    /// The number of lists that a search looks at, at most.
    pub(crate) searched: usize,
    /// How much less than the nearest centre another may score for its list to be looked at; `None` looks at as many lists for
    /// every query, as indexes of earlier versions do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gap: Option<f32>,
    /// The share of the ten best titles that this finds, for queries made from titles.
    pub(crate) recall: f64,
    /// The first block of codes of each list, and the end of the last one.
    pub(crate) blocks: Vec<u32>,
    /// The same of the copies; none in indexes of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) copies: Vec<u32>,
}

impl Vectors {
    /// How they are searched.
    pub(crate) fn facts(&self) -> VectorSearch {
        match &self.lists {
            None => VectorSearch::Exact,
            Some(Lists { header: ListHeader { searched, recall, blocks, .. }, .. }) => {
                VectorSearch::Lists { lists: blocks.len().saturating_sub(1), searched: *searched, recall: *recall }
            }
        }
    }

    /// The best `k` vectors among those that are allowed, a bit for each.
    pub(crate) fn search(
        &self,
        query: &[f32],
        k: usize,
        reach: Reach,
        allowed: Option<&[u64]>,
    ) -> clickvec::Result<Vec<Hit>> {
        // In lists that hold mostly what is not allowed, the best that are might be missed.
        let few = allowed.is_some_and(|bits| {
            2 * bits.iter().map(|word| word.count_ones() as usize).sum::<usize>() < self.index.len()
        });
        let lists = self.lists.as_ref().filter(|_| !few && reach != Reach::All);
        let blocks = lists.map(|lists| lists.nearest(query, reach == Reach::More));
        let scope = Scope { allowed, blocks: blocks.as_deref() };
        Ok(self.index.search_in(query, k, &scope, &mut SearchScratch::default())?.to_vec())
    }
}

impl Lists {
    pub(crate) fn new(header: ListHeader, centroids: Shared<f32>, dimension: usize) -> Lists {
        let codes = Codes::encode(dimension, &centroids, None);
        Lists { header, centroids, codes }
    }

    /// The blocks of the lists that are nearest to a query; `deep` looks at more.
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
        let near = match self.header.gap {
            Some(gap) if !deep => inside(best - gap),
            _ => inside(f32::NEG_INFINITY),
        };
        let (mut order, most) = if near.len() < LEAST { (inside(f32::NEG_INFINITY), LEAST) } else { (near, most) };
        if most < order.len() {
            order.select_nth_unstable_by(most - 1, nearer);
            order.truncate(most);
        }
        // Best first: the sooner the best are found, the more of the rest can be skipped.
        order.sort_unstable_by(nearer);
        let range = |blocks: &[u32], list: usize| {
            let at = |place: usize| blocks.get(place).copied().unwrap_or(0) as usize;
            at(list)..at(list + 1)
        };
        let ListHeader { blocks, copies, .. } = &self.header;
        order.iter().map(|&(_, list)| Blocks { own: range(blocks, list), copies: range(copies, list) }).collect()
    }
}

/// The codes in a mapped file; `None` if it has another form.
pub(crate) fn codes_of(map: &Map, dimension: usize) -> Option<Codes> {
    let (floats, positions) = (|range| map.numbers(range), |range| map.numbers(range));
    Codes::of_file(dimension, map.bytes(), floats, positions, |range| map.numbers(range))
}

/// Vectors in a NumPy file as `clickvec index` writes it; `None` if it has another form.
pub(crate) fn flat_of(map: &Map, rows: u64, dimension: usize) -> Option<FlatIndex> {
    FlatIndex::of_unit(
        dimension,
        numbers_of(map, &npy_header(usize::try_from(rows).ok()?, dimension), rows, dimension)?,
    )
    .ok()
}

/// The same in 16 bits a number.
pub(crate) fn halves_of(map: &Map, rows: u64, dimension: usize) -> Option<Shared<u16>> {
    numbers_of(map, &npy_header_of(F16, usize::try_from(rows).ok()?, dimension), rows, dimension)
}

/// The numbers of a mapped file after its header, which fill it.
fn numbers_of<T: Pod + Send + Sync>(map: &Map, header: &[u8], rows: u64, dimension: usize) -> Option<Shared<T>> {
    let bytes = usize::try_from(rows).ok()?.checked_mul(dimension)?.checked_mul(size_of::<T>())?;
    if !map.bytes().starts_with(header) || map.bytes().len() != header.len().checked_add(bytes)? {
        return None;
    }
    map.numbers(header.len()..header.len() + bytes)
}
