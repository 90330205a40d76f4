//! What can be wrong with a log: with a whole file, and with one of its rows.

use std::path::{Path, PathBuf};

/// What every fallible function of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How much of a name a message repeats.
const SHOWN_CHARACTERS: usize = 40;
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
    #[error("{}: {fault}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: TableFault,
    },
    /// More rows are broken than is allowed.
    #[error(
        "expected at most {allowed} % broken rows, found {} of {}{rows} rows ({:.2} %); mend the log, check --format and the columns, \
         or allow more with --max-bad: {first}",
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
    #[error("expected pairs of a query and a title, found none that stays: {0}")]
    NothingLeft(String),
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
    #[error("expected a column `{column}`, found {}; {}", names(found), advice(option))]
    MissingColumn {
        /// The name that was looked for.
        column: String,
        /// The names that are there.
        found: Vec<String>,
        /// The option that names another column.
        option: &'static str,
    },
    /// A needed column is there twice.
    #[error("expected one column `{column}` in the header, found several; rename all but one")]
    DuplicateColumn {
        /// The name.
        column: String,
    },
    /// Another file of the same log has columns that this one lacks, or the other way round.
    #[error("expected the columns of {}, {}, found {}; prepare logs of different forms one by one", first.display(), names(expected), names(found))]
    OtherColumns {
        /// The first file.
        first: PathBuf,
        /// Its columns that are used.
        expected: Vec<String>,
        /// The columns of this file that are used.
        found: Vec<String>,
    },
    /// A column that only later lines have.
    #[error(
        "expected the columns that the first {lines} lines have, found a column `{column}` in line {line}; say what it is \
         with {option}, or give it another name"
    )]
    LateColumn {
        /// The column.
        column: String,
        /// Where.
        line: u64,
        /// Lines that were looked at first.
        lines: usize,
        /// The option that names it.
        option: &'static str,
    },
    /// A JSON array instead of lines.
    #[error("expected one JSON object a line, found an array; take it apart first (jq -c '.[]')")]
    JsonArray,
    /// The format cannot be told.
    #[error("expected tabs or commas in the header, found neither; name the format with --format")]
    UnknownFormat,
    /// Parquet, but this program cannot read it.
    #[error(
        "expected CSV, TSV or JSON lines, found Parquet, which this program was built without; build it with `cargo build --release --features parquet`"
    )]
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
    #[error("expected a table that fits into {megabytes} MB of memory, found a larger one; give more with --memory")]
    TooLarge {
        /// The bound.
        megabytes: usize,
    },
}

/// What cannot be done as it was asked for.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Asked {
    /// A column is needed for an option.
    #[error("`{option}` needs {what}; name the column with `{column}`")]
    NeedsColumn {
        /// The option.
        option: &'static str,
        /// What the column should say.
        what: &'static str,
        /// The option that names it.
        column: &'static str,
    },
    /// The log has columns, but nothing to fit in them.
    #[error(
        "`--correct-position-bias` expects rows of titles that were shown, clicked or not, at several positions; found {0}; run without it"
    )]
    NoPositions(String),
    /// The columns say which item was clicked, and nothing says what it is called.
    #[error(
        "expected --titles FILE, a table that gives each item its title, since the log has only items; or --item-as-title if items are titles"
    )]
    NoTitles,
    /// A log that is read twice comes from a pipe.
    #[error("{what} is read twice, so it cannot come from standard input; name a file")]
    ReadTwice {
        /// What.
        what: &'static str,
    },
    /// A preset needs a file.
    #[error("`--preset {preset}` needs `{option} FILE`: {what}")]
    PresetNeeds {
        /// The preset.
        preset: &'static str,
        /// The option.
        option: &'static str,
        /// What the file is.
        what: &'static str,
    },
    /// A preset knows its columns.
    #[error("`--preset {preset}` knows the columns of its log; leave --header out")]
    PresetHeader {
        /// The preset.
        preset: &'static str,
    },
    /// An output is a file that the shell has opened.
    #[error("{}: expected a file, a pipe or standard output, found a redirection to a file; name the file itself", path.display())]
    Redirection {
        /// The output.
        path: PathBuf,
    },
    /// One query has more titles than memory allows.
    #[error(
        "expected the titles of one query to fit into {megabytes} MB of memory, found more; give more with --memory"
    )]
    QueryTooLarge {
        /// The bound.
        megabytes: usize,
    },
    /// A preset fixes the format.
    #[error("`--preset {preset}` reads {expected}, found `--format {found}`; leave --format out")]
    PresetFormat {
        /// The preset.
        preset: &'static str,
        /// Its format.
        expected: &'static str,
        /// What was asked for.
        found: &'static str,
    },
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
    #[error("expected {expected} in column `{column}`, found {found}")]
    BadValue {
        /// The column.
        column: String,
        /// What it should be.
        expected: &'static str,
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
            RowFault::BadValue { expected, .. } => match *expected {
                crate::columns::A_COUNT => "bad count",
                crate::columns::A_POSITION => "bad position",
                crate::columns::A_TIME => "bad time",
                crate::columns::A_CLICK => "bad click",
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

    /// The same with advice for a table beside the log, whose columns no option names.
    pub(crate) fn advise(self, option: &'static str) -> Error {
        match self {
            Error::Table { path, fault: TableFault::MissingColumn { column, found, .. } } => {
                Error::Table { path, fault: TableFault::MissingColumn { column, found, option } }
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

/// The beginning of a field, without what a terminal would obey.
pub(crate) fn shown(field: &str) -> String {
    let mut text: String =
        field.chars().take(SHOWN_CHARACTERS).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if field.chars().nth(SHOWN_CHARACTERS).is_some() {
        text.push('…');
    }
    text
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
        return format!("{columns} whose names are not shown, since the first line may be no header (--header)");
    }
    let list: Vec<String> = names.iter().take(SHOWN_NAMES).map(|name| format!("`{}`", shown(name))).collect();
    let more = names.len().saturating_sub(SHOWN_NAMES);
    if more > 0 { format!("{} and {more} more", list.join(", ")) } else { list.join(", ") }
}

fn advice(option: &str) -> String {
    match option {
        "--title-column" => "name it with --title-column, or name the column of item ids with --item-column and the \
                             table of their titles with --titles"
            .to_owned(),
        "--titles" => "the table of --titles has the columns id and title".to_owned(),
        "--queries" => "the table of --queries has the columns query_id and query".to_owned(),
        option => format!("name it with {option}"),
    }
}
