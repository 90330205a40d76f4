//! The rows that a reader left out.

use std::path::Path;

use super::RowFault;
use crate::shown::is_in_memory;

/// The number of skipped lines that are kept to be shown.
pub const SHOWN_SKIPPED_LINES: usize = 5;

/// The lines that a reader left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    /// The number of lines.
    pub count: u64,
    /// The first few lines.
    pub first: Vec<SkippedLine>,
    /// The number of headers that occur again, as in concatenated files. They are not among the lines.
    pub headers: u64,
    /// The number of lines that are not UTF-8.
    pub not_utf8: u64,
    /// Whether they are rows of a table in memory.
    pub in_memory: bool,
}

/// A line that was left out, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedLine {
    /// The line, counted from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: RowFault,
}

impl Skipped {
    /// Creates the count of the table at a path, before anything is left out.
    pub fn new(path: &Path) -> Skipped {
        Skipped { in_memory: is_in_memory(path), ..Skipped::default() }
    }

    /// Returns the first few lines as text: `line 3: expected …`.
    pub fn shown(&self) -> impl Iterator<Item = String> {
        let place = if self.in_memory { "row" } else { "line" };
        self.first.iter().map(move |line| format!("{place} {}: {}", line.line, line.reason))
    }

    /// Counts another line, or a header that occurs again.
    pub fn add(&mut self, line: u64, reason: RowFault) {
        if reason.is_repeated_header() {
            self.headers += 1;
            return;
        }
        self.count += 1;
        self.not_utf8 += u64::from(reason.is_not_utf8());
        if self.first.len() < SHOWN_SKIPPED_LINES {
            self.first.push(SkippedLine { line, reason });
        }
    }
}
