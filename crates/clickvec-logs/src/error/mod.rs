//! What can be wrong with a log: with a whole file, and with a single row.

mod asked;

use std::path::{Path, PathBuf};

use clickvec_tables::table::{RowFault, shown_names as names};

use crate::columns::Role;
use asked::left;

pub use asked::{Asked, Need, Reason};

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

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

/// Creates the fault of a value that is not valid for its column.
pub(crate) fn bad_value(role: Role, column: &str, text: &str) -> RowFault {
    let kind = match role {
        Role::Count => "bad count",
        Role::Position => "bad position",
        Role::Time => "bad time",
        Role::Clicked => "bad click",
        _ => "bad value",
    };
    RowFault::expected(kind, format_args!("{} in column `{column}`", role.value()), what(text))
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
