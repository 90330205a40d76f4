//! The wants of simulated users, which are also the subjects of titles.

use rand::RngExt as _;

use super::market::Rng;

/// The subject of a want or of a title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// A thing. An aspect of it is 0 for none, otherwise its position plus one; likewise a quality.
    Thing { thing: usize, aspect: usize, quality: usize },
    /// Two values, in this order.
    Ordered { frame: usize, a: usize, b: usize },
    /// A page of a site.
    Site { site: usize, page: usize },
}

impl Want {
    /// Returns the want without the quality of its thing.
    pub(super) fn without_quality(self) -> Want {
        match self {
            Want::Thing { thing, aspect, .. } => Want::Thing { thing, aspect, quality: 0 },
            other => other,
        }
    }
}

/// Returns a random element; there must be at least one.
pub(super) fn pick<'a, T>(all: &'a [T], rng: &mut Rng) -> &'a T {
    &all[rng.random_range(0..all.len())]
}
