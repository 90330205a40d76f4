//! Reading the folder of an index. Nothing in it is trusted.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clickvec_tables::files::Found;
use clickvec_tables::memory::room_for;
use clickvec_tables::shown::shortened;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::Xxh3;

use super::{About, FileEntry, Files, Hashing, MANIFEST, MAX_MANIFEST_BYTES, Manifest, parse};
use crate::error::{Error, ErrorKind, Result, damaged, malformed};

/// A folder whose manifest has been read.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    manifest: Manifest,
}

impl Folder {
    /// Opens the folder of an index, whose parts are all known.
    pub(crate) fn open(path: &Path) -> Result<Folder> {
        match Found::at(path).map_err(|source| Error::io(path, "open", source))? {
            Found::Folder => {}
            // Let the operating system say that there is nothing.
            Found::Nothing => {
                return Err(
                    File::open(path).map_or_else(|source| Error::io(path, "open", source), |_| no_manifest(path))
                );
            }
            Found::File(_) | Found::Special => {
                let error = Error::expected(ErrorKind::Malformed, "an index, which is a folder", "a file");
                return Err(error.help(NO_INDEX).at(path));
            }
        }
        Ok(Folder { path: path.to_owned(), manifest: parse(path, &read_manifest(path)?)? })
    }

    pub(crate) fn about(&self) -> &About {
        &self.manifest.contents.about
    }

    /// Returns the version of clickvec that wrote the index.
    pub(crate) fn version(&self) -> &str {
        &self.manifest.contents.version
    }

    /// Returns a fingerprint of everything in the index.
    pub(crate) fn fingerprint(&self) -> &str {
        &self.manifest.fingerprint
    }

    /// Returns all parts, by name.
    pub(crate) fn parts(&self) -> &BTreeMap<String, Files> {
        &self.manifest.contents.parts
    }

    pub(crate) fn has(&self, part: &str) -> bool {
        self.parts().contains_key(part)
    }

    /// Returns all files of all parts.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&String, &FileEntry)> {
        self.parts().values().flat_map(|part| &part.files)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a file that exists and has the right length, for a file with a checksum of its own.
    pub(crate) fn file(&self, name: &str) -> Result<PathBuf> {
        self.checked(name).map(|(path, _)| path)
    }

    /// Opens a file. [`FileReader::finish`] checks its checksum.
    pub(crate) fn open_file(&self, name: &str) -> Result<FileReader<'_>> {
        let (path, entry) = self.checked(name)?;
        let file = File::open(&path).map_err(|source| Error::io(&path, "open", source))?;
        Ok(FileReader { path, entry, file, hash: Xxh3::new() })
    }

    /// Reads all bytes of a file and compares its checksum.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>> {
        let mut file = self.open_file(name)?;
        room_for("a file of an index", Some(file.len()))?;
        // The file is as long as the manifest says, so this allocates no more than what is there.
        let mut bytes = vec![0; file.len() as usize];
        file.fill(&mut bytes)?;
        file.finish()?;
        Ok(bytes)
    }

    /// Reads the value in a small file of JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        serde_json::from_slice(&self.read(name)?).map_err(|error| {
            let found = clickvec_tables::json::json_found(&error);
            malformed(&self.path.join(name), "the JSON of this part", found)
        })
    }

    fn checked(&self, name: &str) -> Result<(PathBuf, &FileEntry)> {
        let path = self.path.join(name);
        let entry = self.parts().values().find_map(|part| part.files.get(name));
        let entry = entry.ok_or_else(|| malformed(&path, "this file in the manifest", "none of this name"))?;
        let found = match Found::at(&path).map_err(|source| Error::io(&path, "open", source))? {
            Found::File(metadata) => metadata.len(),
            _ => return Err(damaged(&path, "a file", "none")),
        };
        if found != entry.bytes {
            return Err(damaged(&path, format!("{} bytes", entry.bytes), found.to_string()));
        }
        Ok((path, entry))
    }
}

/// The help where there is no index.
const NO_INDEX: &str = "make one with `clickvec index`";

fn no_manifest(path: &Path) -> Error {
    let error = Error::expected(ErrorKind::Malformed, "an index", "a folder without `manifest.json`");
    error.help(NO_INDEX).at(path)
}

pub(super) fn read_manifest(folder: &Path) -> Result<Vec<u8>> {
    let path = folder.join(MANIFEST);
    match Found::at(&path).map_err(|source| Error::io(&path, "open", source))? {
        Found::File(_) => {}
        _ => return Err(no_manifest(folder)),
    }
    let mut bytes = Vec::new();
    let file = File::open(&path).map_err(|source| Error::io(&path, "open", source))?;
    file.take(MAX_MANIFEST_BYTES + 1).read_to_end(&mut bytes).map_err(|source| Error::io(&path, "read", source))?;
    if bytes.len() as u64 > MAX_MANIFEST_BYTES {
        let error = Error::expected(ErrorKind::Malformed, format!("at most {MAX_MANIFEST_BYTES} bytes"), "more");
        return Err(error.help("is this an index of clickvec?").at(&path));
    }
    Ok(bytes)
}

/// A reader of a file in an index, which hashes what it reads.
pub(crate) struct FileReader<'a> {
    path: PathBuf,
    entry: &'a FileEntry,
    file: File,
    hash: Xxh3,
}

impl FileReader<'_> {
    /// Returns the length of the file, as the manifest says.
    #[allow(clippy::len_without_is_empty, reason = "only its length matters")]
    pub(crate) fn len(&self) -> u64 {
        self.entry.bytes
    }

    /// Reads the next bytes and fills `bytes`.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.file.read_exact(bytes).map_err(|source| Error::io(&self.path, "read", source))?;
        self.hash.update(bytes);
        Ok(())
    }

    /// Reads the rest of the file and compares the checksum.
    pub(crate) fn finish(mut self) -> Result<()> {
        let mut rest = Hashing { inner: io::sink(), hash: self.hash, bytes: 0 };
        io::copy(&mut self.file, &mut rest).map_err(|source| Error::io(&self.path, "read", source))?;
        let found = rest.checksum();
        if found == self.entry.xxh3 {
            return Ok(());
        }
        Err(damaged(&self.path, format!("the checksum {}", shortened(&self.entry.xxh3)), found))
    }
}
