//! Checks whether a day's clicks look like those of the days before.

use serde::Serialize;

use super::churn::SHOWN;
use super::trial::LEAST_QUERIES;
use crate::SearchQuery;
use clickvec::Result;
use clickvec::index::Hit;

/// If the share of clicked titles that a search finds is less than this part of its share on earlier days, the newest clicks may
/// not come from users.
const LEAST_OF_BEFORE: f64 = 0.5;

/// The number of standard errors by which the two must also differ.
const STANDARD_ERRORS: f64 = 3.0;

/// The search by which two days are compared. It must not have learnt the clicks of either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Witness {
    /// The search with the old model, where it has never learnt held-out clicks.
    OldModel,
    /// The untrained cosine of letter trigrams, for an old model that may have learnt those of earlier days.
    LetterTrigrams,
}

impl std::fmt::Display for Witness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Witness::OldModel => "the search finds",
            Witness::LetterTrigrams => "letter trigrams, untrained, find",
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
    /// Clicks on titles that a search finds far less often than those of earlier days, as with random clicks of robots.
    NotLikeBefore {
        /// The search.
        witness: Witness,
        /// The mean share of a query's clicked titles among its first ten, for held-out clicks of the newest day.
        newest: f64,
        /// The same on earlier days.
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
                "{witness} far fewer of the titles clicked on the newest day than of those before: {:.0} % among the first \
                 {SHOWN} instead of {:.0} %; do the clicks come from users?",
                newest * 100.0,
                earlier * 100.0
            ),
        }
    }
}

impl Suspicion {
    /// Returns the suspicion that the `newest` clicks do not come from users, because far fewer clicked titles than on the
    /// `earlier` days are among the first ten of a search. Users click what they are shown; robots click on anything.
    ///
    /// # Errors
    ///
    /// Those of `search`, which returns the positions of the titles found for each query, best first.
    pub fn look_for(
        witness: Witness,
        newest: &[SearchQuery],
        earlier: &[SearchQuery],
        search: impl Fn(&[SearchQuery]) -> Result<Vec<Vec<Hit>>>,
    ) -> Result<Option<Suspicion>> {
        let found = |queries: &[SearchQuery]| -> Result<(f64, f64)> {
            let lists = search(queries)?;
            Ok(mean_and_error(
                &queries.iter().zip(&lists).map(|(query, list)| shown(query, list)).collect::<Vec<f64>>(),
            ))
        };
        let (newest_mean, before) = (found(newest)?, found(earlier)?);
        // Few queries may all be odd ones.
        let is_far = newest.len() >= LEAST_QUERIES
            && newest_mean.0 < LEAST_OF_BEFORE * before.0
            && before.0 - newest_mean.0 > STANDARD_ERRORS * newest_mean.1.hypot(before.1);
        Ok(is_far.then_some(Suspicion::NotLikeBefore { witness, newest: newest_mean.0, earlier: before.0 }))
    }
}

/// Returns the share of a query's clicked titles that are among the first ten of a list.
fn shown(query: &SearchQuery, list: &[Hit]) -> f64 {
    let clicked = query.judged().iter().filter(|(_, grade)| *grade > 0).count();
    let found = list.iter().take(SHOWN).filter(|hit| query.grade(hit.position).is_some_and(|grade| grade > 0)).count();
    found as f64 / clicked.max(1) as f64
}

/// Returns the mean and its standard error.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, (variance / n).sqrt())
}
