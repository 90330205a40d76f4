//! What systems are judged by: ranking the judged titles of each query, or searching a whole collection.

use rayon::prelude::*;

use super::collection::{Collection, SearchQuery, search_all};
use super::metric::RankedTitle;
use super::{EvaluateOptions, Evaluation, JudgedQuery, Judgments, Metric, Metrics, QueryMetrics, Scored};
use crate::ranker::Ranker;
use clickvec::Result;
use clickvec::index::Hit;
use clickvec::tables::Title;

/// The scores of each query's judged titles, in the order of the test set.
pub type Scores = Vec<Vec<f64>>;

/// What systems are judged by. The two kinds differ only in the titles that a system may rank.
#[derive(Debug, Clone, Copy)]
pub enum Task<'a> {
    /// Ranking the titles that were judged for each query.
    Judged(&'a Judgments),
    /// Searching a collection for each query.
    Search {
        /// The titles of the collection, by position.
        titles: &'a [Title],
        /// The queries.
        queries: &'a [SearchQuery],
        /// Whether each title was clicked or shown for any query; see [`Collection::known`](crate::Collection::known).
        known: &'a [bool],
    },
}

impl Collection {
    /// Returns the task of searching the collection for `queries`, its own or those of [`Collection::others`].
    pub fn task<'a>(&'a self, queries: &'a [SearchQuery]) -> Task<'a> {
        Task::Search { titles: &self.titles, queries, known: &self.known }
    }
}

/// A system's answers to the queries of a [`Task`], in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Answers {
    /// A score for each judged title.
    Scores(Scores),
    /// The best titles of a collection.
    Lists(Vec<Vec<Hit>>),
}

impl Answers {
    /// Returns position and score of the titles that answer a query: positions among its judged titles, or in the collection.
    fn to(&self, query: usize) -> Vec<(u32, f64)> {
        match self {
            Answers::Scores(scores) => (0..).zip(scores[query].iter().copied()).collect(),
            Answers::Lists(lists) => lists[query].iter().map(|hit| (hit.position, f64::from(hit.score))).collect(),
        }
    }

    /// Returns the number of queries.
    pub fn len(&self) -> usize {
        match self {
            Answers::Scores(scores) => scores.len(),
            Answers::Lists(lists) => lists.len(),
        }
    }

    /// Returns whether there is no query.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Shortens each list to `depth` titles. Scores of judged titles stay.
    pub fn truncate(&mut self, depth: usize) {
        if let Answers::Lists(lists) = self {
            lists.iter_mut().for_each(|list| list.truncate(depth));
        }
    }

    /// Returns the scores of judged titles.
    ///
    /// # Panics
    ///
    /// If these are lists of a collection.
    pub fn scores(&self) -> &Scores {
        match self {
            Answers::Scores(scores) => scores,
            Answers::Lists(_) => panic!("scores of judged titles expected, lists found"),
        }
    }

    /// Returns the lists of titles of a collection.
    ///
    /// # Panics
    ///
    /// If these are scores of judged titles.
    pub fn lists(&self) -> &[Vec<Hit>] {
        match self {
            Answers::Lists(lists) => lists,
            Answers::Scores(_) => panic!("lists of titles expected, scores found"),
        }
    }
}

impl<'a> Task<'a> {
    /// Returns the number of queries.
    pub fn len(self) -> usize {
        match self {
            Task::Judged(judgments) => judgments.queries.len(),
            Task::Search { queries, .. } => queries.len(),
        }
    }

    /// Returns whether there is no query.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Iterates over the id and the text of each query.
    pub fn queries(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        (0..self.len()).map(move |query| match self {
            Task::Judged(judgments) => (&judgments.queries[query].id[..], &judgments.queries[query].text[..]),
            Task::Search { queries, .. } => (&queries[query].id[..], &queries[query].text[..]),
        })
    }

    /// Answers each query with `ranker`, with at most `depth` titles of a collection. Calls `done` with the number of queries
    /// answered so far. Runs on rayon's current threads, whose number does not change the result.
    ///
    /// # Errors
    ///
    /// Those of [`Ranker::candidates`] and of searching; `ErrorKind::Memory` for lists that do not fit.
    ///
    /// # Panics
    ///
    /// If the ranker does not give each title one score.
    pub fn answers(self, ranker: &dyn Ranker, depth: usize, done: &mut dyn FnMut(usize)) -> Result<Answers> {
        match self {
            Task::Judged(judgments) => {
                let scores = score(ranker, judgments);
                done(scores.len());
                Ok(Answers::Scores(scores))
            }
            Task::Search { titles, queries, .. } => {
                let texts: Vec<&str> = titles.iter().map(|title| title.title.as_str()).collect();
                let candidates = ranker.candidates(&texts)?;
                Ok(Answers::Lists(search_all(candidates.as_ref(), queries, depth, done)?))
            }
        }
    }

    /// Returns the id and score of the titles that answer a query, best first; titles with equal scores are in the order of
    /// trec_eval, and those that a run lacks are left out.
    pub fn ranked(self, answers: &Answers, query: usize) -> Vec<(&'a str, f64)> {
        let titles = answers.to(query).into_iter().filter(|&(_, score)| score > f64::NEG_INFINITY);
        let mut ranked: Vec<(&str, f64)> =
            titles.map(|(position, score)| (self.title(query, position).0, score)).collect();
        ranked.sort_by(|(a_id, a), (b_id, b)| b.total_cmp(a).then_with(|| b_id.cmp(a_id)));
        ranked
    }

