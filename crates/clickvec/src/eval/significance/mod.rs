//! Is a difference between two systems more than chance? Paired tests over queries, confidence intervals, and the
//! correction for many tests.

mod bootstrap;
mod holm;
mod power;
mod randomization;
#[cfg(test)]
mod tests;

use statrs::function::beta::beta_reg;

pub use self::bootstrap::{Interval, bootstrap_difference, bootstrap_mean};
pub use self::holm::holm;
pub use self::power::{LEAST_DIFFERING, differing_pairs, minimum_detectable_difference};
pub use self::randomization::{RandomizationTest, randomization_test};
pub use crate::error::PairingFault;

/// How often a test or an interval draws at random, and from which seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resampling {
    /// How many times; the standard error of a p near 0.05 from 10,000 is 0.002.
    pub samples: u32,
    /// With the same seed the same numbers come out.
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Resampling {
        Resampling { samples: 10_000, seed: 1 }
    }
}

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
    let differences = paired_differences(a, b)?;
    let n = a.len() as f64;
    let degrees_of_freedom = a.len().saturating_sub(1);
    let difference = if a.is_empty() { 0.0 } else { differences.iter().sum::<f64>() / n };
    // Equal differences are recognised as such: their mean may be rounded, and the variance with it.
    let constant = differences.iter().all(|d| Some(d) == differences.first());
    let (t, p) = if degrees_of_freedom == 0 || (constant && difference == 0.0) {
        (0.0, 1.0)
    } else if constant {
        (f64::INFINITY.copysign(difference), 0.0)
    } else {
        let squares: f64 = differences.iter().map(|d| (d - difference).powi(2)).sum();
        let freedom = degrees_of_freedom as f64;
        let t = difference / (squares / freedom / n).sqrt();
        (t, two_sided(t, freedom))
    };
    Ok(PairedTest { difference, t, p, degrees_of_freedom })
}

fn paired_differences(a: &[f64], b: &[f64]) -> Result<Vec<f64>, PairingFault> {
    if a.len() != b.len() {
        return Err(PairingFault::Lengths { a: a.len(), b: b.len() });
    }
    Ok(a.iter().zip(b).map(|(a, b)| a - b).collect())
}

/// P(|T| ≥ |t|) by the incomplete beta function, which stays exact where 1 − cdf has nothing left.
fn two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_nan() {
        return f64::NAN;
    }
    beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t * t)).min(1.0)
}
