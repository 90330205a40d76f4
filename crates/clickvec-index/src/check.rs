//! Checks of an index: checksums of all files, and queries whose answers it stores.

use std::path::Path;
use std::sync::Arc;

use clickvec_tables::UniqueIds;
use clickvec_tables::shown::{shortened, shown};

use crate::changes::Changes;
use crate::folder::Folder;

use crate::background::in_background;
use crate::error::{Error, ErrorKind, Result, mismatch};
use crate::manifests::Manifests;
use crate::open::{Index, Opened};
use crate::segment::canaries;

/// The files and queries that [`Index::check`] checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Checked {
    /// The number of files whose checksums were compared.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The number of queries whose answers were compared with those from when the index was made.
    pub queries: usize,
}

impl Index {
    /// Checks that the index is as it was written: reads every file, compares all checksums, and repeats the queries whose
    /// answers the index stores.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] with the first file that is not as it was written; [`ErrorKind::Busy`] if
    /// the index on disk is no longer this one.
    pub fn check(&self) -> Result<Checked> {
        self.check_after(None)
    }

    /// Checks like [`Index::check`] on one thread, which gives way to those that search. It takes longer.
    ///
    /// # Errors
    ///
    /// Those of [`Index::check`].
    pub fn check_in_background(&self) -> Result<Checked> {
        in_background(|| self.check())
    }

    /// Checks like [`Index::check`] what is not shared with an earlier generation, which was checked.
    ///
    /// # Errors
    ///
    /// Those of [`Index::check`].
    pub fn check_after(&self, before: Option<&Index>) -> Result<Checked> {
        let checked = self.read_all(before);
        // Files that were exchanged meanwhile do not fit the manifest that was read.
        if checked.is_err() && !self.is_on_disk() {
            return Err(self.replaced());
        }
        checked
    }

    /// Returns whether the index on disk is still this one.
    pub fn is_on_disk(&self) -> bool {
        fingerprint_at(&self.path).is_some_and(|found| found == self.written.fingerprint)
    }

    /// Returns the error of an index that was replaced.
    fn replaced(&self) -> Error {
        replaced(&self.path, &self.written.fingerprint)
    }

    fn read_all(&self, before: Option<&Index>) -> Result<Checked> {
        let manifests = Manifests::read(&self.path)?;
        if manifests.fingerprint() != self.written.fingerprint {
            return Err(self.replaced());
        }
        let is_shared = |opened: &Opened| {
            before.is_some_and(|before| before.segments.iter().any(|old| Arc::ptr_eq(&old.segment, &opened.segment)))
        };
        let (mut files, mut bytes) = manifests.compare_links()?;
        for (folder, opened) in manifests.into_segments()?.iter().zip(&self.segments) {
            let is_shared = is_shared(opened);
            // The model may be shared with what another folder had, and files may be copies of what was read before: the next
            // start reads those of this folder.
            let is_new = |part: &str, name: &str| {
                !is_shared || ["changes", "model"].contains(&part) || !opened.segment.is_still(folder, name)
            };
            let (more, length) = compare(folder, is_new)?;
            (files, bytes) = (files + more, bytes + length);
        }
        let is_model_shared = before.is_some_and(|before| Arc::ptr_eq(&before.model, &self.model));
        let mut queries = 0;
        for opened in self.segments.iter().filter(|opened| !(is_shared(opened) && is_model_shared)) {
            let canaries = &opened.segment.canaries;
            queries += canaries::check(canaries, &opened.segment, self.fusion.bm25, &self.model.model)?;
        }
        Ok(Checked { files, bytes, queries })
    }
}

/// The result of [`verify`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Verified {
    /// The number of files that are as they were written.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The number of queries that were answered as on the day when the index was made; 0 if a file is damaged.
    pub queries: usize,
    /// Files that are not as they were written, each once.
    pub damaged: Vec<Error>,
}

/// Checks the index at a path: reads every file that its manifests name, compares all checksums and, if they are right, repeats
/// the queries whose answers the index stores. Unlike [`Index::check`] it goes on after the first damaged file.
///
/// # Errors
///
/// [`ErrorKind::Malformed`] for a folder that is not an index; [`ErrorKind::Busy`] if it is replaced meanwhile.
pub fn verify(path: &Path) -> Result<Verified> {
    let first = Folder::open(path)?;
    let mut verified = Verified { files: 0, bytes: 0, queries: 0, damaged: Vec::new() };
    verified.read(&first);
    if first.has("links") {
        verified.follow(path);
        return verified.unless_replaced(path, first.fingerprint());
    }
    match Changes::read(&first) {
        Ok(changes) => {
            for name in changes.segments.iter().map(|segment| &segment.folder) {
                match Folder::open(&path.join(name)) {
                    Ok(folder) => verified.read(&folder),
                    Err(error) => verified.damaged.push(error),
                }
            }
            // Whether each folder is the one that was added.
            if let (true, Err(error)) = (verified.damaged.is_empty(), changes.folders(&first)) {
                verified.damaged.push(error);
            }
        }
        // Its file was compared as well.
        Err(error) if verified.damaged.is_empty() => verified.damaged.push(error),
        Err(_) => {}
    }
    if verified.damaged.is_empty() {
        let index = Index::open(path)?;
        let segment = &index.segments[0].segment;
        match canaries::check(&segment.canaries, segment, index.fusion.bm25, &index.model.model) {
            Ok(queries) => verified.queries = queries,
            Err(error) => verified.damaged.push(error),
        }
    }
    verified.unless_replaced(path, first.fingerprint())
}