    /// Computes metrics of a system's answers.
    ///
    /// # Panics
    ///
    /// If the answers are not those to these queries.
    pub fn judge(self, name: &str, answers: &Answers, metrics: &[Metric], options: &EvaluateOptions) -> Evaluation {
        assert_eq!(answers.len(), self.len(), "{name}: answers to each query");
        let judged: Vec<(Metrics, bool)> = (0..self.len())
            .into_par_iter()
            .map(|query| self.judge_query(name, answers, query, metrics, options))
            .collect();
        let queries_without_relevant = judged.iter().filter(|(_, relevant)| !relevant).count();
        let queries_without_titles = match answers {
            Answers::Scores(_) => 0,
            Answers::Lists(lists) => lists.iter().filter(|list| list.is_empty()).count(),
        };
        let queries = self.queries().zip(judged);
        let queries: Vec<QueryMetrics> =
            queries.map(|((id, _), (metrics, _))| QueryMetrics { id: id.to_owned(), metrics }).collect();
        let mean = if queries.is_empty() {
            Metrics::zero(metrics)
        } else {
            Metrics::mean(queries.iter().map(|query| &query.metrics))
        };
        Evaluation { name: name.to_owned(), queries, mean, queries_without_relevant, queries_without_titles }
    }

    /// Computes the metrics of one query, and whether it has a relevant title.
    fn judge_query(
        self,
        name: &str,
        answers: &Answers,
        query: usize,
        metrics: &[Metric],
        options: &EvaluateOptions,
    ) -> (Metrics, bool) {
        let grades: Vec<u8> = match self {
            Task::Judged(judgments) => judgments.queries[query].titles.iter().map(|title| title.grade).collect(),
            Task::Search { queries, .. } => queries[query].grades.clone(),
        };
        let titles = answers.to(query);
        if let Task::Judged(_) = self {
            assert_eq!(titles.len(), grades.len(), "{name}: one score a title");
        }
        let ranked = |&(position, score): &(u32, f64)| {
            let (id, grade) = self.title(query, position);
            let judged = grade.is_some() || self.is_known(position);
            RankedTitle { title: Scored { id, score, grade: grade.unwrap_or(0) }, judged }
        };
        let ranked: Vec<RankedTitle<'_>> = titles.iter().map(ranked).collect();
        let metrics = Metrics::compute(&ranked, &grades, metrics.iter().copied(), options);
        (metrics, grades.iter().any(|&grade| grade > 0))
    }

    /// Returns the id of a title, and its grade for the query if it has one.
    fn title(self, query: usize, position: u32) -> (&'a str, Option<u8>) {
        match self {
            Task::Judged(judgments) => {
                let title = &judgments.queries[query].titles[position as usize];
                (&title.id, Some(title.grade))
            }
            Task::Search { titles, queries, .. } => (&titles[position as usize].id, queries[query].grade(position)),
        }
    }

    /// Returns whether a title was clicked or shown for any query.
    fn is_known(self, position: u32) -> bool {
        match self {
            Task::Judged(_) => false,
            Task::Search { known, .. } => known.get(position as usize).copied().unwrap_or(false),
        }
    }
}

/// Returns the scores that `ranker` gives each query's judged titles, computed on rayon's current threads. The number of threads
/// does not change the result.
///
/// # Panics
///
/// If the ranker does not give each title one score.
pub fn score(ranker: &dyn Ranker, judgments: &Judgments) -> Scores {
    score_queries(ranker, &judgments.queries)
}

/// Returns the scores of the judged titles of some queries.
///
/// # Panics
///
/// If the ranker does not return one score for each title.
pub fn score_queries(ranker: &dyn Ranker, queries: &[JudgedQuery]) -> Scores {
    let scores = |query: &JudgedQuery| {
        let texts: Vec<&str> = query.titles.iter().map(|title| title.text.as_str()).collect();
        let scores = ranker.score(&query.text, &texts);
        assert_eq!(scores.len(), texts.len(), "{}: one score a title", ranker.name());
        scores
    };
    queries.par_iter().map(scores).collect()
}

/// Judges the rankings that `scores` make of each query's judged titles, by [`Metric::OF_JUDGED`].
///
/// # Panics
///
/// If there is not one score for each judged title.
pub fn judge(name: &str, scores: &[Vec<f64>], judgments: &Judgments, options: &EvaluateOptions) -> Evaluation {
    let answers = Answers::Scores(scores.to_vec());
    Task::Judged(judgments).judge(name, &answers, &Metric::OF_JUDGED, options)
}

/// Judges a ranker by its rankings of judged titles: [`score`], then [`judge`].
///
/// # Panics
///
/// If the ranker does not give each title one score.
pub fn evaluate(ranker: &dyn Ranker, judgments: &Judgments, options: &EvaluateOptions) -> Evaluation {
    let answers = Answers::Scores(score(ranker, judgments));
    Task::Judged(judgments).judge(ranker.name(), &answers, &Metric::OF_JUDGED, options)
}
