//! An index as a folder of files. This module makes sure that the files are whole; what is in them is up to others.
//!
//! `manifest.json` names the parts of the index, and for each part its kind and its files with their lengths and
//! checksums. Its field `about` holds whatever the owner of the parts needs to know before reading them.

mod read;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use clickvec::error::IndexFault;
use clickvec::internals::error::shortened;

pub(crate) use read::{FileReader, Folder};
pub(crate) use write::is_of_updates;
pub use write::{CHANGES, put_part};
pub(crate) use write::{FolderWriter, check_replaceable};

/// The version of the folder's format, `format` in the manifest.
const FORMAT: u32 = 2;
/// The previous version, whose manifest lists files but no parts.
const FORMAT_OF_FILES: u32 = 1;
const KIND: &str = "index";
/// The file of a folder that lists its parts.
pub const MANIFEST: &str = "manifest.json";
/// A bound on the size of a manifest, which usually has a few hundred bytes.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// A part of an index, in its own files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// The kind, which says how to read the files.
    pub(crate) kind: String,
    /// Whether the index can be read without it.
    pub(crate) required: bool,
    /// Its files, by name; a name may lead into a folder, as `words/meta.json`.
    pub(crate) files: BTreeMap<String, FileEntry>,
}

/// The manifest's entry of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    /// The length.
    pub(crate) bytes: u64,
    /// XXH3 of the file, 128 bits in hexadecimal.
    pub xxh3: String,
}

/// Name and kind of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartKind {
    /// The name.
    pub name: &'static str,
    /// The kind, which says how to read the files.
    pub kind: &'static str,
    /// The only file of this part in the first version, whose manifest did not name parts.
    pub first_file: &'static str,
}

/// The contents of a manifest of any version.
#[derive(Debug)]
struct Manifest<A> {
    fingerprint: String,
    version: String,
    about: A,
    parts: BTreeMap<String, Part>,
}

/// The manifest as it is written.
#[derive(Debug, Serialize, Deserialize)]
struct Envelope<C> {
    format: u32,
    kind: String,
    /// The fingerprint of `contents`.
    fingerprint: String,
    contents: C,
}

#[derive(Debug, Serialize, Deserialize)]
struct Contents<A> {
    /// The version of clickvec that wrote it.
    version: String,
    about: A,
    parts: BTreeMap<String, Part>,
}

/// The contents of a manifest of the first version.
#[derive(Debug, Serialize, Deserialize)]
struct ContentsOfFiles<A> {
    version: String,
    about: A,
    files: BTreeMap<String, FileEntry>,
}

/// The fields that every version of a manifest has.
#[derive(Deserialize)]
struct Head {
    format: u32,
    kind: String,
}

/// Whether a folder has a manifest, as an index does, whole or damaged.
pub fn looks_like_index(folder: &Path) -> bool {
    folder.join(MANIFEST).is_file()
}

/// Parses a manifest of any version. `known` says which part a file of the first version belongs to.
fn parse<A: DeserializeOwned + Serialize>(bytes: &[u8], known: &[PartKind]) -> Result<Manifest<A>, IndexFault> {
    let head: Head = serde_json::from_slice(bytes).map_err(bad)?;
    if head.kind != KIND {
        return Err(IndexFault::Kind { found: shortened(&head.kind) });
    }
    match head.format {
        FORMAT => {
            let (fingerprint, Contents { version, about, parts }) = checked(bytes)?;
            Ok(Manifest { fingerprint, version, about, parts })
        }
        FORMAT_OF_FILES => {
            let (fingerprint, ContentsOfFiles { version, about, mut files }) = checked(bytes)?;
            let part = |known: &PartKind| {
                let (name, entry) = files.remove_entry(known.first_file)?;
                let files = BTreeMap::from([(name, entry)]);
                Some((known.name.to_owned(), Part { kind: known.kind.to_owned(), required: true, files }))
            };
            let parts = known.iter().filter_map(part).collect();
            Ok(Manifest { fingerprint, version, about, parts })
        }
        found => Err(IndexFault::Version { expected: FORMAT, found }),
    }
}

/// The contents of a manifest and their fingerprint, once it matches.
fn checked<C: DeserializeOwned + Serialize>(bytes: &[u8]) -> Result<(String, C), IndexFault> {
    let envelope: Envelope<C> = serde_json::from_slice(bytes).map_err(bad)?;
    let found = fingerprint(&envelope.contents);
    if found != envelope.fingerprint {
        return Err(IndexFault::Fingerprint { expected: shortened(&envelope.fingerprint), found });
    }
    Ok((found, envelope.contents))
}

fn bad(error: serde_json::Error) -> IndexFault {
    IndexFault::BadManifest { found: error.into() }
}

fn fingerprint(contents: &impl Serialize) -> String {
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
