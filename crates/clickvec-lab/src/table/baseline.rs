//! The tests of each row against one of them, and the confidence intervals of all.

use super::resampling::{
    Interval, RandomizationTest, Resampling, bootstrap_difference, bootstrap_mean, randomization_test,
};
use clickvec_eval::internals::{compared, correct};
use clickvec_eval::{Comparison, Evaluation, Metric, minimum_detectable_difference};
use clickvec_tables::Result;

/// The level of confidence intervals in reports.
pub const CONFIDENCE: f64 = 0.95;

/// The comparison of a system with the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct BaselineComparison {
    /// The system's position among the evaluations.
    pub position: usize,
    /// The t-test, with the system as `a` and the baseline as `b`, corrected for all comparisons with this baseline.
    pub comparison: Comparison,
    /// The mean difference with its confidence interval, at [`CONFIDENCE`].
    pub interval: Interval,
    /// The randomisation test of the same difference.
    pub randomization: RandomizationTest,
    /// The smallest true difference that a test on such queries detects in four of five cases, after the correction; `None`
    /// as [`minimum_detectable_difference`] says.
    pub minimum_detectable: Option<f64>,
}

/// Tests every other system against the one at `base`, for each of [`Metric::NDCG`].
///
/// # Errors
///
/// `ErrorKind::Mismatch` if the systems were not evaluated on the same queries.
///
/// # Panics
///
/// If there is no evaluation at `base`.
pub(super) fn compare_with(
    base: usize,
    evaluations: &[Evaluation],
    resampling: &Resampling,
) -> Result<Vec<BaselineComparison>> {
    let baseline = &evaluations[base];
    let mut all = Vec::new();
    for metric in Metric::NDCG {
        let base_values = baseline.values(metric);
        let mut comparisons = Vec::with_capacity(evaluations.len() - 1);
        for (position, other) in evaluations.iter().enumerate().filter(|&(position, _)| position != base) {
            let values = other.values(metric);
            comparisons.push(BaselineComparison {
                position,
                comparison: compared(other, baseline, metric)?,
                interval: bootstrap_difference(&values, &base_values, CONFIDENCE, resampling)?,
                randomization: randomization_test(&values, &base_values, resampling)?,
                minimum_detectable: minimum_detectable_difference(&values, &base_values, evaluations.len() - 1)?,
            });
        }
        correct(comparisons.iter_mut().map(|against| &mut against.comparison));
        all.extend(comparisons);
    }
    Ok(all)
}

/// Computes the confidence intervals of a system's means, at [`CONFIDENCE`], for each of [`Metric::NDCG`].
pub(super) fn confidence_intervals(evaluation: &Evaluation, resampling: &Resampling) -> [Interval; 3] {
    Metric::NDCG.map(|metric| bootstrap_mean(&evaluation.values(metric), CONFIDENCE, resampling))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::testing::system;

    #[test]
    fn each_system_is_compared_with_the_baseline() {
        let systems = [system("a", 0, 100), system("b", 4, 100), system("c", 40, 100)];
        let with_b = compare_with(1, &systems, &Resampling::default()).unwrap();
        assert_eq!(with_b.iter().map(|with| with.position).collect::<Vec<_>>(), [0, 2, 0, 2, 0, 2]);
        let c = &with_b[1];
        assert_eq!((c.comparison.a.as_str(), c.comparison.b.as_str()), ("c", "b"));
        assert!((c.interval.mean - 0.36).abs() < 1e-12 && c.interval.mean == c.comparison.test.difference);
        assert!(c.randomization.p < 0.05 && c.minimum_detectable.is_some() && with_b[0].minimum_detectable.is_none());
        assert!(compare_with(0, &systems[..1], &Resampling::default()).unwrap().is_empty());
    }

    #[test]
    fn what_rounding_makes_is_not_significant() {
        let values: Vec<f64> = (0..100).map(|query| if query < 50 { 0.7 } else { 0.0 }).collect();
        // Values like means over tied titles that were added up in another order.
        let rounded: Vec<f64> = values.iter().map(|value| value * (1.0 - f64::EPSILON)).collect();
        assert!(values != rounded, "nothing was rounded");
        let resampling = Resampling::default();
        assert_eq!(randomization_test(&values, &rounded, &resampling).unwrap().p, 1.0);
        let interval = bootstrap_difference(&values, &rounded, CONFIDENCE, &resampling).unwrap();
        assert_eq!((interval.low, interval.high), (0.0, 0.0));
    }
}
