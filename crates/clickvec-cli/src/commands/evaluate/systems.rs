//! The systems named on the command line, checked and then loaded or trained.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, anyhow, bail, ensure};
use clickvec_eval::Run;
use clickvec_eval::ranker::{self, FileKind, Ranker, RankerSpec, Resources, System, Values};

use super::fusion::MethodFlag;
use super::index::Index;
use super::keeping::Keeping;
use super::{Args, gate, trec};
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
        let files: Vec<PathBuf> =
            if Path::new(text).exists() { vec![text.into()] } else { text.split(',').map(PathBuf::from).collect() };
        match files.len() {
            1 | 2 if files.iter().all(|file| !file.as_os_str().is_empty()) => Ok(VectorFiles(files)),
            found => Err(format!("expected FILE or QUERIES,TITLES, found {}", output::counted(found as u64, "name"))),
        }
    }
}

/// A row of the report: its name, and the system.
pub(super) struct Entry {
    pub(super) name: String,
    source: Source,
}

/// The source of a system's answers.
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
    Index(Box<Index>),
}

/// Returns the systems of a command line, checked before anything is read. Rankers come first, because they are the baselines of the
/// models.
pub(super) fn entries(args: &Args) -> Result<Vec<Entry>> {
    let mut entries = rankers(args)?;
    let mut sources = Vec::new();
    for path in &args.model {
        sources.push(Source::File { is_fusion: FileKind::of(path)? == FileKind::Fusion, path: path.clone() });
    }
    sources.extend(args.run.iter().cloned().map(Source::Run));
    sources.extend(args.index.iter().cloned().map(Source::Index));
    let files: Vec<PathBuf> = sources.iter().filter_map(Source::path).map(Path::to_owned).collect();
    let taken: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let names = names_of(&files, &taken);
    entries.extend(names.into_iter().zip(sources).map(|(name, source)| Entry { name, source }));
    ensure!(
        !entries.is_empty(),
        "expected a system to evaluate, found none; add `--model MODEL`, `--ranker bm25` or `--run FILE`"
    );
    refuse_repeated(&entries, args)?;
    gate::check(args, &entries)?;
    refuse_unfit_for_fusion(args)?;
    Ok(entries)
}

