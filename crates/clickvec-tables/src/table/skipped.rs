//! The rows that a reader left out.

use super::RowFault;

/// The number of skipped lines that are kept to be shown.
pub const SHOWN_SKIPPED_LINES: usize = 5;

/// The lines that a reader left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    /// The number of lines.
    pub count: u64,
    /// The first few lines.
    pub first: Vec<SkippedLine>,
    /// The number of lines that are not UTF-8.
    pub not_utf8: u64,
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
    /// Counts another line.
    pub fn add(&mut self, line: u64, reason: RowFault) {
        self.count += 1;
        self.not_utf8 += u64::from(reason.is_not_utf8());
        if self.first.len() < SHOWN_SKIPPED_LINES {
            self.first.push(SkippedLine { line, reason });
        }
    }
}
