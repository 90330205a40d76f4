//! The teacher of an index: vectors of titles that another program made, a transformer say, as a fusion with the ranker `vectors`
//! has them. A query's vector is in its file, or is fitted to those of the titles.
//!
//! The ranker is a file of the index. What is searched, a vector for each title, is made from it in memory, because the ranker has
//! nearly all of it already.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use clickvec::index::{Hit, QuantizedIndex, SearchScratch};
use clickvec::internals::index::{Codes, Scope};
use clickvec_eval::internals::{WordVectors, stored_fingerprint};

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
        use clickvec_eval::ranker::Ranker as _;
        self.ranker.score(query, &[title])[0] as f32
    }

    pub(crate) fn facts(&self, bytes: u64) -> TeacherFacts {
        TeacherFacts { dimension: self.ranker.dimension(), bytes }
    }
}

/// The teacher's vectors of a segment's titles. They are made when the first search asks for them: whoever opens an index to change it
/// does not need them.
#[derive(Default)]
pub(crate) struct TeacherVectors(OnceLock<QuantizedIndex>);

impl TeacherVectors {
    /// The best `k` titles among those that are allowed, a bit for each. A title without a vector has the score 0. `titles` are the
    /// number of titles, and each by its position.
    pub(crate) fn search<'t>(
        &self,
        (teacher, query): (&Teacher, &[f32]),
        titles: (usize, &(dyn Fn(usize) -> &'t str + Sync)),
        k: usize,
        allowed: Option<&[u64]>,
    ) -> Result<Vec<Hit>> {
        let scope = Scope { allowed, blocks: None };
        let index = self.made(teacher, titles)?;
        Ok(index.search_in(query, k, &scope, &mut SearchScratch::default())?.to_vec())
    }

    /// The vectors, which are made if nobody has made them. Two that ask at once both make them: one must not wait for the other, which
    /// may need its thread.
    pub(crate) fn made<'t>(
        &self,
        teacher: &Teacher,
        (count, title): (usize, &(dyn Fn(usize) -> &'t str + Sync)),
    ) -> Result<&QuantizedIndex> {
        if let Some(index) = self.0.get() {
            return Ok(index);
        }
        let vectors = teacher.ranker.of_titles(count, title)?;
        Codes::room(vectors.dimension(), vectors.len())?;
        let index = QuantizedIndex::new(vectors);
        Ok(self.0.get_or_init(|| index))
    }
}
