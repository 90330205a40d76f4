//! Many systems in one table: each trained with every set of its free parameters, unless that is done already, judged by
//! cross validation, and compared with all others.
//!
//! A [`Plan`] says what is wanted, [`make`] does it and keeps what is finished in a folder, and the [`Table`] has every
//! number.

mod cache;
mod fusion;
mod maker;
mod memory;
mod models;
mod plan;
mod rankers;
mod statistics;

use std::ops::ControlFlow;
use std::path::Path;

pub use self::plan::{Data, Entry, Plan, Source, Training, Validation};
pub use self::statistics::Statistics;
use crate::error::{Error, Result};
use crate::eval::{Evaluation, Folds, Judgments, ReadCorpus, Scores, TestSet};
use crate::ranker;
use crate::train;

/// The options of making a table: where it keeps what is finished.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// The folder, which is made if it is not there.
    pub cache: &'a Path,
    /// The file of the program that makes the table: another program makes everything again.
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
    /// A row is begun.
    Row {
        /// Its name.
        name: &'a str,
        /// Its place, counted from 0.
        place: usize,
    },
    /// A step of a ranker's training is done.
    Step {
        /// The system.
        system: &'static str,
        /// The progress.
        progress: ranker::Progress,
    },
    /// Something happened in the training of a model.
    Training(&'a train::Event),
    /// A kept file was damaged, and is made again.
    Damaged {
        /// The file.
        path: &'a Path,
    },
    /// One set of parameters cannot be used; others can.
    PointLeftOut {
        /// The row.
        row: &'a str,
        /// Why.
        reason: &'a Error,
    },
    /// There is no row, for a reason of its own.
    RowLeftOut {
        /// The row.
        row: &'a str,
        /// Why.
        reason: &'a Error,
    },
    /// A row is finished, or left out.
    RowDone,
}

/// Gets told what happens, and says whether to go on. What is finished by then is kept.
pub type Watch<'a> = dyn FnMut(Event<'_>) -> ControlFlow<()> + 'a;

/// A table that was made.
#[derive(Debug)]
pub struct Table {
    /// The judgments by which all rows were judged.
    pub judgments: Judgments,
    /// The fold of each query.
    pub folds: Folds,
    /// The rows, in the order of the plan.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug)]
pub struct Row {
    /// The name that the plan gives it.
    pub name: String,
    /// The row, or why there is none.
    pub outcome: Result<Judged>,
}

/// A system that was judged.
#[derive(Debug, Clone)]
pub struct Judged {
    /// One for each set of parameters; of a fusion, one for each fold.
    pub points: Vec<Point>,
    /// The point that is used on each fold.
    pub chosen: Vec<usize>,
    /// Each query judged with the point of its fold.
    pub evaluation: Evaluation,
    /// The scores of each query's titles, by the point of its fold.
    pub scores: Scores,
    /// Whether there is a point for each fold: nothing was chosen among them, what they are made of was.
    pub by_fold: bool,
}

/// A system with one set of parameters, trained and scored.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Point {
    /// Its parameters, as they were asked for.
    pub parameters: String,
    /// The scores of each query's judged titles.
    pub scores: Scores,
    /// How the model that it uses was trained, which other points may use too.
    pub training: TrainingFacts,
    /// The seconds that scoring took.
    pub score_seconds: f64,
    /// The bytes that it takes on disk once it is saved.
    pub bytes: u64,
}

/// Facts about the training of a model.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TrainingFacts {
    /// The seconds that it took, over all runs if it was stopped on the way.
    pub seconds: f64,
    /// Mean loss of a pair in each epoch, where there are epochs.
    pub losses: Vec<f64>,
    /// The most anonymous memory that the process gained meanwhile, where the system says so (Linux). What the allocator
    /// still held of an earlier row's memory and used again is not in it.
    pub peak_bytes: Option<u64>,
    /// The fingerprint of the file that it ended with, once the files that it read were seen to be still those that the
    /// file is named by.
    fingerprint: Option<String>,
}

impl Judged {
    /// The points that are used on some fold.
    pub fn chosen(&self) -> impl Iterator<Item = &Point> {
        self.chosen.iter().map(|&place| &self.points[place])
    }

    /// The longest training of the points that were chosen.
    pub fn train_seconds(&self) -> f64 {
        self.chosen().map(|point| point.training.seconds).fold(0.0, f64::max)
    }

    /// The size of the largest of them.
    pub fn bytes(&self) -> u64 {
        self.chosen().map(|point| point.bytes).max().unwrap_or(0)
    }

    /// The most memory that the training of one of them took, as far as is known.
    pub fn peak_bytes(&self) -> Option<u64> {
        self.chosen().filter_map(|point| point.training.peak_bytes).max()
    }
}

/// Makes a table, or what is left to do of it. A system that cannot be trained on what there is has a row that says why.
///
/// # Errors
///
/// [`Error::Plan`] for a plan that cannot be followed, before anything is trained; [`Error::Cancelled`] if `watch` says
/// so; what reading and writing files can fail with.
pub fn make(plan: &Plan, options: &Options<'_>, watch: &mut Watch<'_>) -> Result<Table> {
    maker::make(plan, options, watch)
}

/// Goes on, or ends with [`Error::Cancelled`].
fn tell(watch: &mut Watch<'_>, event: Event<'_>) -> Result<()> {
    match watch(event) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled),
    }
}
