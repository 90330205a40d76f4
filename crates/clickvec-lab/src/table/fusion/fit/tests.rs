//! Weights fitted to judged queries, against the slow way of finding them.

use std::ops::ControlFlow;

use rand::RngExt as _;

use super::*;
use clickvec::internals::rng::stream;
use clickvec_eval::{Gain, JudgedTitle, Judgments, judge};
use clickvec_index::RECIPROCAL_RANK_K;

/// Queries with 0 to 24 titles, and three systems whose scores are tied often and sometimes no numbers.
fn judged(options: &EvaluateOptions) -> (Judgments, Vec<Answers>) {
    let mut rng = stream(7, "fusion", 0);
    let mut below = |n: u64| rng.random_range(0..n);
    let queries = (0..15).map(|number| JudgedQuery {
        id: format!("q{number}"),
        text: format!("query {number}"),
        // The first has none.
        titles: (0..below(25).min(25 * number))
            .map(|_| below(1000))
            .map(|id| JudgedTitle { id: format!("t{id}"), text: format!("title {id}"), grade: (id % 5) as u8 })
            .collect(),
    });
    let judgments = Judgments { queries: queries.collect(), ..Judgments::default() };
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
    (judgments, scores.into_iter().map(Answers::Scores).collect())
}

#[test]
fn weights_are_those_of_judging_every_fusion() {
    for (ties, gain) in [(Ties::Expected, Gain::Exponential), (Ties::Trec, Gain::Linear)] {
        let options = EvaluateOptions { ties, gain, ..Default::default() };
        let (judgments, scores) = judged(&options);
        let scores: Vec<&Answers> = scores.iter().collect();
        let rank = FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K };
        for method in [FusionMethod::Linear, FusionMethod::MinMax, FusionMethod::ZScore, rank] {
            let goon = &mut |_| ControlFlow::Continue(());
            let fitted = fit_fusion(Task::Judged(&judgments), &scores, (method, 1), &options, goon).unwrap();
            let alike = equal_weights(&scores, method);
            let scaled = |weights: &[f64]| match method {
                FusionMethod::Linear => {
                    let products: Vec<f64> = weights.iter().zip(&alike).map(|(a, b)| a * b).collect();
                    let sum: f64 = products.iter().sum();
                    products.into_iter().map(|product| product / sum).collect()
                }
                _ => weights.to_vec(),
            };
            let mut slow = |weights: &[f64]| {
                let fused = fused(&scores, &scaled(weights), method, 1);
                judge("fusion", fused.scores(), &judgments, &options).mean.objective()
            };
            // To the last bit, at every set of weights that was tried.
            let expected = fit_weights(3, &mut slow, goon).unwrap();
            assert_eq!(fitted.objective, expected.objective, "{ties:?} {gain:?} {method:?}");
            assert_eq!(fitted.weights, scaled(&expected.weights), "{ties:?} {gain:?} {method:?}");
            assert!(fitted.objective > slow(&[1.0 / 3.0; 3]), "nothing was fitted");
        }
    }
}

#[test]
fn fitting_says_how_far_it_is_and_can_be_cancelled() {
    let options = EvaluateOptions::default();
    let (judgments, scores) = judged(&options);
    let scores: Vec<&Answers> = scores.iter().collect();
    let mut seen = Vec::new();
    let fitted = fit_fusion(Task::Judged(&judgments), &scores, (FusionMethod::MinMax, 1), &options, &mut |progress| {
        seen.push((progress.done, progress.objective.unwrap()));
        assert_eq!(progress.of, 4, "equal weights and each system alone");
        ControlFlow::Continue(())
    });
    assert!(seen.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1), "{seen:?}");
    assert_eq!((seen[0].0, seen[seen.len() - 1].0), (0, 3));
    assert!(seen[seen.len() - 1].1 <= fitted.unwrap().objective);

    let mut left = seen.len() / 2;
    let stopped = fit_fusion(Task::Judged(&judgments), &scores, (FusionMethod::MinMax, 1), &options, &mut |_| {
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(
        stopped.as_ref().is_err_and(|error| error.kind() == clickvec_tables::ErrorKind::Interrupted),
        "{stopped:?}"
    );
}

/// One system has scores from 0 to 100, the other from 0 to 1, and a third never an opinion.
#[test]
fn systems_count_alike_whatever_the_scale_of_their_scores() {
    let large: Scores = vec![vec![0.0, 100.0], vec![50.0, 50.0, 50.0], Vec::new()];
    let small: Scores = large.iter().map(|scores| scores.iter().map(|score| 7.0 - score / 100.0).collect()).collect();
    let none: Scores = large.iter().map(|scores| vec![3.0; scores.len()]).collect();
    let [of_large, of_small, none] = [&large, &small, &none].map(|scores| Answers::Scores(scores.clone()));
    let weights = equal_weights(&[&of_large, &of_small], FusionMethod::Linear);
    assert!((weights[0] - 1.0 / 101.0).abs() < 1e-12 && (weights[1] - 100.0 / 101.0).abs() < 1e-12, "{weights:?}");
    assert_eq!(equal_weights(&[&of_large, &of_small], FusionMethod::MinMax), [0.5, 0.5]);
    let weights = equal_weights(&[&of_large, &none], FusionMethod::Linear);
    assert_eq!(weights, [1.0, 0.0]);
    // Nothing to go by: any weights are as good.
    assert_eq!(equal_weights(&[&none, &none], FusionMethod::Linear), [0.5, 0.5]);
    assert_eq!(equal_weights(&[], FusionMethod::Linear), [0.0; 0]);

    let lists = |scores: &Scores| {
        let list = |scores: &Vec<f64>| {
            (0..).zip(scores).map(|(position, &score)| Hit { position, score: score as f32 }).collect()
        };
        Answers::Lists(scores.iter().map(list).collect())
    };
    let [large, small] = [lists(&large), lists(&small)];
    let weights = equal_weights(&[&large, &small], FusionMethod::Linear);
    assert!((weights[0] - 1.0 / 101.0).abs() < 1e-6 && (weights[1] - 100.0 / 101.0).abs() < 1e-6, "{weights:?}");
    assert_eq!(equal_weights(&[&large, &small], FusionMethod::ZScore), [0.5, 0.5]);
}

/// A query on which the first system tells little apart: its scores must not count as much there as elsewhere.
#[test]
fn small_differences_count_little_in_a_linear_fusion() {
    let sure: [&[f64]; 2] = [&[0.9, 0.1], &[5.0, 5.5]];
    let unsure: [&[f64]; 2] = [&[0.50, 0.49], &[5.0, 9.0]];
    let weights = [0.9, 0.1];
    for (scores, linear_first) in [(sure, 0), (unsure, 1)] {
        let fused = fuse(&scores, &weights, FusionMethod::Linear);
        assert_eq!(usize::from(fused[1] > fused[0]), linear_first, "{fused:?}");
        let scaled = fuse(&scores, &weights, FusionMethod::MinMax);
        assert!(scaled[0] > scaled[1], "the first system decides: {scaled:?}");
    }
}

#[test]
fn a_system_without_weight_takes_no_part() {
    let hit = |position, score| Hit { position, score };
    let lists = [vec![hit(0, 3.0), hit(1, 1.0)], vec![hit(2, 9.0), hit(1, 8.0)]].map(|list| Answers::Lists(vec![list]));
    for method in [FusionMethod::Linear, FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K }] {
        let both = fused(&[&lists[0], &lists[1]], &[1.0, 0.0], method, 1000);
        assert_eq!(both, fused(&[&lists[0]], &[1.0], method, 1000), "{method:?}");
    }
}
