//! The folder of `--save-rankers`.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clickvec::Error;
use clickvec::internals::files::{self, TEMPORARY_PREFIX, TEMPORARY_SUFFIX};
use clickvec_eval::internals::{save_fusion, stored_fingerprint};
use clickvec_eval::ranker::FusionMethod;
use tempfile::NamedTempFile;

use super::Args;
use super::systems::file_of;
use crate::{input, output};

/// Where trained rankers, models that are members of a fusion, and fusions are kept.
pub(super) struct Keeping<'a> {
    folder: &'a Path,
    /// The fusions that this run writes.
    fusions: Vec<PathBuf>,
    /// Members that wait until the fusions that have the old ones can be written: where each is, and its place.
    waiting: RefCell<Vec<(NamedTempFile, PathBuf)>>,
}

impl<'a> Keeping<'a> {
    /// The folder that `args` name, if they do.
    pub(super) fn of(args: &'a Args) -> Option<Keeping<'a>> {
        let folder = args.save_rankers.as_deref()?;
        let fusions = args.fusion.iter().map(|flag| folder.join(file_of(&flag.name()))).collect();
        Some(Keeping { folder, fusions, waiting: RefCell::default() })
    }

    /// Keeps what `write` writes as the system of this name.
    ///
    /// An error if another fusion in the folder has this file as a member and the system is another one now: the fusion could not
    /// be read any more. If this run writes that fusion anew, the system waits for [`Keeping::fusions`].
    pub(super) fn put(&self, name: &str, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let path = self.folder.join(file_of(name));
        let needing = self.needed_by(&path);
        if needing.is_empty() {
            return write(&path);
        }
        let beside =
            tempfile::Builder::new().prefix(TEMPORARY_PREFIX).suffix(TEMPORARY_SUFFIX).tempfile_in(self.folder);
        let beside = beside.map_err(|source| Error::io(self.folder, "make a temporary file here", source))?;
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

    /// Writes fusions, each with its name, method and weights, of the systems in `files`, which were [put](Keeping::put) here. Members
    /// that replace those of older fusions come first.
    pub(super) fn fusions<'f>(
        &self,
        fusions: impl Iterator<Item = ((String, FusionMethod), &'f Vec<f64>)>,
        files: &[&str],
    ) -> Result<()> {
        for (beside, path) in self.waiting.take() {
            files::publish(beside.path(), &path)?;
        }
        for ((name, method), weights) in fusions {
            let members: Vec<(&str, f64)> = files.iter().copied().zip(weights.iter().copied()).collect();
            save_fusion(&self.folder.join(file_of(&name)), method, &members)?;
        }
        Ok(())
    }

    /// Says which systems stay as they were, because the fusions that need them could not be written anew.
    pub(super) fn note_waiting(&self) {
        for (_, path) in self.waiting.take() {
            output::note(format_args!("{}: stays as it was, since a fusion needs it", output::path(&path)));
        }
    }

    /// Copies a model or a ranker into the folder as the system of this name, unless it is there already.
    pub(super) fn copy(&self, name: &str, from: &Path) -> Result<()> {
        if input::same_file(from, &self.folder.join(file_of(name))) {
            return Ok(());
        }
        let mut file = std::fs::File::open(from).map_err(|source| Error::io(from, "open", source))?;
        self.put(name, |to| {
            Ok(files::write_atomically(to, |out| {
                std::io::copy(&mut file, out).map(drop).map_err(|source| Error::io(to, "write", source))
            })?)
        })
    }

    /// The fusions in the folder that have this file as a member.
    fn needed_by(&self, path: &Path) -> Vec<PathBuf> {
        let entries = self.folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|other| input::members_of(other).iter().any(|of| input::same_file(of, path))).collect()
    }
}
