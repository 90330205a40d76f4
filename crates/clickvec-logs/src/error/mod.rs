//! What can be wrong with a log: with a whole file, and with a single row.

mod asked;
mod parquet;

use std::path::{Path, PathBuf};

use clickvec::error::NotAnObject;
use clickvec::internals::error::{CR_ALONE, NOT_UTF_8, UTF_16};

use crate::columns::Role;
use asked::left;

pub use asked::{Asked, Need, Reason};
pub use parquet::{BadPart, ParquetFault, ParquetPart};

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How many names of a header a message shows.
const SHOWN_NAMES: usize = 20;

/// A fault that keeps a log from being prepared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Opening, reading or writing a file failed.
    #[error(transparent)]
    File(#[from] clickvec::Error),
    /// A file as a whole is not valid.
    #[error("{}: {fault}", clickvec::internals::error::shown_input(path))]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: TableFault,
    },
    /// Too many rows are broken.
    #[error(
        "expected at most {allowed} % broken rows, found {} of {}{rows} rows ({:.2} %): {first}",
        broken,
        if *is_early { "the first " } else { "" },
        100.0 * *broken as f64 / (*rows).max(1) as f64
    )]
    TooManyBroken {
        /// The number of broken rows.
        broken: u64,
        /// The number of rows read so far.
        rows: u64,
        /// Whether reading stopped before the end.
        is_early: bool,
        /// The limit in per cent.
        allowed: f64,
        /// The first few broken rows, each with file, line and reason.
        first: String,
    },
    /// Requests do not fit together, or do not fit this log.
    #[error("{0}")]
    Asked(Asked),
    /// Nothing is left to write.
    #[error("expected pairs of a query and a title, found none left: {}", left(*rows, reasons))]
    NothingLeft {
        /// The number of rows read.
        rows: u64,
        /// Why they were left out, with the number for each reason.
        reasons: Vec<(Reason, u64)>,
    },
    /// One of the two tables would have no rows. Neither was written.
    #[error("{}: expected pairs for both tables, found none for this one, so neither was written", path.display())]
    EmptyPart {
        /// The table.
        path: PathBuf,
        /// Whether it is the one for validation.
        is_validation: bool,
    },
    /// No log was named.
    #[error("expected a log, found none")]
    NoLog,
}

impl From<clickvec_tables::Error> for Error {
    fn from(error: clickvec_tables::Error) -> Error {
        Error::File(error.into())
    }
}

/// A fault of a file as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableFault {
    /// The file is empty.
    #[error("expected a header line, found nothing; see docs/reference/prepare.md")]
    Empty,
    /// The header is not UTF-8.
    #[error("expected a header in UTF-8, found another byte at position {byte} of the line; {NOT_UTF_8}")]
    HeaderNotUtf8 {
        /// The position of the first invalid byte in the line, counted from 1.
        byte: usize,
    },
    /// The file is UTF-16.
    #[error("{UTF_16}")]
    Utf16,
    /// A model in the place of a table.
    #[error("expected a table, found a model or another file of tensors")]
    Tensors,
    /// The header is too long to be read.
    #[error(
        "expected a header of at most {limit} bytes, found a longer one; is this a log of text lines that end with LF or CR LF?"
    )]
    HeaderTooLong {
        /// The limit.
        limit: usize,
    },
    /// A column that is needed is missing.
    #[error("expected a column `{column}`, found {}{}", names(found), of.needs())]
    MissingColumn {
        /// The name that was looked for.
        column: String,
        /// The column's role.
        role: Role,
        /// The columns found.
        found: Vec<String>,
        /// The table that lacks it.
        of: InputTable,
    },
    /// A column that is needed occurs twice.
    #[error("expected one column `{column}` in the header, found several; rename all but one")]
    DuplicateColumn {
        /// The name.
        column: String,
    },
    /// Another file of the same log has other columns.
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
    /// A column is missing in the first lines and occurs later.
    #[error("expected the columns that the first {lines} lines have, found a column `{column}` in line {line}")]
    LateColumn {
        /// The column.
        column: String,
        /// The line.
        line: u64,
        /// The number of first lines.
        lines: usize,
        /// The role that its name suggests.
        role: Role,
    },
    /// The file is a JSON array and not JSON lines.
    #[error("expected one JSON object a line, found an array; split it first (jq -c '.[]')")]
    JsonArray,
    /// The format cannot be recognised.
    #[error("expected tabs or commas in the header, found neither")]
    UnknownFormat,
    /// The file is Parquet, which this build cannot read.
    #[error("expected CSV, TSV or JSON lines, found Parquet, which this build cannot read")]
    NoParquet,
    /// The Parquet file is not a plain file, so it cannot be read from its end.
    #[error("expected Parquet in a plain file, found it {place}; Parquet is read from its end, so name a plain file")]
    ParquetNotAFile {
        /// Where it is: compressed, or in a pipe.
        place: &'static str,
    },
    /// A Parquet file is broken.
    #[error("cannot read this Parquet file: {0}")]
    Parquet(ParquetFault),
    /// A table of titles or queries does not fit in memory.
    #[error("expected a table that fits into what is left of the memory, {megabytes} MB, found a larger one")]
    TooLarge {
        /// The limit.
        megabytes: usize,
    },
}

