//! Fusions of systems with known scores, and the weights that are best on judged queries.

use super::{EvaluateOptions, Judgments, Scores, folds, judge};
use crate::ranker::{FittedWeights, FusionMethod, fit_weights, fuse};

/// The fused scores of each query's titles. `scores` has the scores of each system on the same queries.
///
/// # Panics
///
/// As [`fuse`].
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
