//! Operations of a transformer on each row of a matrix: layer normalisation and softmax, both in place.

use super::activation::{exp, mul_add};
use super::level::by_level;

/// The number of partial sums: the same order at every level, and enough for two registers.
const PARTS: usize = 32;

/// Returns the sum of f(x).
#[inline(always)]
fn sum(row: &[f32], f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut partial = [0.0f32; PARTS];
    let chunks = row.chunks_exact(PARTS);
    let rest = chunks.remainder();
    for chunk in chunks {
        for i in 0..PARTS {
            partial[i] = f(chunk[i], partial[i]);
        }
    }
    for (partial, &x) in partial.iter_mut().zip(rest) {
        *partial = f(x, *partial);
    }
    partial.iter().sum()
}

#[inline(always)]
fn layer_norm_body<const FMA: bool>(rows: &mut [f32], scale: &[f32], shift: &[f32], epsilon: f32) {
    let columns = scale.len();
    for row in rows.chunks_exact_mut(columns) {
        let mean = sum(row, |x, sum| sum + x) / columns as f32;
        let variance = sum(row, |x, sum| mul_add::<FMA>(x - mean, x - mean, sum)) / columns as f32;
        let factor = 1.0 / (variance + epsilon).sqrt();
        for ((x, &scale), &shift) in row.iter_mut().zip(scale).zip(shift) {
            *x = mul_add::<FMA>((*x - mean) * factor, scale, shift);
        }
    }
}

#[inline(always)]
fn softmax_body<const FMA: bool>(rows: &mut [f32], columns: usize) {
    for row in rows.chunks_exact_mut(columns) {
        let most = row.iter().fold(f32::NEG_INFINITY, |most, &x| if x > most { x } else { most });
        for x in row.iter_mut() {
            *x = exp::<FMA>(*x - most);
        }
        let factor = 1.0 / sum(row, |x, sum| sum + x);
        for x in row.iter_mut() {
            *x *= factor;
        }
    }
}

by_level! {
    /// Shifts and scales each row, as long as `scale`, to mean 0 and variance 1, and then by `scale` and `shift`. `epsilon` is added to the
    /// variance.
    pub fn layer_norm(rows: &mut [f32], scale: &[f32], shift: &[f32], epsilon: f32) = layer_norm_body
}
by_level! {
    /// Computes the softmax of each row of `columns` numbers.
    pub fn softmax(rows: &mut [f32], columns: usize) = softmax_body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layer_norm_and_softmax_are_those_of_f64() {
        for columns in [1, 7, 32, 100] {
            let row: Vec<f32> = (0..columns).map(|i| ((i * 37 % 23) as f32 - 9.0) / 7.0).collect();
            let (scale, shift) = (vec![1.5; columns], vec![0.25; columns]);
            let exact: Vec<f64> = row.iter().map(|&x| f64::from(x)).collect();
            let mean = exact.iter().sum::<f64>() / columns as f64;
            let variance = exact.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / columns as f64;
            let exponents: Vec<f64> = exact.iter().map(|x| x.exp()).collect();
            let total: f64 = exponents.iter().sum();
            let (mut normal, mut soft) = ([&row[..], &row].concat(), [&row[..], &row].concat());
            layer_norm(&mut normal, &scale, &shift, 1e-6);
            softmax(&mut soft, columns);
            for i in 0..2 * columns {
                let x = (exact[i % columns] - mean) / (variance + 1e-6).sqrt() * 1.5 + 0.25;
                assert!((f64::from(normal[i]) - x).abs() < 1e-5, "{columns}: {} and {x}", normal[i]);
                let x = exponents[i % columns] / total;
                assert!((f64::from(soft[i]) - x).abs() < 1e-6, "{columns}: {} and {x}", soft[i]);
            }
        }
    }
}
