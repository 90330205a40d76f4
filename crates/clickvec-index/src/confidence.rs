//! The probability that a title is a good match, on the scale of an index.

use clickvec::internals::rng;
use clickvec::model::{Model, Side};
use clickvec_tables::Stop;
use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use crate::error::{Result, malformed};
use crate::folder::Folder;
use crate::parts::vectors::{Reach, Vectors};
use crate::titles::{self, TitleLines};

pub(crate) const CONFIDENCE_FILE: &str = "confidence.json";
/// The number of queries that are made of random letters, and of words of titles.
const QUERIES: usize = 200;
const SEED: u64 = 0x636f_6e66_6964_656e;
/// The least distance between both cosines. If they are nearer, the model cannot tell words from noise, and nothing has a confidence.
const LEAST_RANGE: f32 = 0.1;
/// The logistic regression of "a person would give it 3 or 4 of 4" (docs/explanation/defaults.md): the weight of the cosine on
/// the scale of the index, that of the share of the query's words that the title has, and the constant.
const LOGISTIC: [f32; 3] = [4.2, 2.55, -3.9];

/// The scale of an index's cosines, by which a score becomes a confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    /// The best cosine of a query of random letters: the median.
    pub noise: f32,
    /// The best cosine of a query of two or three words of a title: the median.
    pub titles: f32,
}

impl Confidence {
    /// Titles below this confidence are not shown, unless a request says otherwise.
    pub const LEAST: f32 = 0.02;
    /// An answer has weak matches only if no title is more likely right than wrong.
    pub const WEAK: f32 = 0.5;

    /// Measures the scale of the vectors of all segments, each with its titles and a bit for each that is not deleted.
    pub(crate) fn measure(segments: &[(&Vectors, &TitleLines, Option<&[u64]>)], model: &Model) -> Result<Confidence> {
        let best = |queries: &[String]| -> Result<f32> {
            let embedded = model.embedder(Side::Query).embed(queries);
            let mut best = Vec::with_capacity(queries.len());
            for vector in embedded.chunks_exact(model.dimension()) {
                Stop::of_thread().check()?;
                let mut nearest: Option<f32> = None;
                for (vectors, _, alive) in segments {
                    let hits = vectors.search(vector, 1, Reach::Nearest, *alive)?;
                    nearest = nearest.into_iter().chain(hits.first().map(|hit| hit.score)).reduce(f32::max);
                }
                best.push(nearest.unwrap_or(0.0));
            }
            best.sort_unstable_by(f32::total_cmp);
            Ok(best.get(best.len() / 2).copied().unwrap_or(0.0))
        };
        let noise = best(&(0..QUERIES).map(random_letters).collect::<Vec<_>>())?;
        let titles: Vec<&TitleLines> = segments.iter().map(|(_, titles, _)| *titles).collect();
        let mut queries = titles::queries(&titles, QUERIES);
        queries.retain(|query| model.dictionary().knows_a_word(query));
        Ok(Confidence { noise, titles: best(&queries)? })
    }

    /// Opens that of an index.
    pub(crate) fn open(folder: &Folder) -> Result<Confidence> {
        let confidence: Confidence = folder.json(CONFIDENCE_FILE)?;
        let Confidence { noise, titles } = confidence;
        if [noise, titles].iter().all(|cosine| (-1.01..=1.01).contains(cosine)) {
            return Ok(confidence);
        }
        let path = folder.path().join(CONFIDENCE_FILE);
        Err(malformed(&path, "two cosines, from -1 to 1", format!("{noise} and {titles}")))
    }

    /// Returns the probability that a title is a good match; `None` if the index cannot tell. `cosine` is that of the vectors, if the query has one, and `coverage` the
    /// share of the query's words that the title has, from 0 to 1, each word weighted by its idf.
    pub(crate) fn probability(self, cosine: Option<f32>, coverage: f32) -> Option<f32> {
        let range = self.titles - self.noise;
        if range < LEAST_RANGE {
            return None;
        }
        // Without a vector all depends on the words.
        let scaled = cosine.map_or(coverage, |cosine| (cosine - self.noise) / range);
        let [of_cosine, of_coverage, constant] = LOGISTIC;
        Some(1.0 / (1.0 + (-(of_cosine * scaled + of_coverage * coverage + constant)).exp()))
    }
}

/// Returns one to three words of three to nine random letters.
fn random_letters(number: usize) -> String {
    let mut stream = rng::stream(SEED, "queries of random letters", number as u64);
    let mut word = |_| (0..stream.random_range(3..=9)).map(|_| stream.random_range(b'a'..=b'z') as char).collect();
    (0..1 + number % 3).map(&mut word).collect::<Vec<String>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_rises_with_both() {
        let confidence = Confidence { noise: 0.4, titles: 0.7 };
        let of = |cosine, coverage| confidence.probability(cosine, coverage).unwrap();
        assert!(of(Some(0.8), 1.0) > 0.9 && of(Some(0.4), 0.0) < Confidence::LEAST);
        assert!(of(Some(0.7), 0.0) > of(Some(0.6), 0.0) && of(Some(0.6), 0.5) > of(Some(0.6), 0.0));
        assert!(of(None, 1.0) > 0.9 && of(None, 0.0) < Confidence::LEAST);
        let blind = Confidence { noise: 0.5, titles: 0.55 };
        assert_eq!(blind.probability(Some(0.5), 1.0), None);
    }

    #[test]
    fn random_queries_are_words_of_letters() {
        for number in 0..30 {
            let query = random_letters(number);
            let words: Vec<&str> = query.split(' ').collect();
            assert_eq!(words.len(), 1 + number % 3);
            assert!(words.iter().all(|word| (3..=9).contains(&word.len())), "{query}");
        }
        assert_ne!(random_letters(0), random_letters(3));
    }
}
