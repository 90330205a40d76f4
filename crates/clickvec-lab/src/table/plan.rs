//! The plan of a table.

use clickvec::tables::Titles;
use std::collections::HashSet;
use std::path::PathBuf;

use super::fault::{plan, within};
use crate::systems::SYSTEMS;
use clickvec::internals::vector_file::texts_path;
use clickvec::train::{Teacher, TrainConfig, Weighting};
use clickvec_eval::ranker::{RankerSpec, System};
use clickvec_eval::{Overlap, TestSetFiles, files_of_test_set, overlap, read_test_set};
use clickvec_index::FusionMethod;
use clickvec_tables::Result;
use clickvec_tables::files::is_stream;
use clickvec_tables::shown::shortened;

/// The largest number of folds.
const MOST_FOLDS: usize = 100;
/// The largest number of seeds.
const MOST_SEEDS: usize = 100;

/// A plan: the rows, their training data, and the judgments.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The files.
    pub data: Data,
    /// The number of folds. With 1, parameters are chosen by the same queries that they are judged on.
    pub folds: usize,
    /// The seed that assigns queries to folds.
    pub seed: u64,
    /// The number of trainings of each model, each with the next seed, unless its row says otherwise. A query's figures are the
    /// means over the seeds.
    pub seeds: usize,
    /// Whether each row also searches the whole collection.
    pub full: bool,
    /// The rows.
    pub entries: Vec<Entry>,
}

/// The files of a table. Each is read more than once.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    /// The judged titles, in any form that [`clickvec_eval::read_test_set`] reads.
    pub judged: PathBuf,
    /// The texts of the queries, if the judged titles are TREC qrels.
    pub topics: Option<PathBuf>,
    /// The click log.
    pub clicks: Option<PathBuf>,
    /// The collection.
    pub titles: Option<PathBuf>,
    /// The column with the texts that are ranked.
    pub field: String,
    /// The weighting of a pair by the log's `count` column, for rankers. Models have settings of their own.
    pub weighting: Weighting,
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The name in the table, unique among the rows.
    pub name: String,
    /// The column that this row learns from and scores, if it is another than the table's.
    pub field: Option<String>,
    /// The number of trainings of the row, each with the next seed. By default a model is trained as often as the plan says, and
    /// a ranker once.
    pub seeds: Option<usize>,
    /// The source of its scores.
    pub source: Source,
}

impl Entry {
    /// Checks that rows trained with several seeds have a seed.
    fn check_seeds(&self) -> Result<()> {
        let Some(found) = self.seeds else { return Ok(()) };
        if !(1..=MOST_SEEDS).contains(&found) {
            return Err(plan(format!("1 to {MOST_SEEDS} seeds"), found));
        }
        match &self.source {
            Source::Model(_) => Ok(()),
            Source::Ranker(points) => {
                let system = points.first().and_then(|point| System::named(&point.name, &SYSTEMS).ok());
                match system.filter(|system| found > 1 && !(system.files.is_empty() && system.has_seed())) {
                    None => Ok(()),
                    Some(system) => {
                        Err(plan(format!("1 seed for `{}`, in whose training nothing is random", system.name), found))
                    }
                }
            }
            Source::File(_) | Source::Run(_) | Source::Fusion { .. } => {
                Err(plan("seeds only for a row that is trained", "them for a file, a run or a fusion"))
            }
        }
    }

    /// Returns the column of the row, if it is another than that of the table.
    pub(super) fn other_field(&self, data: &Data) -> Option<&str> {
        self.field.as_deref().filter(|field| *field != data.field)
    }
}

