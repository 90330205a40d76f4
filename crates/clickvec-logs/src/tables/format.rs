//! Formats of logs, and options for reading them.

use crate::columns::Columns;
use crate::events::Extract;

/// The format of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Fields separated by tabs, never quoted.
    Tsv,
    /// RFC 4180: fields separated by commas, in quotes where needed.
    Csv,
    /// One JSON object a line.
    Json,
    /// Apache Parquet.
    Parquet,
}

/// All formats.
pub const ALL: [Format; 4] = [Format::Tsv, Format::Csv, Format::Json, Format::Parquet];

impl Format {
    /// The name in `--format`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Tsv => "tsv",
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Parquet => "parquet",
        }
    }
}

/// Options for reading a log.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The format; `None`: recognised by the name and the first bytes.
    pub format: Option<Format>,
    /// The separator of fields in CSV; `None`: a comma, or a semicolon if the header has only those.
    pub delimiter: Option<u8>,
    /// The names of the columns, for a file without a header.
    pub header: Option<Vec<String>>,
    /// The names of the columns by role.
    pub columns: Columns,
    /// The reader of a preset's events in JSON.
    pub extract: Option<Extract>,
    /// Whether a row may end early; the missing fields are empty.
    pub short_rows: bool,
    /// Whether the log has TREC's form of judgments: fields separated by tabs or single blanks, and every grade from 1
    /// on is a click.
    pub judgments: bool,
}
