//! Helpers of the benchmarks: times, medians, texts, and a model of them.

pub mod model;
pub mod texts;

use std::time::Instant;

/// The value below which the share `share` of `values` lies. Sorts `values`.
///
/// # Panics
/// If `values` is empty.
pub fn quantile(values: &mut [f64], share: f64) -> f64 {
    assert!(!values.is_empty(), "a quantile of nothing");
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}

/// The median of `values`. Sorts them.
///
/// # Panics
/// If `values` is empty.
pub fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

/// The seconds that `work` takes.
pub fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}
