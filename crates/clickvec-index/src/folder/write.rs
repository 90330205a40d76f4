//! Writing the folder of an index, so that nobody ever sees half of one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clickvec_tables::files::{self, Claim, TemporaryFolder};
use serde::{Deserialize, Serialize};

use super::read::read_manifest;
use super::{About, Contents, FileEntry, Files, Hashing, KIND, MANIFEST, Manifest, parse};
use crate::error::{Error, Result};

/// Large enough that system calls take little of the time.
const BUFFER_BYTES: usize = 256 * 1024;

/// A writer of an index next to its final place, under a temporary name. If dropped before it is finished, it removes
/// its files and leaves what is in the final place untouched.
pub(crate) struct FolderWriter {
    path: PathBuf,
    target: PathBuf,
    parts: BTreeMap<String, Files>,
    temporary: TemporaryFolder,
    _claim: Claim,
}

impl FolderWriter {
    /// A writer of the index that will be at `path`.
    ///
    /// # Errors
    ///
    /// Those of [`check_replaceable`], [`clickvec_tables::ErrorKind::Busy`] and [`clickvec_tables::ErrorKind::Io`].
    pub(crate) fn new(path: &Path) -> Result<FolderWriter> {
        let target = files::resolved(path);
        check_replaceable(&target)?;
        let claim = Claim::new(&target)?;
        files::remove_abandoned(&target);
        let temporary = TemporaryFolder::new(&target).map_err(|source| Error::io(path, "write", source))?;
        Ok(FolderWriter { path: path.to_owned(), target, parts: BTreeMap::new(), temporary, _claim: claim })
    }

    /// The path to write a file to.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.temporary.path().join(name)
    }

    /// A new file of the index, to write to.
    pub(crate) fn create(&self, name: &str) -> Result<BufWriter<File>> {
        let file = File::options().read(true).write(true).create_new(true).open(self.file(name));
        Ok(BufWriter::with_capacity(BUFFER_BYTES, file.map_err(|source| self.failed(source))?))
    }

    /// An [`clickvec_tables::ErrorKind::Io`] about the index as a whole, since its temporary name would tell a user nothing.
    pub(crate) fn failed(&self, source: io::Error) -> Error {
        Error::io(&self.path, "write", source)
    }

    /// Returns the path of the index, as the caller named it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a part whose files have been written. They are synced and hashed.
    pub(crate) fn part(&mut self, name: &str, kind: &str, files: &[impl AsRef<str>]) -> Result<()> {
        let files = sealed(self.temporary.path(), files).map_err(|source| self.failed(source))?;
        self.parts.insert(name.to_owned(), Files { kind: kind.to_owned(), files });
        Ok(())
    }

    /// Moves the index to its place in one step, and returns its fingerprint.
    ///
    /// # Errors
    ///
    /// Those of [`check_replaceable`] and [`clickvec_tables::ErrorKind::Io`]. On an error, whatever was in the place is untouched.
    pub(crate) fn finish(self, about: About) -> Result<String> {
        let FolderWriter { path, target, parts, temporary, _claim } = self;
        let failed = |source| Error::io(&path, "write", source);
        let manifest = Contents::new(about, parts).with_fingerprint();
        write_manifest(&temporary.path().join(MANIFEST), &manifest).map_err(failed)?;
        // Much may have changed since the first check.
        check_replaceable(&target)?;
        temporary.publish(&target).map_err(failed)?;
        Ok(manifest.fingerprint)
    }
}

/// Puts a part in the place of the one of this name, in one step, and returns the fingerprint of the index then. A reader finds the
/// old manifest or the new one. The files of the part must be in the folder already; they are synced and hashed. The caller must hold
/// the claim to the index. On an error the manifest is as it was.
pub fn put_part(path: &Path, name: &str, kind: &str, files: &[impl AsRef<str>]) -> Result<String> {
    let failed = |source| Error::io(path, "write", source);
    let Manifest { mut contents, .. } = parse(path, &read_manifest(path)?)?;
    let files = sealed(path, files).map_err(failed)?;
    contents.parts.insert(name.to_owned(), Files { kind: kind.to_owned(), files });
    let manifest = contents.with_fingerprint();
    let mut bytes = serde_json::to_vec_pretty(&manifest).map_err(|error| failed(error.into()))?;
    bytes.push(b'\n');
    files::write_bytes_atomically(&path.join(MANIFEST), &bytes)?;
    Ok(manifest.fingerprint)
}

fn write_manifest(path: &Path, manifest: &impl Serialize) -> io::Result<()> {
    let mut file = BufWriter::new(File::create_new(path)?);
    serde_json::to_writer_pretty(&mut file, manifest)?;
    file.write_all(b"\n")?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// Syncs files and describes them. They were just written, so they are read from memory.
fn sealed(folder: &Path, names: &[impl AsRef<str>]) -> io::Result<BTreeMap<String, FileEntry>> {
    let entry = |name: &str| {
        let mut file = File::open(folder.join(name))?;
        file.sync_all()?;
        let mut hashing = Hashing::new(io::sink());
        io::copy(&mut file, &mut hashing)?;
        Ok((name.to_owned(), hashing.entry()))
    };
    names.iter().map(|name| entry(name.as_ref())).collect()
}

/// Checks that an index may be written to `path`: there is nothing, an empty folder, or an index without other files.
///
/// # Errors
///
/// That of [`files::check_replaceable_folder`].
pub(crate) fn check_replaceable(path: &Path) -> Result<()> {
    files::check_replaceable_folder(path, "an index", |path| {
        // An index of any version will do: only the names of its files matter.
        let known: OnlyFiles = serde_json::from_slice(&read_manifest(path).ok()?).ok()?;
        let names = known.contents.parts.into_values().flat_map(|part| part.files.into_keys());
        (known.kind == KIND).then(|| names.chain([MANIFEST.to_owned()]).chain(abandoned(path)).collect())
    })
}

/// What updates of an index begin their files and folders with.
pub const CHANGES: &str = "changes-";

/// What an update that was killed may have left in an index.
fn abandoned(path: &Path) -> Vec<String> {
    let names = std::fs::read_dir(path).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| is_update_file(name)).collect()
}

/// Whether an update may have made a file or folder of this name: `changes-000001.json`, `changes-000001` or a temporary one.
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
