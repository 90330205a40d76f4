//! Search by the cosine of letter trigrams.

use clickvec::index::Hit;
use clickvec_eval::ranker::Ranker as _;

use super::{Finder, Question};
use crate::bits;
use crate::error::Result;
use crate::facts::{PartFacts, TrigramFacts};
use crate::fusion::Fusion;
use crate::open::{Index, Opened, bytes};
use crate::parts::trigrams::Trigrams;

/// Search by the cosine of trigrams.
pub(super) struct ByTrigrams;

impl Finder for ByTrigrams {
    fn is_in(&self, fusion: &Fusion) -> bool {
        fusion.trigrams.is_some()
    }

    fn search(&self, index: &Index, question: &Question<'_>) -> Result<Vec<Hit>> {
        let Some(Trigrams(ranker)) = &index.fusion.trigrams else { return Ok(Vec::new()) };
        let query = ranker.query(question.text);
        question.over_segments(index, |opened, allowed| {
            let is_allowed = |position| allowed.as_ref().is_none_or(|bits| bits::has(bits, position));
            let lists = opened.segment.trigrams.iter();
            Ok(lists.flat_map(|lists| lists.search(ranker, &query, question.k, &is_allowed)).collect())
        })
    }

    fn score(&self, index: &Index, query: &str, title: &str) -> Result<f32> {
        let trigrams = index.fusion.trigrams.as_ref();
        Ok(trigrams.map_or(0.0, |Trigrams(ranker)| ranker.score(query, &[title])[0] as f32))
    }

    fn facts(&self, fusion: &Fusion, segments: &[Opened]) -> PartFacts {
        let trigrams = fusion.trigrams.as_ref().map_or(0, |Trigrams(ranker)| ranker.len() as u64);
        PartFacts::Trigrams(TrigramFacts { trigrams, bytes: bytes(segments, |name| name.starts_with("trigrams.")) })
    }
}
