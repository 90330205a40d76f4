//! What was found in the files, before anything is made of them.

use std::path::PathBuf;

use clickvec_logs::guess::GuessedColumns;
use serde::Serialize;

/// What was found in the files.
#[derive(Debug, Clone, Serialize)]
pub struct Looked {
    /// The logs.
    pub logs: Vec<LogFacts>,
    /// The table of titles.
    pub titles: TitleFacts,
    /// How the log's clicks get their titles.
    pub join: Join,
    /// The estimated time of the whole build, in seconds.
    pub seconds: f64,
}

/// What a log is.
#[derive(Debug, Clone, Serialize)]
pub struct LogFacts {
    /// The file.
    pub path: PathBuf,
    /// What it seems to be, for people.
    pub kind: String,
    /// Which of its columns is what.
    pub columns: GuessedColumns,
}

/// What the table of titles has.
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

/// How clicks get their titles.
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
