//! The numbers of epochs of titles and clicks in a build, from the numbers of its inputs.

use clickvec::train::{TitleConfig, TrainConfig};
use serde::{Deserialize, Serialize};

/// The titles, and the clicked pairs, that are learnt in all epochs together, unless a single epoch has more: with more, a build
/// takes much longer and finds little more.
const TITLES: u64 = 400_000;
const PAIRS: u64 = 300_000;
/// With more queries than this, those that are held out (1,000) are too few for a second training with them.
const QUERIES: u64 = 100_000;

/// The numbers that decide how long a build learns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Size {
    pub(crate) titles: u64,
    /// Distinct clicked pairs of a query and a title; 0 without clicks.
    pub(crate) pairs: u64,
    /// Distinct clicked queries.
    pub(crate) queries: u64,
}

impl Size {
    /// Returns the epochs of titles, at most those that are usual.
    pub(crate) fn title_epochs(self) -> u64 {
        let usual = u64::from(TitleConfig::default().epochs);
        (TITLES / self.titles.max(1)).clamp(1, usual)
    }

    /// Returns the epochs of clicks, at most those that are usual.
    pub(crate) fn click_epochs(self) -> u64 {
        let usual = u64::from(TrainConfig::with_titles().epochs);
        (PAIRS / self.pairs.max(1)).clamp(1, usual)
    }

    /// Returns whether the clicks of held-out queries are a share that is worth a second training with all clicks.
    pub(crate) fn learns_held_out(self) -> bool {
        self.queries <= QUERIES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_shop_is_learnt_in_fewer_epochs() {
        let epochs = |titles: u64, pairs: u64| {
            let size = Size { titles, pairs, queries: pairs / 2 };
            (size.title_epochs(), size.click_epochs(), size.learns_held_out())
        };
        assert_eq!(epochs(45_000, 22_000), (6, 3, true));
        assert_eq!(epochs(150_000, 150_000), (2, 2, true));
        assert_eq!(epochs(1_000_000, 1_000_000), (1, 1, false));
        assert_eq!(epochs(0, 0), (6, 3, true));
    }
}
