//! The comparison of the old and the new model: both search all titles.

use serde::Serialize;

use crate::Result;
use crate::error::{Error, PairingFault};
use crate::eval::{EvaluateOptions, FullJudge, FullQuery, Measure, PairedTest, SIGNIFICANT, paired_t_test, search_all};
use crate::index::{Candidates, Hit};
use crate::model::Model;
use crate::ranker::{Neural, Ranker as _};
use crate::tables::Title;

use super::drift::{Drift, alignment, drift_of};
use super::window::Suspicion;

/// The smallest number of queries for a useful comparison of two models.
pub const LEAST_QUERIES: usize = 20;
/// The length of result lists: the titles that users look at.
pub(super) const SHOWN: usize = 10;
/// If the old model's nDCG@10 on the newest clicks is less than this share of its nDCG@10 on earlier clicks, the newest
/// ones are suspected not to come from users.
const LEAST_OF_BEFORE: f64 = 0.5;
/// The number of standard errors by which the two must also differ.
const STANDARD_ERRORS: f64 = 3.0;

/// The old and the new model, searching one collection.
pub struct Models<'a> {
    titles: &'a [Title],
    old: Box<dyn Candidates + 'a>,
    new: Box<dyn Candidates + 'a>,
    models: [&'a Neural<&'a Model>; 2],
    texts: &'a [&'a str],
}

/// The results of both models on the same queries.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The mean nDCG@10 of the old model.
    pub old: f64,
    /// The mean nDCG@10 of the new model.
    pub new: f64,
    /// The paired test of new − old over the queries.
    pub test: PairedTest,
    /// The number of queries.
    pub queries: usize,
    /// The old model's nDCG@10 for each query.
    old_values: Vec<f64>,
    lists: [Vec<Vec<Hit>>; 2],
}

/// The numbers of a trial, as reports have them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Numbers {
    queries: usize,
    old: f64,
    new: f64,
    difference: f64,
    p: f64,
    worse: bool,
}

impl Serialize for Trial {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Trial { old, new, test, queries, .. } = self;
        let (difference, p) = (test.difference, test.evidence());
        Numbers { queries: *queries, old: *old, new: *new, difference, p, worse: self.is_worse() }.serialize(serializer)
    }
}

impl Trial {
    /// Whether the new model is significantly worse, on [`LEAST_QUERIES`] or more.
    pub fn is_worse(&self) -> bool {
        self.queries >= LEAST_QUERIES && self.test.difference < 0.0 && self.test.evidence() < SIGNIFICANT
    }

    /// The suspicion that the clicks of this trial, the newest ones, do not come from users, because the old model does much
    /// worse on them than on those of an `earlier` trial.
    pub fn suspicion(&self, earlier: &Trial) -> Option<Suspicion> {
        let [newest, before] = [&self.old_values, &earlier.old_values].map(|values| mean_and_error(values));
        let error = newest.1.hypot(before.1);
        // Few queries may all be odd ones.
        let is_far = self.queries >= LEAST_QUERIES
            && newest.0 < LEAST_OF_BEFORE * before.0
            && before.0 - newest.0 > STANDARD_ERRORS * error;
        is_far.then_some(Suspicion::NotLikeBefore { newest: newest.0, earlier: before.0 })
    }
}

/// The mean and its standard error.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, (variance / n).sqrt())
}

impl<'a> Models<'a> {
    /// Encodes the titles, whose texts are `texts`, with both models.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Vectors`] if a model gives vectors that cannot be searched.
    pub fn new(
        titles: &'a [Title],
        texts: &'a [&'a str],
        old: &'a Neural<&'a Model>,
        new: &'a Neural<&'a Model>,
    ) -> Result<Models<'a>> {
        Ok(Models { titles, old: old.candidates(texts)?, new: new.candidates(texts)?, models: [old, new], texts })
    }

    /// Compares what both models find for these queries.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Vectors`] if a model gives vectors that cannot be searched.
    pub fn trial(&self, queries: &[FullQuery]) -> Result<Trial> {
        let options = EvaluateOptions::default();
        let measures = [Measure::Ndcg(SHOWN as u32)];
        let judged = |candidates: &dyn Candidates| -> Result<(Vec<f64>, f64, Vec<Vec<Hit>>)> {
            let mut judge = FullJudge::new(self.titles, &measures, &options);
            let mut lists = Vec::with_capacity(queries.len());
            search_all(candidates, queries, SHOWN, |queries, found| -> Result<()> {
                judge.add(queries, &found);
                lists.extend(found);
                Ok(())
            })?;
            let found = judge.finish("model");
            Ok((found.queries.iter().map(|values| values[0]).collect(), found.mean[0], lists))
        };
        let (old_values, old, old_lists) = judged(self.old.as_ref())?;
        let (new_values, new, new_lists) = judged(self.new.as_ref())?;
        let test = paired_t_test(&new_values, &old_values).map_err(|fault: PairingFault| Error::from(fault))?;
        Ok(Trial { old, new, test, queries: queries.len(), old_values, lists: [old_lists, new_lists] })
    }

    /// How much changed from the old to the new model, over the queries of these trials.
    pub fn drift(&self, trials: &[&Trial]) -> Drift {
        let lists = trials.iter().flat_map(|trial| trial.lists[0].iter().zip(&trial.lists[1]));
        drift_of(lists.map(|(old, new)| (old.as_slice(), new.as_slice())), alignment(self.models, self.texts))
    }
}
