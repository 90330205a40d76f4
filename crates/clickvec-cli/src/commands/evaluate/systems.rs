//! The systems named on the command line, checked and then loaded or trained.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail, ensure};
use clickvec_eval::Run;
use clickvec_eval::ranker::{
    Corpus, FileKind, FusionMethod, Ranker, RankerSpec, Resources, SYSTEMS, System, Values, load,
};
use clickvec_index::looks_like_index;

use super::Args;
use super::index::Index;
use super::names::{distinct, name_of_fusion, saved_file};
use super::saved::SavedRankers;
use crate::{input, output, progress};

/// The systems of a command line.
pub(super) struct Systems {
    /// Rankers first, because they are the baselines of the models.
    pub(super) entries: Vec<Entry>,
    /// The fusions of the others.
    pub(super) fusions: Vec<FusionMethod>,
}

/// A row of the report: its name, and the system.
pub(super) struct Entry {
    pub(super) name: String,
    source: Source,
}

/// The source of a system's answers.
enum Source {
    /// A ranker to be trained first.
    Ranker { system: &'static System, values: Values, files: Vec<(String, PathBuf)> },
    /// A model, ranker or fusion in a file.
    File { path: PathBuf, is_fusion: bool },
    /// A run from another program.
    Run(PathBuf),
    /// An index: titles, their vectors and the model.
    Index(PathBuf),
}

/// A system that is ready.
pub(super) enum Loaded {
    Ranker(Box<dyn Ranker>),
    Run(Run),
    Index(Box<Index>),
}

impl Systems {
    /// Checks the systems of a command line before any of them is loaded or trained.
    pub(super) fn new(args: &Args) -> Result<Systems> {
        let mut entries = rankers(args)?;
        let mut sources = args.model.iter().map(|path| Source::from_file(path)).collect::<Result<Vec<_>>>()?;
        sources.extend(args.run.iter().cloned().map(Source::Run));
        let files: Vec<PathBuf> = sources.iter().filter_map(Source::path).map(Path::to_owned).collect();
        let taken: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        let names = distinct_names(&files, &taken);
        entries.extend(names.into_iter().zip(sources).map(|(name, source)| Entry { name, source }));
        let systems = Systems { entries, fusions: args.fusion.clone() };
        systems.check(args)?;
        Ok(systems)
    }

    fn check(&self, args: &Args) -> Result<()> {
        ensure!(
            !self.entries.is_empty(),
            "expected a system to evaluate, found none; add `--model MODEL`, `--ranker bm25` or `--run FILE`"
        );
        let mut distinct = HashSet::new();
        for name in self.names() {
            ensure!(!distinct.contains(&name), "expected each system once, found `{}` again", output::printable(&name));
            distinct.insert(name);
        }
        for (at, entry) in self.entries.iter().enumerate() {
            if let Some(first) = self.entries[..at].iter().find(|first| first.is_same(entry)) {
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
            args.run.is_empty() || args.fusion_weights.iter().all(|weights| weights.file().is_none()),
            "expected rankers and models to fit the weights of, found a run, which has only the queries of `--judged`; give \
             `--fusion-weights` numbers, or leave `--run` out"
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
        names.chain(self.fusions.iter().map(|&method| name_of_fusion(method))).collect()
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
        let fusions = self.fusions.iter().map(|&method| (saved_file(&name_of_fusion(method)), None));
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

/// Returns the rankers to train.
fn rankers(args: &Args) -> Result<Vec<Entry>> {
    let entry = |text: &String| {
        let spec: RankerSpec = text.parse()?;
        let system = System::named(&spec.name, &SYSTEMS).map_err(|fault| {
            if Path::new(text).exists() {
                let file = output::printable(text);
                return anyhow!(
                    "expected a ranker, found the file `{file}`; name a model or a saved ranker with `--model`"
                );
            }
            anyhow!("{fault}; `clickvec lab table` has the systems of the papers")
        })?;
        let values = system.values(&spec)?;
        Ok(Entry { name: spec.to_string(), source: Source::Ranker { system, values, files: spec.files } })
    };
    args.ranker.iter().map(entry).collect()
}

impl Source {
    fn from_file(path: &Path) -> Result<Source> {
        if looks_like_index(path) {
            return Ok(Source::Index(path.to_owned()));
        }
        Ok(Source::File { is_fusion: FileKind::of(path)? == FileKind::Fusion, path: path.to_owned() })
    }

    fn path(&self) -> Option<&Path> {
        match self {
            Source::File { path, .. } | Source::Run(path) | Source::Index(path) => Some(path),
            Source::Ranker { .. } => None,
        }
    }
}

impl Entry {
    /// Returns whether another system would give the same scores: a ranker whose parameters have the same values, explicit or
    /// default, or the same file.
    fn is_same(&self, other: &Entry) -> bool {
        match (&self.source, &other.source) {
            (
                Source::Ranker { system, values, files },
                Source::Ranker { system: other, values: others, files: other_files },
            ) => {
                let has = |(name, path): &(String, PathBuf)| {
                    other_files.iter().any(|(other, file)| other == name && input::same_file(path, file))
                };
                let same_files = files.len() == other_files.len() && files.iter().all(has);
                system.name == other.name && values == others && same_files
            }
            (one, other) => one.path().zip(other.path()).is_some_and(|(path, other)| input::same_file(path, other)),
        }
    }

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
            Source::Index(path) => clickvec_index::Index::open(path).is_ok_and(|index| index.fusion().fitted),
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
        match &self.source {
            Source::Ranker { system, values, files } => {
                let resources = &Resources { corpus, files };
                let bar = progress::bar(1, &output::printable(&self.name), "steps");
                let ranker = system.train(values, resources, &mut |progress| {
                    bar.set_length(progress.of);
                    bar.set_position(progress.done);
                })?;
                bar.finish_and_clear();
                if let Some(saved) = saved {
                    saved.put(&self.name, |path| Ok(system.save(path, values, ranker.as_ref())?))?;
                }
                Ok(Loaded::Ranker(ranker))
            }
            Source::File { path, .. } => Ok(Loaded::Ranker(load(path)?)),
            Source::Run(path) => Ok(Loaded::Run(Run::read(path)?)),
            Source::Index(path) => Ok(Loaded::Index(Box::new(Index::open(path)?))),
        }
    }
}

/// Returns the names of files in the report: the file name without extension, or the path if that name is not unique.
fn distinct_names(paths: &[PathBuf], taken: &[&str]) -> Vec<String> {
    let stem = |path: &PathBuf| path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let stems: Vec<String> = paths.iter().map(stem).collect();
    let is_free =
        |name: &String| stems.iter().filter(|other| *other == name).count() == 1 && !taken.contains(&name.as_str());
    let named = paths.iter().zip(&stems);
    named.map(|(path, stem)| if is_free(stem) { stem.clone() } else { path.display().to_string() }).collect()
}
