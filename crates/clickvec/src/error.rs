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
    /// A ranker, as it was asked for, is not what it should be.
    #[error("ranker {0}")]
    Ranker(#[from] SpecFault),
    /// Two systems cannot be compared query by query.
    #[error(transparent)]
    Pairing(#[from] PairingFault),
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
    /// A row is no text.
    #[error("expected UTF-8, found another byte at place {byte} of the line; save the table as UTF-8 text")]
    NotUtf8 {
        /// The first bad byte's place in the line, counted from 1.
        byte: usize,
    },
    /// A line is longer than what is read.
    #[error("expected a line of at most {limit} bytes, found a longer one; is this a table of text lines?")]
    LineTooLong {
        /// The bound.
        limit: usize,
    },
    /// A grade is none.
    #[error("expected a grade, one of the integers 0 to 4, found `{found}`; see docs/formats.md")]
    BadGrade {
        /// The field, shortened.
        found: String,
    },
    /// A title was judged twice for one query, and not alike.
    #[error("expected grade {first} as in line {first_line} for the same query and title, found {found}; keep one")]
    ConflictingGrade {
        /// The first grade.
        first: u8,
        /// Where it stands, counted from 1.
        first_line: u64,
        /// The other grade.
        found: u8,
    },
    /// An id in the column `query_id` or `title_id` stands for two texts.
    #[error(
        "expected the text of line {first_line} for `{id}` in column `{column}`, found `{found}`; \
         give each text an id of its own"
    )]
    ConflictingText {
        /// `query_id` or `title_id`.
        column: &'static str,
        /// The id, shortened.
        id: String,
        /// Where the first text stands, counted from 1.
        first_line: u64,
        /// The other text, shortened.
        found: String,
    },
    /// The table has a column of ids, and a row leaves it empty.
    #[error("expected an id in column `{column}`, found nothing; fill it in every row or leave the column out")]
    EmptyId {
        /// `query_id` or `title_id`.
        column: &'static str,
    },
    /// A line of a TREC file has more or fewer fields than its form.
    #[error("expected {expected} fields, `{form}`, found {found}; is this a TREC file?")]
    FieldCount {
        /// How many there should be.
        expected: usize,
        /// Their names.
        form: &'static str,
        /// How many there are.
        found: usize,
    },
    /// A rank in a TREC run is none.
    #[error("expected a rank, an integer of 0 or more, found `{found}`")]
    BadRank {
        /// The field, shortened.
        found: String,
    },
    /// A score is none; there is no order among NaNs.
    #[error("expected a score, a number that is not NaN, found `{found}`")]
    BadScore {
        /// The field, shortened.
        found: String,
    },
    /// A TREC file names a title twice for one query.
    #[error("expected each title once a query, found `{title}` again for query `{query}`; keep one of the lines")]
    RepeatedTitle {
        /// The query's id, shortened.
        query: String,
        /// The title's id, shortened.
        title: String,
    },
    /// What is to be written into a TREC file is empty or has white space, which separates fields there.
    #[error("expected an id without white space for a TREC file, found `{id}`; rename it")]
    UnfitId {
        /// The id or tag, shortened.
        id: String,
    },
}

/// What can be wrong with a ranker as it was asked for.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecFault {
    /// There is nothing before the colon.
    #[error("`{found}`: expected a name such as `bm25`, found none")]
    NoName {
        /// What was given, shortened.
        found: String,
    },
    /// A parameter is not `name=value`.
    #[error("`{ranker}`: expected parameters as `name=value,name=value`, found `{found}`")]
    NotAssigned {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter, shortened.
        found: String,
    },
    /// A value is no finite number.
    #[error("`{ranker}`: expected a number for `{parameter}`, found `{found}`")]
    NotNumber {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter, shortened.
        parameter: String,
        /// The value, shortened.
        found: String,
    },
    /// A parameter is given twice.
    #[error("`{ranker}`: expected each parameter once, found `{parameter}` again")]
    Repeated {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter, shortened.
        parameter: String,
    },
    /// The ranker has no such parameter.
    #[error("`{ranker}`: expected {}, found `{parameter}`", known_parameters(known))]
    UnknownParameter {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter, shortened.
        parameter: String,
        /// Those it has.
        known: Vec<&'static str>,
    },
    /// A value is outside its range.
    #[error("`{ranker}`: expected {least} to {most} for `{parameter}`, found {found}")]
    OutOfRange {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter.
        parameter: &'static str,
        /// The smallest allowed value.
        least: f64,
        /// The largest.
        most: f64,
        /// The value.
        found: f64,
    },
    /// A value is no whole number.
    #[error("`{ranker}`: expected a whole number for `{parameter}`, found {found}")]
    NotWhole {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter.
        parameter: &'static str,
        /// The value.
        found: f64,
    },
}

/// Why two systems cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PairingFault {
    /// One has more values than the other.
    #[error("expected as many queries for both systems, found {a} and {b}; evaluate both on the same judgments")]
    Lengths {
        /// How many the first has.
        a: usize,
        /// How many the second has.
        b: usize,
    },
    /// The queries are not the same.
    #[error(
        "expected the same queries for both systems, found `{a}` and `{b}` at place {place}; evaluate both on the same judgments"
    )]
    Queries {
        /// The first system's query id, shortened.
        a: String,
        /// The second's.
        b: String,
        /// Where they differ, counted from 1.
        place: usize,
    },
}

impl Error {
    /// An [`Error::Io`] for `path`.
    pub fn io(path: &Path, action: &'static str, source: std::io::Error) -> Error {
        Error::Io { path: path.to_owned(), action, source }
    }
}

/// The beginning of a field: a message repeats what it found, which may be hostile and megabytes long.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
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

fn known_parameters(known: &[&str]) -> String {
    match known {
        [] => "no parameters".to_owned(),
        known => format!("one of the parameters {}", known.join(", ")),
    }
}
