//! The systems named on the command line, checked and then loaded or trained.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail, ensure};
use clickvec::eval::{self, Judgments, Run, Scores};
use clickvec::ranker::{self, FileKind, Ranker, RankerSpec, Resources, System, Values};
use clickvec_index::searcher::Searcher;
use clickvec_lab::SYSTEMS;

use super::fusion::MethodFlag;
use super::keeping::Keeping;
use super::{Args, coverage, gate, trec};
use crate::{input, output, progress};

/// The ranker that reads the files of `--vectors`.
const VECTORS: &str = "vectors";

/// The ranker that reads `--load`.
const SKIP_THOUGHT: &str = "skip-thought";

/// The files of one `--vectors`: one of all texts, or one of queries and one of titles.
#[derive(Debug, Clone)]
pub(super) struct VectorFiles(pub(super) Vec<PathBuf>);

impl FromStr for VectorFiles {
    type Err = String;

    fn from_str(text: &str) -> Result<VectorFiles, String> {
        // A file may have a comma in its name.
        let files: Vec<PathBuf> = match Path::new(text).exists() {
            true => vec![text.into()],
            false => text.split(',').map(PathBuf::from).collect(),
        };
        match files.len() {
            1 | 2 if files.iter().all(|file| !file.as_os_str().is_empty()) => Ok(VectorFiles(files)),
            found => Err(format!("expected FILE or QUERIES,TITLES, found {}", output::counted(found as u64, "name"))),
        }
    }
}

/// A row of the report: its name, and the system to score.
pub(super) struct Entry {
    pub(super) name: String,
    source: Source,
}

/// The source of a system's scores.
enum Source {
    /// A ranker to be trained first.
    Ranker { system: &'static System, values: Values, vectors: Vec<PathBuf> },
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
    Index(Box<Searcher>),
    /// An index that has a fusion.
    Fused(Box<clickvec_index::Engine>),
}

/// A function that scores all judged titles.
pub(super) type Scorer = Box<dyn Fn(&Judgments) -> Scores>;

/// The systems that are asked for, checked before anything is read. Rankers come first, because they are the baselines
/// of the models.
pub(super) fn entries(args: &Args) -> Result<Vec<Entry>> {
    let Args { ranker: rankers, model: models, run: runs, index: indexes, .. } = args;
    if [rankers.len(), models.len(), runs.len(), indexes.len(), args.vectors.len()].iter().all(|&count| count == 0) {
        bail!("expected a system to evaluate, found none; add `--model MODEL`, `--ranker bm25` or `--run FILE`");
    }
    let mut entries = Vec::with_capacity(rankers.len() + models.len() + runs.len());
    let mut specs = Vec::with_capacity(rankers.len());
    for text in rankers {
        let spec: RankerSpec = text.parse().map_err(clickvec::Error::from)?;
        ensure!(
            System::named(&spec.name, &SYSTEMS).is_ok() || !Path::new(text).exists(),
            "expected a ranker, found the file `{}`; name a model or a saved ranker with `--model`",
            output::printable(text)
        );
        specs.push(spec);
    }
    if !args.vectors.is_empty() && specs.iter().all(|spec| spec.name != VECTORS) {
        specs.push(VECTORS.parse().map_err(clickvec::Error::from)?);
    }
    ensure!(
        args.load.is_none() || specs.iter().any(|spec| spec.name == SKIP_THOUGHT),
        "expected `--ranker {SKIP_THOUGHT}` with `--load FOLDER`, which only it reads, found none; add it, or leave `--load` out"
    );
    for spec in specs {
        let system = System::named(&spec.name, &SYSTEMS).map_err(clickvec::Error::from)?;
        let values = system.values(&spec).map_err(clickvec::Error::from)?;
        let ranker = |name, vectors| Entry { name, source: Source::Ranker { system, values: values.clone(), vectors } };
        match (spec.name == VECTORS, &args.vectors[..]) {
            (true, several @ [_, _, ..]) => {
                let names =
                    names_of(&several.iter().map(|VectorFiles(files)| files[0].clone()).collect::<Vec<_>>(), &[]);
                // `vectors:idf=1` of the file `glove` is `glove:idf=1`.
                let parameters = spec.to_string().split_off(VECTORS.len());
                let named = names.into_iter().zip(several);
                entries.extend(named.map(|(name, files)| ranker(format!("{name}{parameters}"), files.0.clone())));
            }
            (true, [files]) => entries.push(ranker(spec.to_string(), files.0.clone())),
            _ => entries.push(ranker(spec.to_string(), Vec::new())),
        }
    }
    let taken: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let files: Vec<PathBuf> = models.iter().chain(runs).chain(indexes).cloned().collect();
    let names = names_of(&files, &taken);
    for (place, (name, path)) in names.into_iter().zip(files).enumerate() {
        let source = match place < models.len() {
            true => Source::File { is_fusion: FileKind::of(&path)? == FileKind::Fusion, path },
            false if place < models.len() + runs.len() => Source::Run(path),
            false => Source::Index(path),
        };
        entries.push(Entry { name, source });
    }
    let fusions: Vec<String> = args.fusion.iter().map(|flag| flag.name()).collect();
    refuse_repeated(entries.iter().map(|entry| &entry.name).chain(&fusions).map(String::as_str))?;
    for (place, entry) in entries.iter().enumerate() {
        if let Some(first) = entries[..place].iter().find(|first| first.is_same(entry)) {
            bail!(again(&entry.name, &first.name));
        }
    }
    gate::pairs(args, &entries)?;
    // Queries without ids are numbered, and the same numbers in a run may mean other queries.
    ensure!(
        runs.is_empty() || args.fusion_judged.is_none(),
        "expected rankers and models to fit the weights of, found a run, which has only the queries of `--judged`; give \
         `--fusion-weights`, or leave `--run` out"
    );
    ensure!(
        (runs.is_empty() && indexes.is_empty()) || args.fusion.is_empty() || args.save_rankers.is_none(),
        "expected a fusion of rankers and models to save, found a run or an index among its members; leave `--save-rankers`, or \
         `--run` and `--index`, out"
    );
    Ok(entries)
}

impl Entry {
    /// Whether another system would give the same scores: a ranker whose parameters have the same values, given or
    /// default, or the same file.
    fn is_same(&self, other: &Entry) -> bool {
        match (&self.source, &other.source) {
            (
                Source::Ranker { system, values, vectors },
                Source::Ranker { system: other, values: others, vectors: files },
            ) => {
                let same_files = vectors.len() == files.len()
                    && vectors.iter().zip(files).all(|(path, other)| input::same_file(path, other));
                system.name == other.name && values == others && same_files
            }
            (
                Source::File { path, .. } | Source::Run(path) | Source::Index(path),
                Source::File { path: other, .. } | Source::Run(other) | Source::Index(other),
            ) => input::same_file(path, other),
            _ => false,
        }
    }

