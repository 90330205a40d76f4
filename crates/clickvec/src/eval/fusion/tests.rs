//! Weights fitted to judged queries, against the slow way of finding them.

use std::ops::ControlFlow;

use rand::RngExt as _;

use super::*;
use crate::error::Error;
use crate::eval::{Gain, JudgedTitle, folds, judge};
use crate::ranker::RECIPROCAL_RANK_K;
use crate::rng::stream;

/// Queries with 0 to 24 titles, and three systems whose scores are tied often and sometimes no numbers.
fn judged(options: &EvaluateOptions) -> (Judgments, Vec<Scores>) {
    let mut rng = stream(7, "fusion", 0);
    let mut below = |n: u64| rng.random_range(0..n);
    let queries = (0..25).map(|number| JudgedQuery {
        id: format!("q{number}"),
        text: format!("query {number}"),
        titles: (0..below(25))
            .map(|_| below(1000))
            .map(|id| JudgedTitle { id: format!("t{id}"), text: format!("title {id}"), grade: (id % 5) as u8 })
            .collect(),
    });
    let judgments = Judgments { queries: queries.collect(), duplicates: 0 };
    let score = |below: &mut dyn FnMut(u64) -> u64| match below(40) {
        0 => f64::NAN,
        1 => f64::NEG_INFINITY,
        2 => -0.0,
        _ => below(6) as f64 / 3.0,
    };
    let scores = (0..3).map(|_| {
        let of_query = |query: &JudgedQuery| query.titles.iter().map(|_| score(&mut below)).collect();
        judgments.queries.iter().map(of_query).collect()
    });
    let scores: Vec<Scores> = scores.collect();
    assert!(judge("first", &scores[0], &judgments, options).queries_without_relevant > 0);
    (judgments, scores)
}

#[test]
fn weights_are_those_of_judging_every_fusion() {
    for ties in [Ties::Expected, Ties::Trec] {
        for gain in [Gain::Exponential, Gain::Linear] {
            let options = EvaluateOptions { ties, gain, ..Default::default() };
            let (judgments, scores) = judged(&options);
            let scores: Vec<&Scores> = scores.iter().collect();
            let rank = FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K };
            for method in [FusionMethod::MinMax, FusionMethod::ZScore, rank] {
                let goon = &mut |_| ControlFlow::Continue(());
                let fitted = fit_fusion(&scores, &judgments, method, &options, goon).unwrap();
                let mut slow = |weights: &[f64]| {
                    let fused = fuse_scores(&scores, weights, method);
                    folds::objective(&judge("fusion", &fused, &judgments, &options).mean)
                };
                // To the last bit, at every set of weights that was tried.
                assert_eq!(fitted, fit_weights(3, &mut slow, goon).unwrap(), "{ties:?} {gain:?} {method:?}");
                assert!(fitted.objective > slow(&[1.0 / 3.0; 3]), "nothing was fitted");
            }
        }
    }
}

#[test]
fn fitting_says_how_far_it_is_and_can_be_cancelled() {
    let options = EvaluateOptions::default();
    let (judgments, scores) = judged(&options);
    let scores: Vec<&Scores> = scores.iter().collect();
    let mut seen = Vec::new();
    let fitted = fit_fusion(&scores, &judgments, FusionMethod::MinMax, &options, &mut |progress| {
        seen.push((progress.done, progress.objective.unwrap()));
        assert_eq!(progress.of, 4, "equal weights and each system alone");
        ControlFlow::Continue(())
    });
    assert!(seen.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1), "{seen:?}");
    assert_eq!((seen[0].0, seen[seen.len() - 1].0), (0, 3));
    assert!(seen[seen.len() - 1].1 <= fitted.unwrap().objective);

    let mut left = seen.len() / 2;
    let stopped = fit_fusion(&scores, &judgments, FusionMethod::MinMax, &options, &mut |_| {
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(stopped, Err(Error::Cancelled)), "{stopped:?}");
}
