//! Which shard of a collection an index is.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Result, malformed};
use crate::folder::Folder;

/// The file of a shard's number.
pub(crate) const SHARD_FILE: &str = "shard.json";

/// A part of a collection's titles, which [`crate::join`] joins with the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Which part, counted from 1.
    pub number: u64,
    /// How many parts there are.
    pub of: u64,
    /// How many titles the collection has.
    pub titles: u64,
}

impl Shard {
    /// Reads which shard an index is, if it is one.
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
