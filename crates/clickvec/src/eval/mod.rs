//! Evaluation: judging a ranker by people's grades, and testing whether two rankers differ.

mod corpus;
mod folds;
pub(crate) mod full;
mod fusion;
mod held_out;
mod judgments;
mod kappa;
mod measure;
mod metrics;
mod overlap;
pub(crate) mod queries;
mod run;
pub(crate) mod significance;
pub(crate) mod test_set;
pub(crate) mod topics;
pub mod trec;

use rayon::prelude::*;

pub use corpus::{CorpusFiles, ReadCorpus, read_corpus};
pub use folds::{CrossValidated, Folds, cross_validate};
pub use full::{FullEvaluation, FullJudge, FullQuery, FullTestSet, compare_full, search_all};
pub use fusion::{equal_search_weights, equal_weights, fit_fusion, fit_search_fusion, fuse_scores};
pub use held_out::{HeldOutReport, HeldOutTest};
pub use judgments::{JudgedQuery, JudgedTitle, Judgments, MAX_GRADE};
pub use kappa::{Disagreement, kappa};
pub use measure::{Measure, NoMeasure};
pub use metrics::{Gain, Ranking, Scored, Ties};
pub use overlap::{Overlap, overlap};
pub use run::{Run, RunCoverage, RunLists};
pub use significance::{
    BaselineComparison, CONFIDENCE, Comparison, Correction, Interval, LEAST_DIFFERING, PairedTest, PairingFault,
    RandomizationTest, Resampling, SIGNIFICANT, Verdict, beaten, bootstrap_difference, bootstrap_mean, compare_all,
    compare_with, confidence_intervals, differing_pairs, holm, minimum_detectable_difference, paired_t_test,
    queries_that_show, randomization_test,
};
pub use test_set::{Form, Ids, TestSet, TestSetFiles, read_test_set};

pub use crate::clicks::click_grades;
use crate::ranker::Ranker;

/// The options by which a ranking is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvaluateOptions {
    /// The gain of a grade in NDCG.
    pub gain: Gain,
    /// How to treat titles with equal scores.
    pub ties: Ties,
    /// The lowest relevant grade, for all metrics except NDCG.
    pub relevant_from: u8,
}

impl Default for EvaluateOptions {
    fn default() -> EvaluateOptions {
        EvaluateOptions { gain: Gain::Exponential, ties: Ties::Expected, relevant_from: 1 }
    }
}

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// NDCG of the first title.
    Ndcg1,
    /// NDCG of the first 3 titles.
    Ndcg3,
    /// NDCG of the first 10 titles.
    Ndcg10,
    /// 1 / rank of the first relevant title; its mean is MRR.
    ReciprocalRank,
    /// Average precision; its mean is MAP.
    AveragePrecision,
    /// Precision of the first 10 titles.
    Precision10,
    /// Recall of the first 10 titles.
    Recall10,
}

impl Metric {
    /// All metrics in the order of reports.
    pub const ALL: [Metric; 7] = [
        Metric::Ndcg1,
        Metric::Ndcg3,
        Metric::Ndcg10,
        Metric::ReciprocalRank,
        Metric::AveragePrecision,
        Metric::Precision10,
        Metric::Recall10,
    ];

    /// The metrics by which systems are compared.
    pub const NDCG: [Metric; 3] = [Metric::Ndcg1, Metric::Ndcg3, Metric::Ndcg10];

    /// The metric's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Ndcg1 => "ndcg@1",
            Metric::Ndcg3 => "ndcg@3",
            Metric::Ndcg10 => "ndcg@10",
            Metric::ReciprocalRank => "reciprocal_rank",
            Metric::AveragePrecision => "average_precision",
            Metric::Precision10 => "precision@10",
            Metric::Recall10 => "recall@10",
        }
    }
}

/// A value for each metric, from 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Metrics([f64; Metric::ALL.len()]);

impl Metrics {
    /// All metrics of one ranking.
    pub fn of(ranking: &Ranking, options: &EvaluateOptions) -> Metrics {
        let EvaluateOptions { gain, relevant_from, .. } = *options;
        Metrics(Metric::ALL.map(|metric| match metric {
            Metric::Ndcg1 => ranking.ndcg(1, gain),
            Metric::Ndcg3 => ranking.ndcg(3, gain),
            Metric::Ndcg10 => ranking.ndcg(10, gain),
            Metric::ReciprocalRank => ranking.reciprocal_rank(relevant_from),
            Metric::AveragePrecision => ranking.average_precision(relevant_from),
            Metric::Precision10 => ranking.precision(10, relevant_from),
            Metric::Recall10 => ranking.recall(10, relevant_from),
        }))
    }

