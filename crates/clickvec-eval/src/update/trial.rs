//! The comparison of the old and the new model: both search all titles.

use serde::Serialize;

use crate::ranker::Candidates;
use crate::ranker::{Neural, Ranker as _};
use crate::{Answers, EvaluateOptions, Metric, PairedTest, SIGNIFICANT, SearchQuery, Task, paired_t_test, search_all};
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
    answers: [Answers; 2],
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
    /// Returns whether the new model is significantly worse, on [`LEAST_QUERIES`] or more.
    pub fn is_worse(&self) -> bool {
        self.queries >= LEAST_QUERIES && self.test.difference < 0.0 && self.test.evidence() < SIGNIFICANT
    }
}

/// What was found for some queries.
pub(super) struct Found {
    /// nDCG@10 of each query.
    pub(super) values: Vec<f64>,
    mean: f64,
    answers: Answers,
}

/// Returns what `candidates` finds for `queries` among all titles.
pub(super) fn judged(candidates: &dyn Candidates, titles: &[Title], queries: &[SearchQuery]) -> Result<Found> {
    let metric = Metric::Ndcg(SHOWN as u32);
    let answers = Answers::Lists(search_all(candidates, queries, SHOWN, &mut |_| ())?);
    let found = Task::Search { titles, queries }.judge("model", &answers, &[metric], &EvaluateOptions::default());
    Ok(Found { values: found.values(metric), mean: found.mean.get(metric), answers })
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

    /// Returns the results of both models on these queries, compared.
    ///
    /// # Errors
    ///
    /// `ErrorKind::NotFinite` if a model gives vectors that cannot be searched.
    pub fn trial(&self, queries: &[SearchQuery]) -> Result<Trial> {
        let old = judged(&*self.old, self.titles, queries)?;
        let new = judged(&*self.new, self.titles, queries)?;
        let test = paired_t_test(&new.values, &old.values)?;
        Ok(Trial { old: old.mean, new: new.mean, test, queries: queries.len(), answers: [old.answers, new.answers] })
    }

    /// Returns how much changed from the old to the new model, over the queries of these trials.
    pub fn drift(&self, trials: &[&Trial]) -> Drift {
        let lists = trials.iter().flat_map(|trial| trial.answers[0].lists().iter().zip(trial.answers[1].lists()));
        drift_of(lists.map(|(old, new)| (old.as_slice(), new.as_slice())), alignment(self.models, self.texts))
    }
}