    /// Whether the system learns from titles and clicks.
    pub(super) fn learns(&self) -> bool {
        matches!(self.source, Source::Ranker { .. })
    }

    /// The file of the model or ranker.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.source {
            Source::File { path, .. } => Some(path),
            Source::Ranker { .. } | Source::Run(_) | Source::Index(_) => None,
        }
    }

    /// The folder of the index.
    pub(super) fn index(&self) -> Option<&Path> {
        match &self.source {
            Source::Index(path) => Some(path),
            Source::Ranker { .. } | Source::File { .. } | Source::Run(_) => None,
        }
    }

    /// Whether the system is already a fusion, which is judged but not fused again.
    pub(super) fn is_fusion(&self) -> bool {
        match &self.source {
            Source::File { is_fusion, .. } => *is_fusion,
            Source::Index(path) => crate::fused::keeps_fusion(path).unwrap_or(false),
            _ => false,
        }
    }

    /// Whether `--save-rankers` saves it.
    fn is_kept(&self, fused: bool) -> bool {
        match self.source {
            Source::Ranker { .. } => true,
            Source::File { is_fusion, .. } => fused && !is_fusion,
            Source::Run(_) | Source::Index(_) => false,
        }
    }

    /// Loads or trains the system for scoring judged titles. Reports which of `judgments` a run lacks.
    pub(super) fn load(
        &self,
        resources: &Resources<'_>,
        keeping: Option<&Keeping<'_>>,
        judgments: &Judgments,
    ) -> Result<Scorer> {
        Ok(match self.ranker(resources, keeping)? {
            Loaded::Ranker(ranker) => {
                let queries = || judgments.queries.iter();
                let titles = queries().flat_map(|query| &query.titles).map(|title| title.text.as_str());
                coverage::say(&self.name, ranker.as_ref(), queries().map(|query| query.text.as_str()), titles)?;
                Box::new(move |judgments| eval::score(ranker.as_ref(), judgments))
            }
            Loaded::Run(run) => {
                let name = self.file_name().display().to_string();
                coverage::lacking_in_run(&name, &run.coverage(judgments)?).into_iter().for_each(output::note);
                Box::new(move |judgments| run.scores(judgments))
            }
            // It may have other titles than the judged ones.
            Loaded::Fused(_) => bail!("{}: expected a model, found an index; add `--full`", self.file_name().display()),
            Loaded::Index(_) => bail!("{}: expected a model, found an index; add `--full`", self.file_name().display()),
        })
    }

    /// The file that the system is read from, or its name if there is none, for messages.
    pub(super) fn file_name(&self) -> PathBuf {
        match &self.source {
            Source::File { path, .. } | Source::Run(path) | Source::Index(path) => path.clone(),
            Source::Ranker { .. } => PathBuf::from(&self.name),
        }
    }

    /// Loads the system from its file, or trains the ranker and keeps it if that is asked for.
    pub(super) fn ranker(&self, resources: &Resources<'_>, keeping: Option<&Keeping<'_>>) -> Result<Loaded> {
        match &self.source {
            Source::Ranker { system, values, vectors } => {
                let resources = &Resources { vectors, ..*resources };
                let bar = progress::bar(1, &output::printable(&self.name), "steps");
                let ranker = system.train(values, resources, &mut |progress| {
                    bar.set_length(progress.of);
                    bar.set_position(progress.done);
                })?;
                bar.finish_and_clear();
                if let Some(keeping) = keeping {
                    keeping.put(&self.name, |path| Ok(system.save(path, values, ranker.as_ref())?))?;
                }
                Ok(Loaded::Ranker(ranker))
            }
            Source::File { path, .. } => Ok(Loaded::Ranker(ranker::load_with(path, &SYSTEMS)?)),
            Source::Run(path) => Ok(Loaded::Run(Run::read(path)?)),
            Source::Index(path) if crate::fused::keeps_fusion(path)? => {
                let engine = clickvec_index::Engine::open(path)?;
                engine.prepare()?;
                Ok(Loaded::Fused(Box::new(engine)))
            }
            Source::Index(path) => Ok(Loaded::Index(Box::new(Searcher::open(path)?))),
        }
    }
}

