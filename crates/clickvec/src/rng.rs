//! Random numbers: a named stream for each purpose, and a shuffle that needs no memory.

use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Returns the stream `name` of a run with this seed. `index` numbers streams of the same name, for example by minibatch, so
/// that a resumed run needs no stored state.
pub fn stream(seed: u64, name: &str, index: u64) -> Xoshiro256PlusPlus {
    let named = xxh3_64_with_seed(name.as_bytes(), seed);
    Xoshiro256PlusPlus::seed_from_u64(xxh3_64_with_seed(&index.to_le_bytes(), named))
}

/// A random order of 0 … n − 1 that is computed position by position, with a Feistel network over the next power of four
/// that is repeated until the result is below n.
#[derive(Debug, Clone)]
pub struct Permutation {
    n: u64,
    half_bits: u32,
    keys: [u64; 6],
}

impl Permutation {
    /// Creates the order `name` with number `index` of a run with this seed.
    pub fn new(n: u64, seed: u64, name: &str, index: u64) -> Permutation {
        use rand::RngExt as _;
        let bits = 64 - n.saturating_sub(1).leading_zeros();
        let mut stream = stream(seed, name, index);
        Permutation { n, half_bits: bits.div_ceil(2).max(1), keys: std::array::from_fn(|_| stream.random()) }
    }

    /// Returns the number at `position`.
    ///
    /// # Panics
    /// If `position` is not below n.
    pub fn at(&self, position: u64) -> u64 {
        assert!(position < self.n, "position {position} of a permutation of {}", self.n);
        let mask = (1u64 << self.half_bits) - 1;
        let mut x = position;
        loop {
            let (mut left, mut right) = (x >> self.half_bits, x & mask);
            for key in self.keys {
                let mixed = (right ^ key).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
                (left, right) = (right, left ^ ((mixed >> 32) & mask));
            }
            x = (left << self.half_bits) | right;
            if x < self.n {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt as _;

    #[test]
    fn a_permutation_is_one() {
        for n in [1u64, 2, 3, 5, 16, 17, 1000, 4097] {
            let order = Permutation::new(n, 7, "order", n);
            let mut seen: Vec<u64> = (0..n).map(|position| order.at(position)).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..n), "{n}");
        }
    }

    #[test]
    fn a_permutation_is_not_the_identity_nor_last_epochs() {
        let (a, b) = (Permutation::new(1000, 7, "order", 0), Permutation::new(1000, 7, "order", 1));
        let fixed = (0..1000).filter(|&i| a.at(i) == i).count();
        let same = (0..1000).filter(|&i| a.at(i) == b.at(i)).count();
        assert!(fixed < 10 && same < 10, "{fixed} and {same} of 1000");
        // Neighbours are far apart: the mean distance in a random order is n / 3.
        let far: u64 = (1..1000).map(|i| a.at(i).abs_diff(a.at(i - 1))).sum();
        assert!((280_000..390_000).contains(&far), "{far}");
    }

    #[test]
    fn streams_differ_by_seed_name_and_index() {
        let first = |seed, name, index| stream(seed, name, index).random::<u64>();
        let base = first(1, "a", 0);
        assert_eq!(base, first(1, "a", 0));
        assert!(base != first(2, "a", 0) && base != first(1, "b", 0) && base != first(1, "a", 1));
    }
}
