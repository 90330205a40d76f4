//! Finding the best of all titles by the cosine of their vectors.

use rayon::prelude::*;

use super::WordVectors;
use crate::error::Result;
use crate::index::{Candidates, ExactIndex, FlatIndex, Hit, Query};
use crate::memory::room_for_numbers;
use crate::model::Side;

/// The vectors of titles. A title without one is not found.
pub(super) struct VectorCandidates<'a> {
    ranker: &'a WordVectors,
    /// Where the titles of the vectors are among all, ascending.
    positions: Vec<u32>,
    index: ExactIndex,
}

impl<'a> VectorCandidates<'a> {
    pub(super) fn new(ranker: &'a WordVectors, titles: &[&str]) -> Result<VectorCandidates<'a>> {
        let dimension = ranker.titles.vectors.dimension;
        room_for_numbers::<f32>("the vectors of titles", &[&[2, titles.len(), dimension]])?;
        let of_title = |title: &&str| ranker.unit(Side::Title, title);
        let vectors: Vec<Option<Vec<f32>>> = titles.par_iter().map(of_title).collect();
        let known = (0..).zip(&vectors).filter_map(|(position, vector)| vector.is_some().then_some(position));
        let positions = known.collect();
        let index = FlatIndex::new(dimension, vectors.into_iter().flatten().flatten().collect())?;
        Ok(VectorCandidates { ranker, positions, index: ExactIndex::new(index) })
    }
}

impl Candidates for VectorCandidates<'_> {
    fn len(&self) -> usize {
        self.positions.len()
    }

    fn needs_vector(&self) -> bool {
        false
    }

    fn search(&self, query: &Query<'_>, k: usize) -> Result<Vec<Hit>> {
        let Some(vector) = self.ranker.unit(Side::Query, query.text) else { return Ok(Vec::new()) };
        let mut hits = self.index.search(&Query::new(query.text, Some(&vector)), k)?;
        hits.iter_mut().for_each(|hit| hit.position = self.positions[hit.position as usize]);
        Ok(hits)
    }
}
