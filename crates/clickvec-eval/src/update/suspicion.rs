//! Whether a day's clicks look like those of the days before.

use serde::Serialize;

use super::trial::{DEPTH, LEAST_QUERIES, values};
use crate::ranker::Ranker;
use crate::{Collection, SearchQuery, search_all};
use clickvec::Result;

/// If a ranker's nDCG@10 on the newest clicks is less than this share of its nDCG@10 on earlier clicks, the newest
/// ones are suspected not to come from users.
const LEAST_OF_BEFORE: f64 = 0.5;

/// The number of standard errors by which the two must also differ.
const STANDARD_ERRORS: f64 = 3.0;

/// The ranker by which two days are compared. It must not have learnt the clicks of either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Witness {
    /// The old model, where it has never learnt held-out clicks.
    OldModel,
    /// The untrained cosine of letter trigrams, for an old model that may have learnt those of earlier days.
    LetterTrigrams,
}

impl std::fmt::Display for Witness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Witness::OldModel => "the old model does",
            Witness::LetterTrigrams => "letter trigrams, untrained, do",
        })
    }
}

/// A reason not to learn from the newest day.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "suspicion", rename_all = "kebab-case")]
pub enum Suspicion {
    /// Clicks on texts that are not titles of the collection, for example because columns are swapped.
    NotTitles {
        /// The number of clicks on titles of the collection.
        known: u64,
        /// The number of clicks.
        pairs: u64,
    },
    /// Clicks that a ranker finds far worse than earlier ones, as it would random clicks of robots.
    NotLikeBefore {
        /// The ranker.
        witness: Witness,
        /// Its nDCG@10 on held-out clicks of the newest day.
        newest: f64,
        /// Its nDCG@10 on held-out clicks of earlier days.
        earlier: f64,
    },
}

impl std::fmt::Display for Suspicion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Suspicion::NotTitles { known, pairs } => write!(
                f,
                "{known} of {pairs} clicks of the newest day are on titles of the collection; are its columns swapped?"
            ),
            Suspicion::NotLikeBefore { witness, newest, earlier } => write!(
                f,
                "{witness} far worse on the newest day's clicks than on earlier ones: nDCG@10 {newest:.3} instead of \
                 {earlier:.3}; do they come from users?"
            ),
        }
    }
}

impl Suspicion {
    /// Returns the suspicion that the `newest` clicks do not come from users, because a ranker does much worse on them than on
    /// `earlier` ones, searching all titles of the collection.
    ///
    /// # Errors
    ///
    /// Those of [`Ranker::candidates`].
    pub fn of(
        (witness, ranker): (Witness, &dyn Ranker),
        set: &Collection,
        newest: &[SearchQuery],
        earlier: &[SearchQuery],
    ) -> Result<Option<Suspicion>> {
        let texts = set.texts();
        let candidates = ranker.candidates(&texts)?;
        let found = |queries: &[SearchQuery]| -> Result<(f64, f64)> {
            let lists = search_all(&*candidates, queries, DEPTH, &mut |_| ())?;
            Ok(mean_and_error(&values(lists, set, queries)))
        };
        let (newest_mean, before) = (found(newest)?, found(earlier)?);
        // Few queries may all be odd ones.
        let is_far = newest.len() >= LEAST_QUERIES
            && newest_mean.0 < LEAST_OF_BEFORE * before.0
            && before.0 - newest_mean.0 > STANDARD_ERRORS * newest_mean.1.hypot(before.1);
        Ok(is_far.then_some(Suspicion::NotLikeBefore { witness, newest: newest_mean.0, earlier: before.0 }))
    }
}

/// Returns the mean and its standard error.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, (variance / n).sqrt())
}
