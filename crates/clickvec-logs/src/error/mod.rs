//! What can be wrong with a log: with a whole file, and with one of its rows.

mod asked;

use std::path::{Path, PathBuf};

use crate::columns::Role;
use asked::left;

pub use asked::{Asked, Need, Reason};

/// What every fallible function of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How many names of a header a message repeats.
const SHOWN_NAMES: usize = 20;

/// Why a log could not be prepared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Opening, reading or writing a file failed.
    #[error(transparent)]
    File(#[from] clickvec::Error),
    /// A file as a whole is not what it should be.
    #[error("{}: {fault}", clickvec::internals::error::shown(path))]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: TableFault,
    },
    /// More rows are broken than is allowed.
    #[error(
        "expected at most {allowed} % broken rows, found {} of {}{rows} rows ({:.2} %): {first}",
        broken,
        if *is_early { "the first " } else { "" },
        100.0 * *broken as f64 / (*rows).max(1) as f64
    )]
    TooManyBroken {
        /// Rows that are broken.
        broken: u64,
        /// Rows read until then.
        rows: u64,
        /// Whether more would have followed.
        is_early: bool,
        /// The bound in percent.
        allowed: f64,
        /// The first few, each with file, line and reason.
        first: String,
    },
    /// What was asked for cannot be had together, or not of this log.
    #[error("{0}")]
    Asked(Asked),
    /// Nothing is left to write.
    #[error("expected pairs of a query and a title, found none that stays: {}", left(*rows, reasons))]
    NothingLeft {
        /// Rows that were read.
        rows: u64,
        /// What became of them, and how many.
        reasons: Vec<(Reason, u64)>,
    },
    /// No log was named.
    #[error("expected a log, found none")]
    NoLog,
}

/// What is wrong with a file as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableFault {
    /// There is nothing in it.
    #[error("expected a header line, found nothing; see docs/reference/prepare.md")]
    Empty,
    /// The header is no text.
    #[error("expected a header in UTF-8, found other bytes; save the log as UTF-8 text")]
    HeaderNotUtf8,
    /// The file is UTF-16.
    #[error("expected UTF-8, found UTF-16; save the log as UTF-8 text (iconv -f UTF-16 -t UTF-8)")]
    Utf16,
    /// The header is longer than what is read.
    #[error("expected a header of at most {limit} bytes, found a longer one; is this a log of text lines?")]
    HeaderTooLong {
        /// The bound.
        limit: usize,
    },
    /// A needed column is not there.
    #[error("expected a column `{column}`, found {}{}", names(found), of.needs())]
    MissingColumn {
        /// The name that was looked for.
        column: String,
        /// What it says.
        role: Role,
        /// The names that are there.
        found: Vec<String>,
        /// Where it is missing.
        of: InputTable,
    },
    /// A needed column is there twice.
    #[error("expected one column `{column}` in the header, found several; rename all but one")]
    DuplicateColumn {
        /// The name.
        column: String,
    },
    /// Another file of the same log has columns that this one lacks, or the other way round.
    #[error(
        "expected the columns of {}, {}, found {}; prepare logs of different forms one by one",
        clickvec::internals::error::shown(first),
        names(expected),
        names(found)
    )]
    OtherColumns {
        /// The first file.
        first: PathBuf,
        /// Its columns that are used.
        expected: Vec<String>,
        /// The columns of this file that are used.
        found: Vec<String>,
    },
    /// A column that only later lines have.
    #[error("expected the columns that the first {lines} lines have, found a column `{column}` in line {line}")]
    LateColumn {
        /// The column.
        column: String,
        /// Where.
        line: u64,
        /// Lines that were looked at first.
        lines: usize,
        /// What its name says that it is.
        role: Role,
    },
    /// A JSON array instead of lines.
    #[error("expected one JSON object a line, found an array; take it apart first (jq -c '.[]')")]
    JsonArray,
    /// The format cannot be told.
    #[error("expected tabs or commas in the header, found neither")]
    UnknownFormat,
    /// Parquet, but this program cannot read it.
    #[error("expected CSV, TSV or JSON lines, found Parquet, which this build cannot read")]
    NoParquet,
    /// Parquet that cannot be read where it is.
    #[error("expected Parquet in a plain file, found it {place}; Parquet is read from its end, so name a plain file")]
    ParquetNotAFile {
        /// Compressed, or in a pipe.
        place: &'static str,
    },
    /// A Parquet file is broken.
    #[error("cannot read this Parquet file: {0}")]
    Parquet(String),
    /// A table of titles or queries has more in it than memory allows.
    #[error("expected a table that fits into {megabytes} MB of memory, found a larger one")]
    TooLarge {
        /// The bound.
        megabytes: usize,
    },
}

