//! Vectors as whole numbers, and how far these can be from the vectors.

use rayon::prelude::*;

use crate::math::nibbles::{self, ROWS};

/// The largest code of a number.
const LARGEST: f32 = 127.0;
/// A number that is added to each code, so that stored codes are positive.
pub(super) const ZERO: u8 = 128;
/// The middle of the range of the low four bits.
pub(super) const MIDDLE: f64 = 7.5;

/// The numbers of each vector in 8 bits, as multiples of a 127th of the vector's largest number.
///
/// The high and the low four bits are in two planes (see [`nibbles`]), so that a scan can read the high ones alone.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Codes {
    /// [blocks, block_bytes]
    pub(super) high: Vec<u8>,
    /// [blocks, block_bytes]
    pub(super) low: Vec<u8>,
    /// [blocks, 16], the value of one step of a vector's codes; 0 after the last vector.
    pub(super) scales: Vec<f32>,
    /// The largest distance of a vector from its codes, in steps.
    pub(super) error: f64,
    /// The largest distance from the high bits alone, with the low bits taken as [`MIDDLE`].
    pub(super) coarse_error: f64,
}

impl Codes {
    /// Codes of vectors [n, dimension].
    pub(super) fn encode(dimension: usize, vectors: &[f32]) -> Codes {
        let (blocks, bytes) = (vectors.len().div_ceil(ROWS * dimension), nibbles::block_bytes(dimension));
        let (mut high, mut low) = (vec![0; blocks * bytes], vec![0; blocks * bytes]);
        let mut scales = vec![0.0; blocks * ROWS];
        let planes = high.par_chunks_mut(bytes).zip(low.par_chunks_mut(bytes));
        let blocks = vectors.par_chunks(ROWS * dimension).zip(planes).zip(scales.par_chunks_mut(ROWS));
        let errors = blocks.map(|((vectors, (high, low)), scales)| {
            let mut largest = [0.0f64; 2];
            for (row, vector) in vectors.chunks_exact(dimension).enumerate() {
                let errors = encode(vector, row, high, low, &mut scales[row]);
                largest = [0, 1].map(|i| largest[i].max(errors[i]));
            }
            largest
        });
        let [error, coarse_error] = errors.reduce(|| [0.0; 2], |a, b| [0, 1].map(|i| a[i].max(b[i])));
        Codes { high, low, scales, error, coarse_error }
    }
}

/// Writes the codes and the scale of one vector. Returns its distance from the codes and from the high bits, in steps.
fn encode(vector: &[f32], row: usize, high: &mut [u8], low: &mut [u8], scale: &mut f32) -> [f64; 2] {
    let largest = vector.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
    *scale = largest / LARGEST;
    if *scale == 0.0 {
        return [0.0; 2]; // A zero vector: whatever its codes, they are taken times 0.
    }
    let steps = f64::from(*scale).recip();
    let mut squares = [0.0f64; 2];
    for (i, &x) in vector.iter().enumerate() {
        let exact = f64::from(x) * steps + f64::from(ZERO);
        // The result is from 1 to 255, rounded. `round` would be a function call on plain x86-64.
        let code = (exact + 0.5) as u8;
        let (byte, shift) = nibbles::place(row, i);
        high[byte] |= (code >> 4) << shift;
        low[byte] |= (code & 15) << shift;
        squares[0] += (exact - f64::from(code)).powi(2);
        squares[1] += (exact - f64::from(code & 0xf0) - MIDDLE).powi(2);
    }
    // Rounded up by far more than the error of these sums.
    squares.map(|squares| squares.sqrt() * (1.0 + 1e-9) + 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_as_near_as_they_say() {
        for dimension in [1, 3, 17, 96, 97] {
            let mut vectors: Vec<f32> = (0..21 * dimension).map(|i| (i as f32 * 0.37).sin()).collect();
            vectors[dimension..2 * dimension].fill(0.0);
            let codes = Codes::encode(dimension, &vectors);
            assert_eq!((codes.scales.len(), codes.scales[1], codes.scales[21]), (32, 0.0, 0.0));
            let mut worst = [0.0f64; 2];
            for (position, vector) in vectors.chunks_exact(dimension).enumerate().filter(|&(at, _)| at != 1) {
                let start = position / ROWS * nibbles::block_bytes(dimension);
                let mut squares = [0.0; 2];
                for (i, &x) in vector.iter().enumerate() {
                    let (byte, shift) = nibbles::place(position % ROWS, i);
                    let [high, low] = [&codes.high, &codes.low].map(|plane| plane[start + byte] >> shift & 15);
                    let exact = f64::from(x / codes.scales[position]) + f64::from(ZERO);
                    squares[0] += (exact - f64::from(16 * high + low)).powi(2);
                    squares[1] += (exact - f64::from(16 * high) - MIDDLE).powi(2);
                }
                worst = [0, 1].map(|i| worst[i].max(squares[i].sqrt()));
            }
            let half_steps = (dimension as f64).sqrt() / 2.0;
            assert!((codes.error - worst[0]).abs() < 1e-4 && codes.error <= half_steps + 1e-4, "{dimension}");
            assert!((codes.coarse_error - worst[1]).abs() < 1e-4 && codes.coarse_error <= 16.0 * half_steps);
        }
    }
}
