//! Fusions of systems whose scores are known, and the weights that are best on judged queries.

use std::collections::HashMap;

use rayon::prelude::*;

use super::metrics::discount;
use super::{EvaluateOptions, FullQuery, Judgments, Ranking, Scores, folds, judge};
use crate::index::Hit;
use crate::ranker::{FittedWeights, FusionMethod, fit_weights, fuse};

/// The cutoffs of nDCG@k and recall@k to which the weights of a search are fitted.
const FIRST_TITLES: usize = 10;
const MANY_TITLES: usize = 100;

/// The fused scores of each query's titles. `scores` has the scores of each system on the same queries.
///
/// # Panics
///
/// Like [`fuse`].
pub fn fuse_scores(scores: &[&Scores], weights: &[f64], method: FusionMethod) -> Scores {
    let of_query = |query: usize| {
        let of: Vec<&[f64]> = scores.iter().map(|scores| &scores[query][..]).collect();
        fuse(&of, weights, method)
    };
    (0..scores.first().map_or(0, |scores| scores.len())).map(of_query).collect()
}

/// The weights of the systems with these `scores` that have the best mean of NDCG@1, @3 and @10 on `judgments`.
///
/// # Panics
///
/// If there is not one score for each judged title.
pub fn fit_fusion(
    scores: &[&Scores],
    judgments: &Judgments,
    method: FusionMethod,
    options: &EvaluateOptions,
) -> FittedWeights {
    fit_weights(scores.len(), &mut |weights| {
        folds::objective(&judge("fusion", &fuse_scores(scores, weights, method), judgments, options).mean)
    })
}

/// The weights with the best mean of nDCG@10 and recall@100 over `queries`, for the systems that found these `lists`, one
/// for each query. Titles without a judgment count as not relevant.
///
/// # Panics
///
/// If there is not one list for each query.
pub fn fit_search_fusion(
    lists: &[&[Vec<Hit>]],
    queries: &[FullQuery],
    method: FusionMethod,
    options: &EvaluateOptions,
) -> FittedWeights {
    let pool = |(number, query): (usize, &FullQuery)| FusedPool::new(lists, number, query, method, options);
    let pools: Vec<FusedPool> = queries.par_iter().enumerate().filter_map(pool).collect();
    fit_weights(lists.len(), &mut |weights| {
        let values: Vec<f64> = pools.par_iter().map(|pool| pool.objective(weights)).collect();
        values.iter().sum::<f64>() / values.len().max(1) as f64
    })
}

/// The titles that all systems found for one query, ready to be weighted.
struct FusedPool {
    /// [system][title]: normalised scores, those of judged titles first.
    scores: Vec<Vec<f32>>,
    /// The gain of each judged title that was found, and whether it is relevant.
    judged: Vec<(f64, f64)>,
}

impl FusedPool {
    /// The pool of one query. `None` if no judged title is relevant: all weights are equally good then.
    fn new(
        lists: &[&[Vec<Hit>]],
        number: usize,
        query: &FullQuery,
        method: FusionMethod,
        options: &EvaluateOptions,
    ) -> Option<FusedPool> {
        let ideal = Ranking::ideal_dcg(&query.grades, FIRST_TITLES, options.gain);
        if ideal == 0.0 {
            return None;
        }
        let relevant = |grade: u8| f64::from(u8::from(grade >= options.relevant_from));
        let all_relevant = query.grades.iter().map(|&grade| relevant(grade)).sum::<f64>().max(1.0);
        let mut places: HashMap<u32, usize> = HashMap::new();
        let mut judged = Vec::new();
        for &(position, grade) in query.judged() {
            if lists.iter().any(|lists| lists[number].iter().any(|hit| hit.position == position)) {
                places.insert(position, judged.len());
                judged.push((options.gain.of(grade) / ideal, relevant(grade) / all_relevant));
            }
        }
        for hit in lists.iter().flat_map(|lists| &lists[number]) {
            let next = places.len();
            places.entry(hit.position).or_insert(next);
        }
        let of_system = |lists: &&[Vec<Hit>]| {
            let mut scores = vec![0.0; places.len()];
            for (position, score) in method.comparable(&lists[number]) {
                scores[places[&position]] = score as f32;
            }
            scores
        };
        Some(FusedPool { scores: lists.iter().map(of_system).collect(), judged })
    }

    /// The mean of nDCG@10 and recall@100, averaged over all orders of tied titles.
    fn objective(&self, weights: &[f64]) -> f64 {
        let mut fused = vec![0f32; self.scores.first().map_or(0, Vec::len)];
        for (scores, &weight) in self.scores.iter().zip(weights) {
            fused.iter_mut().zip(scores).for_each(|(sum, score)| *sum += weight as f32 * score);
        }
        let mut sum = 0.0;
        for (&score, &(gain, relevance)) in fused.iter().zip(&self.judged) {
            let before: usize = fused.iter().map(|other| usize::from(*other > score)).sum();
            if before >= MANY_TITLES {
                continue;
            }
            let tied: usize = fused.iter().map(|other| usize::from(*other == score)).sum();
            let ranks = before..before + tied;
            let discounts: f64 = ranks.clone().take_while(|&place| place < FIRST_TITLES).map(discount).sum();
            let shown = ranks.end.min(MANY_TITLES) - before;
            sum += (gain * discounts + relevance * shown as f64) / tied as f64;
        }
        sum / 2.0
    }
}
