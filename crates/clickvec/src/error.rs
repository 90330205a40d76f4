//! One error type: what was expected, what was found, where, and what to do.

use std::path::{Path, PathBuf};

/// What every fallible function of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, one variant a place where it does.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read, write, map or rename a file.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, as a verb: `read`, `write`, `map`.
        action: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A table (clicks, judged, titles, TREC) is not what it should be.
    #[error("{}: {fault}", at_line(path, *line))]
    Table {
        /// The file.
        path: PathBuf,
        /// Its line, counted from 1; `None` where the fault is the whole file's.
        line: Option<u64>,
        /// What is wrong.
        fault: TableFault,
    },
}

/// What can be wrong with a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableFault {
    /// The header lacks a column.
    #[error("expected a column `{column}` in the header, found {}; see docs/formats.md", quoted(found))]
    MissingColumn {
        /// The name that was looked for.
        column: String,
        /// The header's names.
        found: Vec<String>,
    },
}

impl Error {
    /// An [`Error::Io`] for `path`.
    pub fn io(path: &Path, action: &'static str, source: std::io::Error) -> Error {
        Error::Io { path: path.to_owned(), action, source }
    }
}

fn at_line(path: &Path, line: Option<u64>) -> String {
    match line {
        Some(line) => format!("{}:{line}", path.display()),
        None => path.display().to_string(),
    }
}

fn quoted(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
