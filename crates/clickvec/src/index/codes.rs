//! Vectors as whole numbers, and how far these can be from the vectors.

use rayon::prelude::*;

use super::Shared;
use crate::error::VectorFault;
use crate::math::nibbles::{self, MAX_DIMENSION, ROWS};

/// The largest code of a number.
const LARGEST: f32 = 127.0;
/// A number that is added to each code, so that stored codes are positive.
pub(super) const ZERO: u8 = 128;
/// The middle of the range of the low four bits.
pub(super) const MIDDLE: f64 = 7.5;

/// The numbers of each vector in 8 bits, as multiples of a 127th of the vector's largest number.
///
/// The high and the low four bits are in two planes (see `math::nibbles`), so that a scan can read the high ones alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Codes {
    /// [blocks, block_bytes]
    pub high: Shared<u8>,
    /// [blocks, block_bytes]
    pub low: Shared<u8>,
    /// [blocks, 16], the value of one step of a vector's codes; 0 where there is no vector.
    pub scales: Shared<f32>,
    /// [blocks, 16], the position of each vector, if they are in another order; [`Codes::NOTHING`] where there is none.
    pub rows: Option<Shared<u32>>,
    /// The largest distance of a vector from its codes, in steps.
    pub error: f64,
    /// The largest distance from the high bits alone, with the low bits taken as the middle of their range.
    pub coarse_error: f64,
}

impl Codes {
    /// The position of a row without a vector.
    pub const NOTHING: u32 = u32::MAX;
    /// The number of vectors in a block.
    pub const BLOCK: usize = ROWS;

    /// Codes of vectors [n, dimension], or of those at the positions `rows`, in this order.
    pub fn encode(dimension: usize, vectors: &[f32], rows: Option<Vec<u32>>) -> Codes {
        let count = rows.as_ref().map_or(vectors.len() / dimension, Vec::len);
        let (blocks, bytes) = (count.div_ceil(ROWS), nibbles::block_bytes(dimension));
        let (mut high, mut low) = (vec![0; blocks * bytes], vec![0; blocks * bytes]);
        let mut scales = vec![0.0; blocks * ROWS];
        let planes = high.par_chunks_mut(bytes).zip(low.par_chunks_mut(bytes));
        let of_blocks = planes.zip(scales.par_chunks_mut(ROWS)).enumerate();
        let errors = of_blocks.map(|(block, ((high, low), scales))| {
            let mut largest = [0.0f64; 2];
            for (row, place) in (block * ROWS..count.min((block + 1) * ROWS)).enumerate() {
                let position = rows.as_ref().map_or(place, |rows| rows[place] as usize);
                let Some(vector) = vectors.chunks_exact(dimension).nth(position) else { continue };
                let errors = encode(vector, row, high, low, &mut scales[row]);
                largest = [0, 1].map(|i| largest[i].max(errors[i]));
            }
            largest
        });
        let [error, coarse_error] = errors.reduce(|| [0.0; 2], |a, b| [0, 1].map(|i| a[i].max(b[i])));
        let rows = rows.map(|mut rows| {
            rows.resize(blocks * ROWS, Codes::NOTHING);
            rows.into()
        });
        Codes { high: high.into(), low: low.into(), scales: scales.into(), rows, error, coarse_error }
    }

    /// The lengths of the planes for this many blocks.
    pub fn plane_bytes(dimension: usize, blocks: usize) -> Option<usize> {
        blocks.checked_mul(nibbles::block_bytes(dimension))
    }

    /// Checks that the pieces fit together and, without positions of their own, as many vectors.
    pub(super) fn check(&self, dimension: usize, vectors: usize) -> Result<(), VectorFault> {
        let blocks = self.scales.len() / ROWS;
        let bytes = Codes::plane_bytes(dimension, blocks);
        let planes = Some(self.high.len()) == bytes && Some(self.low.len()) == bytes;
        let rows = match &self.rows {
            Some(rows) => rows.len() == self.scales.len(),
            None => blocks == vectors.div_ceil(ROWS),
        };
        let errors = self.error.is_finite() && self.coarse_error.is_finite();
        match self.scales.len().is_multiple_of(ROWS) && planes && rows && errors && dimension <= MAX_DIMENSION {
            true => Ok(()),
            false => Err(VectorFault::Shape { dimension, values: self.high.len() }),
        }
    }

    /// The position of the vector in a row.
    pub(super) fn position(&self, row: usize) -> u32 {
        match &self.rows {
            Some(rows) => rows[row],
            None => row as u32,
        }
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
            let codes = Codes::encode(dimension, &vectors, None);
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
