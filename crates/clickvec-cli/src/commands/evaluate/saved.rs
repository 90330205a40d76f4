//! The folder of `--save-rankers`.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clickvec::Error;
use clickvec_eval::internals::{save_fusion, stored_fingerprint};
use clickvec_eval::ranker::FusionMethod;
use clickvec_tables::files::{self, TEMPORARY_PREFIX, TEMPORARY_SUFFIX};
use tempfile::NamedTempFile;

use super::names::saved_file;
use super::options::FusionOption;
use crate::{input, output};

/// Where trained rankers, models that are members of a fusion, and fusions are saved.
pub(super) struct SavedRankers {
    folder: PathBuf,
    /// The fusions that this run writes.
    fusions: Vec<PathBuf>,
    /// Members that wait until the fusions of their old versions can be written: the new file, and the path that it gets.
    waiting: RefCell<Vec<(NamedTempFile, PathBuf)>>,
}

impl SavedRankers {
    /// Creates the saved rankers of a folder in which this run writes these fusions.
    pub(super) fn new(folder: &Path, fusions: &[FusionOption]) -> SavedRankers {
        let fusions = fusions.iter().map(|fusion| folder.join(saved_file(&fusion.name()))).collect();
        SavedRankers { folder: folder.to_owned(), fusions, waiting: RefCell::default() }
    }

    /// Saves what `write` writes as the system of this name.
    ///
    /// An error if another fusion in the folder has this file as a member and the system is another one now: the fusion could not
    /// be read any more. If this run writes that fusion, the system waits for [`SavedRankers::put_fusions`].
    pub(super) fn put(&self, name: &str, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let path = self.folder.join(saved_file(name));
        let needing = self.fusions_with(&path);
        if needing.is_empty() {
            return write(&path);
        }
        let beside =
            tempfile::Builder::new().prefix(TEMPORARY_PREFIX).suffix(TEMPORARY_SUFFIX).tempfile_in(&self.folder);
        let beside = beside.map_err(|source| Error::io(&self.folder, "make a temporary file here", source))?;
        write(beside.path())?;
        if stored_fingerprint(beside.path())? == stored_fingerprint(&path)? {
            return Ok(());
        }
        if let Some(fusion) = needing.iter().find(|fusion| !self.fusions.contains(fusion)) {
            bail!(
                "{}: expected the same system as before, which `{}` needs, found another; name another folder",
                output::path(&path),
                output::printable(&fusion.file_name().unwrap_or_default().to_string_lossy())
            );
        }
        self.waiting.borrow_mut().push((beside, path));
        Ok(())
    }

    /// Copies a model or a ranker into the folder as the system of this name, unless it is there already.
    pub(super) fn copy(&self, name: &str, from: &Path) -> Result<()> {
        if input::same_file(from, &self.folder.join(saved_file(name))) {
            return Ok(());
        }
        let mut file = std::fs::File::open(from).map_err(|source| Error::io(from, "open", source))?;
        self.put(name, |to| {
            Ok(files::write_atomically(to, |out| {
                std::io::copy(&mut file, out).map(drop).map_err(|source| Error::io(to, "write", source))
            })?)
        })
    }

    /// Saves fusions of the systems `members`, which were [put](SavedRankers::put) here, with the weights of each. Members that
    /// replace those of older fusions come first.
    pub(super) fn put_fusions(&self, fusions: &[(FusionMethod, Vec<f64>)], members: &[&str]) -> Result<()> {
        for (beside, path) in self.waiting.take() {
            files::publish(beside.path(), &path)?;
        }
        let files: Vec<String> = members.iter().map(|name| saved_file(name)).collect();
        for ((method, weights), path) in fusions.iter().zip(&self.fusions) {
            let members: Vec<(&str, f64)> = files.iter().map(String::as_str).zip(weights.iter().copied()).collect();
            save_fusion(path, *method, &members)?;
        }
        Ok(())
    }

    /// Reports which systems stay as they were, because the fusions that need them could not be written.
    pub(super) fn note_waiting(&self) {
        for (_, path) in self.waiting.take() {
            output::note(format_args!("{}: stays as it was, since a fusion needs it", output::path(&path)));
        }
    }

    /// Returns the fusions in the folder that have this file as a member.
    fn fusions_with(&self, path: &Path) -> Vec<PathBuf> {
        let entries = self.folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|other| input::members_of(other).iter().any(|member| input::same_file(member, path))).collect()
    }
}
