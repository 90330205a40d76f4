//! How a log is written, and how it is to be read.

use crate::columns::Columns;
use crate::events::Extract;

/// How a log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Fields between tabs, nothing quoted.
    Tsv,
    /// RFC 4180: fields between commas, in quotes where they need it.
    Csv,
    /// One JSON object a line.
    Json,
    /// Apache Parquet.
    Parquet,
}

/// All of them.
pub const ALL: [Format; 4] = [Format::Tsv, Format::Csv, Format::Json, Format::Parquet];

impl Format {
    /// As `--format` has it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Tsv => "tsv",
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Parquet => "parquet",
        }
    }
}

/// How a log is to be read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// `None`: by the name and the first bytes.
    pub format: Option<Format>,
    /// What separates the fields of CSV; `None` is a comma, or a semicolon if the header has only those.
    pub delimiter: Option<u8>,
    /// The names of the columns, for a file that has no header.
    pub header: Option<Vec<String>>,
    /// What the columns are called.
    pub columns: Columns,
    /// What reads the events of a preset out of JSON.
    pub extract: Option<Extract>,
    /// A row may end early: what it lacks is empty.
    pub short_rows: bool,
    /// TREC's form of judgments: fields between tabs or single blanks, and every grade from 1 on is a click.
    pub judgments: bool,
}
