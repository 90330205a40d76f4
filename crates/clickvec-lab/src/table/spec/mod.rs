//! The spec of `clickvec lab table`: a file in TOML (docs/reference/spec.md).

mod source;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clickvec::tables::{TITLE, titles_file};
use clickvec::train::Weighting;
use clickvec_eval::Metric;
use clickvec_eval::ranker::RankerSpec;
use clickvec_index::FusionMethod;
use clickvec_tables::Result;
use clickvec_tables::shown::shortened;
use clickvec_tables::{Error, ErrorKind};
use serde::{Deserialize, Deserializer};

use super::fault::{setting, within};
use super::{Entry, Plan};

/// The most grid points of all systems: each would be trained and judged.
const MOST_POINTS: usize = 10_000;
/// A spec has a few thousand bytes.
const MAX_SPEC_BYTES: u64 = 1 << 20;

/// A spec: the file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The title of the table.
    pub title: Option<String>,
    /// The input files.
    #[serde(default)]
    pub data: Data,
    /// The evaluation of the systems.
    #[serde(default)]
    pub evaluation: Evaluation,
    /// The rows.
    #[serde(rename = "system", default)]
    pub systems: Vec<RowSpec>,
    /// The claims that the table tests.
    #[serde(rename = "claim", default)]
    pub claims: Vec<Claim>,
}

/// A claim: pairs of rows, tested by one metric and corrected together.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The claim in words.
    pub name: String,
    /// The metric that decides it.
    pub metric: Metric,
    /// The names of the rows: the first is compared with the second.
    pub pairs: Vec<[String; 2]>,
}

/// The input files. Relative paths start at the spec.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// The judged titles.
    pub judged: Option<PathBuf>,
    /// The texts of the queries, if the judged titles are TREC qrels.
    pub topics: Option<PathBuf>,
    /// The click log.
    pub clicks: Option<PathBuf>,
    /// The collection.
    pub titles: Option<PathBuf>,
    /// The column to judge and learn from instead of the title.
    pub field: Option<String>,
    /// The weighting of a pair by the log's column `count`, for rankers.
    pub weighting: Option<Weighting>,
}

impl Data {
    /// Returns the column with the texts that are ranked.
    pub fn field(&self) -> &str {
        self.field.as_deref().unwrap_or(TITLE)
    }

    /// Replaces what `other` has.
    fn replace(&mut self, other: Data) {
        let old = std::mem::take(self);
        *self = Data {
            judged: other.judged.or(old.judged),
            topics: other.topics.or(old.topics),
            clicks: other.clicks.or(old.clicks),
            titles: other.titles.or(old.titles),
            field: other.field.or(old.field),
            weighting: other.weighting.or(old.weighting),
        };
    }

    /// Returns the files of the plan.
    fn planned(&self) -> Result<super::Data> {
        let Some(judged) = self.judged.clone() else {
            return Err(setting(
                "expected judged titles, found none; name them in the spec's `[data]` or on the command line",
            ));
        };
        let Data { topics, clicks, titles, .. } = self.clone();
        // A file, and not its folder: other files in the folder should not change the result.
        let titles = titles.map(|titles| titles_file(&titles)).transpose()?;
        let weighting = self.weighting.unwrap_or_default();
        Ok(super::Data { judged, topics, clicks, titles, field: self.field().to_owned(), weighting })
    }
}

/// The evaluation of the systems.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Evaluation {
    /// The number of folds.
    pub folds: usize,
    /// The seed that assigns queries to folds.
    pub seed: u64,
    /// The number of trainings of each model, each with the next seed, unless its system says otherwise.
    pub seeds: usize,
    /// Whether each system also searches all titles.
    pub full: bool,
}

impl Default for Evaluation {
    fn default() -> Evaluation {
        Evaluation { folds: 2, seed: 1, seeds: 1, full: false }
    }
}

