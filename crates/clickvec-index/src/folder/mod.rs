//! An index as a folder of files. This module makes sure that the files are complete; their contents are up to others.
//!
//! `manifest.json` names the parts of the index, and for each part its kind and its files with their lengths and
//! checksums. Its field `about` holds what must be known before reading them.

mod read;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

pub use clickvec_tables::outputs::INDEX_MANIFEST as MANIFEST;
use clickvec_tables::shown::shortened;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::error::{Error, ErrorKind, Result, damaged, malformed};

pub use write::CHANGES;
pub use write::put_part;
pub(crate) use write::{FolderWriter, check_replaceable};
pub(crate) use {read::Folder, write::is_update_file};

/// The version of the folder's format, `format` in the manifest.
const FORMAT: u32 = 1;
const KIND: &str = "index";
/// The file of the model that made the vectors.
pub(crate) const MODEL_FILE: &str = "model.safetensors";
/// A bound on the size of a manifest, which usually has a few thousand bytes.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// The names of all parts, and their kinds. An index with any other is refused.
const KNOWN: [(&str, &[&str]); 13] = [
    ("model", &["safetensors"]),
    ("titles", &["table"]),
    ("vectors", &["f32", "f16", "int8"]),
    ("words", &["tantivy"]),
    ("fields", &["columns"]),
    ("fusion", &["json"]),
    ("confidence", &["json"]),
    ("trigrams", &["lists"]),
    ("teacher", &["transformer", "vectors"]),
    ("canaries", &["json"]),
    ("shard", &["json"]),
    ("changes", &["segments"]),
    ("links", &["json"]),
];

/// The facts about an index's parts in its manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct About {
    /// The fingerprint of the model that made the vectors.
    pub(crate) model: String,
    /// The number of titles that can be found.
    pub(crate) titles: u64,
    /// The number of titles without a vector, because the model knows none of their words.
    pub(crate) without_vector: u64,
    /// The size of a vector.
    pub(crate) dimension: usize,
    /// The column that the titles' texts come from.
    pub(crate) field: String,
}

/// A part of an index, in its own files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Files {
    /// The kind, which says how to read the files.
    pub(crate) kind: String,
    /// The files, by name; a name may lead into a folder, as `words/meta.json`.
    pub(crate) files: BTreeMap<String, FileEntry>,
}

/// The manifest's entry of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    /// The length.
    pub(crate) bytes: u64,
    /// XXH3 of the file, 128 bits in hexadecimal.
    pub(crate) xxh3: String,
}

/// The manifest of a folder.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    kind: String,
    /// The fingerprint of `contents`.
    fingerprint: String,
    contents: Contents,
}

#[derive(Debug, Serialize, Deserialize)]
struct Contents {
    /// The version of clickvec that wrote it.
    version: String,
    about: About,
    parts: BTreeMap<String, Files>,
}

impl Contents {
    fn new(about: About, parts: BTreeMap<String, Files>) -> Contents {
        Contents { version: env!("CARGO_PKG_VERSION").to_owned(), about, parts }
    }

    fn with_fingerprint(self) -> Manifest {
        let fingerprint = fingerprint(&self);
        Manifest { format: FORMAT, kind: KIND.to_owned(), fingerprint, contents: self }
    }
}

/// The fields that every version of a manifest has.
#[derive(Deserialize)]
struct Head {
    format: u32,
    kind: String,
}

/// Returns whether a folder has a manifest, as an index does, whole or damaged.
pub fn looks_like_index(folder: &Path) -> bool {
    folder.join(MANIFEST).is_file()
}

/// Parses the manifest of the folder at `path`. All parts in it are known afterwards.
fn parse(path: &Path, bytes: &[u8]) -> Result<Manifest> {
    let manifest = path.join(MANIFEST);
    let bad = |error: serde_json::Error| {
        malformed(&manifest, "the manifest of an index", clickvec_tables::json::json_found(&error))
    };
    let head: Head = serde_json::from_slice(bytes).map_err(bad)?;
    if head.kind != KIND {
        let found = format!("one of kind `{}`", shortened(&head.kind));
        return Err(Error::expected(ErrorKind::Malformed, "the manifest of an index", found).at(&manifest));
    }
    if head.format != FORMAT {
        let (expected, found) = (format!("an index of format version {FORMAT}"), head.format.to_string());
        let help = if head.format > FORMAT {
            "use a newer clickvec, or rebuild the index"
        } else {
            "rebuild the index with this clickvec"
        };
        return Err(Error::expected(ErrorKind::Version, expected, found).help(help).at(&manifest));
    }
    let parsed: Manifest = serde_json::from_slice(bytes).map_err(bad)?;
    let found = fingerprint(&parsed.contents);
    if found != parsed.fingerprint {
        return Err(damaged(&manifest, format!("the fingerprint {}", shortened(&parsed.fingerprint)), found));
    }
    let names = parsed.contents.parts.values().flat_map(|part| part.files.keys());
    if let Some(outside) = names.into_iter().find(|name| !is_inside(name)) {
        return Err(malformed(&manifest, "names of files in this folder", format!("`{}`", shortened(outside))));
    }
    let is_known = |name: &str, kind: &str| KNOWN.iter().any(|(known, kinds)| *known == name && kinds.contains(&kind));
    match parsed.contents.parts.iter().find(|(name, part)| !is_known(name, &part.kind)) {
        None => Ok(parsed),
        Some((name, part)) => {
            let found = format!("`{}` of kind `{}`", shortened(name), shortened(&part.kind));
            let error = Error::expected(ErrorKind::Version, "parts that this clickvec reads", found);
            Err(error.help("use a newer clickvec, or rebuild the index").at(&manifest))
        }
    }
}

/// Returns whether the name of a file, which may lead through folders, stays inside the folder that it is joined to.
fn is_inside(name: &str) -> bool {
    !name.contains(['\\', '\0']) && name.split('/').all(|part| !["", ".", ".."].contains(&part))
}

/// Returns a fingerprint of some contents.
pub(crate) fn fingerprint(contents: &impl Serialize) -> String {
    let mut hash = Hashing::new(io::sink());
    serde_json::to_writer(&mut hash, contents).expect("names for keys, and a sink takes all bytes");
    hash.checksum()
}

/// A writer that hashes what passes through it.
struct Hashing<W> {
    inner: W,
    hash: Xxh3,
    bytes: u64,
}

impl<W> Hashing<W> {
    fn new(inner: W) -> Hashing<W> {
        Hashing { inner, hash: Xxh3::new(), bytes: 0 }
    }

    fn checksum(&self) -> String {
        format!("{:032x}", self.hash.digest128())
    }

    fn entry(&self) -> FileEntry {
        FileEntry { bytes: self.bytes, xxh3: self.checksum() }
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
