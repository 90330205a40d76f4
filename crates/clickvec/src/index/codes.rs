//! Vectors as whole numbers, and how far these can be from the vectors.

use std::ops::Range;

use rayon::prelude::*;

use super::Shared;
use super::flat::bad_shape;
use crate::math::nibbles::{self, GROUP, MAX_DIMENSION, ROWS};
use clickvec_tables::Error;
use clickvec_tables::Result;
use clickvec_tables::memory::room_for_numbers;

/// The largest code of a number.
const LARGEST: f32 = 127.0;
/// A number that is added to each code, so that stored codes are positive.
pub(super) const ZERO: u8 = 128;
/// The middle of the range of the low four bits.
pub(super) const MIDDLE: f64 = 7.5;
/// The bytes before the numbers in a file of codes: two distances, the number of blocks, whether there are positions.
const HEADER_BYTES: usize = 64;

/// The numbers of each vector in 8 bits, as multiples of a 127th of the vector's largest number.
///
/// The high and the low four bits are in two planes (see `math::nibbles`), so that a scan can read the high ones alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Codes {
    /// [blocks, block_bytes]
    pub high: Shared<u8>,
    /// [blocks, block_bytes], or empty if only the high bits are stored.
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

    /// Checks that there is memory for codes of as many vectors.
    ///
    /// # Errors
    ///
    /// `ErrorKind::Memory`.
    pub fn room(dimension: usize, vectors: usize) -> Result<()> {
        let blocks = vectors.div_ceil(ROWS);
        let bytes: [&[usize]; 2] = [&[2, blocks, nibbles::block_bytes(dimension)], &[blocks, ROWS, size_of::<f32>()]];
        Ok(room_for_numbers::<u8>("codes of vectors", &bytes)?)
    }

    /// Codes of vectors [n, dimension], or of those at the positions `rows`, in this order.
    pub fn encode(dimension: usize, vectors: &[f32], rows: Option<Vec<u32>>) -> Codes {
        Codes::encode_planes(dimension, vectors, rows, true)
    }

    /// Encodes vectors like [`Codes::encode`], without the low bits.
    pub fn encode_high(dimension: usize, vectors: &[f32], rows: Option<Vec<u32>>) -> Codes {
        Codes::encode_planes(dimension, vectors, rows, false)
    }

    fn encode_planes(dimension: usize, vectors: &[f32], rows: Option<Vec<u32>>, with_low: bool) -> Codes {
        let count = rows.as_ref().map_or(vectors.len() / dimension, Vec::len);
        let (blocks, bytes) = (count.div_ceil(ROWS), nibbles::block_bytes(dimension));
        let (mut high, mut low) = (vec![0; blocks * bytes], vec![0; if with_low { blocks * bytes } else { 0 }]);
        let mut scales = vec![0.0; blocks * ROWS];
        let mut lows: Vec<&mut [u8]> = low.chunks_mut(bytes).collect();
        lows.resize_with(blocks, || &mut []);
        let planes = high.par_chunks_mut(bytes).zip(lows);
        let tasks = planes.zip(scales.par_chunks_mut(ROWS)).enumerate();
        let errors = tasks.map(|(block, ((high, low), scales))| {
            let mut largest = [0.0f64; 2];
            for (row, index) in (block * ROWS..count.min((block + 1) * ROWS)).enumerate() {
                let position = rows.as_ref().map_or(index, |rows| rows[index] as usize);
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

    /// Rounds vectors [n, dimension] to unit vectors that codes represent exactly. Rounding them again changes no bit.
    pub fn rounded(dimension: usize, vectors: &[f32]) -> Vec<f32> {
        let codes = Codes::encode(dimension, vectors, None).scaled_to_unit(dimension);
        codes.decode(dimension, vectors.len() / dimension)
    }

    /// Encodes vectors that [`Codes::rounded`] made, for an index that stores nothing but these codes.
    pub fn alone(dimension: usize, rounded: &[f32], rows: Option<Vec<u32>>) -> Codes {
        let mut codes = Codes::encode(dimension, rounded, rows).scaled_to_unit(dimension);
        // A number that is computed from its code is off by its rounding, and so is the step that the errors were measured in.
        let rounding = 2.0 * f64::from(LARGEST) * (dimension as f64).sqrt() * f64::from(f32::EPSILON);
        (codes.error, codes.coarse_error) = (codes.error + rounding, codes.coarse_error + rounding);
        codes
    }

    /// Replaces the steps by those that give vectors of unit length. They follow from the codes alone, so a vector that was made
    /// from codes gets its own codes and its own step again.
    fn scaled_to_unit(self, dimension: usize) -> Codes {
        let bytes = nibbles::block_bytes(dimension);
        let scale = |row: usize| {
            if self.scales[row] == 0.0 {
                return 0.0;
            }
            let square = |i: usize| {
                let (byte, shift) = nibbles::position(row % ROWS, i);
                let [high, low] = [&self.high, &self.low].map(|plane| plane[row / ROWS * bytes + byte] >> shift & 15);
                (i64::from(16 * high + low) - i64::from(ZERO)).pow(2)
            };
            let squares: i64 = (0..dimension).map(square).sum();
            (squares as f64).sqrt().recip() as f32
        };
        let scales: Vec<f32> = (0..self.scales.len()).into_par_iter().map(scale).collect();
        Codes { scales: scales.into(), ..self }
    }

    /// Returns approximate dot products of a query with each row. Each number of both is off by a 254th of the largest at most.
    pub fn products(&self, query: &[f32]) -> Vec<f32> {
        let (codes, step) = whole_numbers(query, Vec::new());
        let total: i32 = codes.iter().map(|&code| i32::from(code)).sum();
        let bytes = nibbles::block_bytes(query.len());
        let mut products = Vec::with_capacity(self.scales.len());
        for (block, scales) in self.scales.chunks_exact(ROWS).enumerate() {
            let [high, low] =
                [&self.high, &self.low].map(|plane| nibbles::block_sums(&plane[block * bytes..][..bytes], &codes));
            let product = |row: usize| (16 * high[row] + low[row] - i32::from(ZERO) * total) as f32 * scales[row];
            products.extend((0..ROWS).map(|row| product(row) * step as f32));
        }
        products
    }

    /// Returns the vectors [n, dimension] that the codes represent, by position; zeros where there is no code.
    pub fn decode(&self, dimension: usize, vectors: usize) -> Vec<f32> {
        let mut decoded = vec![0.0; vectors * dimension];
        for row in 0..self.scales.len() {
            let start = (self.position(row) as usize).checked_mul(dimension);
            let vector = start.and_then(|start| decoded.get_mut(start..start.checked_add(dimension)?));
            if let Some(vector) = vector {
                self.decode_row(row, vector);
            }
        }
        decoded
    }

    /// Writes the vector in a row to `vector`.
    pub(super) fn decode_row(&self, row: usize, vector: &mut [f32]) {
        let start = row / ROWS * nibbles::block_bytes(vector.len());
        // Finding the slice of a mapped file takes longer than reading a number from it.
        let planes = [&self.high[start..], &self.low[start..]];
        for (i, x) in vector.iter_mut().enumerate() {
            let (byte, shift) = nibbles::position(row % ROWS, i);
            let [high, low] = planes.map(|plane| plane[byte] >> shift & 15);
            *x = (f32::from(16 * high + low) - f32::from(ZERO)) * self.scales[row];
        }
    }

    /// Returns the beginning of a file of codes.
    pub fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        let blocks = (self.scales.len() / ROWS) as u64;
        header[..8].copy_from_slice(&self.error.to_le_bytes());
        header[8..16].copy_from_slice(&self.coarse_error.to_le_bytes());
        header[16..24].copy_from_slice(&blocks.to_le_bytes());
        header[24] = u8::from(self.rows.is_some());
        header[25] = u8::from(self.low.is_empty());
        header
    }

    /// Returns the rest of the file after the header, piece by piece.
    pub fn pieces(&self) -> [&[u8]; 4] {
        let rows = self.rows.as_ref().map_or(&[][..], |rows| bytemuck::cast_slice(rows));
        [bytemuck::cast_slice(&self.scales), rows, &self.high, &self.low]
    }

    /// Reads the codes in a file, of which `floats`, `positions` and `planes` return ranges; `None` if it has another form.
    pub fn from_file(
        dimension: usize,
        file: &[u8],
        floats: impl Fn(Range<usize>) -> Option<Shared<f32>>,
        positions: impl Fn(Range<usize>) -> Option<Shared<u32>>,
        planes: impl Fn(Range<usize>) -> Option<Shared<u8>>,
    ) -> Option<Codes> {
        let header = file.get(..HEADER_BYTES)?;
        let number = |at: usize| Some(f64::from_le_bytes(header.get(at..at + 8)?.try_into().ok()?));
        let blocks = usize::try_from(u64::from_le_bytes(header[16..24].try_into().ok()?)).ok()?;
        let plane = Codes::plane_bytes(dimension, blocks)?;
        let mut end = HEADER_BYTES;
        let mut next = |bytes: usize| {
            let start = end;
            end = start.checked_add(bytes)?;
            Some(start..end)
        };
        let per_row = blocks.checked_mul(4 * ROWS)?;
        let scales = floats(next(per_row)?)?;
        let rows = if header[24] == 1 { Some(positions(next(per_row)?)?) } else { None };
        let high = planes(next(plane)?)?;
        let low = if header[25] == 1 { Vec::new().into() } else { planes(next(plane)?)? };
        let (error, coarse_error) = (number(0)?, number(8)?);
        (end == file.len()).then_some(Codes { high, low, scales, rows, error, coarse_error })
    }

    /// Reads the codes in the bytes of a file; `None` if it has another form.
    pub fn from_bytes(dimension: usize, file: &[u8]) -> Option<Codes> {
        let bytes = |range: Range<usize>| file.get(range);
        let floats = |range| Some(words(bytes(range)?).map(f32::from_le_bytes).collect::<Vec<f32>>().into());
        let positions = |range| Some(words(bytes(range)?).map(u32::from_le_bytes).collect::<Vec<u32>>().into());
        let planes = |range| Some(bytes(range)?.to_vec().into());
        Codes::from_file(dimension, file, floats, positions, planes)
    }

    /// Returns the bytes of a plane of this many blocks; `None` if there are too many.
    pub fn plane_bytes(dimension: usize, blocks: usize) -> Option<usize> {
        blocks.checked_mul(nibbles::block_bytes(dimension))
    }

    /// Checks that the pieces fit together, the low bits among them, and, without positions of their own, as many vectors.
    pub(super) fn check(&self, dimension: usize, vectors: usize) -> Result<(), Error> {
        let rows = match &self.rows {
            Some(rows) => rows.len() >= vectors,
            None => self.scales.len() == vectors.div_ceil(ROWS) * ROWS,
        };
        let low = self.low.len() == self.high.len();
        if rows && low && self.fits(dimension) { Ok(()) } else { Err(self.fault(dimension)) }
    }

    /// Checks that these can be copies of codes: each row has a position, and the low bits are there if they are needed.
    pub(super) fn check_copies(&self, dimension: usize, with_low: bool) -> Result<(), Error> {
        let low = self.low.len() == self.high.len() || (self.low.is_empty() && !with_low);
        if self.rows.is_some() && low && self.fits(dimension) { Ok(()) } else { Err(self.fault(dimension)) }
    }

    /// Returns whether scales, positions and high bits fit together.
    fn fits(&self, dimension: usize) -> bool {
        let rows = self.rows.as_ref().is_none_or(|rows| rows.len() == self.scales.len());
        let bytes = Codes::plane_bytes(dimension, self.scales.len() / ROWS);
        let errors = self.error.is_finite() && self.coarse_error.is_finite();
        self.scales.len().is_multiple_of(ROWS)
            && Some(self.high.len()) == bytes
            && rows
            && errors
            && dimension <= MAX_DIMENSION
    }

    fn fault(&self, dimension: usize) -> Error {
        bad_shape(dimension, self.high.len())
    }

    /// Returns the position of the vector in a row.
    pub(super) fn position(&self, row: usize) -> u32 {
        match &self.rows {
            Some(rows) => rows[row],
            None => row as u32,
        }
    }
}

/// Encodes a query in whole groups, with zeros after the last number. Returns the codes and the value of 1 in them.
pub(super) fn whole_numbers(query: &[f32], mut codes: Vec<i8>) -> (Vec<i8>, f64) {
    let largest = query.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
    let step = f64::from(largest) / f64::from(LARGEST);
    codes.clear();
    // For a zero query, 0/0 becomes 0.
    codes.extend(query.iter().map(|&x| (f64::from(x) / step).round() as i8));
    codes.resize(query.len().next_multiple_of(GROUP), 0);
    (codes, step)
}

/// Returns the bytes of numbers, four for each.
fn words(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> + '_ {
    bytes.as_chunks::<4>().0.iter().copied()
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
        let (byte, shift) = nibbles::position(row, i);
        high[byte] |= (code >> 4) << shift;
        if let Some(low) = low.get_mut(byte) {
            *low |= (code & 15) << shift;
        }
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
    fn what_was_rounded_is_not_rounded_again() {
        for dimension in [1, 3, 17, 96, 300] {
            let mut vectors: Vec<f32> = (0..400 * dimension).map(|i| (i as f32 * 0.37).sin()).collect();
            vectors[dimension..2 * dimension].fill(0.0);
            let once = Codes::rounded(dimension, &vectors);
            let twice = Codes::rounded(dimension, &once);
            let bits = |numbers: &[f32]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&once), bits(&twice), "{dimension}");
            // The order does not matter, and decoding gives the vectors that were encoded.
            let rows: Vec<u32> = (0..400).rev().collect();
            let codes = Codes::alone(dimension, &once, Some(rows));
            assert_eq!(bits(&codes.decode(dimension, 400)), bits(&once), "{dimension}");
            for vector in once.chunks_exact(dimension).filter(|vector| vector.iter().any(|&x| x != 0.0)) {
                let length = vector.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
                assert!((length - 1.0).abs() < 1e-6, "{dimension}: {length}");
            }
        }
    }

    #[test]
    fn products_are_near() {
        for dimension in [1, 3, 17, 96, 97, 288] {
            let mut numbers: Vec<f32> = (0..38 * dimension).map(|i| (i as f32 * 0.37).sin()).collect();
            numbers[dimension..2 * dimension].fill(0.0);
            let (query, vectors) = numbers.split_at(dimension);
            let codes = Codes::encode(dimension, vectors, None);
            let products = codes.products(query);
            assert_eq!((products.len(), products[0], products[47]), (48, 0.0, 0.0));
            for (product, vector) in products.iter().zip(vectors.chunks_exact(dimension)) {
                let exact: f64 = query.iter().zip(vector).map(|(x, y)| f64::from(x * y)).sum();
                // Two numbers in [-1, 1], each off by half a step at most.
                let bound = dimension as f64 * (2.0 / 254.0 + 1.0 / 254.0 / 254.0) + 1e-5;
                assert!((f64::from(*product) - exact).abs() <= bound, "{dimension}: {product} {exact}");
            }
            let zero = codes.products(&vec![0.0; dimension]);
            assert!(zero.iter().all(|&product| product == 0.0));
            let (high, low) = (Codes::encode_high(dimension, vectors, None), &codes.low);
            assert_eq!(Codes { low: low.clone(), ..high }, codes);
        }
    }

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
                    let (byte, shift) = nibbles::position(position % ROWS, i);
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
