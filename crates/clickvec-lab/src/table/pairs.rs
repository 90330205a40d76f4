//! The tests of pairs of rows, and the confidence intervals of all.

use super::resampling::{
    Interval, RandomizationTest, Resampling, bootstrap_difference, bootstrap_mean, randomization_test,
};
use super::{Full, Judged};
use clickvec_eval::internals::{compared, correct};
use clickvec_eval::{Comparison, Evaluation, Metric, Metrics, crossed_test, paired_differences};
use clickvec_tables::Result;

/// The level of confidence intervals in reports.
pub const CONFIDENCE: f64 = 0.95;

/// A row as it is tested.
#[derive(Clone, Copy)]
pub(super) struct Tested<'a> {
    pub(super) evaluation: &'a Evaluation,
    /// For each seed, the metrics of each query.
    pub(super) by_seed: &'a [Vec<Metrics>],
}

impl<'a> From<&'a Judged> for Tested<'a> {
    fn from(row: &'a Judged) -> Tested<'a> {
        Tested { evaluation: &row.evaluation, by_seed: &row.by_seed }
    }
}

impl<'a> From<&'a Full> for Tested<'a> {
    fn from(row: &'a Full) -> Tested<'a> {
        Tested { evaluation: &row.evaluation, by_seed: &row.by_seed }
    }
}

impl Tested<'_> {
    /// Returns whether a test against `other` is over queries and seeds: one of the two was trained with several seeds, and the other
    /// with as many or with one.
    pub(super) fn is_crossed_with(&self, other: &Tested<'_>) -> bool {
        let [a, b] = [self, other].map(|row| row.by_seed.len());
        a.max(b) > 1 && (a == b || a.min(b) == 1)
    }

    /// Tests one row against another, over queries and seeds if it can be.
    pub(super) fn compared(&self, other: &Tested<'_>, metric: Metric) -> Result<Comparison> {
        let mut comparison = compared(self.evaluation, other.evaluation, metric)?;
        if self.is_crossed_with(other) {
            let values = |row: &Tested<'_>, seed: usize| -> Vec<f64> {
                row.by_seed[seed.min(row.by_seed.len() - 1)].iter().map(|query| query.get(metric)).collect()
            };
            let seeds = 0..self.by_seed.len().max(other.by_seed.len());
            let differences = seeds.map(|seed| paired_differences(&values(self, seed), &values(other, seed)));
            if let Some(test) = crossed_test(&differences.collect::<Result<Vec<_>>>()?) {
                (comparison.test, comparison.holm) = (test, test.evidence());
            }
        }
        Ok(comparison)
    }
}

/// The comparison of a system with another.
#[derive(Debug, Clone, PartialEq)]
pub struct PairComparison {
    /// The positions of the system and of the one that it is compared with.
    pub positions: [usize; 2],
    /// The t-test of the two, corrected for all comparisons that are made together.
    pub comparison: Comparison,
    /// The mean difference with its confidence interval, at [`CONFIDENCE`]: that of the test if it is over queries and seeds,
    /// otherwise by the bootstrap.
    pub interval: Interval,
    /// The randomisation test of the same difference; `None` over queries and seeds.
    pub randomization: Option<RandomizationTest>,
    /// The smallest true difference that a test like this one detects in four of five cases, after the correction; `None` as
    /// [`PairedTest::minimum_detectable`](clickvec_eval::PairedTest::minimum_detectable) says.
    pub minimum_detectable: Option<f64>,
}

/// Tests pairs of rows by one metric, with Holm's correction over them.
///
/// # Errors
///
/// `ErrorKind::Mismatch` if the rows were not judged on the same queries.
///
/// # Panics
///
/// If there is no row at a position.
pub(super) fn compare_pairs(
    pairs: &[[usize; 2]],
    rows: &[Tested<'_>],
    metric: Metric,
    resampling: &Resampling,
) -> Result<Vec<PairComparison>> {
    let compare = |&positions: &[usize; 2]| {
        let [a, b] = positions.map(|position| rows[position]);
        let comparison = a.compared(&b, metric)?;
        let minimum_detectable = comparison.test.minimum_detectable(pairs.len());
        let (interval, randomization) = if a.is_crossed_with(&b) {
            let [low, high] = comparison.test.interval(CONFIDENCE);
            (Interval { mean: comparison.test.difference, low, high }, None)
        } else {
            let [a, b] = [a, b].map(|row| row.evaluation.values(metric));
            let interval = bootstrap_difference(&a, &b, CONFIDENCE, resampling)?;
            (interval, Some(randomization_test(&a, &b, resampling)?))
        };
        Ok(PairComparison { positions, comparison, interval, randomization, minimum_detectable })
    };
    let mut comparisons = pairs.iter().map(compare).collect::<Result<Vec<_>>>()?;
    correct(comparisons.iter_mut().map(|pair| &mut pair.comparison));
    Ok(comparisons)
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
    fn pairs_are_compared_and_corrected_together() {
        let systems = [system("a", 0, 100), system("b", 4, 100), system("c", 40, 100)];
        let rows = systems.each_ref().map(|evaluation| Tested { evaluation, by_seed: &[] });
        let compare = |pairs: &[[usize; 2]]| compare_pairs(pairs, &rows, Metric::Ndcg(1), &Resampling::default());
        let with_b = compare(&[[0, 1], [2, 1]]).unwrap();
        let c = &with_b[1];
        assert_eq!((c.comparison.a.as_str(), c.comparison.b.as_str()), ("c", "b"));
        assert!((c.interval.mean - 0.36).abs() < 1e-12 && c.interval.mean == c.comparison.test.difference);
        assert!(c.randomization.is_some_and(|test| test.p < 0.05));
        assert!(c.minimum_detectable.is_some() && with_b[0].minimum_detectable.is_none());
        assert_eq!(c.comparison.holm, 2.0 * compare(&[[2, 1]]).unwrap()[0].comparison.holm, "one of two tests");
    }

    #[test]
    fn seeds_that_scatter_make_p_larger_and_the_interval_wider() {
        let means = [system("a", 40, 100), system("b", 30, 100)];
        let seeds = [[50, 30], [30, 30], [40, 30]].map(|right| right.map(|right| system("", right, 100)));
        let by_seed = [0, 1].map(|row| -> Vec<Vec<_>> {
            let runs = seeds.iter().map(|runs| runs[row].queries.iter().map(|query| query.metrics.clone()).collect());
            runs.collect()
        });
        let compare = |seeds: usize| {
            let rows = [0, 1].map(|row| Tested { evaluation: &means[row], by_seed: &by_seed[row][..seeds] });
            compare_pairs(&[[0, 1]], &rows, Metric::Ndcg(1), &Resampling::default()).unwrap().remove(0)
        };
        let (crossed, over_queries) = (compare(3), compare(1));
        assert!(over_queries.comparison.test.p < 0.01 && crossed.comparison.test.p > 0.05, "{crossed:?}");
        assert!(crossed.interval.low < 0.0 && over_queries.interval.low > 0.0, "{crossed:?}");
        assert!(crossed.randomization.is_none() && (crossed.interval.mean - 0.1).abs() < 1e-12);
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
