//! Systems by their paths or names, which show what each is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clickvec::tables::Title;
use clickvec_build::IndexCandidates;
use clickvec_eval::ranker::{self, Corpus, FileKind, Ranker, RankerSpec, Resources, System, SystemRanker, Values};
use clickvec_eval::{Answers, Collection, Run, RunCoverage, Task, search_all};
use clickvec_index::{Index, looks_like_index};
use clickvec_tables::outputs::is_read_from;
use clickvec_tables::shown::printable;
use clickvec_tables::{Error, ErrorKind, Result, files};

use crate::Watcher;

/// The source of a system's answers.
pub enum Source {
    /// A ranker to be trained first.
    Ranker {
        /// The system.
        system: &'static System,
        /// The value of each parameter.
        values: Values,
        /// Its text.
        spec: RankerSpec,
    },
    /// A model or a ranker in a file.
    File(PathBuf),
    /// A run of another program.
    Run(PathBuf),
    /// An index: titles, their vectors and the model.
    Index(PathBuf),
}

impl Source {
    /// Returns what an argument names: an index, a file or, if there is neither, one of the `rankers`.
    ///
    /// # Errors
    ///
    /// It is none of these, or a file that cannot be read.
    pub fn new(argument: &Path, rankers: &[&'static System]) -> Result<Source> {
        let path = argument.to_owned();
        if looks_like_index(argument) {
            return Ok(Source::Index(path));
        }
        if !argument.exists() {
            return Source::ranker(argument, rankers);
        }
        if files::is_stream(argument) || !is_tensor_file(argument)? {
            return Ok(Source::Run(path));
        }
        FileKind::read(argument)?;
        Ok(Source::File(path))
    }

    fn ranker(argument: &Path, rankers: &[&'static System]) -> Result<Source> {
        let text = argument.to_string_lossy();
        let spec: RankerSpec = text.parse()?;
        let system = System::named(&spec.name, rankers).map_err(|fault| {
            // No ranker has a name like this.
            if spec.name.contains(['.', '/']) {
                let error =
                    Error::new(ErrorKind::Io, "cannot open: expected a model, an index or a run, found no file");
                return error.caused_by(std::io::Error::from(std::io::ErrorKind::NotFound)).at(argument);
            }
            let help = fault.what_helps().unwrap_or("`clickvec lab table` has the systems of the papers").to_owned();
            let expected = format!("{}, or a file", fault.what_was_expected().unwrap_or("a ranker"));
            Error::expected(ErrorKind::Setting, expected, format!("`{}`", printable(&text))).help(help)
        })?;
        Source::of(system, spec)
    }

    /// Returns a ranker with its parameters.
    ///
    /// # Errors
    ///
    /// It has no such parameters.
    pub fn of(system: &'static System, spec: RankerSpec) -> Result<Source> {
        Ok(Source::Ranker { system, values: system.values(&spec)?, spec })
    }

    /// Returns the file or folder of the system.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Source::File(path) | Source::Run(path) | Source::Index(path) => Some(path),
            Source::Ranker { .. } => None,
        }
    }

    /// Returns every file and folder that the system reads.
    pub fn files(&self) -> Vec<PathBuf> {
        match self {
            Source::Ranker { spec, .. } => spec.files.iter().map(|(_, path)| path.clone()).collect(),
            other => other.path().map(Path::to_owned).into_iter().collect(),
        }
    }

    /// Loads the system from its file, or trains the ranker and passes it to `trained`.
    ///
    /// # Errors
    ///
    /// Those of reading the file, of training, and of `trained`.
    ///
    /// # Panics
    ///
    /// With the error of `watch`, if that stops the training.
    pub fn load(
        &self,
        name: &str,
        corpus: &Corpus,
        trained: &dyn Fn(&System, &Values, &dyn SystemRanker) -> Result<()>,
        watch: &dyn Watcher,
    ) -> Result<Loaded> {
        Ok(match self {
            Source::Ranker { system, values, spec } => {
                let resources = &Resources { corpus, files: &spec.files };
                let ranker = system.train(values, resources, &mut |progress| {
                    watch.progress_or_unwind(name, "steps", progress.done, progress.of);
                })?;
                trained(system, values, ranker.as_ref())?;
                Loaded::Ranker(Arc::from(ranker as Box<dyn Ranker>))
            }
            Source::File(path) => Loaded::Ranker(Arc::from(load(path)?)),
            Source::Run(path) => Loaded::Run(Run::read(path).map_err(|error| run_error(path, error))?),
            Source::Index(path) => Loaded::Index(Box::new(Index::open(path)?)),
        })
    }

