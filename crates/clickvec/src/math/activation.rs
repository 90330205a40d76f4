//! exp, ln, tanh and sigmoid as branch-free f32 polynomials, for use inside loops over slices.
//!
//! Errors compared with f64 (tests below): exp and ln 2e-7 relative; sigmoid 2e-7 absolute, and 3e-7 relative down to
//! −80; tanh 3e-7 relative. NaN stays NaN.

use super::level::by_level;

/// Returns a·b + c, fused if the level has fused multiply-add.
#[inline(always)]
pub(crate) fn mul_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Limits x to [low, high]. Comparisons let NaN pass through: `f32::clamp` asserts, and `max` drops NaN.
#[inline(always)]
fn bound(x: f32, low: f32, high: f32) -> f32 {
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

/// Returns eˣ for x in [−87, 88]; outside, the value at the bound.
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
    // Minimax for eʳ on ±ln 2 / 2 with the first two coefficients fixed at 1: error 3e-9.
    let p = mul_add::<FMA>(1.381_459_8e-3, r, 8.368_717e-3);
    let p = mul_add::<FMA>(p, r, 4.166_839e-2);
    let p = mul_add::<FMA>(p, r, 1.666_652_1e-1);
    let p = mul_add::<FMA>(p, r, 4.999_999_4e-1);
    let p = mul_add::<FMA>(p * r, r, r) + 1.0;
    let scale = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000));
    p * scale
}

/// Returns ln x for x > 0. Anything below the smallest normal number, including 0 and negative numbers, counts as that number.
#[inline(always)]
pub(crate) fn ln<const FMA: bool>(x: f32) -> f32 {
    const SQRT_HALF: f32 = std::f32::consts::FRAC_1_SQRT_2;
    let x = if x < f32::MIN_POSITIVE { f32::MIN_POSITIVE } else { x };
    // x = m·2ⁿ with m in [√½, √2). After subtracting the bits of √½, n is in the bits above the mantissa.
    let above = x.to_bits().wrapping_sub(SQRT_HALF.to_bits());
    let n = (above as i32 >> 23) as f32;
    let m = f32::from_bits((above & 0x007f_ffff).wrapping_add(SQRT_HALF.to_bits()));
    // ln m = 2 artanh((m − 1) / (m + 1)). The series up to the ninth power is accurate to 2e-9 here.
    let t = (m - 1.0) / (m + 1.0);
    let u = t * t;
    let p = mul_add::<FMA>(2.0 / 9.0, u, 2.0 / 7.0);
    let p = mul_add::<FMA>(p, u, 2.0 / 5.0);
    let p = mul_add::<FMA>(p, u, 2.0 / 3.0);
    mul_add::<FMA>(n, std::f32::consts::LN_2, mul_add::<FMA>(p * u, t, 2.0 * t))
}

/// Returns 1 / (1 + e⁻ˣ), computed with exp, so that the small tail keeps its relative accuracy.
#[inline(always)]
pub(crate) fn sigmoid<const FMA: bool>(x: f32) -> f32 {
    1.0 / (1.0 + exp::<FMA>(-x))
}

/// Returns tanh x as x·P(x²)/Q(x²), minimax in relative error on ±8.6, where tanh is 1 up to 7e-8.
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

/// Returns x·Φ(x), the Gaussian error linear unit, with erf as x·P(x²)/Q(x²) on ±4, where it is 1 up to 2e-8.
#[inline(always)]
pub(crate) fn gelu<const FMA: bool>(x: f32) -> f32 {
    let z = bound(x * std::f32::consts::FRAC_1_SQRT_2, -4.0, 4.0);
    let u = z * z;
    let p = mul_add::<FMA>(-2.726_142_3e-10, u, 2.770_681_4e-8);
    let p = mul_add::<FMA>(p, u, -2.101_024e-6);
    let p = mul_add::<FMA>(p, u, -5.692_506_5e-5);
    let p = mul_add::<FMA>(p, u, -7.349_906_3e-4);
    let p = mul_add::<FMA>(p, u, -2.954_6e-3);
    let p = mul_add::<FMA>(p, u, -1.609_603_3e-2);
    let q = mul_add::<FMA>(-1.456_607_2e-5, u, -2.133_740_6e-4);
    let q = mul_add::<FMA>(q, u, -1.682_827e-3);
    let q = mul_add::<FMA>(q, u, -7.373_329_2e-3);
    let q = mul_add::<FMA>(q, u, -1.426_473_9e-2);
    let half = 0.5 * x;
    mul_add::<FMA>(half, z * p / q, half)
}

#[inline(always)]
fn gelu_body<const FMA: bool>(values: &mut [f32]) {
    for value in values {
        *value = gelu::<FMA>(*value);
    }
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

#[inline(always)]
fn ln_body<const FMA: bool>(values: &mut [f32]) {
    for value in values {
        *value = ln::<FMA>(*value);
    }
}

by_level! {
    /// Computes ln x of every number, in place. Numbers below the smallest normal number count as that number.
    pub fn ln_slice(values: &mut [f32]) = ln_body
}
by_level! {
    /// Computes the Gaussian error linear unit of every number, in place.
    pub fn gelu_slice(values: &mut [f32]) = gelu_body
}
by_level! {
    /// Computes tanh of every number, in place.
    pub fn tanh_slice(values: &mut [f32]) = tanh_body
}
by_level! {
    /// Computes the logistic function of every number, in place.
    pub fn sigmoid_slice(values: &mut [f32]) = sigmoid_body
}
by_level! {
    /// Computes eˣ of every number, in place, with x limited to [−87, 88].
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
    fn ln_is_accurate_and_bounded_below() {
        let exponents = grid(-87.0, 88.0);
        let mut x: Vec<f32> = exponents.iter().map(|x| x.exp()).chain(grid(0.5, 2.0)).collect();
        let truth: Vec<f64> = x.iter().map(|&x| f64::from(x).ln()).collect();
        ln_slice(&mut x);
        let worst = x.iter().zip(&truth).map(|(&x, truth)| (f64::from(x) - truth).abs() / truth.abs().max(0.5));
        let worst = worst.fold(0.0, f64::max);
        assert!(worst < 2e-7, "{worst:e}");
        let mut values = [0.0, -1.0, f32::MIN_POSITIVE / 2.0, 1.0];
        ln_slice(&mut values);
        assert!(values[..3].iter().all(|&x| (x + 87.336_55).abs() < 1e-4) && values[3] == 0.0, "{values:?}");
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
    fn gelu_is_accurate() {
        let x = grid(-12.0, 12.0);
        let mut y = x.clone();
        gelu_slice(&mut y);
        let truth = |x: f64| 0.5 * x * (1.0 + statrs::function::erf::erf(x * std::f64::consts::FRAC_1_SQRT_2));
        let worst =
            x.iter().zip(&y).map(|(&x, &y)| (f64::from(y) - truth(f64::from(x))).abs() / f64::from(x.abs().max(1.0)));
        let worst = worst.fold(0.0, f64::max);
        assert!(worst < 3e-7, "{worst:e}");
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
