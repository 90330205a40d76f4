//! Reading tables from disk: tab-separated files with a header, BEIR's JSON lines, and the lines of both, with a
//! limit. `docs/reference/tables.md` describes all files that are read here.

mod beir;
pub(crate) mod field;
mod judged;
mod titles;
pub(crate) mod tsv;

pub use crate::error::TableFault;
pub use beir::{JsonLine, JsonLines, query as beir_query};
pub use clickvec_tables::titles::CORPUS;
pub(crate) use clickvec_tables::{FoundLine, Lines};
pub(crate) use field::Field;
pub use judged::{JudgedRow, judged_of};
pub use titles::beir_file;
pub use titles::{
    Title, TitleFile, Titles, TitlesSummary, for_each_document, for_each_title, read_titles, titles_file,
};
pub(crate) use tsv::{MAX_LINE_BYTES, Step, TableReader};

pub use clickvec_tables::table::RowFault;
pub use clickvec_tables::titles::TITLE;

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
    pub fn add(&mut self, line: u64, reason: impl Into<RowFault>) {
        let reason = reason.into();
        self.count += 1;
        self.not_utf8 += u64::from(reason.is_not_utf8());
        if self.first.len() < SHOWN_SKIPPED_LINES {
            self.first.push(SkippedLine { line, reason });
        }
    }
}