    /// The value of a metric.
    pub fn get(&self, metric: Metric) -> f64 {
        self.0[metric as usize]
    }

    /// The metrics with every value changed by `change`.
    #[cfg(test)]
    pub(crate) fn map(self, change: impl Fn(f64) -> f64) -> Metrics {
        Metrics(self.0.map(change))
    }

    /// The mean of each metric; 0 without queries.
    pub fn mean<'a>(queries: impl IntoIterator<Item = &'a Metrics>) -> Metrics {
        let mut mean = Metrics::default();
        let mut count = 0u64;
        for metrics in queries {
            count += 1;
            mean.0.iter_mut().zip(metrics.0).for_each(|(sum, value)| *sum += value);
        }
        mean.0.iter_mut().for_each(|sum| *sum /= count.max(1) as f64);
        mean
    }
}

/// The metrics of one query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryMetrics {
    /// The query's id.
    pub id: String,
    /// The values of the metrics.
    pub metrics: Metrics,
}

/// The evaluation of a ranker on a test set.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The ranker's name.
    pub name: String,
    /// Each query, in the order of the test set.
    pub queries: Vec<QueryMetrics>,
    /// The mean over all queries, including those without a relevant title, which score 0.
    pub mean: Metrics,
    /// The number of queries without a title of a grade above 0.
    pub queries_without_relevant: usize,
}

impl Evaluation {
    /// The values of a metric, query by query.
    pub fn values(&self, metric: Metric) -> Vec<f64> {
        self.queries.iter().map(|query| query.metrics.get(metric)).collect()
    }
}

/// The scores of each query's judged titles, in the order of the test set.
pub type Scores = Vec<Vec<f64>>;

/// The scores that `ranker` gives each query's judged titles, computed on rayon's current threads. The number of
/// threads does not change the result.
///
/// # Panics
///
/// If the ranker does not give each title one score.
pub fn score(ranker: &dyn Ranker, judgments: &Judgments) -> Scores {
    let of_query = |query: &JudgedQuery| {
        let texts: Vec<&str> = query.titles.iter().map(|title| title.text.as_str()).collect();
        let scores = ranker.score(&query.text, &texts);
        assert_eq!(scores.len(), texts.len(), "{}: one score a title", ranker.name());
        scores
    };
    judgments.queries.par_iter().map(of_query).collect()
}

/// The evaluation of the rankings that `scores` make of each query's judged titles.
///
/// # Panics
///
/// If there is not one score for each judged title.
pub fn judge(name: &str, scores: &[Vec<f64>], judgments: &Judgments, options: &EvaluateOptions) -> Evaluation {
    assert_eq!(scores.len(), judgments.queries.len(), "{name}: scores for each query");
    let judged: Vec<(QueryMetrics, bool)> = judgments
        .queries
        .par_iter()
        .zip(scores)
        .map(|(query, scores)| {
            assert_eq!(scores.len(), query.titles.len(), "{name}: one score a title");
            let scored = query.titles.iter().zip(scores);
            let scored = scored.map(|(title, &score)| Scored { id: &title.id, score, grade: title.grade });
            let grades = query.titles.iter().map(|title| title.grade);
            let ranking = Ranking::new(scored.collect(), grades.collect(), options.ties);
            let metrics = Metrics::of(&ranking, options);
            (QueryMetrics { id: query.id.clone(), metrics }, ranking.nothing_relevant())
        })
        .collect();
    let queries_without_relevant = judged.iter().filter(|(_, nothing)| *nothing).count();
    let queries: Vec<QueryMetrics> = judged.into_iter().map(|(query, _)| query).collect();
    let mean = Metrics::mean(queries.iter().map(|query| &query.metrics));
    Evaluation { name: name.to_owned(), queries, mean, queries_without_relevant }
}

/// The evaluation of a ranker: [`score`], then [`judge`].
///
/// # Panics
///
/// If the ranker does not give each title one score.
pub fn evaluate(ranker: &dyn Ranker, judgments: &Judgments, options: &EvaluateOptions) -> Evaluation {
    judge(ranker.name(), &score(ranker, judgments), judgments, options)
}

#[cfg(test)]
mod tests;
