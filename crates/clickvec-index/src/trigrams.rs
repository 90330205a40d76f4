//! The trigrams of an index: the cosine of letter trigrams, as a fusion with the ranker `trigram` has it.
//!
//! Idf is that of the titles with which the fusion was fitted. An update changes no idf, so that all segments score alike and
//! the fitted weights stay true.

use std::sync::Arc;

use clickvec_eval::internals::LetterTrigrams;

use crate::facts::TrigramFacts;

/// The part of the trigrams in a fusion.
#[derive(Debug, Clone, PartialEq)]
pub struct Trigrams {
    /// The weight.
    pub weight: f64,
    /// The trigrams and their idf.
    pub(crate) ranker: Arc<LetterTrigrams>,
}

impl Trigrams {
    /// The cosine of a title.
    pub(crate) fn score(&self, query: &str, title: &str) -> f32 {
        use clickvec_eval::ranker::Ranker as _;
        self.ranker.score(query, &[title])[0] as f32
    }

    pub(crate) fn facts(&self, bytes: u64) -> TrigramFacts {
        TrigramFacts { trigrams: self.ranker.len() as u64, bytes }
    }
}
