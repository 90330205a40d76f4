//! Student's paired t-test.

use serde::{Deserialize, Deserializer, Serialize};
use statrs::function::beta::beta_reg;

use super::{LEAST_DIFFERING, alike, paired_differences, probability_of_signs};
use clickvec_tables::Result;

/// The result of a paired two-sided t-test of the values a − b.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PairedTest {
    /// The mean of a − b.
    pub difference: f64,
    /// Student's t (`null` in JSON if infinite); ±∞ if all differences are equal and not 0.
    #[serde(deserialize_with = "null_is_infinite")]
    pub t: f64,
    /// The probability of a |t| at least this large if there is no difference. If all differences are equal, t has no
    /// scatter to compare them with, and two queries would prove anything. In that case p is the probability of their
    /// signs, 2 / 2ⁿ.
    pub p: f64,
    /// The number of pairs minus one; of a test over queries and seeds, what Satterthwaite's approximation says.
    #[serde(skip)]
    pub degrees_of_freedom: f64,
    /// The standard error of the mean; 0 if all differences are equal.
    #[serde(skip)]
    pub standard_error: f64,
    /// The number of pairs whose values differ by more than rounding.
    #[serde(skip)]
    pub differing: usize,
}

impl PairedTest {
    /// Returns the p-value by which `a` is called different from `b`, and from which corrections start. It is [`PairedTest::p`],
    /// but if fewer than [`LEAST_DIFFERING`] pairs differ, it is at least 2 / 2ᵏ, the probability of the signs of those k pairs.
    /// Otherwise, 4 differing queries of 52 could have p = 0.044 by t, whatever these 4 are.
    pub fn evidence(&self) -> f64 {
        if self.differing < LEAST_DIFFERING { self.p.max(probability_of_signs(self.differing)) } else { self.p }
    }
}

/// Reads a t as JSON has it, without the sign of an infinite one.
fn null_is_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

/// Runs the paired two-sided t-test of `a` against `b`, query by query.
///
/// Differences that may be due to rounding count as 0. Without any difference, or with fewer than two pairs, t is 0
/// and p is 1.
///
/// # Errors
///
/// `ErrorKind::Mismatch` if `a` and `b` have different lengths.
pub fn paired_t_test(a: &[f64], b: &[f64]) -> Result<PairedTest> {
    let differences = paired_differences(a, b)?;
    let n = a.len() as f64;
    let degrees_of_freedom = a.len().saturating_sub(1) as f64;
    let difference = if a.is_empty() { 0.0 } else { differences.iter().sum::<f64>() / n };
    let differing = differences.iter().filter(|difference| **difference != 0.0).count();
    let (standard_error, t, p) = if degrees_of_freedom == 0.0 || differing == 0 {
        (0.0, 0.0, 1.0)
    } else if alike(&differences) {
        (0.0, f64::INFINITY.copysign(difference), probability_of_signs(a.len()))
    } else {
        let squares: f64 = differences.iter().map(|d| (d - difference).powi(2)).sum();
        let error = (squares / degrees_of_freedom / n).sqrt();
        (error, difference / error, two_sided(difference / error, degrees_of_freedom))
    };
    Ok(PairedTest { difference, t, p, degrees_of_freedom, standard_error, differing })
}

/// Returns P(|T| ≥ |t|) from the incomplete beta function, which is accurate where 1 − cdf would lose all digits.
pub(super) fn two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_nan() {
        return f64::NAN;
    }
    beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t * t)).min(1.0)
}
