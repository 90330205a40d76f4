//! Evaluation: judging a ranker by people's grades, and testing whether two rankers differ.

pub(crate) mod collection;
mod corpus;
mod folds;
mod fusion;
mod held_out;
mod judgments;
mod kappa;
mod metric;
mod overlap;
pub(crate) mod queries;
mod ranking;
mod run;
pub(crate) mod significance;
mod task;
pub(crate) mod test_set;
pub(crate) mod topics;
pub mod trec;

pub use collection::{Collection, SearchQuery, search_all};
pub use corpus::{CorpusFiles, ReadCorpus, read_corpus};
pub use folds::{CrossValidated, Folds, cross_validate};
pub use fusion::{equal_weights, fit_fusion};
pub use held_out::{HeldOutReport, HeldOutTest};
pub use judgments::{JudgedQuery, JudgedTitle, Judgments, MAX_GRADE};
pub use kappa::{Disagreement, kappa};
pub use metric::{Metric, Metrics, RankedTitle, UnknownMetric};
pub use overlap::{Overlap, overlap};
pub use ranking::{Gain, Ranking, Scored, Ties};
pub use run::{Run, RunCoverage};
pub use significance::{
    BaselineComparison, CONFIDENCE, Comparison, Correction, Interval, LEAST_DIFFERING, PairedTest, PairingFault,
    RandomizationTest, Resampling, SIGNIFICANT, Verdict, beaten, bootstrap_difference, bootstrap_mean, compare_all,
    compare_with, confidence_intervals, differing_pairs, holm, minimum_detectable_difference, paired_t_test,
    queries_that_show, randomization_test,
};
pub use task::{Answers, Scores, Task, evaluate, judge, score};
pub use test_set::{Form, Ids, TestSet, TestSetFiles, read_test_set};

pub use crate::clicks::click_grades;

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
    /// The number of queries for which the system found nothing in a collection.
    pub queries_without_titles: usize,
}

impl Evaluation {
    /// The values of a metric, query by query.
    pub fn values(&self, metric: Metric) -> Vec<f64> {
        self.queries.iter().map(|query| query.metrics.get(metric)).collect()
    }
}
