//! What can be wrong with tables: clicks, judged titles, titles, TREC files.

use super::listed;

/// How many names of a header a message repeats.
const SHOWN_NAMES: usize = 20;

/// The names of a header as a message shows them, with what it lacks if commas seem to separate them.
fn header(names: &[String]) -> String {
    let shown = listed(names, SHOWN_NAMES);
    match names {
        [line] if line.contains([',', ';']) => format!("{shown}, a line without the tabs that separate columns"),
        _ => shown,
    }
}

/// What can be wrong with a table.
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
    /// The first line of a collection is no header.
    #[error(
        "expected a column `{column}` in the header, found {}; see docs/reference/tables.md; where the first line is a document, put \
         the line id<TAB>{title} before it",
        header(found)
    )]
    NoTitlesHeader {
        /// The name that was looked for first.
        column: &'static str,
        /// The name of the column of titles.
        title: String,
        /// The first line's fields.
        found: Vec<String>,
    },
    /// There is not even a header.
    #[error("expected a header line, found nothing; see docs/reference/tables.md")]
    Empty,
    /// The header is no text.
    #[error("expected a header in UTF-8, found other bytes; save the table as UTF-8 text")]
    HeaderNotUtf8,
    /// The header has a column twice that is needed.
    #[error("expected one column `{column}` in the header, found several; rename all but one")]
    DuplicateColumn {
        /// The name.
        column: String,
    },
    /// A row ends before the last column that is needed.
    #[error("expected at least {expected} columns, found {found}; see docs/reference/tables.md")]
    TooFewColumns {
        /// How many columns it takes to reach all that are needed.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A row is no text.
    #[error("expected UTF-8, found another byte at place {byte} of the line; save the text as UTF-8")]
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
    /// A number is none, or none that is allowed.
    #[error("expected a finite number of 0 or more in column `{column}`, found `{found}`")]
    BadNumber {
        /// The column.
        column: &'static str,
        /// The field, shortened.
        found: String,
    },
    /// Weight times count is beyond an f32.
    #[error("expected a weight below 3.4e38 (after `weight` times `count`), found a larger one; scale the column down")]
    WeightTooLarge,
    /// An id names two titles.
    #[error("expected a new id, found `{id}`, which stands in line {first_line} already; ids must be unique")]
    DuplicateId {
        /// The id, shortened.
        id: String,
        /// Where it stands first.
        first_line: u64,
    },
    /// A grade is none.
    #[error("expected a grade, one of the integers 0 to 4, found `{found}`; see docs/reference/tables.md")]
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
    #[error(
        "expected an id in column `{column}`, found nothing; fill it in every row, or leave the column out where it is not needed"
    )]
    EmptyId {
        /// `id`, `query_id` or `title_id`.
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
    /// A line of JSON lines is no object.
    #[error("expected a JSON object, found something else ({found}); see docs/reference/tables.md")]
    NotJson {
        /// What the parser said.
        found: String,
    },
    /// A JSON object lacks a member, or has something else there.
    #[error("expected {wanted} in the member `{member}`, found {found}; see docs/reference/tables.md")]
    BadMember {
        /// The member's name.
        member: String,
        /// What should be there.
        wanted: &'static str,
        /// The value, shortened, or `nothing`.
        found: String,
    },
    /// A topic of a TREC file lacks its number or its query.
    #[error("expected {missing} in the topic that begins here, found none; see docs/reference/tables.md")]
    IncompleteTopic {
        /// What it should have, with its tags.
        missing: &'static str,
    },
    /// What is to be written into a TREC file is empty or has white space, which separates fields there.
    #[error("expected an id without white space for a TREC file, found `{id}`; rename it")]
    UnfitId {
        /// The id or tag, shortened.
        id: String,
    },
}

/// What can be wrong with a click log as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogFault {
    /// No line is a pair of texts.
    #[error(
        "expected pairs of a query and a title, found none ({skipped} lines were broken, {without_words} had a side \
         without words); see docs/reference/tables.md"
    )]
    NoPairs {
        /// Lines that could not be read.
        skipped: u64,
        /// Pairs of which a side has no word.
        without_words: u64,
    },
    /// No line is a title with a word.
    #[error("expected titles with words, found none; see docs/reference/tables.md")]
    NoTitles,
    /// No pair weighs more than nothing.
    #[error(
        "expected pairs to learn from, found {pairs} whose weights or counts are all 0; see docs/reference/tables.md"
    )]
    NoWeight {
        /// Pairs.
        pairs: u64,
    },
}