/// Which table of `prepare` a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputTable {
    /// A log.
    Log,
    /// The table that gives items their titles.
    Titles,
    /// The table that gives queries their texts.
    Queries,
}

impl InputTable {
    /// The columns that it must have, if that is always the same.
    fn needs(self) -> &'static str {
        match self {
            InputTable::Log => "",
            InputTable::Titles => "; a table of titles has the columns id and title",
            InputTable::Queries => "; a table of queries has the columns query_id and query",
        }
    }
}

/// What is wrong with one row. It is left out and counted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowFault {
    /// More or fewer fields than the header.
    #[error("expected {expected} columns as in the header, found {found}")]
    ColumnCount {
        /// The header's.
        expected: usize,
        /// The row's.
        found: usize,
    },
    /// No text.
    #[error("expected UTF-8, found another byte at place {byte} of the line")]
    NotUtf8 {
        /// Counted from 1.
        byte: usize,
    },
    /// A NUL byte: no text either.
    #[error("expected text, found a NUL byte")]
    Nul,
    /// Longer than what is read.
    #[error("expected a row of at most {limit} bytes, found a longer one")]
    TooLong {
        /// The bound.
        limit: usize,
    },
    /// A quote is opened and never closed.
    #[error("expected a closing quote within {limit} bytes, found none; the lines after it are read on their own")]
    OpenQuote {
        /// The bound.
        limit: usize,
    },
    /// Not a JSON object.
    #[error("expected a JSON object, found {found}")]
    NotJson {
        /// What the parser says.
        found: String,
    },
    /// A value of a kind that this column cannot have.
    #[error("expected {} in column `{column}`, found {found}", role.value())]
    BadValue {
        /// The column.
        column: String,
        /// What it says.
        role: Role,
        /// What is there instead: a short number itself, otherwise only what it is.
        found: String,
    },
}

impl RowFault {
    /// The fault in two or three words, by which rows are counted.
    pub fn kind(&self) -> &'static str {
        match self {
            RowFault::ColumnCount { .. } => "wrong number of columns",
            RowFault::NotUtf8 { .. } => "not UTF-8",
            RowFault::Nul => "NUL byte",
            RowFault::TooLong { .. } => "too long",
            RowFault::OpenQuote { .. } => "quote not closed",
            RowFault::NotJson { .. } => "not a JSON object",
            RowFault::BadValue { role, .. } => match role {
                Role::Count => "bad count",
                Role::Position => "bad position",
                Role::Time => "bad time",
                Role::Clicked => "bad click",
                _ => "bad value",
            },
        }
    }
}

/// What fails with a full disk, for messages that name the folder.
pub(crate) const WRITE_TEMPORARY: &str = "write a temporary file here";
/// What fails with a broken disk.
pub(crate) const READ_TEMPORARY: &str = "read a temporary file here";

impl Error {
    /// An [`Error::Table`] about `path`.
    pub fn table(path: &Path, fault: TableFault) -> Error {
        Error::Table { path: path.to_owned(), fault }
    }

    /// The same for a table that comes with the log.
    pub(crate) fn in_table(self, kind: InputTable) -> Error {
        match self {
            Error::Table { path, fault: TableFault::MissingColumn { column, role, found, .. } } => {
                Error::Table { path, fault: TableFault::MissingColumn { column, role, found, of: kind } }
            }
            other => other,
        }
    }

    /// The operating system failed at `action` on `path`.
    pub fn io(path: &Path, action: &'static str, source: std::io::Error) -> Error {
        Error::File(clickvec::Error::io(path, action, source))
    }
}

impl From<Asked> for Error {
    fn from(asked: Asked) -> Error {
        Error::Asked(asked)
    }
}

/// What a field has instead of what it should, without what somebody may have typed: a field can be shifted.
pub(crate) fn what(field: &str) -> String {
    let field = field.trim();
    match field.chars().count() {
        0 => "nothing".to_owned(),
        1..=8 if field.bytes().all(|byte| byte.is_ascii_digit() || b"+-.".contains(&byte)) => format!("`{field}`"),
        length => format!("other text ({length} characters)"),
    }
}

fn names(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    // The first line of a log without a header is something that people typed.
    if !crate::columns::is_header(names) {
        let columns = if names.len() == 1 { "1 column" } else { &format!("{} columns", names.len()) };
        return format!("{columns} whose names are not shown, since the first line may be no header");
    }
    clickvec::internals::error::listed(names, SHOWN_NAMES)
}
