//! The comparison of the old and the new model: both search all titles.

use serde::Serialize;

use crate::ranker::Candidates;
use crate::ranker::{Neural, Ranker as _};
use crate::{
    Answers, EvaluateOptions, Evaluation, Evidence, Metric, PairedTest, SIGNIFICANT, SearchQuery, Task, paired_t_test,
    search_all, unjudged_warning,
};
use clickvec::Result;
use clickvec::model::Model;
use clickvec::tables::Title;

use super::drift::{Drift, SHOWN, alignment, drift_of};

/// The smallest number of queries for a useful comparison of two models.
pub const LEAST_QUERIES: usize = 20;

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
    /// A warning if titles that were never judged or shown decide the comparison.
    pub warning: Option<String>,
    answers: [Answers; 2],
}

/// The numbers of a trial, as reports have them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Numbers<'a> {
    queries: usize,
    old: f64,
    new: f64,
    difference: f64,
    p: f64,
    worse: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'a str>,
}

impl Serialize for Trial {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Trial { old, new, test, queries, warning, .. } = self;
        let (difference, p, warning) = (test.difference, test.evidence(), warning.as_deref());
        let numbers =
            Numbers { queries: *queries, old: *old, new: *new, difference, p, worse: self.is_worse(), warning };
        numbers.serialize(serializer)
    }
}

impl Trial {
    /// Returns whether the new model is significantly worse, on [`LEAST_QUERIES`] or more.
    pub fn is_worse(&self) -> bool {
        self.queries >= LEAST_QUERIES && self.test.difference < 0.0 && self.test.evidence() < SIGNIFICANT
    }
}

/// The metric that decides, and what says how far it can be trusted.
const METRICS: [Metric; 3] =
    [Metric::Ndcg(SHOWN as u32), Metric::Judged(SHOWN as u32), Metric::CondensedNdcg(SHOWN as u32)];

/// What was found for some queries.
pub(super) struct Found {
    pub(super) evaluation: Evaluation,
    answers: Answers,
}

impl Found {
    /// Returns nDCG@10 of each query.
    pub(super) fn values(&self) -> Vec<f64> {
        self.evaluation.values(METRICS[0])
    }
}

/// Returns what `candidates` finds for `queries` among all titles, of which some are known ([`Collection::known`](crate::Collection)).
pub(super) fn judged(
    candidates: &dyn Candidates,
    titles: &[Title],
    queries: &[SearchQuery],
    known: &[bool],
) -> Result<Found> {
    let answers = Answers::Lists(search_all(candidates, queries, SHOWN, &mut |_| ())?);
    let task = Task::Search { titles, queries, known };
    let evaluation = task.judge("model", &answers, &METRICS, &EvaluateOptions::default());
    Ok(Found { evaluation, answers })
}

impl<'a> Models<'a> {
    /// Both models with the vectors of the titles, whose texts are `texts`.
    ///
    /// # Errors
    ///
    /// `ErrorKind::NotFinite` if a model gives vectors that cannot be searched.
    pub fn new(
        titles: &'a [Title],
        texts: &'a [&'a str],
        old: &'a Neural<&'a Model>,
        new: &'a Neural<&'a Model>,
    ) -> Result<Models<'a>> {
        Ok(Models { titles, old: old.candidates(texts)?, new: new.candidates(texts)?, models: [old, new], texts })
    }

    /// Returns the results of both models on these queries, compared. `known` says of each title whether it was clicked for any query,
    /// if clicks are the evidence.
    ///
    /// # Errors
    ///
    /// `ErrorKind::NotFinite` if a model gives vectors that cannot be searched.
    pub fn trial(&self, queries: &[SearchQuery], evidence: Evidence, known: &[bool]) -> Result<Trial> {
        let [old, new] = [&self.old, &self.new].map(|model| judged(&**model, self.titles, queries, known));
        let (old, new) = (old?, new?);
        let test = paired_t_test(&new.values(), &old.values())?;
        let [decides, _, condensed] = METRICS;
        let mean = |found: &Found, metric| found.evaluation.mean.get(metric);
        let warning = unjudged_warning(evidence, &[old.evaluation.clone(), new.evaluation.clone()]);
        let warning = warning.map(|warning| {
            let [old, new] = [&old, &new].map(|found| mean(found, condensed));
            format!(
                "{warning}; without them {} is {old:.3} for the old model and {new:.3} for the new one",
                condensed.heading()
            )
        });
        let (old_mean, new_mean) = (mean(&old, decides), mean(&new, decides));
        let answers = [old.answers, new.answers];
        Ok(Trial { old: old_mean, new: new_mean, test, queries: queries.len(), warning, answers })
    }

    /// Returns how much changed from the old to the new model, over the queries of these trials.
    pub fn drift(&self, trials: &[&Trial]) -> Drift {
        let lists = trials.iter().flat_map(|trial| trial.answers[0].lists().iter().zip(trial.answers[1].lists()));
        drift_of(lists.map(|(old, new)| (old.as_slice(), new.as_slice())), alignment(self.models, self.texts))
    }
}
