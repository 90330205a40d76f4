//! Finding the best of all titles by the cosine of their vectors.

use super::WordVectors;
use clickvec::index::{ExactIndex, FlatIndex, Hit};
use clickvec::model::Side;
use clickvec_eval::ranker::Candidates;
use clickvec_tables::Result;
use clickvec_tables::memory::room_for_numbers;
use rayon::prelude::*;

/// The vectors of titles. A title without one has the score 0.
pub(super) struct VectorCandidates<'a> {
    ranker: &'a WordVectors,
    index: ExactIndex,
}

impl<'a> VectorCandidates<'a> {
    pub(super) fn new(ranker: &'a WordVectors, titles: &[&str]) -> Result<VectorCandidates<'a>> {
        let dimension = ranker.titles.vectors.dimension;
        // An index has codes besides.
        room_for_numbers::<f32>("the vectors of titles", &[&[2, titles.len(), dimension]])?;
        let mut vectors = vec![0.0f32; titles.len() * dimension];
        vectors.par_chunks_mut(dimension).zip(titles).for_each(|(row, title)| {
            if let Some(vector) = ranker.unit(Side::Title, title) {
                row.copy_from_slice(&vector);
            }
        });
        Ok(VectorCandidates { ranker, index: ExactIndex::new(FlatIndex::new(dimension, vectors)?) })
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