/// The file name of a system in the folder of `--save-rankers`.
pub(super) fn file_of(name: &str) -> String {
    format!("{}.safetensors", trec::file_name(name))
}

/// The files that `--save-rankers` writes. An error if two have the same name or one would replace a model that is read.
pub(super) fn saved_files(folder: &Path, entries: &[Entry], fusions: &[MethodFlag]) -> Result<Vec<PathBuf>> {
    let kept = entries.iter().filter(|entry| entry.is_kept(!fusions.is_empty()));
    let saved = kept.map(|entry| (entry.name.clone(), entry.file()));
    let mut distinct = HashSet::new();
    let mut files = Vec::new();
    for (name, from) in saved.chain(fusions.iter().map(|flag| (flag.name(), None))) {
        let file = file_of(&name);
        let path = folder.join(&file);
        let read = entries.iter().filter_map(Entry::file).find(|&read| input::same_file(read, &path));
        if read.is_some() && read != from {
            bail!(
                "expected outputs in `{}` that are not also inputs, found `{file}`; name another folder",
                folder.display()
            );
        }
        if !distinct.insert(file.clone()) {
            bail!("expected a file for each system, found `{file}` for two; rename a model's file");
        }
        // A model that is already in the folder is not copied.
        if read.is_none() {
            files.push(path);
        }
    }
    Ok(files)
}

/// The names of files in the report: the file name without extension, or the path if that name is not unique.
pub(super) fn names_of(paths: &[PathBuf], taken: &[&str]) -> Vec<String> {
    let stem = |path: &PathBuf| path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let stems: Vec<String> = paths.iter().map(stem).collect();
    let is_free =
        |name: &String| stems.iter().filter(|other| *other == name).count() == 1 && !taken.contains(&name.as_str());
    let named = paths.iter().zip(&stems);
    named.map(|(path, stem)| if is_free(stem) { stem.clone() } else { path.display().to_string() }).collect()
}

/// Refuses two systems with the same name, which the report could not tell apart.
pub(super) fn refuse_repeated<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<()> {
    let mut distinct = HashSet::new();
    match names.into_iter().find(|name| !distinct.insert(*name)) {
        None => Ok(()),
        Some(twice) => bail!("expected each system once, found `{}` again", output::printable(twice)),
    }
}

/// The error for a system that was given twice in different ways.
pub(super) fn again(name: &str, first: &str) -> String {
    let [name, first] = [name, first].map(output::printable);
    format!("expected each system once, found `{name}`, which is `{first}` again; leave one of them out")
}
