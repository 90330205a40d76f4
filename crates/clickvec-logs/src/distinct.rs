//! How many different things there are, in bounded memory.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// Hashes that are kept. Beyond, the number is an estimate with a relative standard error of 1.2 / √(half of this).
const KEPT: usize = 1 << 16;

/// Counts different hashes: exactly up to a bound, then from a sample, those whose first bits are 0 (Wegman's adaptive
/// sampling; Flajolet, "On adaptive sampling", Computing 43, 1990).
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    kept: HashSet<u64, BuildHasherDefault<Itself>>,
    /// How many of the first bits must be 0.
    bits: u32,
}

impl Distinct {
    /// Sees a hash, which must be well mixed.
    pub(crate) fn add(&mut self, hash: u64) {
        if hash.leading_zeros() < self.bits || !self.kept.insert(hash) || self.kept.len() <= KEPT {
            return;
        }
        self.bits += 1;
        let bits = self.bits;
        self.kept.retain(|hash| hash.leading_zeros() >= bits);
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        (self.kept.len() as u64) << self.bits
    }

    /// Whether [`Distinct::count`] is exact.
    pub(crate) fn is_exact(&self) -> bool {
        self.bits == 0
    }
}

/// A hash is its own hash.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(different: u64) -> Distinct {
        let mut distinct = Distinct::default();
        for _ in 0..2 {
            (0..different).for_each(|i| distinct.add(xxhash_rust::xxh3::xxh3_64(&i.to_le_bytes())));
        }
        distinct
    }

    #[test]
    fn few_are_counted_and_many_are_estimated() {
        let few = count(1000);
        assert_eq!((few.count(), few.is_exact()), (1000, true));
        let many = count(2_000_000);
        assert!(!many.is_exact());
        // Four standard errors.
        let error = (many.count() as f64 / 2e6 - 1.0).abs();
        assert!(error < 4.0 * 1.2 / ((KEPT / 2) as f64).sqrt(), "{error}");
    }
}
