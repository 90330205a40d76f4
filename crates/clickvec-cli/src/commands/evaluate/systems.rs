//! The systems named on the command line, checked and then loaded or trained.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clickvec_eval::ranker::Corpus;
use clickvec_tables::outputs::is_read_from;

use super::Args;
use super::names::{distinct, saved_file};
use crate::console;
use crate::systems::{Loaded, Source, names};

/// The systems of a command line.
pub(super) struct Systems {
    pub(super) entries: Vec<Entry>,
}

/// A row of the report: its name, and the system.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) source: Source,
}

impl Systems {
    /// Checks the systems of a command line before any of them is loaded or trained.
    pub(super) fn new(args: &Args) -> Result<Systems> {
        let sources = args.systems.iter().map(|system| Source::new(system)).collect::<Result<Vec<_>>>()?;
        let names = names(&sources);
        let entries = names.into_iter().zip(sources).map(|(name, source)| Entry { name, source }).collect();
        let systems = Systems { entries };
        systems.check(args)?;
        Ok(systems)
    }

    fn check(&self, args: &Args) -> Result<()> {
        let mut distinct = HashSet::new();
        for name in self.names() {
            ensure!(
                !distinct.contains(&name),
                "expected each system once, found `{}` again",
                console::printable(&name)
            );
            distinct.insert(name);
        }
        for (at, entry) in self.entries.iter().enumerate() {
            if let Some(first) = self.entries[..at].iter().find(|first| first.source.is_same(&entry.source)) {
                let [name, first] = [&entry.name, &first.name].map(|name| console::printable(name));
                bail!("expected each system once, found `{name}`, which is `{first}` again; leave one of them out");
            }
            // An index may have other titles than the judged ones.
            if let (Source::Index(path), None) = (&entry.source, args.full) {
                bail!("{}: expected a model, found an index; add `--full`", path.display());
            }
        }
        Ok(())
    }

    /// Returns the names of all systems in the report.
    pub(super) fn names(&self) -> Vec<String> {
        self.entries.iter().map(|entry| entry.name.clone()).collect()
    }

    /// Returns the files that `--save-rankers` writes. An error if two have the same name or one would replace a model that is
    /// read.
    pub(super) fn saved_files(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let saved = self.entries.iter().filter(|entry| entry.is_trained()).map(|entry| saved_file(&entry.name));
        let saved = distinct(saved)?;
        for file in &saved {
            ensure!(
                !self.entries.iter().filter_map(Entry::file).any(|read| is_read_from(read, &folder.join(file))),
                "expected outputs in `{}` that are not also inputs, found `{file}`; name another folder",
                folder.display()
            );
        }
        Ok(saved.iter().map(|file| folder.join(file)).collect())
    }
}

impl Entry {
    /// Returns whether the system learns from titles and clicks.
    pub(super) fn is_trained(&self) -> bool {
        matches!(self.source, Source::Ranker { .. })
    }

    /// Returns whether the system is a run of another program.
    pub(super) fn is_run(&self) -> bool {
        matches!(self.source, Source::Run(_))
    }

    /// Returns the file of the model or ranker.
    pub(super) fn file(&self) -> Option<&Path> {
        self.source.path().filter(|_| matches!(self.source, Source::File(_)))
    }

    /// Returns the folder of the index.
    pub(super) fn index(&self) -> Option<&Path> {
        self.source.path().filter(|_| matches!(self.source, Source::Index(_)))
    }

    /// Returns the file that the system is read from, or its name if there is none, for messages.
    pub(super) fn file_name(&self) -> &Path {
        self.source.path().unwrap_or(Path::new(&self.name))
    }

    /// Loads the system from its file, or trains the ranker and saves it if requested.
    pub(super) fn load(
        &self,
        corpus: &Corpus,
        saved: Option<&Path>,
        opened: &mut Vec<(PathBuf, Loaded)>,
    ) -> Result<Loaded> {
        if let Some(at) = opened.iter().position(|(path, _)| self.source.path() == Some(path)) {
            return Ok(opened.swap_remove(at).1);
        }
        self.source.load(&self.name, corpus, &|system, values, ranker| match saved {
            Some(folder) => Ok(system.save(&folder.join(saved_file(&self.name)), values, ranker)?),
            None => Ok(()),
        })
    }
}
