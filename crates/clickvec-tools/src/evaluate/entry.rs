//! The systems of an evaluation, checked and then loaded or trained.

use std::path::{Path, PathBuf};

use clickvec_eval::ranker::Corpus;
use clickvec_tables::outputs::is_read_from;
use clickvec_tables::shown::printable;
use clickvec_tables::{Error, ErrorKind, Result};

use super::names::{distinct, saved_file};
use crate::Watcher;
use crate::systems::{Loaded, Source};

/// A row of the report: its name, and the system.
pub struct Entry {
    /// The name.
    pub name: String,
    /// Where its answers come from; `None` if the caller has them.
    pub source: Option<Source>,
}

/// Checks systems before any of them is loaded or trained. `searches` says whether they search a collection.
///
/// # Errors
///
/// A system is named twice, or is an index and there is nothing to search.
pub fn check(entries: &[Entry], searches: bool) -> Result<()> {
    let once = |found: String| Error::expected(ErrorKind::Setting, "each system once", found);
    for (at, Entry { name, source }) in entries.iter().enumerate() {
        if entries[..at].iter().any(|first| first.name == *name) {
            return Err(once(format!("`{}` again", printable(name))));
        }
        let is_same = |first: &&Entry| first.source.as_ref().zip(source.as_ref()).is_some_and(|(a, b)| a.is_same(b));
        if let Some(first) = entries[..at].iter().find(is_same) {
            let found = format!("`{}`, which is `{}` again", printable(name), printable(&first.name));
            return Err(once(found).help("leave one of them out"));
        }
        // An index may have other titles than the judged ones.
        if let (Some(Source::Index(path)), false) = (source, searches) {
            let error = Error::expected(ErrorKind::Setting, "a model", "an index").help("add `full`");
            return Err(error.settings(&["full"]).at(path));
        }
    }
    Ok(())
}

/// Returns the files in a folder to save the trained rankers to.
///
/// # Errors
///
/// Two have the same name, or one would replace a model that is read.
pub fn saved_files(entries: &[Entry], folder: &Path) -> Result<Vec<PathBuf>> {
    let saved = distinct(entries.iter().filter(|entry| entry.is_trained()).map(|entry| saved_file(&entry.name)))?;
    for file in &saved {
        if entries.iter().filter_map(Entry::file).any(|read| is_read_from(read, &folder.join(file))) {
            let expected = format!("outputs in `{}` that are not also inputs", folder.display());
            let error = Error::expected(ErrorKind::Occupied, expected, format!("`{file}`"));
            return Err(error.help("name another folder"));
        }
    }
    Ok(saved.iter().map(|file| folder.join(file)).collect())
}

impl Entry {
    /// Returns whether the system learns from titles and clicks.
    pub fn is_trained(&self) -> bool {
        matches!(self.source, Some(Source::Ranker { .. }))
    }

    /// Returns whether the system is a run of another program.
    pub(super) fn is_run(&self) -> bool {
        matches!(self.source, Some(Source::Run(_)))
    }

    /// Returns the file or folder of the system.
    pub(super) fn path(&self) -> Option<&Path> {
        self.source.as_ref().and_then(Source::path)
    }

    /// Returns the file of the model or ranker.
    fn file(&self) -> Option<&Path> {
        self.path().filter(|_| matches!(self.source, Some(Source::File(_))))
    }

    /// Returns the folder of the index.
    pub(super) fn index(&self) -> Option<&Path> {
        self.path().filter(|_| matches!(self.source, Some(Source::Index(_))))
    }

    /// Loads the system from its file, or trains the ranker and saves it in a folder, if there is one. `opened` has systems that were
    /// opened before. `None` if the caller has it.
    ///
    /// # Errors
    ///
    /// Those of reading the file and of training.
    pub fn load(
        &self,
        corpus: &Corpus,
        saved: Option<&Path>,
        opened: &mut Vec<(PathBuf, Loaded)>,
        watch: &dyn Watcher,
    ) -> Result<Option<Loaded>> {
        let Some(source) = &self.source else { return Ok(None) };
        if let Some(at) = opened.iter().position(|(path, _)| source.path() == Some(path)) {
            return Ok(Some(opened.swap_remove(at).1));
        }
        let save =
            |system: &clickvec_eval::ranker::System, values: &_, ranker: &dyn clickvec_eval::ranker::SystemRanker| {
                saved.map_or(Ok(()), |folder| system.save(&folder.join(saved_file(&self.name)), values, ranker))
            };
        source.load(&self.name, corpus, &save, watch).map(Some)
    }
}
