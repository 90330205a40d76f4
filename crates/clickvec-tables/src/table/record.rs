//! One row of a table.

use std::fmt;
use std::path::Path;

use crate::shown::encoding_advice;
use crate::{Error, ErrorKind};

/// A row: the fields of the columns that were selected. It is reused from row to row, so no field is allocated.
#[derive(Debug, Clone, Default)]
pub struct Record {
    pub(super) text: String,
    /// The position of each column's field in `text`.
    pub(super) spans: Vec<Option<(u32, u32)>>,
    /// The columns of a table in memory whose field is neither a text nor a number, and what it is.
    pub(super) refused: Vec<(usize, String)>,
    /// The line on which the row begins, counted from 1; in Parquet and in memory, the number of the row.
    pub line: u64,
}

impl Record {
    /// Returns the field of a column; `None` if the row has none. It may be empty.
    #[inline]
    pub fn get(&self, column: usize) -> Option<&str> {
        let (start, end) = (*self.spans.get(column)?)?;
        self.text.get(start as usize..end as usize)
    }

    /// Empties the record and makes room for as many columns.
    pub fn clear(&mut self, columns: usize) {
        self.text.clear();
        self.refused.clear();
        self.spans.clear();
        self.spans.resize(columns, None);
    }

    /// Appends the field of a column.
    pub fn push(&mut self, column: usize, field: &str) {
        let start = self.text.len() as u32;
        self.text.push_str(field);
        self.spans[column] = Some((start, self.text.len() as u32));
    }

    /// Leaves out the field of a column that is neither a text nor a number. Rows with it are refused if the column is read, and not if it
    /// is only looked at.
    pub fn refuse(&mut self, column: usize, found: String) {
        self.refused.push((column, found));
    }
}

/// What comes next in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// A row, which is now in the record.
    Row,
    /// The header once more, as in concatenated files.
    Header,
    /// A row to leave out and count, or to refuse; the record has its line.
    Broken(RowFault),
    /// The end.
    End,
}

/// Why a row cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowFault {
    kind: &'static str,
    message: String,
}

impl RowFault {
    /// Creates the fault `expected X, found Y`. `kind` says it in two or three words.
    pub fn expected(kind: &'static str, expected: impl fmt::Display, found: impl fmt::Display) -> RowFault {
        RowFault { kind, message: format!("expected {expected}, found {found}") }
    }

    /// Creates a fault with a message of its own.
    pub fn new(kind: &'static str, message: impl Into<String>) -> RowFault {
        RowFault { kind, message: message.into() }
    }

    /// Creates the fault of a row that is not UTF-8.
    pub fn not_utf8(row: &[u8]) -> RowFault {
        let byte = std::str::from_utf8(row).map_or_else(|error| error.valid_up_to(), str::len) + 1;
        let found = format!("another byte at position {byte} of the line; {}", encoding_advice(row));
        RowFault::expected(NOT_UTF8_KIND, "UTF-8", found)
    }

    /// Creates the fault of a row over the limit.
    pub fn too_long(limit: usize) -> RowFault {
        RowFault::expected("too long", format_args!("a row of at most {limit} bytes"), "a longer one")
    }

    /// Creates the fault of a header that occurs again, as in concatenated files.
    pub fn repeated_header() -> RowFault {
        RowFault::expected(HEADER_KIND, "a row", "the header again")
    }

    /// Creates the fault of another header, as in concatenated tables of different forms.
    pub(super) fn other_header() -> RowFault {
        let found = "another header; read the tables one by one";
        RowFault::expected(OTHER_HEADER_KIND, "rows of the columns in the first line", found)
    }

    /// Returns whether the row is another header.
    pub(super) fn is_other_header(&self) -> bool {
        self.kind == OTHER_HEADER_KIND
    }

    /// Returns whether the row is the header again.
    pub fn is_repeated_header(&self) -> bool {
        self.kind == HEADER_KIND
    }

    /// Converts the fault into an error, for a reader that refuses broken rows.
    pub fn at_line(self, path: &Path, line: u64) -> Error {
        Error::new(ErrorKind::Malformed, self.message).at_line(path, line)
    }

    /// Returns the fault in two or three words. Rows are counted by it.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Returns whether the row is not UTF-8.
    pub fn is_not_utf8(&self) -> bool {
        self.kind == NOT_UTF8_KIND
    }
}

const NOT_UTF8_KIND: &str = "not UTF-8";
const HEADER_KIND: &str = "repeated header";
const OTHER_HEADER_KIND: &str = "another header";

impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
