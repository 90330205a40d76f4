//! Bootstrap confidence intervals of a mean (Efron, "Better bootstrap confidence intervals", 1987).

use rand::RngExt as _;
use rayon::prelude::*;
use statrs::distribution::{ContinuousCDF as _, Normal};

use super::Resampling;
use clickvec::internals::rng::stream;
use clickvec_eval::internals::paired_differences;
use clickvec_tables::Result;

/// The number of resamples in a task.
const TASK: u32 = 256;

/// Means of samples that are this close to the mean, compared with the largest deviation, are the mean.
const ROUNDING: f64 = 1e-12;

/// A mean with a confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The mean of the values.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Computes the confidence interval of the mean of `values`, at a level such as 0.95, by the bias-corrected and accelerated
/// bootstrap (BCa).
///
/// Each sample draws as many values as there are, with replacement; `resampling` says how many samples to draw. The ends of the
/// interval are quantiles of the means of these samples. They are shifted according to how far the median of the means
/// is from the mean (z₀), and how skewed the values are (the acceleration a = Σ d³ / 6 (Σ d²)^1.5 of the deviations
/// d): α ↦ Φ(z₀ + (z₀ + z) / (1 − a (z₀ + z))) with z = Φ⁻¹(α). Without values all three numbers are 0; with one
/// value, or equal values, they are that value. Runs on rayon's current threads, whose number does not change the
/// result.
///
/// # Panics
///
/// If `level` is not between 0 and 1, or there are no samples.
pub(in crate::table) fn bootstrap_mean(values: &[f64], level: f64, resampling: &Resampling) -> Interval {
    assert!(level > 0.0 && level < 1.0, "a level between 0 and 1, not {level}");
    assert!(resampling.samples > 0, "a sample or more");
    let mean = if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 };
    if values.iter().all(|value| Some(value) == values.first()) {
        let value = values.first().copied().unwrap_or_default();
        return Interval { mean: value, low: value, high: value };
    }
    // Resample deviations instead of values, because their sums are rounded less.
    let deviations: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let mut means = resampled_means(&deviations, resampling);
    means.sort_unstable_by(f64::total_cmp);
    let normal = Normal::standard();
    let count = means.len() as f64;
    // Sums of the same values in another order differ by rounding.
    let rounding = ROUNDING * deviations.iter().fold(0.0, |largest: f64, deviation| largest.max(deviation.abs()));
    let below = means.partition_point(|&mean| mean < -rounding) as f64;
    let not_above = means.partition_point(|&mean| mean <= rounding) as f64;
    // If all samples are on one side, count half a sample for the other.
    let fraction = ((below + not_above) / 2.0).clamp(0.5, count - 0.5) / count;
    let bias = normal.inverse_cdf(fraction);
    let (squares, cubes) =
        deviations.iter().fold((0.0, 0.0), |(squares, cubes), d| (squares + d * d, cubes + d * d * d));
    let acceleration = cubes / (6.0 * squares.powf(1.5));
    let end = |alpha: f64| {
        let z = bias + normal.inverse_cdf(alpha);
        mean + quantile(&means, normal.cdf(bias + z / (1.0 - acceleration * z)))
    };
    let tail = (1.0 - level) / 2.0;
    Interval { mean, low: end(tail), high: end(1.0 - tail) }
}

/// Computes [`bootstrap_mean`] of the differences a − b, query by query.
///
/// # Errors
///
/// `ErrorKind::Mismatch` if `a` and `b` have different lengths.
///
/// # Panics
///
/// As [`bootstrap_mean`].
pub(in crate::table) fn bootstrap_difference(
    a: &[f64],
    b: &[f64],
    level: f64,
    resampling: &Resampling,
) -> Result<Interval> {
    Ok(bootstrap_mean(&paired_differences(a, b)?, level, resampling))
}

fn resampled_means(values: &[f64], resampling: &Resampling) -> Vec<f64> {
    let task = |task: u32| {
        let mut random = stream(resampling.seed, "bootstrap", u64::from(task));
        let mut mean = move |_| {
            let sum: f64 = (0..values.len()).map(|_| values[random.random_range(0..values.len())]).sum();
            sum / values.len() as f64
        };
        (0..TASK.min(resampling.samples - task * TASK)).map(&mut mean).collect::<Vec<f64>>()
    };
    (0..resampling.samples.div_ceil(TASK)).into_par_iter().flat_map_iter(task).collect()
}

/// Returns the quantile `at` of sorted values, interpolated: the first value is at 0 and the last at 1.
fn quantile(sorted: &[f64], at: f64) -> f64 {
    let position = at.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * position.fract()
}
