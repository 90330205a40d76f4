//! exp, tanh and sigmoid as branch-free f32 polynomials, to be used inside loops over slices.
//!
//! Errors against f64 (tests below): exp 2e-7 relative, sigmoid 2e-7 absolute and 3e-7 relative
//! down to −80, tanh 3e-7 relative. NaN comes out as NaN.

use super::level::by_level;

/// a·b + c, fused where the level has it.
#[inline(always)]
pub(crate) fn mul_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Written with comparisons, so that NaN passes through (`f32::clamp` asserts, `max` drops NaN).
#[inline(always)]
fn bound(x: f32, low: f32, high: f32) -> f32 {
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

/// eˣ for x in [−87, 88]; beyond, the value at the bound.
#[inline(always)]
pub(crate) fn exp<const FMA: bool>(x: f32) -> f32 {
    // Adding 1.5·2²³ rounds to a whole number and leaves it in the low bits.
    const ROUND: f32 = 12_582_912.0;
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = bound(x, -87.0, 88.0);
    let shifted = mul_add::<FMA>(x, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = mul_add::<FMA>(n, -LN2_LOW, mul_add::<FMA>(n, -LN2_HIGH, x));
    // Minimax for eʳ on ±ln 2 / 2, the first two coefficients held at 1: error 3e-9.
    let p = mul_add::<FMA>(1.381_459_8e-3, r, 8.368_717e-3);
    let p = mul_add::<FMA>(p, r, 4.166_839e-2);
    let p = mul_add::<FMA>(p, r, 1.666_652_1e-1);
    let p = mul_add::<FMA>(p, r, 4.999_999_4e-1);
    let p = mul_add::<FMA>(p * r, r, r) + 1.0;
    let scale = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000));
    p * scale
}

/// 1 / (1 + e⁻ˣ), through exp, so that the small tail keeps its relative accuracy.
#[inline(always)]
pub(crate) fn sigmoid<const FMA: bool>(x: f32) -> f32 {
    1.0 / (1.0 + exp::<FMA>(-x))
}

/// tanh x as x·P(x²)/Q(x²), minimax in relative error on ±8.6, where tanh is one to 7e-8.
#[inline(always)]
pub(crate) fn tanh<const FMA: bool>(x: f32) -> f32 {
    let x = bound(x, -8.6, 8.6);
    let u = x * x;
    let p = mul_add::<FMA>(-1.312_774_6e-11, u, 3.180_142_4e-8);
    let p = mul_add::<FMA>(p, u, 2.850_514e-5);
    let p = mul_add::<FMA>(p, u, 3.892_791_2e-3);
    let p = mul_add::<FMA>(p, u, 1.369_939e-1);
    let p = mul_add::<FMA>(p, u, 1.0);
    let q = mul_add::<FMA>(1.322_385_7e-6, u, 3.981_901e-4);
    let q = mul_add::<FMA>(q, u, 2.733_521_5e-2);
    let q = mul_add::<FMA>(q, u, 4.703_272_3e-1);
    let q = mul_add::<FMA>(q, u, 1.0);
    bound(x * p / q, -1.0, 1.0)
}

#[inline(always)]
fn tanh_body<const FMA: bool>(values: &mut [f32]) {
    for value in values {
        *value = tanh::<FMA>(*value);
    }
}

#[inline(always)]
fn sigmoid_body<const FMA: bool>(values: &mut [f32]) {
    for value in values {
        *value = sigmoid::<FMA>(*value);
    }
}

#[inline(always)]
fn exp_body<const FMA: bool>(values: &mut [f32]) {
    for value in values {
        *value = exp::<FMA>(*value);
    }
}

by_level! {
    /// tanh of every number, in place.
    pub fn tanh_slice(values: &mut [f32]) = tanh_body
}
by_level! {
    /// The logistic function of every number, in place.
    pub fn sigmoid_slice(values: &mut [f32]) = sigmoid_body
}
by_level! {
    /// eˣ of every number, in place, x bounded to [−87, 88].
    pub fn exp_slice(values: &mut [f32]) = exp_body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(low: f32, high: f32) -> Vec<f32> {
        (0..=200_000).map(|i| low + (high - low) * i as f32 / 200_000.0).collect()
    }

    fn worst_relative(x: &[f32], y: &[f32], truth: impl Fn(f64) -> f64) -> f64 {
        assert!(y.iter().all(|y| !y.is_nan()), "`max` would pass over a NaN");
        x.iter()
            .zip(y)
            .map(|(&x, &y)| (f64::from(y) - truth(f64::from(x))).abs() / truth(f64::from(x)).abs().max(1e-37))
            .fold(0.0, f64::max)
    }

    #[test]
    fn exp_is_accurate() {
        let x = grid(-86.9, 87.9);
        let mut y = x.clone();
        exp_slice(&mut y);
        let worst = worst_relative(&x, &y, f64::exp);
        assert!(worst < 2e-7, "{worst:e}");
    }

    #[test]
    fn sigmoid_is_accurate_down_its_tail() {
        let x = grid(-80.0, 80.0);
        let mut y = x.clone();
        sigmoid_slice(&mut y);
        let worst = worst_relative(&x, &y, |x| 1.0 / (1.0 + (-x).exp()));
        assert!(worst < 3e-7, "{worst:e}");
    }

    #[test]
    fn tanh_is_accurate_and_bounded() {
        for (low, high) in [(-10.0, 10.0), (-1e-3, 1e-3)] {
            let x = grid(low, high);
            let mut y = x.clone();
            tanh_slice(&mut y);
            let worst = worst_relative(&x, &y, f64::tanh);
            assert!(worst < 3.5e-7, "{worst:e}");
            assert!(y.iter().all(|y| y.abs() <= 1.0));
        }
    }

    #[test]
    fn nan_and_infinities() {
        let mut values = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        tanh_slice(&mut values);
        assert!(values[0].is_nan());
        assert!((values[1] - 1.0).abs() < 2e-7 && (values[2] + 1.0).abs() < 2e-7, "{values:?}");
        let mut values = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        sigmoid_slice(&mut values);
        assert!(values[0].is_nan());
        assert_eq!(values[1], 1.0);
        assert!(values[2] < 1e-37);
    }
}