/// Returns the fingerprint of the index that is there now.
fn fingerprint_at(path: &Path) -> Option<String> {
    Manifests::read(path).ok().map(|manifests| manifests.fingerprint().into_owned())
}

pub(crate) fn replaced(path: &Path, expected: &str) -> Error {
    let found = fingerprint_at(path).unwrap_or_else(|| "none".to_owned());
    let error =
        Error::expected(ErrorKind::Busy, format!("the index that was opened, with the fingerprint {expected}"), found);
    error.help("it was replaced meanwhile: try again").at(path)
}

impl Verified {
    /// Returns it unless the index at `path` has another manifest now: files that were exchanged meanwhile do not fit the one that was
    /// read.
    fn unless_replaced(self, path: &Path, fingerprint: &str) -> Result<Verified> {
        match Folder::open(path) {
            Ok(now) if now.fingerprint() == fingerprint => Ok(self),
            _ => Err(replaced(path, fingerprint)),
        }
    }

    /// Checks the indexes that the one at `path` links to, and whether they fit together.
    fn follow(&mut self, path: &Path) {
        // Its own files were compared before.
        let links = match Manifests::read(path) {
            Ok(manifests) => manifests.links(),
            Err(error) => return self.damaged.extend(self.damaged.is_empty().then_some(error)),
        };
        for link in links {
            match verify(&link) {
                Ok(Verified { files, bytes, queries, damaged }) => {
                    self.files += files;
                    self.bytes += bytes;
                    self.queries += queries;
                    self.damaged.extend(damaged);
                }
                Err(error) => self.damaged.push(error),
            }
        }
        if self.damaged.is_empty() {
            let fit = Index::open(path).and_then(|index| {
                let parts = index.links().iter().map(|link| Index::open(link)).collect::<Result<Vec<Index>>>()?;
                check_ids(parts.iter())
            });
            self.damaged.extend(fit.err());
        }
    }

    /// Compares the checksums of all files of a folder.
    fn read(&mut self, folder: &Folder) {
        for (name, _) in folder.files() {
            let read = folder.open_file(name).and_then(|file| {
                let bytes = file.len();
                file.finish().map(|()| bytes)
            });
            match read {
                Ok(bytes) => (self.files, self.bytes) = (self.files + 1, self.bytes + bytes),
                Err(error) => self.damaged.push(error),
            }
        }
    }
}

/// Compares the checksums of all files of an index without opening it, to name the damaged one if it cannot be opened.
///
/// # Errors
///
/// [`ErrorKind::Damaged`] with the first file that is not as it was written.
pub fn check_files(path: &Path) -> Result<()> {
    let manifests = Manifests::read(path)?;
    manifests.compare_links()?;
    manifests.into_segments()?.iter().try_for_each(|folder| compare(folder, |_, _| true).map(drop))
}

impl Manifests {
    /// Compares the checksums of the files of an index that links to others; those of the others are not among them.
    fn compare_links(&self) -> Result<(usize, u64)> {
        if self.is_linked() { compare(&self.own, |_, _| true) } else { Ok((0, 0)) }
    }
}

/// Compares the checksums of the wanted files, chosen by part and name. Returns their number and their bytes.
fn compare(folder: &Folder, is_wanted: impl Fn(&str, &str) -> bool) -> Result<(usize, u64)> {
    let (mut files, mut bytes) = (0, 0);
    let all = folder.parts().iter().flat_map(|(part, of)| of.files.keys().map(move |name| (part, name)));
    for (_, name) in all.filter(|(part, name)| is_wanted(part, name)) {
        let file = folder.open_file(name)?;
        (files, bytes) = (files + 1, bytes + file.len());
        file.finish()?;
    }
    Ok((files, bytes))
}

/// Checks that no two of the indexes have a title with the same id.
pub(crate) fn check_ids<'i>(indexes: impl Iterator<Item = &'i Index>) -> Result<()> {
    let (mut ids, mut paths) = (UniqueIds::default(), Vec::new());
    for index in indexes {
        paths.push(index.path());
        index.for_each_line(|line| match ids.add(line.id, paths.len() as u64 - 1) {
            None => Ok(()),
            Some(other) => Err(repeated_id(index.path(), line.id, paths[other as usize])),
        })?;
    }
    Ok(())
}

/// Creates the error of an id that another index has too.
pub(crate) fn repeated_id(path: &Path, id: &str, other: &Path) -> Error {
    let found = format!("`{}`, which is in `{}` too", shortened(id), shown(other));
    mismatch(path, "ids that no other index to join has", found)
}
