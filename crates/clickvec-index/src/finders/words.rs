//! Search by BM25.

use std::collections::HashMap;

use clickvec::index::Hit;
use clickvec::internals::text;

use super::{Finder, Question, by_segment};
use crate::answer::WordShare;
use crate::bits;
use crate::error::Result;
use crate::facts::{PartFacts, WordFacts};
use crate::fusion::Fusion;
use crate::open::{Index, Opened, bytes};
use crate::parts::words::{Bm25, Statistics};

/// Search by BM25.
pub(super) struct ByWords;

impl Finder for ByWords {
    fn search(&self, index: &Index, question: &Question<'_>) -> Result<Vec<Hit>> {
        let terms = text::terms(question.text, index.fusion.analysis);
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let statistics = index.statistics();
        question.over_segments(index, |opened, allowed| {
            let is_allowed = |position| allowed.as_ref().is_none_or(|bits| bits::has(bits, position));
            opened.segment.words.search(&terms, question.k, &statistics, &is_allowed)
        })
    }

    fn scores(&self, index: &Index, question: &Question<'_>, positions: &[u32]) -> Result<Vec<f32>> {
        let terms = text::terms(question.text, index.fusion.analysis);
        let statistics = index.statistics();
        by_segment(index, positions, |opened, here| opened.segment.words.scores(&terms, here, &statistics))
    }

    /// Returns the sum of the words' shares, nearly to the last bit the score of a search.
    fn score(&self, index: &Index, query: &str, title: &str) -> Result<f32> {
        Ok(index.word_shares(query, title)?.iter().map(|word| word.share).sum())
    }

    fn facts(&self, fusion: &Fusion, segments: &[Opened]) -> PartFacts {
        let statistics = Statistics::new(segments.iter().map(|opened| &opened.segment.words).collect(), fusion.bm25);
        PartFacts::Words(WordFacts {
            bm25: fusion.bm25,
            analysis: fusion.analysis,
            mean_length: statistics.tokens as f64 / statistics.titles.max(1) as f64,
            bytes: bytes(segments, |name| name.starts_with("words/")),
        })
    }
}

impl Index {
    /// Returns the statistics of the words of all segments.
    pub(crate) fn statistics(&self) -> Statistics<'_> {
        let segments = self.segments.iter().map(|opened| &opened.segment.words).collect();
        Statistics::new(segments, self.fusion.bm25)
    }

    /// Returns the contribution of each distinct word of a query to the BM25 of a title.
    pub(crate) fn word_shares(&self, query: &str, title: &str) -> Result<Vec<WordShare>> {
        let (analysis, statistics) = (self.fusion.analysis, self.statistics());
        let Statistics { titles, tokens, .. } = statistics;
        let (mut length, mut counts) = (0.0, HashMap::new());
        for term in text::terms(title, analysis) {
            length += 1.0;
            *counts.entry(term).or_insert(0) += 1;
        }
        let Bm25 { k1, b } = self.fusion.bm25;
        let relative = length * titles as f64 / (tokens as f64).max(f64::MIN_POSITIVE);
        let (norm, titles) = (k1 * (1.0 - b + b * relative), titles as f64);
        let mut in_query: Vec<(String, u32)> = Vec::new();
        for word in text::words(query) {
            match in_query.iter_mut().find(|(known, _)| *known == word) {
                Some((_, count)) => *count += 1,
                None => in_query.push((word, 1)),
            }
        }
        let mut with_term: HashMap<String, u64> = HashMap::new();
        let mut shares = Vec::new();
        for (word, in_query) in in_query {
            let mut of = WordShare { word, in_query, in_title: 0, titles: 0, share: 0.0 };
            let mut sum = 0.0;
            for term in text::terms(&of.word, analysis) {
                let in_title = counts.get(&term).copied().unwrap_or(0);
                let with = match with_term.get(&term) {
                    Some(&with) => with,
                    None => statistics.titles_with(&term)?,
                };
                let (tf, df) = (f64::from(in_title), with as f64);
                let idf = (1.0 + (titles - df + 0.5) / (df + 0.5)).ln();
                sum += f64::from(in_query) * idf * (k1 + 1.0) * tf / (tf + norm);
                (of.in_title, of.titles) = (of.in_title.max(in_title), of.titles.max(with));
                with_term.insert(term, with);
            }
            of.share = sum as f32;
            shares.push(of);
        }
        Ok(shares)
    }
}
