//! How the vectors are kept beside their codes: as floats, as halves, or not at all.

use half::f16;
use half::slice::{HalfBitsSliceExt as _, HalfFloatSliceExt as _};

use super::codes::Codes;
use super::{FlatIndex, Shared};
use crate::Result;
use crate::error::VectorFault;
use crate::math::score::score;

/// The vectors that codes are of.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rows {
    Floats(FlatIndex),
    /// [n, dimension], the bits of numbers of 16 bits.
    Halves {
        dimension: usize,
        numbers: Shared<u16>,
    },
    /// The codes are all there is.
    Codes {
        dimension: usize,
        len: usize,
    },
}

/// Numbers as those of 16 bits that are nearest to them, as bits.
pub fn halves(numbers: &[f32]) -> Vec<u16> {
    numbers.iter().map(|&number| f16::from_f32(number).to_bits()).collect()
}

/// The numbers that these bits are of.
pub fn floats(halves: &[u16]) -> Vec<f32> {
    let mut numbers = vec![0.0; halves.len()];
    convert(halves, &mut numbers);
    numbers
}

fn convert(halves: &[u16], numbers: &mut [f32]) {
    halves.reinterpret_cast::<f16>().convert_to_f32_slice(numbers);
}

impl Rows {
    pub(super) fn of_halves(dimension: usize, numbers: Shared<u16>) -> Result<Rows> {
        super::flat::check_shape(dimension, numbers.len())?;
        Ok(Rows::Halves { dimension, numbers })
    }

    pub(super) fn of_codes(dimension: usize, len: usize) -> Result<Rows> {
        let values = len.checked_mul(dimension).ok_or(VectorFault::TooMany { found: len })?;
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

    /// The score of the vector at a position, which is in this row of the codes; `None` if there is no such vector.
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

    /// All vectors as floats; shared if that is what they are.
    pub(super) fn floats(&self, codes: &Codes) -> Result<FlatIndex> {
        match self {
            Rows::Floats(flat) => Ok(flat.clone()),
            Rows::Halves { dimension, numbers } => FlatIndex::of_unit(*dimension, floats(numbers).into()),
            Rows::Codes { dimension, len } => FlatIndex::of_unit(*dimension, codes.decode(*dimension, *len).into()),
        }
    }
}
