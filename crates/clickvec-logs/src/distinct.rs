//! Counting distinct values in bounded memory.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use clickvec_tables::IdentityHasher;

/// The number of hashes to keep. Above it, the count is an estimate with a relative standard error of 1.2 / √(KEPT /
/// 2).
const KEPT: usize = 1 << 16;

/// A counter of distinct hashes. It is exact up to a limit, and then counts a sample: the hashes whose first bits are
/// 0 (Wegman's adaptive sampling; Flajolet, "On adaptive sampling", Computing 43, 1990).
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    hashes: HashSet<u64, BuildHasherDefault<IdentityHasher>>,
    /// The number of first bits that must be 0.
    bits: u32,
}

impl Distinct {
    /// Adds a hash, which must be well mixed.
    pub(crate) fn add(&mut self, hash: u64) {
        if hash.leading_zeros() < self.bits || !self.hashes.insert(hash) || self.hashes.len() <= KEPT {
            return;
        }
        self.bits += 1;
        let bits = self.bits;
        self.hashes.retain(|hash| hash.leading_zeros() >= bits);
    }

    /// Returns the number of distinct hashes.
    pub(crate) fn count(&self) -> u64 {
        (self.hashes.len() as u64) << self.bits
    }

    /// Returns whether [`Distinct::count`] is exact.
    pub(crate) fn is_exact(&self) -> bool {
        self.bits == 0
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
        // Allow four standard errors.
        let error = (many.count() as f64 / 2e6 - 1.0).abs();
        assert!(error < 4.0 * 1.2 / ((KEPT / 2) as f64).sqrt(), "{error}");
    }
}
