//! How small a difference a test set can show.

use statrs::distribution::{ContinuousCDF as _, Normal};

use super::{PairingFault, paired_differences};

/// p below this is called significant.
const ALPHA: f64 = 0.05;
/// How often the difference is to be found.
const POWER: f64 = 0.8;

/// The minimum detectable difference: the smallest true difference of means that a two-sided paired test on as many queries,
/// as scattered as these, finds significant at 0.05 in four of five cases, where it is one of `tests` tests that are
/// corrected together (as the first of Holm's method, at 0.05 / `tests`).
///
/// (z₁₋α/₂ₘ + z₀.₈) · s / √n, by the normal approximation. `None` with fewer than two pairs, or where all differ alike.
///
/// # Errors
///
/// [`PairingFault::Lengths`] if there are not as many values on both sides.
pub fn minimum_detectable_difference(a: &[f64], b: &[f64], tests: usize) -> Result<Option<f64>, PairingFault> {
    let differences = paired_differences(a, b)?;
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
    if differences.len() < 2 || squares == 0.0 {
        return Ok(None);
    }
    let normal = Normal::standard();
    let quantiles = normal.inverse_cdf(1.0 - ALPHA / (2.0 * tests.max(1) as f64)) + normal.inverse_cdf(POWER);
    Ok(Some(quantiles * (squares / (n - 1.0) / n).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_computed_difference() {
        // Differences 0 and 1 in turn: s² = n / (4 (n − 1)).
        let a: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        let found = minimum_detectable_difference(&a, &[0.0; 100], 1).unwrap().unwrap();
        let standard_error = (0.25f64 / 99.0).sqrt();
        assert!((found / standard_error - (1.959_963_985 + 0.841_621_234)).abs() < 1e-6, "{found}");
        let of_ten = minimum_detectable_difference(&a, &[0.0; 100], 10).unwrap().unwrap();
        assert!((of_ten / standard_error - (2.807_033_768 + 0.841_621_234)).abs() < 1e-6, "{of_ten}");
    }

    #[test]
    fn without_scatter_nothing_is_said() {
        assert_eq!(minimum_detectable_difference(&[1.0, 2.0], &[0.0, 1.0], 1), Ok(None));
        assert_eq!(minimum_detectable_difference(&[1.0], &[0.0], 1), Ok(None));
        assert_eq!(minimum_detectable_difference(&[], &[], 1), Ok(None));
    }
}