    /// Returns whether another system gives the same scores: a ranker whose parameters have the same values, explicit or
    /// default, or the same file.
    pub fn is_same(&self, other: &Source) -> bool {
        let (Source::Ranker { system, values, spec }, Source::Ranker { system: other, values: others, spec: that }) =
            (self, other)
        else {
            return self.path().zip(other.path()).is_some_and(|(path, other)| is_read_from(path, other));
        };
        let has = |(name, path): &(String, PathBuf)| {
            that.files.iter().any(|(other, file)| other == name && is_read_from(path, file))
        };
        system.name == other.name
            && values == others
            && spec.files.len() == that.files.len()
            && spec.files.iter().all(has)
    }
}

/// Returns the names in the report: of a file, its name without extension, or its path if that name is not unique.
pub fn names(sources: &[Source]) -> Vec<String> {
    let stem = |path: &Path| path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let name = |source: &Source| match source {
        Source::Ranker { spec, .. } => spec.to_string(),
        other => other.path().map(stem).unwrap_or_default(),
    };
    let names: Vec<String> = sources.iter().map(name).collect();
    let is_unique = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    let named = sources.iter().zip(&names);
    named
        .map(|(source, name)| match source.path() {
            Some(path) if !is_unique(name) => path.display().to_string(),
            _ => name.clone(),
        })
        .collect()
}

/// A system that is ready.
pub enum Loaded {
    /// A model or another ranker.
    Ranker(Arc<dyn Ranker>),
    /// A run of another program.
    Run(Run),
    /// An index.
    Index(Box<Index>),
}

impl Loaded {
    /// Answers the queries of a task with at most `depth` titles each, and says what a run has of them. An index searches `collection`.
    ///
    /// # Errors
    ///
    /// It has other titles than the collection, or is an index without one.
    pub fn answers(
        &self,
        task: Task<'_>,
        collection: Option<&Collection>,
        depth: usize,
        done: &mut dyn FnMut(usize),
    ) -> Result<(Answers, Option<RunCoverage>)> {
        match (self, task, collection) {
            (Loaded::Ranker(ranker), ..) => Ok((task.answers(ranker.as_ref(), depth, done)?, None)),
            (Loaded::Run(run), ..) => {
                let (answers, coverage) = run.answers(task, depth)?;
                Ok((answers, Some(coverage)))
            }
            (Loaded::Index(index), Task::Search { queries, .. }, Some(collection)) => {
                Ok((Answers::Lists(search_all(&IndexCandidates::new(index, collection), queries, depth, done)?), None))
            }
            (Loaded::Index(index), ..) => {
                let error = Error::expected(ErrorKind::Setting, "a collection to search with an index", "none");
                Err(error.help("set `full`").settings(&["full"]).at(index.path()))
            }
        }
    }
}

/// Loads a model, or a ranker of `evaluate` or the lab.
fn load(path: &Path) -> Result<Box<dyn Ranker>> {
    ranker::load_with(path, &clickvec_lab::SYSTEMS)
}

/// Returns the error of a run that could not be read: from a pipe, it may be that of a model.
pub(crate) fn run_error(path: &Path, error: Error) -> Error {
    if !files::is_stream(path) || error.kind() != ErrorKind::Malformed || error.line() != Some(1) {
        return error;
    }
    let expected = "a run, because models and rankers are files";
    let instead = Error::expected(ErrorKind::Malformed, expected, "something else in a pipe");
    instead.help("write it to a file first").at(path)
}

/// Returns all titles of an index.
pub(crate) fn titles(index: &Index) -> Result<Vec<Title>> {
    let mut titles = Vec::new();
    index.for_each_title(|title| {
        titles.push(Title { id: title.id, title: title.title });
        Ok(())
    })?;
    Ok(titles)
}

/// Returns whether a file is one of clickvec's, whole or damaged, and not a run: it begins with the length of a header in JSON.
fn is_tensor_file(path: &Path) -> Result<bool> {
    if path.is_dir() {
        return Err(Error::expected(ErrorKind::Setting, "an index", "another folder").at(path));
    }
    if path.extension().is_some_and(|extension| extension == "safetensors") {
        return Ok(true);
    }
    let (mut bytes, file) = (Vec::new(), files::open(path)?);
    let read = std::io::Read::read_to_end(&mut std::io::Read::take(file, 9), &mut bytes);
    read.map_err(|source| Error::io(path, "read", source))?;
    Ok(bytes.get(8) == Some(&b'{'))
}
