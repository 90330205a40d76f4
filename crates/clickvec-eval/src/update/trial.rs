//! The comparison of the old and the new model: both search all titles.

use clickvec::Result;
use clickvec::index::Hit;
use clickvec::model::Model;
use serde::Serialize;

use super::churn::SHOWN;
use crate::ranker::{Neural, Ranker as _};
use crate::{
    Answers, Collection, EvaluateOptions, Evaluation, Evidence, Metric, PairedTest, SIGNIFICANT, SearchQuery, Task,
    paired_t_test, search_all, unjudged_warning,
};

/// The smallest number of queries for a useful comparison of two models.
pub const LEAST_QUERIES: usize = 20;
/// The number of titles that are found for a query. Without those that have no click or judgment, ten of them are left nearly
/// always.
pub const DEPTH: usize = 50;

/// A search of a collection with a model: it finds the [`DEPTH`] best titles for each query.
pub type Search<'a> = dyn Fn(&Model, &Collection, &[SearchQuery]) -> Result<Vec<Vec<Hit>>> + 'a;

/// Searches by the cosines of a model alone.
///
/// # Errors
///
/// `ErrorKind::NotFinite` if the model gives vectors that cannot be searched.
pub fn search_with_model(model: &Model, set: &Collection, queries: &[SearchQuery]) -> Result<Vec<Vec<Hit>>> {
    let ranker = Neural::new("model".to_owned(), model);
    search_all(&*ranker.candidates(&set.texts())?, queries, DEPTH, &mut |_| ())
}

/// The results of both models on the same queries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trial {
    /// The name of the queries.
    pub on: &'static str,
    /// The number of queries.
    pub queries: usize,
    /// The mean nDCG@10 of the old model.
    pub old: f64,
    /// The mean nDCG@10 of the new model.
    pub new: f64,
    /// The mean of new − old.
    pub difference: f64,
    /// The p of a paired t-test.
    pub p: f64,
    /// Whether the new model is significantly worse on [`LEAST_QUERIES`] judged queries or more. Clicks cannot show that: users
    /// saw the titles of the old model.
    pub worse: bool,
    /// A warning if titles that were never judged or shown decide the comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The metric that decides, and those that show how far it can be trusted.
const METRICS: [Metric; 3] =
    [Metric::Ndcg(SHOWN as u32), Metric::Judged(SHOWN as u32), Metric::CondensedNdcg(SHOWN as u32)];

/// Evaluates the lists that were found for `queries`.
fn judged(lists: Vec<Vec<Hit>>, set: &Collection, queries: &[SearchQuery], known: &[bool]) -> Evaluation {
    let task = Task::Search { titles: &set.titles, queries, known };
    task.judge("model", &Answers::Lists(lists), &METRICS, &EvaluateOptions::default())
}

impl Trial {
    /// Compares the titles that the old and the new model found.
    ///
    /// # Errors
    ///
    /// Those of [`paired_t_test`].
    pub(super) fn new(
        on: &'static str,
        evidence: Evidence,
        set: &Collection,
        queries: &[SearchQuery],
        lists: [Vec<Vec<Hit>>; 2],
    ) -> Result<Trial> {
        let known = match evidence {
            Evidence::Clicks => &set.known[..],
            Evidence::Impressions | Evidence::Judgments => &[],
        };
        let [old, new] = lists.map(|lists| judged(lists, set, queries, known));
        let [decides, _, condensed] = METRICS;
        let test = paired_t_test(&new.values(decides), &old.values(decides))?;
        let [old_mean, new_mean] = [&old, &new].map(|found| found.mean.get(decides));
        let warning = unjudged_warning(evidence, &[old.clone(), new.clone()]).map(|warning| {
            let [old, new] = [&old, &new].map(|found| found.mean.get(condensed));
            let heading = condensed.heading();
            format!("{warning}; without them {heading} is {old:.3} for the old model and {new:.3} for the new one")
        });
        let PairedTest { difference, .. } = test;
        let p = test.evidence();
        let decides = evidence == Evidence::Judgments && queries.len() >= LEAST_QUERIES;
        let worse = decides && difference < 0.0 && p < SIGNIFICANT;
        Ok(Trial { on, queries: queries.len(), old: old_mean, new: new_mean, difference, p, worse, warning })
    }
}