/// The source of a row's scores. If there are several points, each fold is judged with the point that is best on the
/// other folds.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A ranker, one of [`SYSTEMS`]: the parameters to try, all of one system, with the same files.
    Ranker(Vec<RankerSpec>),
    /// A model to be trained on the click log.
    Model(Vec<Training>),
    /// An existing model or ranker.
    File(PathBuf),
    /// A TREC run of another program, with the ids of the judged queries and titles.
    Run(PathBuf),
    /// Other rows, combined with the weights and the method that are best on the other folds.
    Fusion {
        /// The positions of rows above this one.
        members: Vec<usize>,
        /// The methods to try.
        methods: Vec<FusionMethod>,
    },
}

/// A training of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Training {
    /// The name in reports.
    pub label: String,
    /// The settings, whose field is replaced by the table's.
    pub config: TrainConfig,
    /// Judged titles that choose the epoch. None of their queries may be judged in the table.
    pub validation: Option<Validation>,
    /// Files of titles to learn from before the clicks, or alone if the table has no clicks; see [`TrainConfig::titles`].
    pub titles: Vec<PathBuf>,
    /// The model to start from.
    pub init: Option<PathBuf>,
    /// Vectors of a teacher, as [`Teacher::file`] reads them.
    pub teachers: Vec<PathBuf>,
    /// Scores of a teacher, as [`Teacher::score_file`] reads them.
    pub scores: Vec<PathBuf>,
}

/// The files of a validation set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Validation {
    /// The judged titles.
    pub judged: PathBuf,
    /// The texts of the queries, if the judged titles are TREC qrels.
    pub topics: Option<PathBuf>,
    /// The texts of the titles, if the judged titles are TREC qrels.
    pub titles: Option<PathBuf>,
}

impl Training {
    /// Returns the files that it is trained on in addition to the clicks, each with its role. The texts of vectors are next to
    /// them.
    pub(super) fn files(&self) -> Vec<(&'static str, PathBuf)> {
        let titles = self.titles.iter().map(|path| ("learnt titles", path.clone()));
        let init = self.init.iter().map(|path| ("init", path.clone()));
        let scores = self.scores.iter().map(|path| ("scores", path.clone()));
        let vectors = self.teachers.iter().flat_map(|path| {
            let texts = Some(texts_path(path)).filter(|texts| texts != path && texts.exists());
            std::iter::once(("teacher", path.clone())).chain(texts.map(|texts| ("texts of the teacher", texts)))
        });
        titles.chain(init).chain(scores).chain(vectors).collect()
    }

    /// Its teachers; `field` is the column of titles in tables of scores.
    pub(super) fn teachers<'a>(&'a self, field: &'a str) -> Vec<Teacher<'a>> {
        let scores = self.scores.iter().map(|path| Teacher::score_file(path, field));
        self.teachers.iter().map(|path| Teacher::file(path)).chain(scores).collect()
    }
}

impl Validation {
    /// Returns the test set of these files, with the texts of the column `field`.
    pub fn test_set<'a>(&'a self, field: &'a str) -> TestSetFiles<'a> {
        let Validation { judged, topics, titles } = self;
        TestSetFiles { judged, topics: topics.as_deref(), titles: titles.as_ref().map(Titles::from), field }
    }
}

impl Data {
    /// Returns the test set of the table.
    pub fn test_set(&self) -> TestSetFiles<'_> {
        let (topics, titles) = (self.topics.as_deref(), self.titles.as_ref().map(Titles::from));
        TestSetFiles { judged: &self.judged, topics, titles, field: &self.field }
    }

    /// Returns the files of the judged titles.
    pub fn judged_files(&self) -> Vec<PathBuf> {
        files_of_test_set(&self.test_set())
    }
}

impl Plan {
    /// Returns how many judged queries are also in the click log; `None` without a log, or if a file is a pipe or cannot be read.
    /// Making the table says what is wrong with it.
    pub fn overlap(&self) -> Option<Overlap> {
        let clicks = self.data.clicks.as_ref()?;
        if is_stream(clicks) || self.data.judged_files().iter().any(|file| is_stream(file)) {
            return None;
        }
        let set = read_test_set(&self.data.test_set()).ok()?;
        overlap(&set.judgments, clicks, &self.data.field).ok()
    }

