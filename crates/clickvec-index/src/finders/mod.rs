//! The parts of an index: how each finds titles, scores one and describes itself.
//!
//! A new part is a name in [`Part`], its files in `parts/` and its [`Finder`] here.

mod teacher;
mod trigrams;
mod vectors;
mod words;

use clickvec::index::Hit;

use crate::error::Result;
use crate::facts::PartFacts;
use crate::fusion::Fusion;
use crate::open::{Index, Opened};
use crate::part::Part;
use crate::parts::vectors::Reach;

/// A part of an index that finds titles, scores one, and describes itself.
pub(crate) trait Finder: Sync {
    /// Returns whether an index with this fusion has the part.
    fn is_in(&self, _: &Fusion) -> bool {
        true
    }

    /// Returns the best titles for a query, best first, by their positions among those of all segments.
    fn search(&self, index: &Index, question: &Question<'_>) -> Result<Vec<Hit>>;

    /// Returns the scores of titles by their positions, in ascending order, as a search would find them; 0 for a title that it would not
    /// find.
    fn scores(&self, index: &Index, question: &Question<'_>, positions: &[u32]) -> Result<Vec<f32>> {
        let score = |&position: &u32| {
            let (opened, position) = index.locate(position);
            self.score(index, question.text, opened.segment.line(position)?.title)
        };
        positions.iter().map(score).collect()
    }

    /// Returns the score of one title.
    fn score(&self, index: &Index, query: &str, title: &str) -> Result<f32>;

    /// Returns the facts of the part.
    fn facts(&self, fusion: &Fusion, segments: &[Opened]) -> PartFacts;
}

/// The titles of a segment that may be found: those that are there and meet all conditions, a bit for each; `None` if all
/// may.
pub(crate) type Allowed = Option<Vec<u64>>;

/// The input of a part's search.
pub(crate) struct Question<'a> {
    pub(crate) text: &'a str,
    /// The model's vector of the query; `None` if it has none, or if it is not needed.
    pub(crate) vector: Option<&'a [f32]>,
    /// The teacher's vector of the query; `None` if it has none in time, or if it is not needed.
    pub(crate) teacher: Option<&'a [f32]>,
    /// The number of titles to find.
    pub(crate) k: usize,
    /// The lists of vectors to search.
    pub(crate) reach: Reach,
    /// For each segment, the titles that may be found.
    pub(crate) allowed: &'a [Allowed],
}

impl Question<'_> {
    /// Searches all segments and returns the best of what they find.
    pub(crate) fn over_segments(
        &self,
        index: &Index,
        search: impl Fn(&Opened, &Allowed) -> Result<Vec<Hit>>,
    ) -> Result<Vec<Hit>> {
        let mut hits = Vec::new();
        for (opened, allowed) in index.segments.iter().zip(self.allowed) {
            let found = search(opened, allowed)?;
            hits.extend(found.into_iter().map(|hit| Hit { position: opened.first + hit.position, score: hit.score }));
        }
        hits.sort_unstable_by(Hit::best_first);
        hits.truncate(self.k);
        Ok(hits)
    }
}

/// Calls `each` with each segment that has some of these positions, which ascend, and with those positions in it.
fn by_segment(
    index: &Index,
    positions: &[u32],
    mut each: impl FnMut(&Opened, &[u32]) -> Result<Vec<f32>>,
) -> Result<Vec<f32>> {
    let mut scores = Vec::with_capacity(positions.len());
    let mut rest = positions;
    while let Some(&first) = rest.first() {
        let (opened, _) = index.locate(first);
        let end = u64::from(opened.first) + opened.segment.len() as u64;
        let (here, later) = rest.split_at(rest.partition_point(|&position| u64::from(position) < end));
        let here: Vec<u32> = here.iter().map(|position| position - opened.first).collect();
        scores.extend(each(opened, &here)?);
        rest = later;
    }
    Ok(scores)
}

/// Returns the finder of a part.
pub(crate) fn finder(part: Part) -> &'static dyn Finder {
    match part {
        Part::Vectors => &vectors::ByVectors,
        Part::Words => &words::ByWords,
        Part::Trigrams => &trigrams::ByTrigrams,
        Part::Teacher => &teacher::ByTeacher,
    }
}
