//! Finding the best of all titles by the cosine of their vectors.

use super::WordVectors;
use crate::ranker::Candidates;
use clickvec::index::{ExactIndex, Hit};
use clickvec::model::Side;
use clickvec_tables::Result;

/// The vectors of titles. A title without one has the score 0.
pub(super) struct VectorCandidates<'a> {
    ranker: &'a WordVectors,
    index: ExactIndex,
}

impl<'a> VectorCandidates<'a> {
    pub(super) fn new(ranker: &'a WordVectors, titles: &[&str]) -> Result<VectorCandidates<'a>> {
        let index = ExactIndex::new(ranker.index_titles(titles.len(), |position| titles[position])?);
        Ok(VectorCandidates { ranker, index })
    }
}

impl Candidates for VectorCandidates<'_> {
    fn titles(&self) -> usize {
        self.index.len()
    }

    fn search(&self, query: &str, k: usize) -> Result<Vec<Hit>> {
        match self.ranker.unit(Side::Query, query) {
            Some(vector) => self.index.search(&vector, k),
            None => Ok(Vec::new()),
        }
    }
}
