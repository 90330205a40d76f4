//! The spec of `clickvec lab table`: a file in TOML (docs/reference/spec.md).

mod source;

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clickvec::internals::error::shortened;
use clickvec::tables::{TITLE, titles_file};
use clickvec::train::Weighting;
use clickvec_eval::ranker::FusionMethod;
use clickvec_lab::table::{self, Entry, Plan};
use serde::{Deserialize, Deserializer};

/// The most grid points of all systems: each would be trained and judged.
const MOST_POINTS: usize = 10_000;
/// A spec has a few thousand bytes.
const MAX_SPEC_BYTES: u64 = 1 << 20;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spec {
    /// The title of the table.
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) data: Data,
    #[serde(default)]
    pub(super) evaluation: Evaluation,
    #[serde(rename = "system", default)]
    pub(super) systems: Vec<RowSpec>,
}

/// The input files. Relative paths start at the spec.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Data {
    pub(super) judged: Option<PathBuf>,
    /// The texts of the queries, if the judged titles are TREC qrels.
    pub(super) topics: Option<PathBuf>,
    pub(super) clicks: Option<PathBuf>,
    pub(super) titles: Option<PathBuf>,
    /// The column to judge and learn from instead of the title.
    pub(super) field: Option<String>,
    /// How the column count of the log becomes the weight of a pair for rankers.
    pub(super) weighting: Option<Weighting>,
}

impl Data {
    /// The column with the texts that are ranked.
    pub(super) fn field(&self) -> &str {
        self.field.as_deref().unwrap_or(TITLE)
    }

    /// The files for the library.
    fn planned(&self) -> Result<table::Data> {
        let Some(judged) = self.judged.clone() else {
            bail!("expected judged titles, found none; name them with `--judged FILE` or in the spec's `[data]`");
        };
        let Data { topics, clicks, titles, .. } = self.clone();
        // A file, and not its folder: other files in the folder should not change the result.
        let titles = titles.map(|titles| titles_file(&titles)).transpose()?;
        let weighting = self.weighting.unwrap_or_default();
        Ok(table::Data { judged, topics, clicks, titles, field: self.field().to_owned(), weighting })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Evaluation {
    pub(super) folds: usize,
    pub(super) seed: u64,
    /// How often each model is trained, each time with the next seed, unless its system says otherwise.
    pub(super) seeds: usize,
    /// Whether each system also searches all titles.
    pub(super) full: bool,
}

impl Default for Evaluation {
    fn default() -> Evaluation {
        Evaluation { folds: 2, seed: 1, seeds: 1, full: false }
    }
}

/// One row of the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowSpec {
    pub(super) name: String,
    /// A ranker, as in `--ranker`.
    ranker: Option<String>,
    /// Settings of a training, as in `clickvec train --settings`.
    train: Option<toml::Table>,
    /// An existing model or ranker.
    model: Option<PathBuf>,
    /// A run of another program.
    run: Option<PathBuf>,
    /// The rows to combine.
    fusion: Option<Vec<String>>,
    /// The method; if not given, whichever is best on the other folds.
    #[serde(default, deserialize_with = "method")]
    method: Option<FusionMethod>,
    /// Values to try for each parameter. For `train`, each dotted setting.
    #[serde(default)]
    grid: BTreeMap<String, Vec<toml::Value>>,
    /// A trained Skip-Thought encoder.
    load: Option<PathBuf>,
    /// Vectors that another program trained: of all texts, or of queries and of titles.
    vectors: Option<Paths>,
    /// With `train`: titles to learn from.
    titles: Option<LearntTitles>,
    /// With `train`: the model to start from.
    init: Option<PathBuf>,
    /// With `train`: files of a teacher.
    teacher: Option<Paths>,
    /// With `train`: judged titles for validation, and the texts of TREC qrels.
    validation: Option<PathBuf>,
    validation_topics: Option<PathBuf>,
    validation_titles: Option<PathBuf>,
    /// How often it is trained, each time with the next seed.
    pub(super) seeds: Option<usize>,
    /// The column that this system learns from and scores, instead of the table's.
    field: Option<String>,
    /// Results in a paper: NDCG@1, @3 and @10, in the paper's units.
    pub(super) paper: Option<[f64; 3]>,
}

/// One path or several.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a path or a list of paths")]
enum Paths {
    One(PathBuf),
    Several(Vec<PathBuf>),
}

impl Paths {
    fn all(&mut self) -> &mut [PathBuf] {
        match self {
            Paths::One(path) => std::slice::from_mut(path),
            Paths::Several(paths) => paths,
        }
    }

