//! What a training run says while it runs: numbers, which the caller may show.

use super::{Agreement, Score};
use crate::clicks::{LogStatistics, Section, TeacherCoverage};
use crate::tables::Skipped;

/// What a training run reports while it runs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The log is being read.
    Reading {
        /// Pairs so far.
        pairs: u64,
    },
    /// The log was read.
    Log {
        /// What was found.
        statistics: LogStatistics,
        /// Lines of the clicks that were left out.
        skipped: Skipped,
        /// Lines of each file of titles that were left out.
        skipped_titles: Vec<Skipped>,
        /// Trigrams in the dictionary.
        trigrams: usize,
        /// Weights of both towers.
        parameters: u64,
    },
    /// The teacher's vectors were read.
    Teacher(TeacherCoverage),
    /// Training continues from a checkpoint.
    Resumed {
        /// What is learnt from.
        section: Section,
        /// Of this section, counted from 1.
        epoch: u32,
        /// Minibatches of that epoch that are done.
        minibatch: u64,
    },
    /// A minibatch is done.
    Minibatch {
        /// What is learnt from.
        section: Section,
        /// Of this section, counted from 1.
        epoch: u32,
        /// Epochs of this section.
        epochs: u32,
        /// Pairs of an epoch.
        of_pairs: u64,
        /// Minibatches of this epoch that are done.
        minibatch: u64,
        /// Minibatches in an epoch.
        minibatches: u64,
        /// Pairs in this minibatch.
        pairs: u64,
        /// Mean loss of its pairs.
        loss: f64,
    },
    /// An epoch is done.
    Epoch(EpochReport),
    /// Training ends before its last epoch.
    StoppedEarly {
        /// Epochs done.
        epoch: u32,
        /// The best of them.
        best: u32,
        /// Whether the schedule's last stretch, of low momentum, was not reached.
        schedule_cut: bool,
    },
}

/// An epoch in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochReport {
    /// What was learnt from.
    pub section: Section,
    /// Of this section, counted from 1.
    pub epoch: u32,
    /// Epochs of this section.
    pub epochs: u32,
    /// Mean loss of a pair.
    pub loss: f64,
    /// Pairs of the epoch, divided by its seconds.
    pub pairs_per_second: f64,
    /// Wall time of the minibatches, sampling included, and in this process's first epoch the time it
    /// took to read and hash the log; of this process, if the epoch was resumed.
    pub seconds: f64,
    /// Pairs for which no title was eligible as a negative: they add no loss.
    pub without_negatives: u64,
    /// What the validation said.
    pub validation: Option<Score>,
    /// How the model's similarities agree with the teacher's, if there is one.
    pub agreement: Option<Agreement>,
    /// Whether the model of this epoch is the one to be kept so far.
    pub kept: bool,
}
