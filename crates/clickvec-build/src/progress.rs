//! The progress of a build.

use clickvec_tables::named;
use std::ops::ControlFlow;

use clickvec_eval::{Contest, training};
use clickvec_logs::Report;
use serde::Serialize;

use crate::looked::Looked;

named! {
    /// A step of a build.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Step {
        /// The files are examined.
        Look = "looking at the files",
        /// The clicks of the logs are counted.
        Count = "counting clicks",
        /// The teacher encodes titles and queries.
        Teach = "encoding titles and queries with the teacher",
        /// A model learns, without the clicks of some queries that are held out.
        Learn = "learning",
        /// The index is compared with BM25.
        Test = "testing",
        /// A model learns all clicks.
        LearnAll = "learning all clicks, also those held out",
        /// The index is written.
        Index = "making the index",
    }
}

/// An event of a build. Serialized, it is an object with its name as `event`.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Progress<'a> {
    /// A step begins.
    Step {
        /// The step.
        step: Step,
        /// Its number, counted from 1.
        number: usize,
        /// The number of all steps.
        of: usize,
    },
    /// The files have been examined, and fit together.
    Looked(&'a Looked),
    /// An interrupted build of the same files is resumed.
    Resumed,
    /// An interrupted build was of other files or settings, so this one starts afresh.
    StartedAfresh,
    /// Rows of the logs have been read.
    Reading {
        /// The number of rows.
        rows: u64,
    },
    /// The clicks have been counted.
    Counted(&'a Report),
    /// Learning begins, with so many epochs.
    Epochs {
        /// Epochs of the titles.
        titles: u32,
        /// Epochs of the clicks; 0 without a log.
        clicks: u32,
    },
    /// Texts have been encoded.
    Encoding {
        /// The number so far.
        texts: u64,
        /// The number of all texts.
        of: u64,
    },
    /// All titles have been encoded, and the files of the index are written.
    Writing,
    /// Queries of the comparison have been answered.
    Answered {
        /// The number so far.
        queries: u64,
        /// The number of all queries.
        of: u64,
    },
    /// The index has been compared.
    Tested(&'a Contest),
    /// An event of the training.
    #[serde(untagged)]
    Training(training::Progress<'a>),
}

/// A function that gets the progress, and may break.
pub type OnProgress<'f> = dyn FnMut(Progress<'_>) -> ControlFlow<()> + 'f;