/// One row of the table.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowSpec {
    /// The name in the table.
    pub name: String,
    /// A ranker with its parameters and files, such as `bm25:b=0.5`.
    #[serde(default, deserialize_with = "parsed")]
    ranker: Option<RankerSpec>,
    /// Settings of a training, as in a file of settings.
    train: Option<toml::Table>,
    /// An existing model or ranker.
    model: Option<PathBuf>,
    /// A run of another program.
    run: Option<PathBuf>,
    /// The rows to combine.
    fusion: Option<Vec<String>>,
    /// The method; by default the best on the other folds.
    #[serde(default, deserialize_with = "parsed")]
    method: Option<FusionMethod>,
    /// Values to try for each parameter. For `train`, each dotted setting.
    #[serde(default)]
    grid: BTreeMap<String, Vec<toml::Value>>,
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
    /// The number of trainings, each with the next seed.
    pub seeds: Option<usize>,
    /// The column that this system learns from and scores, instead of the table's.
    field: Option<String>,
    /// Results in a paper: NDCG@1, @3 and @10, in the paper's units.
    pub paper: Option<[f64; 3]>,
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
    Collection(bool),
    Files(Paths),
}

/// Parses a value that has the text form of the command line.
fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err = Error>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

/// Reads and checks a spec. Relative paths become relative to the working directory.
pub fn read(path: &Path) -> Result<Spec> {
    let text = text(path)?;
    let mut spec: Spec = toml::from_str(&text).map_err(|fault| {
        let error = setting(format!("expected a table's spec: {}", fault.message().replace('\n', ", ")));
        match fault.span() {
            Some(span) => error.at_line(path, text[..span.start].matches('\n').count() as u64 + 1),
            None => error.at(path),
        }
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let Data { judged, topics, clicks, titles, field: _, weighting: _ } = &mut spec.data;
    for file in [judged, topics, clicks, titles].into_iter().flatten() {
        *file = folder.join(&*file);
    }
    for system in &mut spec.systems {
        let titles = match &mut system.titles {
            Some(LearntTitles::Files(files)) => files.all(),
            Some(LearntTitles::Collection(_)) | None => &mut [],
        };
        let own = system.ranker.iter_mut().flat_map(|ranker| &mut ranker.files).map(|(_, path)| path);
        let several = titles.iter_mut().chain(system.teacher.iter_mut().flat_map(Paths::all)).chain(own);
        let RowSpec { model, run, init, validation, validation_topics, validation_titles, .. } = system;
        let single = [model, run, init, validation, validation_topics, validation_titles];
        for file in single.into_iter().flatten().chain(several) {
            *file = folder.join(&*file);
        }
    }
    spec.check().map_err(|fault| fault.at(path))?;
    Ok(spec)
}

/// Returns the usual folder for the finished work of a spec, or of a table without one.
pub fn cache_of(spec: Option<&Path>) -> PathBuf {
    spec.unwrap_or(Path::new("table")).with_extension("cache")
}

/// Reads the text of a spec; `path` may be a device that never ends.
fn text(path: &Path) -> Result<String> {
    let file = File::open(path).map_err(|source| Error::io(path, "read", source))?;
    let mut bytes = Vec::new();
    let read = file.take(MAX_SPEC_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|source| Error::io(path, "read", source))?;
    if bytes.len() as u64 > MAX_SPEC_BYTES {
        let expected = format!("a table's spec of at most {MAX_SPEC_BYTES} bytes");
        let fault = Error::expected(ErrorKind::Setting, expected, "more").help("name a file in TOML");
        return Err(fault.at(path));
    }
    String::from_utf8(bytes).map_err(|error| {
        let position = error.utf8_error().valid_up_to();
        let byte = error.as_bytes()[position];
        setting(format!("expected a table's spec in UTF-8, found the byte 0x{byte:02x} at {}", position + 1)).at(path)
    })
}

impl Spec {
    /// Creates the spec of rankers that are named after themselves, with one fold, since there is nothing to choose.
    pub fn from_rankers(rankers: Vec<RankerSpec>) -> Spec {
        let system =
            |ranker: RankerSpec| RowSpec { name: ranker.to_string(), ranker: Some(ranker), ..RowSpec::default() };
        let systems = rankers.into_iter().map(system).collect();
        let evaluation = Evaluation { folds: 1, ..Evaluation::default() };
        Spec { title: None, data: Data::default(), evaluation, systems, claims: Vec::new() }
    }

    /// Checks that the system to compare with is in the table.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`] if it is not.
    pub fn check_against(&self, name: Option<&str>) -> Result<()> {
        let Some(name) = name.filter(|name| self.systems.iter().all(|system| system.name != *name)) else {
            return Ok(());
        };
        let error = Error::expected(ErrorKind::Setting, "a system of the table", format!("`{}`", shortened(name)));
        Err(error.help("name another as `against`").settings(&["against"]))
    }

    /// Replaces the files and settings that `other` has.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`] for a weighting without a click log.
    pub fn replace_data(&mut self, other: Data) -> Result<()> {
        let is_weighted = other.weighting.is_some();
        self.data.replace(other);
        if !is_weighted || self.data.clicks.is_some() {
            return Ok(());
        }
        let error = Error::expected(ErrorKind::Setting, "a click log, whose counts `weighting` is about", "none");
        Err(error.help("name one as `clicks`").settings(&["clicks"]))
    }

    /// Checks the settings that a plan lacks; [`super::make`] checks the plan.
    fn check(&self) -> clickvec_tables::Result<()> {
        let refuse = |expected: String, found: String| Err(Error::expected(ErrorKind::Setting, expected, found));
        for system in &self.systems {
            if system.name.trim().is_empty() {
                return refuse("a name for each system".to_owned(), "``".to_owned());
            }
            if let Some(numbers) = system.paper.filter(|numbers| !numbers.iter().all(|number| number.is_finite())) {
                let found = format!("{numbers:?} for `{}`", shortened(&system.name));
                return refuse("three finite numbers for `paper`".to_owned(), found);
            }
        }
        for claim in &self.claims {
            let within = |what: &str| format!("{what} in the claim `{}`", shortened(&claim.name));
            if !Metric::NDCG.contains(&claim.metric) {
                return refuse(within("`ndcg@1`, `ndcg@3` or `ndcg@10`"), format!("`{}`", claim.metric));
            }
            if claim.pairs.is_empty() {
                return refuse(within("pairs of systems"), "none".to_owned());
            }
            for [a, b] in &claim.pairs {
                let unknown = [a, b].into_iter().find(|name| self.systems.iter().all(|system| system.name != **name));
                if let Some(name) = unknown {
                    return refuse(within("names of systems of the table"), format!("`{}`", shortened(name)));
                }
                if a == b {
                    return refuse(within("two systems in each pair"), format!("`{}` twice", shortened(a)));
                }
            }
        }
        Ok(())
    }

    /// Makes the plan of the table.
    pub fn plan(&self) -> Result<Plan> {
        let points = |system: &RowSpec| {
            let seeds = system.seeds.unwrap_or(self.evaluation.seeds);
            system.grid.values().try_fold(seeds, |points, values| points.checked_mul(values.len()))
        };
        let all = self.systems.iter().try_fold(0_usize, |all, system| all.checked_add(points(system)?));
        if all.is_none_or(|all| all > MOST_POINTS) {
            return Err(setting(format!(
                "expected at most {MOST_POINTS} combinations of the values of `grid` in all systems, times the seeds, found {}; try fewer values",
                all.map_or("more than 2^64".to_owned(), |all| all.to_string())
            )));
        }
        let entries = (0..self.systems.len()).map(|position| self.entry(position)).collect::<Result<_>>()?;
        let Evaluation { folds, seed, seeds, full } = self.evaluation;
        Ok(Plan { data: self.data.planned()?, folds, seed, seeds, full, entries })
    }

    /// Makes the row of the system at `position`.
    fn entry(&self, position: usize) -> Result<Entry> {
        let system = &self.systems[position];
        let source = self.source(system, position);
        let source = source.map_err(|fault| within(format!("system `{}`", shortened(&system.name)), fault))?;
        Ok(Entry { name: system.name.clone(), field: system.field.clone(), seeds: system.seeds, source })
    }
}

#[cfg(test)]
mod tests;
