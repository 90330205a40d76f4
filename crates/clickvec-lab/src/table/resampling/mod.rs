//! Significance by random draws: the randomisation test and bootstrap confidence intervals.

mod bootstrap;
mod randomization;
#[cfg(test)]
mod tests;

pub use self::bootstrap::Interval;
pub(super) use self::bootstrap::{bootstrap_difference, bootstrap_mean};
pub use self::randomization::RandomizationTest;
pub(super) use self::randomization::randomization_test;

/// The number and the seed of random draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resampling {
    /// The number of draws. With 10,000 draws, a p near 0.05 has a standard error of 0.002.
    pub samples: u32,
    /// The seed. Equal seeds give equal results.
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Resampling {
        Resampling { samples: 10_000, seed: 1 }
    }
}
