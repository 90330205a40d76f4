//! Adam: Kingma and Ba 2015, algorithm 1, with β = 0.9, 0.999 and ε = 1e-8.

use crate::math::activation::mul_add;
use crate::math::level::by_level;

/// The constants of one update.
#[derive(Clone, Copy)]
pub(crate) struct AdamStep {
    /// The factor that clips the gradient.
    scale: f32,
    learning_rate: f32,
    /// 1 / (1 − β₁ᵏ)
    mean_correction: f32,
    /// 1 / (1 − β₂ᵏ)
    square_correction: f32,
}

impl AdamStep {
    /// Creates the constants of update k, counted from 1.
    pub(crate) fn new(k: u64, learning_rate: f64, scale: f64) -> AdamStep {
        AdamStep {
            scale: scale as f32,
            learning_rate: learning_rate as f32,
            mean_correction: (1.0 / (1.0 - 0.9f64.powf(k as f64))) as f32,
            square_correction: (1.0 / (1.0 - 0.999f64.powf(k as f64))) as f32,
        }
    }
}

by_level! {
    /// Updates numbers that have a gradient. `mean` and `square` are the moments.
    pub(crate) fn adam(value: &mut [f32], mean: &mut [f32], square: &mut [f32], gradient: &[f32], step: AdamStep)
        = adam_body
}

#[inline(always)]
fn adam_body<const FMA: bool>(
    value: &mut [f32],
    mean: &mut [f32],
    square: &mut [f32],
    gradient: &[f32],
    step: AdamStep,
) {
    for (((value, mean), square), &g) in value.iter_mut().zip(mean).zip(square).zip(gradient) {
        let g = step.scale * g;
        *mean = mul_add::<FMA>(0.9, *mean, 0.1 * g);
        *square = mul_add::<FMA>(0.999, *square, 0.001 * g * g);
        let corrected = *mean * step.mean_correction / ((*square * step.square_correction).sqrt() + 1e-8);
        *value = mul_add::<FMA>(-step.learning_rate, corrected, *value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adams_first_steps() {
        let (mut value, mut mean, mut square) = ([1.0f32], [0.0], [0.0]);
        adam(&mut value, &mut mean, &mut square, &[4.0], AdamStep::new(1, 0.1, 0.5));
        assert!((value[0] - 0.9).abs() < 1e-6, "{value:?}");
        // The mean is (0.9·0.2 + 0.1·(−1)) / 0.19, that of squares (0.999·0.004 + 0.001) / 0.001999.
        adam(&mut value, &mut mean, &mut square, &[-2.0], AdamStep::new(2, 0.1, 0.5));
        let expected = 0.9 - 0.1 * (0.08 / 0.19) / (0.004996f32 / 0.001999).sqrt();
        assert!((value[0] - expected).abs() < 1e-5, "{value:?}, expected {expected}");
    }
}
