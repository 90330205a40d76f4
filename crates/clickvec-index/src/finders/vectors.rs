//! Search by the cosine of the model's vectors.

use clickvec::index::Hit;
use clickvec::internals::math::score::score;

use super::{Finder, Question, by_segment};
use crate::error::Result;
use crate::facts::{PartFacts, VectorFacts, VectorSearch};
use crate::fusion::Fusion;
use crate::open::{Index, Opened, bytes};
use crate::parts::vectors::{
    CENTROIDS_FILE, CODES_FILE, COPIES_FILE, LISTS_FILE, ListHeader, Lists, VECTORS_FILE, Vectors,
};

/// Search by the cosine of the model's vectors.
pub(super) struct ByVectors;

impl Finder for ByVectors {
    fn search(&self, index: &Index, question: &Question<'_>) -> Result<Vec<Hit>> {
        let Some(vector) = question.vector else { return Ok(Vec::new()) };
        question.over_segments(index, |opened, allowed| {
            opened.segment.vectors.search(vector, question.k, question.reach, allowed.as_deref())
        })
    }

    fn scores(&self, index: &Index, question: &Question<'_>, positions: &[u32]) -> Result<Vec<f32>> {
        let Some(vector) = question.vector else { return Ok(vec![0.0; positions.len()]) };
        by_segment(index, positions, |opened, here| opened.segment.vectors.index.scores(vector, here))
    }

    /// Returns 0 if the model knows no word of the query, whose vector then means nothing.
    fn score(&self, index: &Index, query: &str, title: &str) -> Result<f32> {
        if !index.model.model.dictionary().knows_a_word(query) {
            return Ok(0.0);
        }
        let (query, title) = (index.model.queries.embed(&[query]), index.model.titles.embed(&[title]));
        Ok(score(&query, &title))
    }

    fn facts(&self, _: &Fusion, segments: &[Opened]) -> PartFacts {
        let files = [VECTORS_FILE, CODES_FILE, LISTS_FILE, CENTROIDS_FILE, COPIES_FILE];
        let vectors = &segments[0].segment.vectors;
        let (format, search) = (vectors.format, search_facts(vectors));
        PartFacts::Vectors(VectorFacts { format, search, bytes: bytes(segments, |name| files.contains(&name)) })
    }
}

/// Describes the search of vectors.
fn search_facts(vectors: &Vectors) -> VectorSearch {
    match &vectors.lists {
        None => VectorSearch::Exact,
        Some(Lists { header: ListHeader { searched, recall, blocks, .. }, .. }) => {
            VectorSearch::Lists { lists: blocks.len().saturating_sub(1), searched: *searched, recall: *recall }
        }
    }
}
