//! Cross validation over queries: each fold is judged with the parameters that are best on the other folds.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use clickvec::internals::text::words;
use clickvec_eval::{Evaluation, Judgments, Metrics, QueryMetrics};

/// The fold of each query of a test set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folds {
    /// The fold of each query.
    of: Vec<usize>,
    count: usize,
    /// The number of different queries.
    texts: usize,
}

impl Folds {
    /// Divides the queries into `count` folds of nearly equal size. Queries with the same words are in the same fold. The folds
    /// depend on the words and `seed` only, not on the order of the file.
    ///
    /// # Panics
    /// If `count` is 0.
    pub fn new(judgments: &Judgments, count: usize, seed: u64) -> Folds {
        assert!(count > 0, "no folds");
        let queries: Vec<String> = judgments.queries.iter().map(|query| words(&query.text).join(" ")).collect();
        let mut texts: Vec<&str> = queries.iter().map(String::as_str).collect();
        texts.sort_unstable();
        texts.dedup();
        let mut order: Vec<(u64, &str)> =
            texts.iter().map(|text| (xxh3_64_with_seed(text.as_bytes(), seed), *text)).collect();
        order.sort_unstable();
        // Deal the queries out in the order of their hashes, so that folds have equal sizes.
        let mut fold_of_text: Vec<(&str, usize)> =
            order.iter().enumerate().map(|(position, &(_, text))| (text, position % count)).collect();
        fold_of_text.sort_unstable();
        let fold = |text: &str| {
            let position = fold_of_text.binary_search_by(|(other, _)| (*other).cmp(text));
            fold_of_text[position.expect("every text has a fold")].1
        };
        Folds { of: queries.iter().map(|text| fold(text)).collect(), count, texts: texts.len() }
    }

    /// Returns the number of folds.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of queries with different words. If there are fewer than folds, some folds are empty.
    pub fn texts(&self) -> usize {
        self.texts
    }

    /// Returns the fold of each query.
    pub fn numbers(&self) -> &[usize] {
        &self.of
    }

    /// Returns whether `query` helps to choose the parameters for `fold`: any query of another fold, or every query if there is
    /// only one fold.
    pub fn chooses(&self, query: usize, fold: usize) -> bool {
        self.count == 1 || self.of[query] != fold
    }
}

/// The result of a system with free parameters.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CrossValidated {
    /// The candidate for each fold.
    pub chosen: Vec<usize>,
    /// The evaluation of each query with the candidate of its fold.
    pub evaluation: Evaluation,
}

/// Judges each fold with the candidate that has the best mean of NDCG@1, @3 and @10 on the other folds; of equals, the first.
/// `candidates` are evaluations of one system with different parameters on the same queries.
///
/// # Panics
/// If there is no candidate, or the queries of one differ from those of `folds`.
pub(super) fn cross_validate(name: &str, candidates: &[Evaluation], folds: &Folds) -> CrossValidated {
    assert!(!candidates.is_empty(), "{name}: nothing to choose from");
    let best = |fold: usize| {
        let means = candidates.iter().map(|candidate| mean_objective(candidate, folds, fold));
        let better =
            |best: (usize, f64), (position, mean): (usize, f64)| if mean > best.1 { (position, mean) } else { best };
        means.enumerate().fold((0, f64::NEG_INFINITY), better).0
    };
    let chosen: Vec<usize> = (0..folds.count()).map(best).collect();
    let queries: Vec<QueryMetrics> =
        folds.of.iter().enumerate().map(|(query, &fold)| candidates[chosen[fold]].queries[query].clone()).collect();
    let mean = Metrics::mean(queries.iter().map(|query| &query.metrics));
    let evaluation = Evaluation { name: name.to_owned(), queries, mean, ..candidates[0].clone() };
    CrossValidated { chosen, evaluation }
}

/// Returns the mean [`Metrics::objective`] over the queries that help to choose for `fold`.
fn mean_objective(candidate: &Evaluation, folds: &Folds, fold: usize) -> f64 {
    assert_eq!(candidate.queries.len(), folds.of.len(), "{}: other queries", candidate.name);
    let chosen = candidate.queries.iter().enumerate().filter(|&(query, _)| folds.chooses(query, fold));
    let (sum, count) = chosen.fold((0.0, 0), |(sum, count), (_, query)| (sum + query.metrics.objective(), count + 1));
    sum / f64::from(count.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clickvec_eval::{EvaluateOptions, JudgedQuery, JudgedTitle, Metric, judge};

    fn judgments(queries: usize) -> Judgments {
        let title = |id: &str, grade| JudgedTitle { id: id.to_owned(), text: id.to_owned(), grade };
        let query = |number: usize| JudgedQuery {
            id: number.to_string(),
            text: format!("query {number}"),
            titles: vec![title("good", 4), title("bad", 0)],
        };
        Judgments { queries: (0..queries).map(query).collect(), ..Judgments::default() }
    }

    /// Creates a system that is right on the queries for which `right` is true.
    fn evaluation(judgments: &Judgments, right: impl Fn(usize) -> bool) -> Evaluation {
        let score = |query: usize| if right(query) { vec![1.0, 0.0] } else { vec![0.0, 1.0] };
        let scores: Vec<Vec<f64>> = (0..judgments.queries.len()).map(score).collect();
        judge("s", &scores, judgments, &EvaluateOptions::default())
    }

    #[test]
    fn folds_are_equally_large_and_do_not_follow_the_order_of_the_file() {
        let mut judgments = judgments(101);
        let folds = Folds::new(&judgments, 2, 1);
        let first = folds.numbers().iter().filter(|&&fold| fold == 0).count();
        assert_eq!(first, 51);
        let before: Vec<(String, usize)> =
            judgments.queries.iter().map(|query| query.text.clone()).zip(folds.of.clone()).collect();
        judgments.queries.reverse();
        let mut after: Vec<(String, usize)> =
            judgments.queries.iter().map(|query| query.text.clone()).zip(Folds::new(&judgments, 2, 1).of).collect();
        after.reverse();
        assert_eq!(before, after);
        assert_ne!(folds, Folds::new(&self::judgments(101), 2, 2));
    }

    #[test]
    fn each_fold_is_judged_by_what_was_best_on_the_other() {
        let judgments = judgments(40);
        let folds = Folds::new(&judgments, 2, 1);
        let fold = |query: usize| folds.numbers()[query];
        let candidates =
            [evaluation(&judgments, |query| fold(query) == 0), evaluation(&judgments, |query| fold(query) == 1)];
        // The first candidate is best on fold 0, so it is used on fold 1, where it is always wrong.
        let result = cross_validate("s", &candidates, &folds);
        assert_eq!(result.chosen, [1, 0]);
        assert_eq!(result.evaluation.mean.get(Metric::Ndcg(1)), 0.0);
        // With one fold nothing is held back.
        let all = cross_validate("s", &candidates, &Folds::new(&judgments, 1, 1));
        assert_eq!((all.chosen.len(), all.evaluation.mean.get(Metric::Ndcg(1))), (1, 0.5));
        // Of equals, the first.
        let same = [candidates[0].clone(), candidates[0].clone()];
        assert_eq!(cross_validate("s", &same, &folds).chosen, [0, 0]);
    }
}
