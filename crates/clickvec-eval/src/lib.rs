//! Whether one search is better than another: rankers, judged titles, metrics and significance tests.
//!
//! Whether one ranker is better than another, on judged titles and with a significance test:
//!
//! ```
//! use clickvec_eval::{Correction, Metric, TestSetFiles, compare_all, evaluate, read_test_set};
//! use clickvec_eval::ranker::{self, Corpus};
//!
//! # fn main() -> clickvec::Result<()> {
//! # let judged = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop/judged.tsv"));
//! let judgments = read_test_set(&TestSetFiles { judged, topics: None, titles: None, field: "title" })?.judgments;
//! let titles = judgments.queries.iter().flat_map(|query| &query.titles);
//! let corpus = Corpus::from_titles(titles.map(|title| title.text.as_str()))?;
//! let rankers = [ranker::train("bm25", &corpus)?, ranker::train("trigram", &corpus)?];
//! let judged = rankers.each_ref().map(|ranker| evaluate(&**ranker, &judgments, &Default::default()));
//! for compared in compare_all(&judged)?.iter().filter(|compared| compared.metric == Metric::Ndcg(10)) {
//!     println!("{:+.3}, p = {:.4}: {:?}", compared.test.difference, compared.test.p, compared.verdict(Correction::Holm));
//! #   assert!((0.0..=1.0).contains(&compared.test.p));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`ranker`] has the rankers, [`training`] trains a model whose best epoch held-out queries choose, and [`update`] compares a new
//! model with the one it would replace.

// Test helpers that the lab compiles too name this crate as the lab does.
#[cfg(test)]
extern crate self as clickvec_eval;

mod collection;
mod contest;
mod corpus;
pub mod evaluation;
mod held_out;
mod ids;
// For the other crates of the workspace, which are built from the same commit.
#[doc(hidden)]
pub mod internals;
mod judgments;
mod kappa;
mod metric;
mod overlap;
mod queries;
pub mod ranker;
mod ranking;
mod run;
mod significance;
mod task;
mod test_set;
mod topics;
pub mod training;
pub mod trec;
pub mod update;

pub use clickvec_tables::table::MAX_GRADE;
pub use collection::{Collection, SearchQuery, search_all};
pub use contest::{Contest, Evidence, Standing, unjudged_warning};
pub use corpus::{CorpusFiles, ReadCorpus, read_corpus, read_learnt};
pub use evaluation::{EvaluationSet, LeftOut};
pub use held_out::HeldOutTest;
pub use ids::Ids;
pub use judgments::{JudgedQuery, JudgedTitle, Judgments};
pub use kappa::{Agreement, Disagreement, kappa};
pub use metric::{Metric, Metrics, RankedTitle};
pub use overlap::{Overlap, overlap};
pub use queries::read_queries;
pub use ranking::{Gain, Ranking, Scored, Ties};
pub use run::{Run, RunCoverage};
pub use significance::{
    Comparison, ConfidenceSequence, Correction, Finding, LEAST_DIFFERING, PairedTest, SIGNIFICANT, Verdict, beaten,
    compare_all, crossed_test, differing_pairs, holm, is_same, paired_differences, paired_t_test,
};
pub use task::{Answers, Scores, Task, evaluate, judge, score, score_queries};
pub use test_set::{
    Form, Judged, JudgmentsForm, TestSet, TestSetFiles, begins_document, files_of_test_set, read_test_set,
    read_test_set_for_runs,
};
pub use topics::Topic;

pub use clickvec::train::click_grades;

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