    fn list(&self) -> &[PathBuf] {
        match self {
            Paths::One(path) => std::slice::from_ref(path),
            Paths::Several(paths) => paths,
        }
    }
}

/// Titles to learn from.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected true, false, a path or a list of paths")]
enum LearntTitles {
    /// Whether to learn from the collection of the table.
    OfTable(bool),
    Files(Paths),
}

/// Reads a method of fusion by its name.
fn method<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<FusionMethod>, D::Error> {
    let name = String::deserialize(deserializer)?;
    name.parse().map(Some).map_err(serde::de::Error::custom)
}

/// Reads and checks a spec. Relative paths become relative to the working directory.
pub(super) fn read(path: &Path) -> Result<Spec> {
    let text = text(path)?;
    let mut spec: Spec =
        toml::from_str(&text).with_context(|| format!("{}: expected a table's spec", path.display()))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let Data { judged, topics, clicks, titles, field: _, weighting: _ } = &mut spec.data;
    for file in [judged, topics, clicks, titles].into_iter().flatten() {
        *file = folder.join(&*file);
    }
    for system in &mut spec.systems {
        let titles = match &mut system.titles {
            Some(LearntTitles::Files(files)) => files.all(),
            Some(LearntTitles::OfTable(_)) | None => &mut [],
        };
        let lists = system.teacher.iter_mut().chain(&mut system.vectors).flat_map(Paths::all);
        let several = titles.iter_mut().chain(lists);
        let RowSpec { model, load, run, init, validation, validation_topics, validation_titles, .. } = system;
        let single = [model, load, run, init, validation, validation_topics, validation_titles];
        for file in single.into_iter().flatten().chain(several) {
            *file = folder.join(&*file);
        }
    }
    ensure!(!spec.systems.is_empty(), "{}: expected systems below `[[system]]`, found none", path.display());
    ensure!(
        (1..=100).contains(&spec.evaluation.folds),
        "{}: expected 1 to 100 folds, found {}",
        path.display(),
        spec.evaluation.folds
    );
    ensure!(
        (1..=100).contains(&spec.evaluation.seeds),
        "{}: expected 1 to 100 seeds, found {}",
        path.display(),
        spec.evaluation.seeds
    );
    let mut names = HashSet::new();
    for system in &spec.systems {
        let name = shortened(&system.name);
        ensure!(!system.name.trim().is_empty(), "{}: expected a name for each system, found ``", path.display());
        ensure!(
            system.paper.is_none_or(|numbers| numbers.iter().all(|number| number.is_finite())),
            "{}: expected three finite numbers for `paper` of `{name}`, found {:?}",
            path.display(),
            system.paper.unwrap_or_default()
        );
        ensure!(
            names.insert(system.name.trim()),
            "{}: expected each name once, found `{}` again",
            path.display(),
            name
        );
    }
    Ok(spec)
}

/// The text of a spec; `path` may be a device that never ends.
fn text(path: &Path) -> Result<String> {
    let file = File::open(path).map_err(|source| clickvec::Error::io(path, "read", source))?;
    let mut bytes = Vec::new();
    let read = file.take(MAX_SPEC_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|source| clickvec::Error::io(path, "read", source))?;
    ensure!(
        bytes.len() as u64 <= MAX_SPEC_BYTES,
        "{}: expected a table's spec of at most {MAX_SPEC_BYTES} bytes, found more; name a file in TOML",
        path.display()
    );
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        let byte = error.as_bytes()[place];
        anyhow!("{}: expected a table's spec in UTF-8, found the byte 0x{byte:02x} at {}", path.display(), place + 1)
    })
}

impl Spec {
    /// The plan of the table for the library.
    pub(super) fn plan(&self) -> Result<Plan> {
        let points = |system: &RowSpec| {
            let seeds = system.seeds.unwrap_or(self.evaluation.seeds);
            system.grid.values().try_fold(seeds, |points, values| points.checked_mul(values.len()))
        };
        let all = self.systems.iter().try_fold(0_usize, |all, system| all.checked_add(points(system)?));
        ensure!(
            all.is_some_and(|all| all <= MOST_POINTS),
            "expected at most {MOST_POINTS} combinations of the values of `grid` in all systems, times the seeds, found {}; try \
             fewer values",
            all.map_or("more than 2^64".to_owned(), |all| all.to_string())
        );
        let entries = (0..self.systems.len()).map(|place| self.entry(place)).collect::<Result<_>>()?;
        let Evaluation { folds, seed, seeds, full } = self.evaluation;
        Ok(Plan { data: self.data.planned()?, folds, seed, seeds, full, entries })
    }

    /// The row of the system at `place`.
    fn entry(&self, place: usize) -> Result<Entry> {
        let system = &self.systems[place];
        let source = self.source_of(system, place);
        let source = source.with_context(|| format!("system `{}`", shortened(&system.name)))?;
        Ok(Entry { name: system.name.clone(), field: system.field.clone(), seeds: system.seeds, source })
    }
}

#[cfg(test)]
mod tests;
