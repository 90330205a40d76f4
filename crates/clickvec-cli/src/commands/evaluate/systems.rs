//! The systems named on the command line, checked and then loaded or trained.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clickvec_eval::ranker::Corpus;
use clickvec_index::Index;

use super::Args;
use super::names::{distinct, saved_file};
use super::options::FusionOption;
use super::saved::SavedRankers;
use crate::systems::{Loaded, Source, names};
use crate::{input, output};

/// The systems of a command line.
pub(super) struct Systems {
    pub(super) entries: Vec<Entry>,
    /// The fusions of the others.
    pub(super) fusions: Vec<FusionOption>,
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
        let systems = Systems { entries, fusions: args.fusion.clone() };
        systems.check(args)?;
        Ok(systems)
    }

    fn check(&self, args: &Args) -> Result<()> {
        let mut distinct = HashSet::new();
        for name in self.names() {
            ensure!(!distinct.contains(&name), "expected each system once, found `{}` again", output::printable(&name));
            distinct.insert(name);
        }
        for (at, entry) in self.entries.iter().enumerate() {
            if let Some(first) = self.entries[..at].iter().find(|first| first.source.is_same(&entry.source)) {
                let [name, first] = [&entry.name, &first.name].map(|name| output::printable(name));
                bail!("expected each system once, found `{name}`, which is `{first}` again; leave one of them out");
            }
            // An index may have other titles than the judged ones.
            if let (Source::Index(path), None) = (&entry.source, args.full) {
                bail!("{}: expected a model, found an index; add `--full`", path.display());
            }
        }
        // Queries without ids are numbered, and the same numbers in a run may mean other queries.
        ensure!(
            !self.entries.iter().any(Entry::is_run) || args.fusion.iter().all(|fusion| fusion.file().is_none()),
            "expected rankers and models to fit the weights of, found a run, which has only the queries of `--judged`; give \
             `--fusion` numbers, or leave the run out"
        );
        ensure!(
            self.fusions.is_empty() || args.save_rankers.is_none() || self.entries.iter().all(Entry::can_be_saved),
            "expected a fusion of rankers and models to save, found a run or an index among its members; leave it or \
             `--save-rankers` out"
        );
        Ok(())
    }

    /// Returns the names of all systems and fusions in the report.
    pub(super) fn names(&self) -> Vec<String> {
        let names = self.entries.iter().map(|entry| entry.name.clone());
        names.chain(self.fusions.iter().map(FusionOption::name)).collect()
    }

    /// Returns the files that `--save-rankers` writes. An error if two have the same name or one would replace a model that is
    /// read.
    pub(super) fn saved_files(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let is_saved = |entry: &&Entry| match entry.source {
            Source::Ranker { .. } => true,
            Source::File { is_fusion, .. } => !self.fusions.is_empty() && !is_fusion,
            Source::Run(_) | Source::Index(_) => false,
        };
        let members = self.entries.iter().filter(is_saved).map(|entry| (saved_file(&entry.name), entry.file()));
        let fusions = self.fusions.iter().map(|fusion| (saved_file(&fusion.name()), None));
        let saved: Vec<(String, Option<&Path>)> = members.chain(fusions).collect();
        distinct(saved.iter().map(|(file, _)| file.clone()))?;
        let mut files = Vec::new();
        for (file, from) in saved {
            let path = folder.join(&file);
            let read = self.entries.iter().filter_map(Entry::file).find(|&read| input::same_file(read, &path));
            ensure!(
                read.is_none() || read == from,
                "expected outputs in `{}` that are not also inputs, found `{file}`; name another folder",
                folder.display()
            );
            // A model that is already in the folder is not copied.
            if read.is_none() {
                files.push(path);
            }
        }
        Ok(files)
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
        self.source.path().filter(|_| matches!(self.source, Source::File { .. }))
    }

    /// Returns the folder of the index.
    pub(super) fn index(&self) -> Option<&Path> {
        self.source.path().filter(|_| matches!(self.source, Source::Index(_)))
    }

    /// Returns whether the system is already a fusion, which is judged but not fused again.
    pub(super) fn is_fusion(&self) -> bool {
        match &self.source {
            Source::File { is_fusion, .. } => *is_fusion,
            Source::Index(path) => Index::open(path).is_ok_and(|index| index.fusion().custom),
            _ => false,
        }
    }

    fn can_be_saved(&self) -> bool {
        matches!(self.source, Source::Ranker { .. } | Source::File { .. })
    }

    /// Returns the file that the system is read from, or its name if there is none, for messages.
    pub(super) fn file_name(&self) -> &Path {
        self.source.path().unwrap_or(Path::new(&self.name))
    }

    /// Loads the system from its file, or trains the ranker and saves it if requested.
    pub(super) fn load(
        &self,
        corpus: &Corpus,
        saved: Option<&SavedRankers>,
        opened: &mut Vec<(PathBuf, Loaded)>,
    ) -> Result<Loaded> {
        if let Some(at) = opened.iter().position(|(path, _)| self.source.path() == Some(path)) {
            return Ok(opened.swap_remove(at).1);
        }
        self.source.load(&self.name, corpus, &|system, values, ranker| match saved {
            Some(saved) => saved.put(&self.name, |path| Ok(system.save(path, values, ranker)?)),
            None => Ok(()),
        })
    }
}
