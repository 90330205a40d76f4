//! From tables on disk to clicks in memory, and titles in the forms that there are: `docs/reference/tables.md` describes every file
//! that is read here.

mod beir;
mod field;
mod judged;
mod log;
mod mapped;
mod minibatch;
mod reader;
mod titles;
mod tsv;

use serde::{Deserialize, Serialize};

pub use crate::error::TableFault;
pub(crate) use beir::{JsonLine, JsonLines, query as beir_query};
pub(crate) use judged::judged_of;
pub use judged::{JudgedRow, read_judged_rows};
pub use log::{ClickLog, LogConfig, LogStatistics, Pair};
pub use mapped::Mapped;
pub use minibatch::{Minibatch, MinibatchConfig, Minibatches, NegativeSource, Negatives};
pub use reader::{Click, ClickReader};
pub(crate) use titles::{CORPUS, FoundTitle, beir_file, each_title, open as open_titles};
pub use titles::{Title, Titles, read_titles, titles_file};
pub use tsv::{Line, MAX_LINE_BYTES, Row, TableReader};

/// The column with the texts that are ranked, unless another is named.
pub const TITLE: &str = "title";

/// How many skipped lines are kept to be shown.
pub const SHOWN_SKIPPED_LINES: usize = 5;

/// How much of a bad field a message repeats.
const SHOWN_CHARACTERS: usize = 40;

/// What the `count` column of a click log is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weighting {
    /// ln(1 + count): the thousandth click says less than the first.
    #[default]
    Log,
    /// The count itself.
    Linear,
    /// 1 for every pair; the column is not even read.
    None,
}

/// The lines that a reader left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many there were.
    pub count: u64,
    /// The first [`SHOWN_SKIPPED_LINES`] of them.
    pub first: Vec<SkippedLine>,
}

/// A line that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedLine {
    /// The line, counted from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: TableFault,
}

impl Skipped {
    /// Counts one more line.
    pub fn add(&mut self, line: u64, reason: TableFault) {
        self.count += 1;
        if self.first.len() < SHOWN_SKIPPED_LINES {
            self.first.push(SkippedLine { line, reason });
        }
    }
}

fn shown(field: &str) -> String {
    match field.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", &field[..end]),
        None => field.to_owned(),
    }
}
