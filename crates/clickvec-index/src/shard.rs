//! The shards of a collection.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::{Result, malformed};
use crate::folder::Folder;

/// The file of a shard's number.
pub(crate) const SHARD_FILE: &str = "shard.json";

/// A part of a collection's titles, which [`crate::join`] joins with the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// The number of the shard, counted from 1.
    pub number: u64,
    /// The number of shards.
    pub of: u64,
    /// The number of titles of the collection.
    pub titles: u64,
}

impl Shard {
    /// Returns the positions of the titles of this shard. Shards differ by at most one title.
    pub fn range(&self) -> Range<u64> {
        let start = |number: u64| (u128::from(self.titles) * u128::from(number) / u128::from(self.of)) as u64;
        start(self.number - 1)..start(self.number)
    }

    /// Reads the shard that an index is, if it is one.
    pub(crate) fn read(folder: &Folder) -> Result<Option<Shard>> {
        if !folder.has("shard") {
            return Ok(None);
        }
        let shard: Shard = folder.json(SHARD_FILE)?;
        if (1..=shard.of).contains(&shard.number) {
            return Ok(Some(shard));
        }
        Err(malformed(&folder.path().join(SHARD_FILE), "a shard's number and how many there are", shard.to_string()))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_all_titles_in_order() {
        for titles in [0, 1, 7, 1000, u64::MAX] {
            for of in [1, 2, 3, 8] {
                let mut end = 0;
                for number in 1..=of {
                    let range = Shard { number, of, titles }.range();
                    assert_eq!(range.start, end);
                    assert!((range.end - range.start).abs_diff(titles / of) <= 1);
                    end = range.end;
                }
                assert_eq!(end, titles);
            }
        }
    }
}
