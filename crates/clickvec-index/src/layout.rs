//! What the manifest of an index says: its parts, and the facts that must be known before they are read.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Result, malformed};
use crate::folder::Folder;

/// The file of the model that made the vectors.
pub(crate) const MODEL_FILE: &str = "model.safetensors";
/// The file of a shard's number.
pub(crate) const SHARD_FILE: &str = "shard.json";

/// The names of all parts, and their kinds. An index with any other is refused.
pub(crate) const KNOWN: [(&str, &[&str]); 11] = [
    ("model", &["safetensors"]),
    ("titles", &["table"]),
    ("vectors", &["f32", "f16", "int8"]),
    ("words", &["tantivy"]),
    ("fields", &["columns"]),
    ("fusion", &["json"]),
    ("trigrams", &["lists"]),
    ("teacher", &["ranker"]),
    ("canaries", &["json"]),
    ("shard", &["json"]),
    ("changes", &["segments"]),
];

/// The facts about an index's parts in its manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct About {
    /// The fingerprint of the model that made the vectors.
    pub(crate) model: String,
    /// The number of titles that can be found.
    pub(crate) titles: u64,
    /// The number of titles that were left out because the model knows none of their words.
    pub(crate) left_out: u64,
    /// The size of a vector.
    pub(crate) dimension: usize,
    /// The column that the titles' texts come from.
    pub(crate) field: String,
}

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

/// The description in an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IndexSummary {
    /// A fingerprint of everything in it. Indexes with equal fingerprints answer alike.
    pub fingerprint: String,
    /// The version of clickvec that wrote the index.
    pub version: String,
    /// The fingerprint of the model that made the vectors.
    pub model: String,
    /// The number of titles that can be found.
    pub titles: u64,
    /// The number of titles that were left out because the model knows none of their words.
    pub left_out: u64,
    /// The size of a vector.
    pub dimension: usize,
    /// The column that the titles' texts come from.
    pub field: String,
    /// Which shard it is, if its titles are not the whole collection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The kind of each part, by name.
    pub parts: BTreeMap<String, String>,
    /// The length of each file in bytes, by name.
    pub files: BTreeMap<String, u64>,
}
