//! A table of many systems: each is trained with every set of its free parameters, unless that was done before, judged
//! by cross validation, and compared with all others.
//!
//! A [`Plan`] says what to do, [`make`] does it and keeps finished work in a folder, and the [`Table`] has the
//! results.

mod cache;
mod fault;
mod fields;
mod folds;
mod full;
pub(crate) mod fusion;
mod maker;
mod memory;
mod models;
mod pairs;
mod plan;
mod processor;
mod rankers;
pub mod report;
mod resampling;
mod seeds;
pub mod spec;
mod statistics;
#[cfg(test)]
#[path = "../../../clickvec-eval/src/significance/testing.rs"]
mod testing;

use std::ops::ControlFlow;
use std::path::Path;

pub use self::folds::Folds;
pub use self::full::Full;
pub use self::pairs::{CONFIDENCE, PairComparison};
pub use self::plan::{Data, Entry, Plan, Source, Training, Validation};
pub use self::resampling::{Interval, RandomizationTest, Resampling};
pub use self::statistics::Statistics;
use clickvec::train;
use clickvec_eval::ranker::{self, VectorCoverage};
use clickvec_eval::{Evaluation, Ids, Judgments, Metric, Metrics, ReadCorpus, RunCoverage, Scores, TestSet};
use clickvec_tables::{Error, Result};

/// Options for making a table.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// The folder for finished work, which is created if needed.
    pub cache: &'a Path,
    /// The file of the program that makes the table. Another program makes everything again.
    pub program: &'a Path,
}

/// An event while a table is made.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The judged titles were read.
    TestSet(&'a TestSet),
    /// The corpus that rankers learn from was read.
    Corpus(&'a ReadCorpus),
    /// A row begins.
    Row {
        /// The row's name.
        name: &'a str,
        /// The row's position, counted from 0.
        position: usize,
    },
    /// A step of a ranker's training, or of fitting the weights of a fusion, is finished.
    Step {
        /// The system, or what is fused.
        system: &'static str,
        /// The progress.
        progress: ranker::Progress,
    },
    /// An event of a model's training.
    Training(&'a train::Event),
    /// A stored file is damaged, and is made again.
    Damaged {
        /// The file.
        path: &'a Path,
    },
    /// A set of parameters cannot be used, while others can.
    PointLeftOut {
        /// The row.
        row: &'a str,
        /// The reason.
        reason: &'a Error,
    },
    /// A row is left out for a reason of its own.
    RowLeftOut {
        /// The row.
        row: &'a str,
        /// The reason.
        reason: &'a Error,
    },
    /// The judged queries and titles that a run lacks.
    RunCoverage {
        /// The row.
        row: &'a str,
        /// The coverage.
        coverage: RunCoverage,
    },
    /// The judged texts that a table of vectors lacks.
    VectorCoverage {
        /// The row.
        row: &'a str,
        /// The coverage.
        coverage: VectorCoverage,
    },
    /// A row is finished, or left out.
    RowDone,
}

/// A receiver of events, which may break. Finished work is then stored.
pub type Watch<'a> = dyn FnMut(Event<'_>) -> ControlFlow<()> + 'a;

/// A finished table.
#[derive(Debug)]
pub struct Table {
    /// The judgments of all rows.
    pub judgments: Judgments,
    /// The fold of each query.
    pub folds: Folds,
    /// The rows, in the order of the plan.
    pub rows: Vec<Row>,
    /// The collection, if every row searches it.
    pub searched: Option<Searched>,
}

/// A collection that every row searches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Searched {
    /// Its titles.
    pub titles: u64,
    /// Judged titles that it lacks. No row can find them.
    pub missing: Ids,
}

/// A row of a table.
#[derive(Debug)]
pub struct Row {
    /// The row's name in the plan.
    pub name: String,
    /// The result, or why there is none.
    pub outcome: Result<Judged>,
}