/// The tables that `prepare` reads.
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
    /// A hint at the columns that it must have, if these are always the same.
    fn needs(self) -> &'static str {
        match self {
            InputTable::Log => "",
            InputTable::Titles => "; a table of titles has the columns id and title",
            InputTable::Queries => "; a table of queries has the columns query_id and query",
        }
    }
}

/// A fault of a single row, which is left out and counted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowFault {
    /// The row has more or fewer fields than the header.
    #[error("expected {expected} columns as in the header, found {found}")]
    ColumnCount {
        /// The number in the header.
        expected: usize,
        /// The number in the row.
        found: usize,
    },
    /// The row is not UTF-8.
    #[error("expected UTF-8, found another byte at position {byte} of the line; {NOT_UTF_8}")]
    NotUtf8 {
        /// The position of the first invalid byte, counted from 1.
        byte: usize,
    },
    /// The row contains a NUL byte.
    #[error("expected text, found a NUL byte")]
    Nul,
    /// The row is too long.
    #[error("expected a row of at most {limit} bytes, found a longer one")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// A quote is never closed.
    #[error("expected a closing quote within {limit} bytes, found none; the lines after it are read on their own")]
    OpenQuote {
        /// The limit.
        limit: usize,
    },
    /// The line is not a JSON object.
    #[error("expected a JSON object, found {found}")]
    NotJson {
        /// What it is.
        found: NotAnObject,
    },
    /// An object has a key twice that may be something somebody typed.
    #[error(
        "expected a JSON object, found a key a second time in column {column}; its {characters} characters are not shown, since \
         somebody may have typed them"
    )]
    HiddenKeyTwice {
        /// The number of characters of the key.
        characters: usize,
        /// The column behind the second one, counted from 1, in bytes.
        column: usize,
    },
    /// A value is not valid for its column.
    #[error("expected {} in column `{column}`, found {found}", role.value())]
    BadValue {
        /// The column.
        column: String,
        /// The column's role.
        role: Role,
        /// What was found: a short number itself, of anything else only its kind.
        found: String,
    },
}

impl RowFault {
    /// The fault in two or three words. Rows are counted by it.
    pub fn kind(&self) -> &'static str {
        match self {
            RowFault::ColumnCount { .. } => "wrong number of columns",
            RowFault::NotUtf8 { .. } => "not UTF-8",
            RowFault::Nul => "NUL byte",
            RowFault::TooLong { .. } => "too long",
            RowFault::OpenQuote { .. } => "quote not closed",
            RowFault::NotJson { .. } | RowFault::HiddenKeyTwice { .. } => "not a JSON object",
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

/// The action for errors when the disk is full; the message names the folder.
pub(crate) const WRITE_TEMPORARY: &str = "write a temporary file here";
/// The action for errors when the disk is broken.
pub(crate) const READ_TEMPORARY: &str = "read a temporary file here";

impl Error {
    /// An [`Error::Table`] about `path`.
    pub fn table(path: &Path, fault: TableFault) -> Error {
        Error::Table { path: path.to_owned(), fault }
    }

    /// The same error, for a table that comes with the log.
    pub(crate) fn in_table(self, kind: InputTable) -> Error {
        match self {
            Error::Table { path, fault: TableFault::MissingColumn { column, role, found, .. } } => {
                Error::Table { path, fault: TableFault::MissingColumn { column, role, found, of: kind } }
            }
            other => other,
        }
    }

    /// An error of the operating system at `action` on `path`.
    pub fn io(path: &Path, action: &'static str, source: std::io::Error) -> Error {
        Error::File(clickvec::Error::io(path, action, source))
    }
}

impl From<Asked> for Error {
    fn from(asked: Asked) -> Error {
        Error::Asked(asked)
    }
}

/// Describes a field without repeating what somebody may have typed, since columns can be shifted.
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
    if names.iter().any(|name| name.contains('\r')) {
        return format!("a CR within the first line; {CR_ALONE}");
    }
    // The first line of a log without a header is something that people typed.
    if !crate::columns::is_header(names) {
        let columns = if names.len() == 1 { "1 column" } else { &format!("{} columns", names.len()) };
        return format!("{columns} whose names are not shown because the first line may not be a header");
    }
    clickvec::internals::error::listed(names, SHOWN_NAMES)
}
