//! The vectors that an index keeps in addition to their codes: 32-bit floats, 16-bit floats, or none.

use super::codes::Codes;
use super::{FlatIndex, Shared};
use crate::Result;
use crate::math::prefetch::prefetch;
use crate::math::score::score;
use clickvec_tables::memory::room_for_numbers;

/// The vectors that codes are of.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rows {
    Floats(FlatIndex),
    /// [n, dimension], the bits of numbers of 16 bits.
    Halves {
        dimension: usize,
        numbers: Shared<u16>,
    },
    /// The codes alone.
    Codes {
        dimension: usize,
        len: usize,
    },
}

/// 2¹¹², by which the exponent of a number of 16 bits is less than that of the same number in 32 bits, once its bits are in the
/// same places.
const LESS: f32 = f32::from_bits((127 + 112) << 23);

/// Returns numbers between −1 and 1 in 16 bits, as bits: those that are nearest to them or, below 2⁻¹⁴, next to these.
pub fn halves(numbers: &[f32]) -> Vec<u16> {
    let half = |&number: &f32| {
        let bits = (number.abs() / LESS).to_bits();
        let rounded = (bits + 0xfff + (bits >> 13 & 1)) >> 13;
        (rounded | number.to_bits() >> 16 & 0x8000) as u16
    };
    numbers.iter().map(half).collect()
}

/// Returns the numbers that have these bits.
pub fn floats(halves: &[u16]) -> Vec<f32> {
    let mut numbers = vec![0.0; halves.len()];
    convert(halves, &mut numbers);
    numbers
}

/// Converts without a branch, so that many are converted at once.
fn convert(halves: &[u16], numbers: &mut [f32]) {
    for (number, &half) in numbers.iter_mut().zip(halves) {
        let bits = u32::from(half);
        let size = f32::from_bits((bits & 0x7fff) << 13) * LESS;
        *number = f32::from_bits(size.to_bits() | (bits & 0x8000) << 16);
    }
}

impl Rows {
    pub(super) fn from_halves(dimension: usize, numbers: Shared<u16>) -> Result<Rows> {
        super::flat::check_shape(dimension, numbers.len())?;
        Ok(Rows::Halves { dimension, numbers })
    }

    pub(super) fn from_codes(dimension: usize, len: usize) -> Result<Rows> {
        let values = len.checked_mul(dimension).ok_or_else(|| super::flat::too_many(len))?;
        super::flat::check_shape(dimension, values)?;
        Ok(Rows::Codes { dimension, len })
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Rows::Floats(flat) => flat.len(),
            Rows::Halves { dimension, numbers } => numbers.len() / dimension,
            Rows::Codes { len, .. } => *len,
        }
    }

    pub(super) fn dimension(&self) -> usize {
        match self {
            Rows::Floats(flat) => flat.dimension(),
            Rows::Halves { dimension, .. } | Rows::Codes { dimension, .. } => *dimension,
        }
    }

    /// Starts to load the vector at a position, if there is one.
    #[inline]
    pub(super) fn prefetch(&self, position: u32) {
        match self {
            Rows::Floats(flat) => prefetch(flat.vector(position).unwrap_or_default()),
            Rows::Halves { dimension, numbers } => {
                let start = (position as usize).saturating_mul(*dimension);
                prefetch(numbers.get(start..start.saturating_add(*dimension)).unwrap_or_default());
            }
            // The codes have been read.
            Rows::Codes { .. } => {}
        }
    }

    /// Returns the score of the vector at a position, which is in this row of the codes; `None` if there is no such vector.
    #[inline]
    pub(super) fn score(
        &self,
        query: &[f32],
        position: u32,
        (codes, row): (&Codes, usize),
        decoded: &mut Vec<f32>,
    ) -> Option<f32> {
        match self {
            Rows::Floats(flat) => return Some(score(query, flat.vector(position)?)),
            Rows::Halves { dimension, numbers } => {
                let start = (position as usize).checked_mul(*dimension)?;
                let halves = numbers.get(start..start.checked_add(*dimension)?)?;
                decoded.resize(*dimension, 0.0);
                convert(halves, decoded);
            }
            Rows::Codes { dimension, len } => {
                if position as usize >= *len {
                    return None;
                }
                decoded.resize(*dimension, 0.0);
                codes.decode_row(row, decoded);
            }
        }
        Some(score(query, decoded))
    }

    /// Returns all vectors as floats; shared if they are stored as floats.
    pub(super) fn floats(&self, codes: &Codes) -> Result<FlatIndex> {
        match self {
            Rows::Floats(flat) => Ok(flat.clone()),
            Rows::Halves { dimension, numbers } => {
                room_for_numbers::<f32>("the vectors of an index", &[&[numbers.len()]])?;
                FlatIndex::from_unit_unchecked(*dimension, floats(numbers).into())
            }
            Rows::Codes { dimension, len } => {
                room_for_numbers::<f32>("the vectors of an index", &[&[*dimension, *len]])?;
                FlatIndex::from_unit_unchecked(*dimension, codes.decode(*dimension, *len).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_16_bits() {
        let known = [
            (0x0000, 0.0),
            (0x8000, -0.0),
            (0x3c00, 1.0),
            (0xb800, -0.5),
            (0x2e66, 0.099_975_586),
            (0x0001, 5.960_464_5e-8),
        ];
        for (bits, number) in known {
            assert_eq!(floats(&[bits])[0].to_bits(), f32::to_bits(number), "{bits:x}");
        }
        // All from −1 to 1, there and back, and what is between two becomes the nearer one.
        for sign in [0u16, 0x8000] {
            let all: Vec<u16> = (0..=0x3c00).map(|bits| bits | sign).collect();
            let numbers = floats(&all);
            assert_eq!(halves(&numbers), all);
            for (pair, bits) in numbers.windows(2).zip(&all) {
                let at = |share: f32| halves(&[pair[0] + (pair[1] - pair[0]) * share])[0];
                assert_eq!((at(0.25), at(0.75)), (*bits, bits + 1), "{pair:?}");
            }
        }
        assert_eq!(floats(&halves(&[0.1, -0.1])), [0.099_975_586, -0.099_975_586]);
    }
}
