//! The folder that a segment is written to.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::{Error, Result};

/// Parts that were written: the name, the kind, and the files.
pub(crate) type Parts = Vec<(&'static str, &'static str, Vec<String>)>;

/// The folder that a segment is written to, and the parts that it has so far.
pub(crate) struct Target<'a> {
    folder: &'a Path,
    parts: Parts,
}

impl<'a> Target<'a> {
    pub(crate) fn new(folder: &'a Path) -> Target<'a> {
        Target { folder, parts: Parts::new() }
    }

    /// Returns the path of a file.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a new file, piece by piece.
    pub(crate) fn write(&self, name: &str, pieces: &[&[u8]]) -> Result<()> {
        let path = self.path(name);
        let write = || -> io::Result<()> {
            let mut file = BufWriter::new(File::create_new(&path)?);
            pieces.iter().try_for_each(|piece| file.write_all(piece))?;
            file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
        };
        write().map_err(|source| Error::io(&path, "write", source))
    }

    /// Writes a new file of JSON.
    pub(crate) fn json(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let bytes = serde_json::to_vec_pretty(value).expect("names for keys");
        self.write(name, &[&bytes, b"\n"])
    }

    /// Adds a part whose files were written.
    pub(crate) fn part(&mut self, name: &'static str, kind: &'static str, files: Vec<String>) {
        self.parts.push((name, kind, files));
    }

    pub(crate) fn into_parts(self) -> Parts {
        self.parts
    }
}
