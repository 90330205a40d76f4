//! The files of a folder that sentence-transformers wrote.

use std::path::{Path, PathBuf};

use clickvec_tables::json::json_found;
use clickvec_tables::memory::room_for;
use clickvec_tables::{Error, ErrorKind, Result};
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::Xxh3;

/// The limit of a file of settings or of a vocabulary.
const MAX_TEXT_BYTES: u64 = 64 << 20;

/// The help for a folder that cannot be read.
pub(crate) const SUPPORTED: &str = "take a BERT model that sentence-transformers saved, such as MiniLM, BGE, GTE or E5";

/// A folder, with the names of the files that were read so far.
pub(crate) struct Folder<'a> {
    path: &'a Path,
    names: Vec<&'static str>,
    hash: Xxh3,
}

impl<'a> Folder<'a> {
    pub(crate) fn new(path: &'a Path) -> Folder<'a> {
        Folder { path, names: Vec::new(), hash: Xxh3::new() }
    }

    /// Returns the path of a file.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Reads a file; `None` if it is not there.
    pub(crate) fn read(&mut self, name: &'static str) -> Result<Option<Vec<u8>>> {
        self.read_at_most(name, MAX_TEXT_BYTES)
    }

    /// Reads the file of the weights, which may be as large as there is memory.
    pub(crate) fn read_weights(&mut self, name: &'static str) -> Result<Option<Vec<u8>>> {
        self.read_at_most(name, u64::MAX)
    }

    fn read_at_most(&mut self, name: &'static str, most: u64) -> Result<Option<Vec<u8>>> {
        let path = self.file(name);
        let bytes = match path.metadata() {
            Ok(metadata) if metadata.is_file() => metadata.len(),
            _ => return Ok(None),
        };
        if bytes > most {
            let expected = format!("a file of at most {most} bytes");
            return Err(Error::expected(ErrorKind::Malformed, expected, bytes.to_string()).at(&path));
        }
        // The weights are copied into another order.
        room_for("the files of a transformer", bytes.checked_mul(2))?;
        let bytes = std::fs::read(&path).map_err(|source| Error::io(&path, "read", source))?;
        self.names.push(name);
        self.hash.update(name.as_bytes());
        self.hash.update(&(bytes.len() as u64).to_le_bytes());
        self.hash.update(&bytes);
        Ok(Some(bytes))
    }

    /// Reads a file of JSON; `None` if it is not there.
    pub(crate) fn json<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<Option<T>> {
        let Some(bytes) = self.read(name)? else { return Ok(None) };
        let parsed = serde_json::from_slice(&bytes).map_err(|error| {
            let expected = format!("the {name} of a sentence transformer");
            Error::expected(ErrorKind::Malformed, expected, json_found(&error)).help(SUPPORTED).at(&self.file(name))
        })?;
        Ok(Some(parsed))
    }

    /// Creates the error of something in a file that is not supported.
    pub(crate) fn unsupported(&self, name: &str, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::expected(ErrorKind::Malformed, expected.into(), found.into()).help(SUPPORTED).at(&self.file(name))
    }

    /// Returns the names of the files that were read, and a fingerprint of them.
    pub(crate) fn finish(self) -> (Vec<&'static str>, String) {
        (self.names, format!("{:032x}", self.hash.digest128()))
    }
}
