//! Is a difference between two systems more than chance? Paired tests over queries, confidence intervals, the correction
//! for many tests, and the one rule by which all reports call a difference significant.

mod bootstrap;
mod comparison;
mod holm;
mod power;
mod randomization;
mod t_test;
#[cfg(test)]
mod tests;

pub use self::bootstrap::{Interval, bootstrap_difference, bootstrap_mean};
pub(super) use self::comparison::correct;
pub use self::comparison::{
    BaselineComparison, CONFIDENCE, Comparison, Correction, Verdict, beaten, compare_all, compare_with,
    confidence_intervals,
};
pub use self::holm::holm;
pub use self::power::{LEAST_DIFFERING, differing_pairs, minimum_detectable_difference};
pub use self::randomization::{RandomizationTest, randomization_test};
pub use self::t_test::{PairedTest, paired_t_test};
pub use crate::error::PairingFault;

/// The probability below which a difference is called significant.
pub const SIGNIFICANT: f64 = 0.05;
/// Values differ by more than this share of the larger one: means over tied titles are rounded, and what rounding makes is
/// no difference.
const ROUNDING: f64 = 1e-9;

/// The random draws of a test or an interval: how many, and from which seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resampling {
    /// The number of draws; the standard error of a p near 0.05 from 10,000 is 0.002.
    pub samples: u32,
    /// With the same seed the same numbers come out.
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Resampling {
        Resampling { samples: 10_000, seed: 1 }
    }
}

/// The differences a − b; 0 where they are no larger than what rounding makes.
fn paired_differences(a: &[f64], b: &[f64]) -> Result<Vec<f64>, PairingFault> {
    if a.len() != b.len() {
        return Err(PairingFault::Lengths { a: a.len(), b: b.len() });
    }
    let difference = |(a, b): (&f64, &f64)| match a - b {
        difference if difference.abs() <= ROUNDING * a.abs().max(b.abs()) => 0.0,
        difference => difference,
    };
    Ok(a.iter().zip(b).map(difference).collect())
}

/// Whether all differences are the same but for rounding, and not 0.
fn alike(differences: &[f64]) -> bool {
    let Some(&first) = differences.first() else { return false };
    first != 0.0 && differences.iter().all(|difference| (difference - first).abs() <= ROUNDING * first.abs())
}

/// The probability of the signs of `differing` pairs, all in one direction, by chance: 2 / 2ᵏ, at most 1.
fn probability_of_signs(differing: usize) -> f64 {
    2f64.powf(1.0 - differing as f64).min(1.0)
}
