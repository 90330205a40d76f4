//! The folder of `--save-rankers`.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clickvec::Error;
use clickvec::internals::files::{self, TEMPORARY_PREFIX};
use clickvec::internals::ranker::stored_fingerprint;

use super::Args;
use super::systems::file_of;
use crate::{input, output};

/// Where trained rankers, models that are members of a fusion, and fusions are kept.
pub(super) struct Keeping<'a> {
    pub(super) folder: &'a Path,
    /// The fusions that this run writes.
    fusions: Vec<PathBuf>,
}

impl<'a> Keeping<'a> {
    /// The folder that `args` name, if they do.
    pub(super) fn of(args: &'a Args) -> Option<Keeping<'a>> {
        let folder = args.save_rankers.as_deref()?;
        Some(Keeping { folder, fusions: args.fusion.iter().map(|flag| folder.join(file_of(&flag.name()))).collect() })
    }

    /// Keeps what `write` writes as the system of this name.
    ///
    /// An error if another fusion in the folder has this file as a member and the system is another one now: the fusion could not
    /// be read any more.
    pub(super) fn put(&self, name: &str, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let file = file_of(name);
        let path = self.folder.join(&file);
        let Some(fusion) = self.needed_by(&path) else { return write(&path) };
        let beside = self.folder.join(format!("{TEMPORARY_PREFIX}{file}"));
        let same = write(&beside).and_then(|()| Ok(stored_fingerprint(&beside)? == stored_fingerprint(&path)?));
        let _ = std::fs::remove_file(&beside);
        if !same? {
            bail!(
                "{}: expected the same system as before, which `{}` needs, found another; name another folder",
                output::path(&path),
                output::printable(&fusion)
            );
        }
        Ok(())
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

    /// The name of a fusion in the folder that has this file as a member and that this run does not write anew.
    fn needed_by(&self, path: &Path) -> Option<String> {
        let entries = self.folder.read_dir().ok()?;
        let fusions = entries.flatten().map(|entry| entry.path()).filter(|other| !self.fusions.contains(other));
        let mut needing = fusions.filter(|other| input::members_of(other).iter().any(|of| input::same_file(of, path)));
        needing.next().map(|fusion| fusion.file_name().unwrap_or_default().to_string_lossy().into_owned())
    }
}
