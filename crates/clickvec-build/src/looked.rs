//! The facts found in the files before the build.

use std::path::PathBuf;

use clickvec_logs::guess::GuessedColumns;
use serde::Serialize;

/// The facts found in the files.
#[derive(Debug, Clone, Serialize)]
pub struct Looked {
    /// The logs.
    pub logs: Vec<LogFacts>,
    /// The table of titles.
    pub titles: TitleFacts,
    /// The way the log's clicks get their titles.
    pub join: Join,
    /// The estimated time of the whole build, in seconds.
    pub seconds: f64,
}

/// The facts of a log.
#[derive(Debug, Clone, Serialize)]
pub struct LogFacts {
    /// The file.
    pub path: PathBuf,
    /// Its likely kind, for people.
    pub kind: String,
    /// The roles of its columns.
    pub columns: GuessedColumns,
}

/// The facts of the table of titles.
#[derive(Debug, Clone, Serialize)]
pub struct TitleFacts {
    /// The file.
    pub path: PathBuf,
    /// The number of titles.
    pub titles: u64,
    /// The name of the column of ids, if it is not `id`.
    pub id: Option<String>,
    /// The name of the column of texts, if it is not `title`.
    pub text: Option<String>,
}

/// The way clicks get their titles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// There are no clicks.
    None,
    /// The log has the texts of the titles.
    Texts,
    /// By the ids in this column of the log, which is usually `item`.
    Ids {
        /// The name of the column.
        column: String,
    },
}
