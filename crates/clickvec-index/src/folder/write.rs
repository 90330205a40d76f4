//! Writing the folder of an index, so that half of one is never seen.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use clickvec_tables::files::{self, PendingFolder, check_replaceable_folder};
use serde::{Deserialize, Serialize};

use super::read::read_manifest;
use super::{About, Contents, FileEntry, Files, Hashing, KIND, MANIFEST, Manifest, parse};
use crate::error::{Error, Result};

/// The folder's name in messages.
const FOLDER: &str = "an index";

/// A writer of an index, or of a segment of an update. If dropped before it is finished, it removes its files and leaves what is at
/// its path untouched.
pub(crate) struct FolderWriter {
    folder: PendingFolder,
    /// The parts that were written: the name, the kind, and the files.
    parts: Vec<(&'static str, &'static str, Vec<String>)>,
}

impl FolderWriter {
    /// Begins an index that will be at `path`.
    ///
    /// # Errors
    ///
    /// Those of [`PendingFolder::new`].
    pub(crate) fn new(path: &Path) -> Result<FolderWriter> {
        Ok(FolderWriter { folder: PendingFolder::new(path, FOLDER, names)?, parts: Vec::new() })
    }

    /// Returns the path of a file while the folder is written.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.file(name)
    }

    /// Creates a file, which the caller flushes.
    pub(crate) fn create(&self, name: &str) -> Result<BufWriter<File>> {
        self.folder.create(name)
    }

    /// Writes a file that consists of these pieces.
    pub(crate) fn write(&self, name: &str, pieces: &[&[u8]]) -> Result<()> {
        self.folder.write(name, pieces)
    }

    /// Writes a file of JSON.
    pub(crate) fn json(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let bytes = serde_json::to_vec_pretty(value).expect("names for keys");
        self.write(name, &[&bytes, b"\n"])
    }

    /// Adds a part that consists of a file of JSON, which it writes.
    pub(crate) fn json_part(&mut self, name: &'static str, file: &str, value: &impl Serialize) -> Result<()> {
        self.json(file, value)?;
        self.part(name, "json", &[file]);
        Ok(())
    }

    /// Returns the error of a write.
    pub(crate) fn failed(&self, source: io::Error) -> Error {
        self.folder.failed(source)
    }

    /// Returns the path of the index, as the caller named it.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Adds a part whose files have been written.
    pub(crate) fn part(&mut self, name: &'static str, kind: &'static str, files: &[impl AsRef<str>]) {
        self.parts.push((name, kind, files.iter().map(|file| file.as_ref().to_owned()).collect()));
    }

    /// Moves the index to its path in one step, and returns its fingerprint.
    ///
    /// # Errors
    ///
    /// Those of [`PendingFolder::publish`].
    pub(crate) fn finish(self, about: About) -> Result<String> {
        let FolderWriter { folder, parts } = self;
        let mut described = BTreeMap::new();
        for (name, kind, files) in parts {
            let files = hashed(|name| folder.file(name), &files).map_err(|source| folder.failed(source))?;
            described.insert(name.to_owned(), Files { kind: kind.to_owned(), files });
        }
        let manifest = Contents::new(about, described).with_fingerprint();
        folder.write(MANIFEST, &[&manifest_bytes(&manifest)])?;
        folder.publish()?;
        Ok(manifest.fingerprint)
    }
}

/// Replaces the part of this name in one step, and returns the fingerprint of the index then. A reader finds the old manifest or the
/// new one. The files of the part must have been synced. The caller must hold the claim to the index. On an error the manifest is as
/// it was.
pub fn put_part(path: &Path, name: &str, kind: &str, files: &[impl AsRef<str>]) -> Result<String> {
    let Manifest { mut contents, .. } = parse(path, &read_manifest(path)?)?;
    let files = hashed(|name| path.join(name), files).map_err(|source| Error::io(path, "write", source))?;
    contents.parts.insert(name.to_owned(), Files { kind: kind.to_owned(), files });
    let manifest = contents.with_fingerprint();
    files::write_bytes_atomically(&path.join(MANIFEST), &manifest_bytes(&manifest))?;
    Ok(manifest.fingerprint)
}

fn manifest_bytes(manifest: &Manifest) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(manifest).expect("names for keys");
    bytes.push(b'\n');
    bytes
}

/// Describes files. They were just written, so they are read from memory.
fn hashed(path: impl Fn(&str) -> PathBuf, names: &[impl AsRef<str>]) -> io::Result<BTreeMap<String, FileEntry>> {
    let entry = |name: &str| {
        let mut hashing = Hashing::new(io::sink());
        io::copy(&mut File::open(path(name))?, &mut hashing)?;
        Ok((name.to_owned(), hashing.entry()))
    };
    names.iter().map(|name| entry(name.as_ref())).collect()
}

/// Checks that an index may be written to `path`: there is nothing, an empty folder, or an index without other files.
///
/// # Errors
///
/// Those of [`check_replaceable_folder`].
pub(crate) fn check_replaceable(path: &Path) -> Result<()> {
    check_replaceable_folder(path, FOLDER, names)
}

/// Returns the names of the files of an index of any version.
fn names(path: &Path) -> Option<HashSet<String>> {
    let known: OnlyFiles = serde_json::from_slice(&read_manifest(path).ok()?).ok()?;
    let names = known.contents.parts.into_values().flat_map(|part| part.files.into_keys());
    (known.kind == KIND).then(|| names.chain([MANIFEST.to_owned()]).chain(abandoned(path)).collect())
}

/// The prefix of the files and folders of updates.
pub const CHANGES: &str = "changes-";

/// Returns the files and folders that a killed update may have left in an index.
fn abandoned(path: &Path) -> Vec<String> {
    let names = std::fs::read_dir(path).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| is_update_file(name)).collect()
}

/// Returns whether an update may have made a file or folder of this name: `changes-000001.json`, `changes-000001` or a temporary
/// one.
pub(crate) fn is_update_file(name: &str) -> bool {
    let is_number = |rest: &str| {
        let number = rest.strip_suffix(".json").unwrap_or(rest);
        number.len() >= 6 && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    name.strip_prefix(CHANGES).is_some_and(is_number) || files::is_temporary(name)
}

#[derive(Deserialize)]
struct OnlyFiles {
    kind: String,
    contents: FileNames,
}

#[derive(Deserialize)]
struct FileNames {
    parts: BTreeMap<String, OnlyPart>,
}

#[derive(Deserialize)]
struct OnlyPart {
    files: BTreeMap<String, serde::de::IgnoredAny>,
}
