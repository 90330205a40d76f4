//! Faults of tables: clicks, judged titles, titles, TREC files.

use super::{NotAnObject, listed};

/// How many names of a header a message shows.
const SHOWN_NAMES: usize = 20;

pub use clickvec_tables::shown::{CR_ALONE, NOT_UTF_8, UTF_16};

/// Returns the names of a header for a message, with a hint if lines seem to end with CR, or columns to be separated by commas.
fn header(names: &[String]) -> String {
    let shown = listed(names, SHOWN_NAMES);
    match names {
        _ if names.iter().any(|name| name.contains('\r')) => format!("{shown}; {CR_ALONE}"),
        [line] if line.contains([',', ';']) => format!("{shown}, a line without the tabs that separate columns"),
        _ => shown,
    }
}

/// Most rows that are left out have one kind of fault, whatever reads them.
impl From<TableFault> for clickvec_tables::table::RowFault {
    fn from(fault: TableFault) -> clickvec_tables::table::RowFault {
        match fault {
            TableFault::NotUtf8 { byte } => clickvec_tables::table::RowFault::not_utf8(byte),
            fault => clickvec_tables::table::RowFault::new("bad row", fault.to_string()),
        }
    }
}

/// A fault of a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableFault {
    /// The header lacks a column.
    #[error("expected a column `{column}` in the header, found {}; see docs/reference/tables.md", header(found))]
    MissingColumn {
        /// The name that was looked for.
        column: String,
        /// The header's names.
        found: Vec<String>,
    },
    /// Titles with grades in the place of clicks.
    #[error(
        "expected clicks, found judged titles: the column `grade`; if these are clicks, rename it; see docs/reference/tables.md"
    )]
    JudgedTitles,
    /// A model in the place of a table.
    #[error("expected a table, found a model or another file of tensors")]
    Tensors,
    /// The file is empty.
    #[error("expected a header line, found nothing; see docs/reference/tables.md")]
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
    /// A column that is needed occurs twice in the header.
    #[error("expected one column `{column}` in the header, found several; rename all but one")]
    DuplicateColumn {
        /// The name.
        column: String,
    },
    /// A field of several columns names one of them twice.
    #[error("expected each column once in the field to read, found `{column}` twice; name it once")]
    RepeatedInField {
        /// The name.
        column: String,
    },
    /// A row has too few columns.
    #[error("expected at least {expected} columns, found {found}; see docs/reference/tables.md")]
    TooFewColumns {
        /// The number of columns needed.
        expected: usize,
        /// The number of columns found.
        found: usize,
    },
    /// A row is not UTF-8.
    #[error("expected UTF-8, found another byte at position {byte} of the line; {NOT_UTF_8}")]
    NotUtf8 {
        /// The position of the first invalid byte in the line, counted from 1.
        byte: usize,
    },
    /// A line is the header once more, as where files were joined.
    #[error("expected a row, found the header again")]
    HeaderAgain,
    /// A line is too long to be read.
    #[error(
        "expected a line of at most {limit} bytes, found a longer one; is this a table of text lines that end with LF or CR LF?"
    )]
    LineTooLong {
        /// The limit.
        limit: usize,
    },
    /// A score is not a finite number.
    #[error("expected a finite number in column `score`, found `{found}`")]
    NotAScore {
        /// The field, shortened.
        found: String,
    },
    /// Two titles have the same id.
    #[error("expected a new id, found `{id}`, which line {first_line} has already; ids must be unique")]
    DuplicateId {
        /// The id, shortened.
        id: String,
        /// The line of the first title with this id.
        first_line: u64,
    },
    /// A field is not a grade.
    #[error("expected a grade, one of the integers 0 to 10, found `{found}`; see docs/reference/tables.md")]
    BadGrade {
        /// The field, shortened.
        found: String,
    },
    /// A row has no grade.
    #[error("expected a grade, one of the integers 0 to 10, found nothing; fill it in, or take the row out")]
    EmptyGrade,
    /// A title has two different grades for the same query.
    #[error("expected grade {first} as in line {first_line} for the same query and title, found {found}; keep one")]
    ConflictingGrade {
        /// The first grade.
        first: u8,
        /// The line of the first grade, counted from 1.
        first_line: u64,
        /// The other grade.
        found: u8,
    },
    /// An id in the column `query_id` or `title_id` belongs to two texts.
    #[error(
        "expected the text of line {first_line} for `{id}` in column `{column}`, found `{found}`; \
         give each text an id of its own"
    )]
    ConflictingText {
        /// `query_id` or `title_id`.
        column: &'static str,
        /// The id, shortened.
        id: String,
        /// The line of the first text, counted from 1.
        first_line: u64,
        /// The other text, shortened.
        found: String,
    },
    /// The table has a column of ids, and it is empty in a row.
    #[error(
        "expected an id in column `{column}`, found nothing; fill it in every row, or leave the column out where it is not needed"
    )]
    EmptyId {
        /// `id`, `query_id` or `title_id`.
        column: &'static str,
    },
    /// A line of a TREC file has too few or too many fields.
    #[error("expected {expected} fields, `{form}`, found {found}; is this a TREC file?")]
    FieldCount {
        /// The expected number of fields.
        expected: usize,
        /// The names of the fields.
        form: &'static str,
        /// The number of fields found.
        found: usize,
    },
    /// A field of a TREC run is not a rank.
    #[error("expected a rank, an integer of 0 or more, found `{found}`")]
    BadRank {
        /// The field, shortened.
        found: String,
    },
    /// A field is not a score. NaN is not allowed, because NaNs have no order.
    #[error("expected a score, a number that is not NaN, found `{found}`")]
    BadScore {
        /// The field, shortened.
        found: String,
    },
    /// A TREC file lists a title twice for the same query.
    #[error("expected each title once for a query, found `{title}` again for query `{query}`; keep one of the lines")]
    RepeatedTitle {
        /// The query's id, shortened.
        query: String,
        /// The title's id, shortened.
        title: String,
    },
    /// A line of a JSON lines file is not an object.
    #[error("expected a JSON object, found {found}; see docs/reference/tables.md")]
    NotJson {
        /// What it is.
        found: NotAnObject,
    },
    /// A member of a JSON object is missing or has the wrong type.
    #[error("expected {wanted} in the member `{member}`, found {found}; see docs/reference/tables.md")]
    BadMember {
        /// The member's name.
        member: String,
        /// The expected contents.
        wanted: &'static str,
        /// The value, shortened, or `nothing`.
        found: String,
    },
    /// A topic of a TREC file has no number or no query.
    #[error("expected {missing} in the topic that begins here, found none; see docs/reference/tables.md")]
    IncompleteTopic {
        /// What is missing, with its tags.
        missing: &'static str,
    },
    /// An id for a TREC file is empty or has white space, which separates fields there.
    #[error("expected an id without white space for a TREC file, found `{id}`; rename it")]
    UnfitId {
        /// The id or tag, shortened.
        id: String,
    },
}
