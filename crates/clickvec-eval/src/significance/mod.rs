//! Statistical significance of differences between systems: paired tests over queries, the
//! correction for many tests, and the one rule by which all reports call a difference significant.

mod comparison;
mod crossed;
mod holm;
mod power;
mod sequential;
mod t_test;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use self::comparison::{Comparison, Correction, Verdict, beaten, compare_all};
pub use self::comparison::{compared, correct};
pub use self::crossed::crossed_test;
pub use self::holm::holm;
pub use self::power::{LEAST_DIFFERING, differing_pairs};
pub use self::sequential::{ConfidenceSequence, Finding};
pub use self::t_test::{PairedTest, paired_t_test};
use clickvec_tables::{Error, ErrorKind, Result};

/// The p-value below which a difference is called significant.
pub const SIGNIFICANT: f64 = 0.05;
/// The relative difference up to which two values count as equal. Means over tied titles carry rounding errors, which are
/// not differences.
const ROUNDING: f64 = 1e-9;

/// Returns whether two values differ by rounding at most.
pub fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= ROUNDING * a.abs().max(b.abs())
}

/// The help for systems that were judged on different queries.
const SAME_JUDGMENTS: &str = "evaluate both on the same judgments";

/// Returns the differences a − b, with 0 for those that may be due to rounding.
///
/// # Errors
///
/// `ErrorKind::Mismatch` if `a` and `b` have different lengths.
pub fn paired_differences(a: &[f64], b: &[f64]) -> Result<Vec<f64>> {
    if a.len() != b.len() {
        let found = format!("{} and {}", a.len(), b.len());
        let error = Error::expected(ErrorKind::Mismatch, "as many queries for both systems", found);
        return Err(error.help(SAME_JUDGMENTS));
    }
    let difference = |(&a, &b): (&f64, &f64)| if is_same(a, b) { 0.0 } else { a - b };
    Ok(a.iter().zip(b).map(difference).collect())
}

/// Returns whether all differences are equal up to rounding, and not 0.
fn alike(differences: &[f64]) -> bool {
    let Some(&first) = differences.first() else { return false };
    first != 0.0 && differences.iter().all(|difference| (difference - first).abs() <= ROUNDING * first.abs())
}

/// Returns the probability that `differing` pairs all differ in the same direction by chance: 2 / 2ᵏ, at most 1.
fn probability_of_signs(differing: usize) -> f64 {
    2f64.powf(1.0 - differing as f64).min(1.0)
}
