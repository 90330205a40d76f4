//! The smallest difference that a test set can show.

use statrs::distribution::{ContinuousCDF as _, Normal, StudentsT};

use super::{PairedTest, SIGNIFICANT, paired_differences, probability_of_signs};
use clickvec_tables::Result;

/// The share of test sets that should show the difference.
const POWER: f64 = 0.8;
/// With more degrees of freedom, two terms of a series are exact enough.
const MANY: f64 = 1000.0;
/// The fewest differing pairs from which their scatter can be estimated, and with which t follows Student's
/// distribution well enough.
pub const LEAST_DIFFERING: usize = 10;

/// Counts the pairs whose values differ by more than rounding.
///
/// # Errors
///
/// `ErrorKind::Mismatch` if `a` and `b` have different lengths.
pub fn differing_pairs(a: &[f64], b: &[f64]) -> Result<usize> {
    Ok(paired_differences(a, b)?.iter().filter(|difference| **difference != 0.0).count())
}

impl PairedTest {
    /// Returns the minimum detectable difference: the smallest true difference of means that a two-sided test like this one finds
    /// significant at 0.05 in four of five cases, with the same scatter. The test is one of `tests` that are corrected together, and
    /// counts as the first of Holm's method, at 0.05 / `tests`.
    ///
    /// It is (t₁₋α/₂ₘ + t₀.₈) standard errors with Student's quantiles, close to the noncentral t distribution, so it is as good as
    /// the estimate of the scatter. If most pairs do not differ, that depends on the k that do, and its relative error is about
    /// 1 / 2√k. There is no result if
    ///
    /// - fewer than 10 pairs [differ](differing_pairs),
    /// - so few pairs differ that even if all had the same direction, their signs could not show it:
    ///   2 / 2ᵏ ≥ 0.05 / `tests`, or
    /// - all differences are equal.
    pub fn minimum_detectable(&self, tests: usize) -> Option<f64> {
        let alpha = SIGNIFICANT / tests.max(1) as f64;
        let signs_can_show = probability_of_signs(self.differing) < alpha;
        if self.differing < LEAST_DIFFERING || !signs_can_show || self.standard_error == 0.0 {
            return None;
        }
        let quantile = |at| student(at, self.degrees_of_freedom);
        Some((quantile(1.0 - alpha / 2.0) + quantile(POWER)) * self.standard_error)
    }

    /// Returns the confidence interval of the difference at `level`, by Student's distribution.
    pub fn interval(&self, level: f64) -> [f64; 2] {
        let half = match self.standard_error {
            0.0 => 0.0,
            error => student(0.5 + level / 2.0, self.degrees_of_freedom) * error,
        };
        [self.difference - half, self.difference + half]
    }
}

/// Returns Student's quantile with `free` degrees of freedom. With many it is that of the normal distribution and a correction
/// (Abramowitz and Stegun 26.7.5), since the exact one is found by steps that no longer converge.
fn student(at: f64, free: f64) -> f64 {
    if free > MANY {
        let z = Normal::standard().inverse_cdf(at);
        return z + (z.powi(3) + z) / (4.0 * free);
    }
    StudentsT::new(0.0, 1.0, free).expect("a pair or more").inverse_cdf(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired_t_test;

    /// The least difference that a test of `a` against zeros detects.
    fn least(a: &[f64], tests: usize) -> Option<f64> {
        paired_t_test(a, &vec![0.0; a.len()]).unwrap().minimum_detectable(tests)
    }

    #[test]
    fn a_hand_computed_difference() {
        // Differences alternate between 0 and 1, so s² = n / (4 (n − 1)).
        let a: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        let found = least(&a, 1).unwrap();
        let standard_error = (0.25f64 / 99.0).sqrt();
        // Student's quantiles for 99 degrees of freedom.
        assert!((found / standard_error - (1.984_216_952 + 0.845_266_961)).abs() < 1e-6, "{found}");
        let of_ten = least(&a, 10).unwrap();
        assert!((of_ten / standard_error - (2.871_307_968 + 0.845_266_961)).abs() < 1e-6, "{of_ten}");
        let [low, high] = paired_t_test(&a, &[0.0; 100]).unwrap().interval(0.95);
        assert!(((high - low) / 2.0 / standard_error - 1.984_216_952).abs() < 1e-6 && (low + high - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_series_goes_on_where_the_exact_quantiles_end() {
        let [exact, series] = [MANY, MANY + 1e-6].map(|free| student(0.975, free));
        assert!((exact - series).abs() < 1e-5, "{exact} {series}");
    }

    #[test]
    fn without_scatter_nothing_is_said() {
        assert_eq!([&[1.0; 20][..], &[1.0], &[]].map(|values| least(values, 1)), [None; 3]);
    }

    #[test]
    fn of_few_that_differ_nothing_is_said() {
        // Differences of ½, ⅓, ¼ …, and at least 990 zeros.
        let a = |differing: u32| -> Vec<f64> {
            (0..1000).map(|i| if i < differing { 1.0 / f64::from(i + 2) } else { 0.0 }).collect()
        };
        let is_said = |differing, tests| least(&a(differing), tests).is_some();
        assert_eq!([0, 1, 3, 9, 10].map(|differing| is_said(differing, 1)), [false, false, false, false, true]);
        // 2 / 2¹⁰ is below 0.05 / 25 and not below 0.05 / 26.
        assert_eq!([is_said(10, 25), is_said(10, 26), is_said(11, 26)], [true, false, true]);
    }

    #[test]
    fn what_rounding_makes_is_no_difference() {
        assert_ne!(0.1 + 0.2, 0.3);
        assert_eq!(differing_pairs(&[0.1 + 0.2, 0.0, 1.0, 1e-12], &[0.3, 0.0, 1.001, 0.0]).unwrap(), 2);
        assert!(differing_pairs(&[1.0], &[]).is_err());
    }
}