/// Returns the rankers to train.
fn rankers(args: &Args) -> Result<Vec<Entry>> {
    let mut specs = Vec::with_capacity(args.ranker.len());
    for text in &args.ranker {
        let spec: RankerSpec = text.parse().map_err(clickvec::Error::from)?;
        ensure!(
            System::named(&spec.name, &clickvec_lab::SYSTEMS).is_ok() || !Path::new(text).exists(),
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
    let mut entries = Vec::with_capacity(specs.len());
    for spec in specs {
        let system = system(&spec.name, args.systems)?;
        let values = system.values(&spec).map_err(clickvec::Error::from)?;
        let entry = |name, vectors| Entry { name, source: Source::Ranker { system, values: values.clone(), vectors } };
        match &args.vectors[..] {
            [_, _, ..] if spec.name == VECTORS => {
                let firsts: Vec<PathBuf> = args.vectors.iter().map(|VectorFiles(files)| files[0].clone()).collect();
                // `vectors:idf=1` of the file `glove` is `glove:idf=1`.
                let parameters = spec.to_string().split_off(VECTORS.len());
                let named = names_of(&firsts, &[]).into_iter().zip(&args.vectors);
                entries.extend(named.map(|(name, VectorFiles(files))| entry(name + &parameters, files.clone())));
            }
            [VectorFiles(files)] if spec.name == VECTORS => entries.push(entry(spec.to_string(), files.clone())),
            _ => entries.push(entry(spec.to_string(), Vec::new())),
        }
    }
    Ok(entries)
}

/// Refuses two systems that the report could not tell apart, or that are the same.
fn refuse_repeated(entries: &[Entry], args: &Args) -> Result<()> {
    let mut distinct = HashSet::new();
    let names = entries.iter().map(|entry| entry.name.clone()).chain(args.fusion.iter().map(|flag| flag.name()));
    for name in names {
        ensure!(!distinct.contains(&name), "expected each system once, found `{}` again", output::printable(&name));
        distinct.insert(name);
    }
    for (place, entry) in entries.iter().enumerate() {
        if let Some(first) = entries[..place].iter().find(|first| first.is_same(entry)) {
            let [name, first] = [&entry.name, &first.name].map(|name| output::printable(name));
            bail!("expected each system once, found `{name}`, which is `{first}` again; leave one of them out");
        }
    }
    Ok(())
}

/// Refuses fusions of what cannot be fused or saved.
fn refuse_unfit_for_fusion(args: &Args) -> Result<()> {
    // Queries without ids are numbered, and the same numbers in a run may mean other queries.
    ensure!(
        args.run.is_empty() || args.fusion_judged.is_none(),
        "expected rankers and models to fit the weights of, found a run, which has only the queries of `--judged`; give \
         `--fusion-weights`, or leave `--run` out"
    );
    ensure!(
        (args.run.is_empty() && args.index.is_empty()) || args.fusion.is_empty() || args.save_rankers.is_none(),
        "expected a fusion of rankers and models to save, found a run or an index among its members; leave `--save-rankers`, or \
         `--run` and `--index`, out"
    );
    Ok(())
}

impl Source {
    fn path(&self) -> Option<&Path> {
        match self {
            Source::File { path, .. } | Source::Run(path) | Source::Index(path) => Some(path),
            Source::Ranker { .. } => None,
        }
    }
}

/// Returns the system with this name, and where it is if it is one of the lab's.
fn system(name: &str, systems: &[&'static System]) -> Result<&'static System> {
    System::named(name, systems).map_err(|fault| match System::named(name, &clickvec_lab::SYSTEMS) {
        Ok(_) => anyhow!("`{name}` is a system of the lab; use `clickvec lab evaluate`"),
        Err(_) => clickvec::Error::from(fault).into(),
    })
}

impl Entry {
    /// Returns whether another system would give the same scores: a ranker whose parameters have the same values, explicit or
    /// default, or the same file.
    fn is_same(&self, other: &Entry) -> bool {
        if let (Some(path), Some(other)) = (self.source.path(), other.source.path()) {
            return input::same_file(path, other);
        }
        match (&self.source, &other.source) {
            (
                Source::Ranker { system, values, vectors },
                Source::Ranker { system: other, values: others, vectors: files },
            ) => {
                let same_files = vectors.len() == files.len()
                    && vectors.iter().zip(files).all(|(path, other)| input::same_file(path, other));
                system.name == other.name && values == others && same_files
            }
            _ => false,
        }
    }

    /// Returns whether the system learns from titles and clicks.
    pub(super) fn learns(&self) -> bool {
        matches!(self.source, Source::Ranker { .. })
    }

    /// Returns the file of the model or ranker.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.source {
            Source::File { path, .. } => Some(path),
            _ => None,
        }
    }

    /// Returns the folder of the index.
    pub(super) fn index(&self) -> Option<&Path> {
        match &self.source {
            Source::Index(path) => Some(path),
            _ => None,
        }
    }

    /// Returns whether the system is already a fusion, which is judged but not fused again.
    pub(super) fn is_fusion(&self) -> bool {
        match &self.source {
            Source::File { is_fusion, .. } => *is_fusion,
            Source::Index(path) => crate::fused::keeps_fusion(path).unwrap_or(false),
            _ => false,
        }
    }

    /// Returns whether `--save-rankers` saves it.
    fn is_saved(&self, fused: bool) -> bool {
        match self.source {
            Source::Ranker { .. } => true,
            Source::File { is_fusion, .. } => fused && !is_fusion,
            Source::Run(_) | Source::Index(_) => false,
        }
    }

    /// Returns the file that the system is read from, or its name if there is none, for messages.
    pub(super) fn file_name(&self) -> &Path {
        self.source.path().unwrap_or(Path::new(&self.name))
    }

    /// Loads the system from its file, or trains the ranker and saves it if requested.
    pub(super) fn load(
        &self,
        resources: &Resources<'_>,
        keeping: Option<&Keeping<'_>>,
        opened: &mut Vec<(PathBuf, Loaded)>,
    ) -> Result<Loaded> {
        if let Some(place) = opened.iter().position(|(path, _)| self.source.path() == Some(path)) {
            return Ok(opened.swap_remove(place).1);
        }
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
            Source::File { path, .. } => Ok(Loaded::Ranker(ranker::load_with(path, &clickvec_lab::SYSTEMS)?)),
            Source::Run(path) => Ok(Loaded::Run(Run::read(path)?)),
            Source::Index(path) => Ok(Loaded::Index(Box::new(Index::open(path)?))),
        }
    }
}

/// The file name of a system in the folder of `--save-rankers`.
pub(super) fn file_of(name: &str) -> String {
    format!("{}.safetensors", trec::file_name(name))
}

/// The files that `--save-rankers` writes. An error if two have the same name or one would replace a model that is read.
pub(super) fn saved_files(folder: &Path, entries: &[Entry], fusions: &[MethodFlag]) -> Result<Vec<PathBuf>> {
    let saved = entries.iter().filter(|entry| entry.is_saved(!fusions.is_empty()));
    let saved = saved.map(|entry| (entry.name.clone(), entry.file()));
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
