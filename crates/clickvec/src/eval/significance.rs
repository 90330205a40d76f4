//! Is a difference between two systems more than chance? Paired t-tests over queries.

use statrs::function::beta::beta_reg;

pub use crate::error::PairingFault;

/// What a paired two-sided t-test says about the values a − b.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedTest {
    /// The mean of a − b.
    pub difference: f64,
    /// Student's t; ±∞ where all differences are the same and not 0.
    pub t: f64,
    /// The probability of a |t| this large or larger if there is no difference.
    pub p: f64,
    /// The number of pairs less one.
    pub degrees_of_freedom: usize,
}

/// The paired two-sided t-test of `a` against `b`, query by query.
///
/// Without any difference, and with fewer than two pairs, t is 0 and p is 1; where all pairs differ
/// by the same amount, t is infinite and p is 0.
///
/// # Errors
///
/// [`PairingFault::Lengths`] if there are not as many values on both sides.
pub fn paired_t_test(a: &[f64], b: &[f64]) -> Result<PairedTest, PairingFault> {
    if a.len() != b.len() {
        return Err(PairingFault::Lengths { a: a.len(), b: b.len() });
    }
    let n = a.len() as f64;
    let degrees_of_freedom = a.len().saturating_sub(1);
    let differences = || a.iter().zip(b).map(|(a, b)| a - b);
    let difference = if a.is_empty() { 0.0 } else { differences().sum::<f64>() / n };
    // Equal differences are recognised as such: their mean may be rounded, and the variance with it.
    let constant = differences().all(|d| Some(d) == differences().next());
    let (t, p) = if degrees_of_freedom == 0 || (constant && difference == 0.0) {
        (0.0, 1.0)
    } else if constant {
        (f64::INFINITY.copysign(difference), 0.0)
    } else {
        let squares: f64 = differences().map(|d| (d - difference).powi(2)).sum();
        let freedom = degrees_of_freedom as f64;
        let t = difference / (squares / freedom / n).sqrt();
        (t, two_sided(t, freedom))
    };
    Ok(PairedTest { difference, t, p, degrees_of_freedom })
}

/// P(|T| ≥ |t|) by the incomplete beta function, which stays exact where 1 − cdf has nothing left.
fn two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_nan() {
        return f64::NAN;
    }
    beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t * t)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_relative(found: f64, expected: f64, tolerance: f64) {
        assert!((found / expected - 1.0).abs() < tolerance, "expected {expected:e}, found {found:e}");
    }

    #[test]
    fn p_follows_the_closed_forms() {
        for t in [0.01, 0.5, 1.0, 3.0, 50.0, 1e6, 1e12] {
            let t: f64 = t;
            assert_relative(two_sided(t, 1.0), std::f64::consts::FRAC_2_PI * (1.0 / t).atan(), 1e-10);
            let root = (2.0 + t * t).sqrt();
            assert_relative(two_sided(t, 2.0), 2.0 / (root * (root + t)), 1e-10);
            assert_eq!(two_sided(-t, 2.0), two_sided(t, 2.0));
        }
        assert_eq!(two_sided(0.0, 39.0), 1.0);
    }

    #[test]
    fn p_approaches_the_normal_distribution() {
        // 2 (1 − Φ(t))
        for (t, p) in [(1.0, 0.317_310_507_862_914), (1.959_963_984_540_054, 0.05), (6.0, 1.973_175_290_075_396e-9)] {
            assert_relative(two_sided(t, 1e8), p, 1e-5);
        }
    }

    #[test]
    fn a_hand_computed_test() {
        // Differences 1, 2, 3: mean 2, s = 1, t = 2√3.
        let test = paired_t_test(&[2.0, 4.0, 6.0], &[1.0, 2.0, 3.0]).unwrap();
        let t = 2.0 * 3f64.sqrt();
        assert_relative(test.t, t, 1e-14);
        assert_relative(test.p, 2.0 / ((2.0 + t * t).sqrt() * ((2.0 + t * t).sqrt() + t)), 1e-12);
        assert_eq!((test.difference, test.degrees_of_freedom), (2.0, 2));
    }

    #[test]
    fn without_variance_the_answer_is_certain() {
        let test = |a: &[f64], b: &[f64]| {
            let test = paired_t_test(a, b).unwrap();
            (test.difference, test.t, test.p)
        };
        assert_eq!(test(&[0.1, 0.7, 0.3], &[0.1, 0.7, 0.3]), (0.0, 0.0, 1.0));
        assert_eq!(test(&[0.25; 3], &[0.5; 3]), (-0.25, f64::NEG_INFINITY, 0.0));
        assert_eq!(test(&[0.1; 10], &[0.0; 10]).1, f64::INFINITY);
        assert_eq!(test(&[], &[]), (0.0, 0.0, 1.0));
        assert_eq!(test(&[1.0], &[0.0]), (1.0, 0.0, 1.0));
    }

    #[test]
    fn both_sides_have_the_same_queries() {
        assert_eq!(paired_t_test(&[1.0], &[]), Err(PairingFault::Lengths { a: 1, b: 0 }));
    }
}