/// A system with its judgment.
#[derive(Debug, Clone)]
pub struct Judged {
    /// A point for each set of parameters; in a fusion, one for each fold. If there are several seeds, that of the first.
    pub points: Vec<Point>,
    /// For each point, those of the other seeds.
    pub others: Vec<Vec<Point>>,
    /// The point for each fold.
    pub chosen: Vec<usize>,
    /// The evaluation of each query with the point of its fold, the mean over the seeds.
    pub evaluation: Evaluation,
    /// The mean over the queries for each seed.
    pub seeds: Vec<Metrics>,
    /// For each seed, the metrics of each query.
    pub by_seed: Vec<Vec<Metrics>>,
    /// The scores of each query's titles with the point of its fold, with the first seed.
    pub scores: Scores,
    /// The row's search of all titles, if the plan searches them.
    pub full: Option<Full>,
    /// Whether there is a point for each fold. Then only their members were chosen.
    pub by_fold: bool,
}

/// A system with one set of parameters, trained and scored.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Point {
    /// The parameters, as they were requested.
    pub parameters: String,
    /// The scores of each query's judged titles.
    pub scores: Scores,
    /// The training of its model, which other points may use too.
    pub training: TrainingFacts,
    /// The seconds of processor time that scoring took.
    pub score_seconds: f64,
    /// The bytes of the system on disk.
    pub bytes: u64,
    /// The number of weights of a model.
    pub weights: Option<u64>,
    /// The hits among all titles, if the plan searches them.
    found: full::Found,
}

/// Facts about the training of a model.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TrainingFacts {
    /// The seconds of processor time of training, over all runs if it was interrupted.
    pub seconds: f64,
    /// The mean loss of a pair in each epoch, if there are epochs.
    pub losses: Vec<f64>,
    /// The largest growth of the process's anonymous memory meanwhile, if the system reports it (Linux). Memory that the
    /// allocator still held from an earlier row, and reused, does not count.
    pub peak_bytes: Option<u64>,
    /// The fingerprint of the resulting file, set once the input files were seen not to have changed.
    fingerprint: Option<String>,
}

impl Judged {
    /// Returns the points that are used on some fold, of all seeds.
    pub fn chosen(&self) -> impl Iterator<Item = &Point> {
        self.chosen.iter().flat_map(|&position| std::iter::once(&self.points[position]).chain(&self.others[position]))
    }

    /// Returns the standard deviation of a metric's mean over the seeds; `None` with a single seed.
    pub fn spread(&self, metric: Metric) -> Option<f64> {
        seeds::deviation(self.seeds.iter().map(|mean| mean.get(metric)))
    }

    /// Returns the point at `position` for a seed, counted from 0. A point without a seed is the same for all.
    fn point(&self, position: usize, seed: usize) -> &Point {
        match seed.checked_sub(1) {
            Some(other) => self.others[position].get(other).unwrap_or(&self.points[position]),
            None => &self.points[position],
        }
    }

    /// Returns the seconds of processor time of the longest training among the chosen points.
    pub fn train_seconds(&self) -> f64 {
        self.chosen().map(|point| point.training.seconds).fold(0.0, f64::max)
    }

    /// Returns the size of the largest chosen point.
    pub fn bytes(&self) -> u64 {
        self.chosen().map(|point| point.bytes).max().unwrap_or(0)
    }

    /// Returns the number of weights of the largest chosen point, if it is a model.
    pub fn weights(&self) -> Option<u64> {
        self.chosen().filter_map(|point| point.weights).max()
    }

    /// Returns the most memory that training a chosen point took, as far as is known.
    pub fn peak_bytes(&self) -> Option<u64> {
        self.chosen().filter_map(|point| point.training.peak_bytes).max()
    }
}

/// Makes the table of a plan, or the rest of it. A system that cannot be trained on this data has a row with the reason.
///
/// # Errors
///
/// [`ErrorKind::Setting`](clickvec_tables::ErrorKind::Setting) for a plan that cannot be followed, before anything is trained; `ErrorKind::Interrupted` if `watch`
/// breaks; the errors of reading and writing files.
pub fn make(plan: &Plan, options: &Options<'_>, watch: &mut Watch<'_>) -> Result<Table> {
    maker::make(plan, options, watch)
}

/// Returns the size of all files in a folder. What cannot be read counts as nothing.
pub fn size_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        metadata => metadata.map_or(0, |metadata| metadata.len()),
    };
    entries.map(size).sum()
}

/// Reports an event; `ErrorKind::Interrupted` if the receiver breaks.
fn tell(watch: &mut Watch<'_>, event: Event<'_>) -> Result<()> {
    match watch(event) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(clickvec_tables::Error::interrupted()),
    }
}
