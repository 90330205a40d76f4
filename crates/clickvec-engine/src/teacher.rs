//! The teacher of an index: vectors of titles that another program made, a transformer say, as a fusion with the ranker `vectors`
//! has them. A query's vector is in its file, or is fitted to those of the titles.
//!
//! The ranker is a file of the index. What is searched, a vector for each title, is made as the index is opened, because the
//! ranker has nearly all of it already.

use std::path::Path;
use std::sync::Arc;

use clickvec::index::{FlatIndex, Hit, QuantizedIndex, SearchScratch};
use clickvec::internals::index::{QuantizedParts as _, Scope};
use clickvec::internals::memory::room_for_numbers;
use clickvec::internals::ranker::{WordVectors, stored_fingerprint};
use clickvec::model::Side;
use rayon::prelude::*;

use crate::error::Result;
use crate::facts::TeacherFacts;

/// The part of a teacher's vectors in a fusion.
#[derive(Debug, Clone)]
pub struct Teacher {
    /// The weight.
    pub weight: f64,
    pub(crate) ranker: Arc<WordVectors>,
    /// That of the ranker's file.
    pub(crate) fingerprint: String,
}

/// Whether the same files have the same weight.
impl PartialEq for Teacher {
    fn eq(&self, other: &Teacher) -> bool {
        self.weight == other.weight && self.fingerprint == other.fingerprint
    }
}

impl Teacher {
    /// The trained `vectors` in a file, with a weight.
    pub(crate) fn load(path: &Path, weight: f64) -> Result<Teacher> {
        let (ranker, fingerprint) = (Arc::new(WordVectors::load(path)?), stored_fingerprint(path)?);
        Ok(Teacher { weight, ranker, fingerprint })
    }

    /// The cosine of a title; 0 if it or the query has no vector.
    pub(crate) fn score(&self, query: &str, title: &str) -> f32 {
        use clickvec::ranker::Ranker as _;
        self.ranker.score(query, &[title])[0] as f32
    }

    pub(crate) fn facts(&self, bytes: u64) -> TeacherFacts {
        TeacherFacts { dimension: self.ranker.dimension(), bytes }
    }
}

/// The teacher's vectors of a segment's titles.
pub(crate) struct TeacherVectors {
    /// A bit for each title that has a vector; `None` if all have.
    known: Option<Vec<u64>>,
    /// Titles without a vector have zeros.
    index: QuantizedIndex,
}

impl TeacherVectors {
    /// Those of `count` titles, which `title` has by their positions.
    pub(crate) fn of<'a>(
        teacher: &Teacher,
        count: usize,
        title: impl Fn(u32) -> &'a str + Sync,
    ) -> Result<TeacherVectors> {
        let dimension = teacher.ranker.dimension();
        room_for_numbers::<f32>("the teacher's vectors of titles", &[&[2, count, dimension]])
            .map_err(clickvec::Error::from)?;
        let mut vectors = vec![0.0f32; count * dimension];
        let rows = vectors.par_chunks_mut(dimension).enumerate();
        let known = rows.map(|(position, row)| {
            let vector = teacher.ranker.unit(Side::Title, title(position as u32));
            vector.iter().for_each(|vector| row.copy_from_slice(vector));
            vector.is_some()
        });
        let known: Vec<bool> = known.collect();
        let bits = |chunk: &[bool]| chunk.iter().enumerate().fold(0, |bits, (at, &is)| bits | u64::from(is) << at);
        let known = known.contains(&false).then(|| known.chunks(64).map(bits).collect());
        Ok(TeacherVectors { known, index: QuantizedIndex::new(FlatIndex::new(dimension, vectors)?) })
    }

    /// The best `k` titles among those that are allowed, a bit for each.
    pub(crate) fn search(&self, query: &[f32], k: usize, allowed: Option<&[u64]>) -> Result<Vec<Hit>> {
        let both = match (&self.known, allowed) {
            (Some(known), Some(allowed)) => Some(known.iter().zip(allowed).map(|(a, b)| a & b).collect::<Vec<u64>>()),
            _ => None,
        };
        let allowed = both.as_deref().or(self.known.as_deref()).or(allowed);
        let scope = Scope { allowed, blocks: None };
        Ok(self.index.search_in(query, k, &scope, &mut SearchScratch::default())?.to_vec())
    }
}
