//! The events that a training run reports. These are numbers; showing them is up to the caller.

use serde::{Serialize, Serializer};

use super::{Agreement, Score, StartReport};
use crate::clicks::{HeldOut, ScoreCoverage, TeacherCoverage};
use crate::settings::{LogStatistics, Section};
use crate::tables::Skipped;

/// A report of a training run. Serialized, it is an object with its name as `event`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The log is being read.
    Reading {
        /// Pairs read so far.
        pairs: u64,
    },
    /// The log has been read.
    Log {
        /// The statistics of the log.
        #[serde(flatten)]
        statistics: LogStatistics,
        /// Lines of the clicks that were left out.
        #[serde(rename = "broken", serialize_with = "lines")]
        skipped: Skipped,
        /// Lines of each file of titles that were left out.
        #[serde(rename = "broken_titles", serialize_with = "lines_of_all")]
        skipped_titles: Vec<Skipped>,
        /// Trigrams in the dictionary.
        trigrams: usize,
        /// Whole words in the dictionary.
        words: usize,
        /// Weights of both towers.
        parameters: u64,
    },
    /// The teacher's vectors were read.
    Teacher(TeacherCoverage),
    /// The teacher's scores were read.
    TeacherScores(ScoreCoverage),
    /// Queries are held out of the clicks, or none if there are too few. The validation judges by them.
    HeldOut(HeldOut),
    /// Training starts from weights that were fitted to the teacher's vectors, as its settings ask; `None` if from random ones,
    /// because the encoder does not add up or the vectors say too little.
    Start {
        /// The figures of the fit.
        #[serde(flatten)]
        fitted: Option<StartReport>,
    },
    /// Training continues from a checkpoint.
    Resumed {
        /// The section that the run is learning from.
        section: Section,
        /// The epoch of this section, counted from 1.
        epoch: u32,
        /// Finished minibatches of this epoch.
        minibatch: u64,
    },
    /// A minibatch is finished.
    Minibatch {
        /// The section that the run is learning from.
        section: Section,
        /// The epoch of this section, counted from 1.
        epoch: u32,
        /// The number of epochs of this section.
        epochs: u32,
        /// The number of pairs in an epoch.
        of_pairs: u64,
        /// Finished minibatches of this epoch.
        minibatch: u64,
        /// The number of minibatches in an epoch.
        minibatches: u64,
        /// Pairs in this minibatch.
        pairs: u64,
        /// Mean loss of its pairs.
        loss: f64,
    },
    /// An epoch is finished.
    Epoch(EpochReport),
    /// Training ends before its last epoch.
    #[serde(rename = "stopped")]
    StoppedEarly {
        /// Finished epochs.
        epoch: u32,
        /// The best epoch.
        best: u32,
        /// Whether the run ended before the last part of the schedule, in which momentum is low.
        schedule_cut: bool,
    },
}

/// The figures of an epoch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EpochReport {
    /// The section that the epoch learnt from.
    pub section: Section,
    /// The epoch of this section, counted from 1.
    pub epoch: u32,
    /// The number of epochs of this section.
    pub epochs: u32,
    /// Mean loss of a pair.
    pub loss: f64,
    /// The pairs of the epoch divided by the seconds it took.
    pub pairs_per_second: f64,
    /// Wall time of the minibatches, sampling included. The first epoch also includes the time to read and hash the
    /// log. If the epoch was resumed, only the time of this process counts.
    pub seconds: f64,
    /// Pairs for which no title could serve as a negative. They add nothing to the loss.
    pub without_negatives: u64,
    /// The score of the validation. Serialized, its figures.
    #[serde(skip_serializing_if = "has_no_figures", serialize_with = "figures")]
    pub validation: Option<Score>,
    /// The agreement of the model's similarities with the teacher's, if there is a teacher that knows some queries (titles, if
    /// there are no clicks) and at least two titles.
    #[serde(rename = "teacher", skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
    /// The share of the variance of the titles' vectors that the projection of the members keeps, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variance: Option<f64>,
    /// Whether this epoch's model is the one to keep so far.
    pub kept: bool,
}

/// Serializes the first lines that were left out, each with the reason.
fn lines<S: Serializer>(skipped: &Skipped, serializer: S) -> Result<S::Ok, S::Error> {
    lines_of_all(std::slice::from_ref(skipped), serializer)
}

/// Serializes [`lines`] of several files.
fn lines_of_all<S: Serializer>(skipped: &[Skipped], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(skipped.iter().flat_map(Skipped::shown))
}

fn has_no_figures(score: &Option<Score>) -> bool {
    score.as_ref().is_none_or(|score| score.figures.is_empty())
}

fn figures<S: Serializer>(score: &Option<Score>, serializer: S) -> Result<S::Ok, S::Error> {
    let figures = score.iter().flat_map(|score| &score.figures);
    serializer.collect_map(figures.map(|(name, value)| (name, value)))
}