    /// Returns every file that the table reads, including those of the rows.
    pub fn files(&self) -> Vec<PathBuf> {
        let Data { topics, clicks, titles, .. } = &self.data;
        let mut files = self.data.judged_files();
        files.extend([topics, clicks, titles].into_iter().flatten().cloned());
        for entry in &self.entries {
            match &entry.source {
                Source::Ranker(points) => {
                    files.extend(points.iter().flat_map(|point| &point.files).map(|(_, path)| path.clone()));
                }
                Source::Model(points) => {
                    let validation = points.iter().filter_map(|point| point.validation.as_ref());
                    files.extend(validation.flat_map(|of| files_of_test_set(&of.test_set(&self.data.field))));
                    files.extend(points.iter().flat_map(Training::files).map(|(_, path)| path));
                }
                Source::File(path) | Source::Run(path) => files.push(path.clone()),
                Source::Fusion { .. } => {}
            }
        }
        files
    }

    /// Checks everything that can be checked without reading a file.
    pub(super) fn check(&self) -> Result<()> {
        if self.entries.is_empty() {
            return Err(plan("at least one system", "none"));
        }
        if !(1..=MOST_FOLDS).contains(&self.folds) {
            return Err(plan(format!("1 to {MOST_FOLDS} folds"), self.folds));
        }
        if !(1..=MOST_SEEDS).contains(&self.seeds) {
            return Err(plan(format!("1 to {MOST_SEEDS} seeds"), self.seeds));
        }
        let mut names = HashSet::new();
        for (position, entry) in self.entries.iter().enumerate() {
            if !names.insert(entry.name.trim()) {
                return Err(plan("each name once", format!("`{}` again", shortened(&entry.name))));
            }
            let in_row = |fault| Err(within(format!("system `{}`", entry.name), fault));
            if entry.field.is_some() && matches!(entry.source, Source::Run(_) | Source::Fusion { .. }) {
                let expected = "a column of its own only for a row that scores texts";
                return in_row(plan(expected, "it for a run or a fusion"));
            }
            if let Some(found) = entry.other_field(&self.data).filter(|_| self.full) {
                let expected = format!("column `{}` for all rows, since each searches all titles", self.data.field);
                return in_row(plan(expected, format!("`{found}`")));
            }
            if let Err(fault) = entry.check_seeds() {
                return in_row(fault);
            }
            match &entry.source {
                Source::Ranker(points) => {
                    let Some(first) = points.first() else {
                        return in_row(plan("at least one set of parameters", "none"));
                    };
                    for point in points {
                        let known = System::named(&first.name, &SYSTEMS).and_then(|system| system.values(point));
                        if let Err(fault) = known {
                            return in_row(fault);
                        }
                        if (&point.name, &point.files) != (&first.name, &first.files) {
                            return in_row(plan("parameters of one system", format!("those of `{point}` too")));
                        }
                    }
                }
                Source::Model(points) => {
                    if points.is_empty() {
                        return in_row(plan("at least one set of parameters", "none"));
                    }
                }
                Source::File(_) | Source::Run(_) => {}
                Source::Fusion { members, methods } => {
                    if members.is_empty() || methods.is_empty() {
                        return in_row(plan("at least one set of parameters", "none"));
                    }
                    let name = |member: usize| {
                        let entry = self.entries.get(member);
                        entry.map_or_else(|| (member + 1).to_string(), |entry| entry.name.clone())
                    };
                    if let Some(&later) = members.iter().find(|&&member| member >= position) {
                        return in_row(plan("members to be rows above the fusion", format!("`{}`", name(later))));
                    }
                    let mut seen = HashSet::new();
                    if let Some(&repeated) = members.iter().find(|&&member| !seen.insert(member)) {
                        return in_row(plan("each member once", format!("`{}` again", name(repeated))));
                    }
                }
            }
        }
        Ok(())
    }
}
