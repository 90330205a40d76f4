//! The search for the best weights of a fusion.

use std::ops::ControlFlow;

use clickvec_eval::ranker::Progress;
use clickvec_tables::{Error, Result};

/// For the two rounds of [`fit_weights`], the size of a step and the number of steps to each side.
const ROUNDS: [(f64, u32); 2] = [(0.1, 10), (0.02, 4)];

/// A limit on the sweeps over all weights in a round. Every sweep but the last raises the objective.
const MOST_SWEEPS: usize = 20;

/// The best weights, and the objective that they reach.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FittedWeights {
    /// A weight for each ranker: 0 or more, with sum 1.
    pub(crate) weights: Vec<f64>,
    /// The objective at these weights.
    pub(crate) objective: f64,
}

/// A receiver of the progress of fitting weights, which may break: the search for the best weights begins once with equal weights
/// and once with each ranker alone, and a step is one of these.
pub(crate) type FitWatch<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

/// The weights of `members` rankers that maximise `objective`, for example NDCG on training queries.
///
/// The search changes one weight after another, first in steps of 0.1 over the whole range, then in steps of 0.02 nearby, for
/// as long as that helps. The other weights are scaled so that all sum to 1. It starts from equal weights and from
/// each ranker alone, so the result is never worse than the best of these. Of equally good weights it returns the
/// first found. NaN is worse than any number.
///
/// `watch` hears of each weight that is tried out, with the number of starts that are finished.
///
/// # Errors
///
/// `ErrorKind::Interrupted` if `watch` breaks.
pub(crate) fn fit_weights(
    members: usize,
    objective: &mut dyn FnMut(&[f64]) -> f64,
    watch: &mut FitWatch<'_>,
) -> Result<FittedWeights> {
    let mut value = |weights: &[f64]| {
        let value = objective(weights);
        if value.is_nan() { f64::NEG_INFINITY } else { value }
    };
    let of = members as u64 + 1;
    let mut best = ascend(vec![1.0 / members.max(1) as f64; members], &mut value, &mut |objective| {
        watch(Progress { done: 0, of, objective: Some(objective) })
    })?;
    for member in 0..members {
        let alone = (0..members).map(|other| f64::from(u8::from(other == member))).collect();
        let found = ascend(alone, &mut value, &mut |objective| {
            let objective = Some(objective.max(best.objective));
            watch(Progress { done: member as u64 + 1, of, objective })
        })?;
        if found.objective > best.objective {
            best = found;
        }
    }
    Ok(best)
}

fn ascend(
    start: Vec<f64>,
    objective: &mut dyn FnMut(&[f64]) -> f64,
    watch: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<FittedWeights> {
    let mut best = FittedWeights { objective: objective(&start), weights: start };
    // With a single ranker there is nothing to choose.
    if best.weights.len() < 2 {
        return Ok(best);
    }
    for (step, steps) in ROUNDS {
        for _ in 0..MOST_SWEEPS {
            let before = best.objective;
            for member in 0..best.weights.len() {
                if watch(best.objective).is_break() {
                    return Err(Error::interrupted());
                }
                let old = best.weights.clone();
                for n in 1..=steps {
                    for shift in [step, -step] {
                        let weight = (old[member] + shift * f64::from(n)).clamp(0.0, 1.0);
                        let weights = moved(&old, member, weight);
                        let value = objective(&weights);
                        if value > best.objective {
                            best = FittedWeights { weights, objective: value };
                        }
                    }
                }
            }
            if best.objective <= before {
                break;
            }
        }
    }
    Ok(best)
}

/// `weights` with one of them set to `weight` and the others in their old proportion, or equal if they were all 0.
fn moved(weights: &[f64], member: usize, weight: f64) -> Vec<f64> {
    let others: f64 = weights.iter().enumerate().filter(|&(other, _)| other != member).map(|(_, weight)| weight).sum();
    let other = |old: f64| {
        if others > 0.0 { old * (1.0 - weight) / others } else { (1.0 - weight) / (weights.len() - 1) as f64 }
    };
    weights.iter().enumerate().map(|(position, &old)| if position == member { weight } else { other(old) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(members: usize, objective: &mut dyn FnMut(&[f64]) -> f64) -> FittedWeights {
        fit_weights(members, objective, &mut |_| ControlFlow::Continue(())).unwrap()
    }

    #[test]
    fn weights_climb_to_the_top_of_a_hill() {
        let top = [0.5, 0.14, 0.0, 0.36];
        let mut requested: Vec<Vec<f64>> = Vec::new();
        let mut hill = |weights: &[f64]| {
            requested.push(weights.to_vec());
            -weights.iter().zip(top).map(|(weight, top)| (weight - top).powi(2)).sum::<f64>()
        };
        let found = fitted(4, &mut hill);
        let close = found.weights.iter().zip(top).all(|(weight, top)| (weight - top).abs() < 0.02);
        assert!(close, "{found:?}");
        assert_eq!(found, fitted(4, &mut hill));
        let on_simplex = |weights: &Vec<f64>| {
            weights.iter().all(|weight| (0.0..=1.0).contains(weight))
                && (weights.iter().sum::<f64>() - 1.0).abs() < 1e-12
        };
        assert!(requested.iter().all(on_simplex));
        assert!(requested.len() < 10_000, "{}", requested.len());
    }

    #[test]
    fn weights_are_never_worse_than_equal_ones_or_the_best_alone() {
        // Everything except one corner, or the middle, is worse than no fusion.
        for peak in [[0.0, 0.0, 1.0], [1.0 / 3.0; 3]] {
            let found = fitted(3, &mut |weights| {
                let near = weights.iter().zip(peak).all(|(weight, peak)| (weight - peak).abs() < 1e-9);
                if near { 1.0 } else { -1.0 - weights[0] }
            });
            assert_eq!((found.weights, found.objective), (peak.to_vec(), 1.0));
        }
        // Of equally good weights the first is returned, and NaN is the worst.
        assert_eq!(fitted(2, &mut |_| 5.0).weights, [0.5, 0.5]);
        let found = fitted(2, &mut |weights| if weights[1] < 1.0 { f64::NAN } else { -3.0 });
        assert_eq!(found, FittedWeights { weights: vec![0.0, 1.0], objective: -3.0 });
        assert_eq!(fitted(1, &mut |weights| weights[0]).weights, [1.0]);
        assert!(fitted(0, &mut |_| 0.0).weights.is_empty());
    }
}
