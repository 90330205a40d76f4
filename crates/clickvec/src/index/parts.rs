//! The parts that indexes of vectors are made of, for crates that keep them in files of their own.

use super::quantized::Scope;
use super::shared::Shared;
use super::{Codes, FlatIndex, Hit, QuantizedIndex, SearchScratch};
use crate::Result;

/// An index of vectors that somebody else has checked.
pub trait FlatParts: Sized {
    /// An index of vectors [n, dimension] that somebody else has checked, or will: nothing of them is read now.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Vectors`] with a shape that no vectors have, or with too many.
    fn of_unit(dimension: usize, vectors: Shared<f32>) -> Result<FlatIndex>;
}

/// The parts of a [`QuantizedIndex`].
pub trait QuantizedParts: Sized {
    /// An index with codes that were computed before.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Vectors`] if their sizes do not fit the vectors.
    fn of_codes(flat: FlatIndex, codes: Codes) -> Result<Self>;

    /// An index of vectors [n, dimension] in 16 bits a number, as bits, with the codes of these.
    ///
    /// # Errors
    ///
    /// Those of [`QuantizedParts::of_codes`].
    fn of_halves(dimension: usize, numbers: Shared<u16>, codes: Codes) -> Result<Self>;

    /// An index of `len` vectors that are what their codes say.
    ///
    /// # Errors
    ///
    /// Those of [`QuantizedParts::of_codes`].
    fn of_codes_alone(dimension: usize, len: usize, codes: Codes) -> Result<Self>;

    /// The index with copies of its codes, in blocks of their own that only [`QuantizedParts::search_in`] looks at.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Vectors`] if they have another form.
    fn with_copies(self, copies: Codes) -> Result<Self>;

    /// The copies of the codes.
    fn copies(&self) -> Option<&Codes>;

    /// The codes.
    fn codes(&self) -> &Codes;

    /// The vectors as floats, however they are kept.
    ///
    /// # Errors
    ///
    /// None for an index that was made.
    fn floats(&self) -> Result<FlatIndex>;

    /// [`QuantizedIndex::search`] among some of the vectors. If they are those of some blocks, one that is among the best is
    /// missed now and then.
    ///
    /// # Errors
    ///
    /// Those of [`QuantizedIndex::search`].
    fn search_in<'s>(
        &self,
        query: &[f32],
        k: usize,
        scope: &Scope<'_>,
        scratch: &'s mut SearchScratch,
    ) -> Result<&'s [Hit]>;
}

impl FlatParts for FlatIndex {
    fn of_unit(dimension: usize, vectors: Shared<f32>) -> Result<FlatIndex> {
        FlatIndex::of_unit(dimension, vectors)
    }
}

impl QuantizedParts for QuantizedIndex {
    fn of_codes(flat: FlatIndex, codes: Codes) -> Result<QuantizedIndex> {
        QuantizedIndex::of_codes(flat, codes)
    }

    fn of_halves(dimension: usize, numbers: Shared<u16>, codes: Codes) -> Result<QuantizedIndex> {
        QuantizedIndex::of_halves(dimension, numbers, codes)
    }

    fn of_codes_alone(dimension: usize, len: usize, codes: Codes) -> Result<QuantizedIndex> {
        QuantizedIndex::of_codes_alone(dimension, len, codes)
    }

    fn with_copies(self, copies: Codes) -> Result<QuantizedIndex> {
        QuantizedIndex::with_copies(self, copies)
    }

    fn copies(&self) -> Option<&Codes> {
        QuantizedIndex::copies(self)
    }

    fn codes(&self) -> &Codes {
        QuantizedIndex::codes(self)
    }

    fn floats(&self) -> Result<FlatIndex> {
        QuantizedIndex::floats(self)
    }

    fn search_in<'s>(
        &self,
        query: &[f32],
        k: usize,
        scope: &Scope<'_>,
        scratch: &'s mut SearchScratch,
    ) -> Result<&'s [Hit]> {
        QuantizedIndex::search_in(self, query, k, scope, scratch)
    }
}
