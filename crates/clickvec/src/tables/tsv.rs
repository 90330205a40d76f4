//! Reading tab-separated values with a header, one line in memory at a time.

use std::io::{BufRead, Cursor, Read as _};
use std::path::{Path, PathBuf};

use super::{FoundLine, Lines};
use crate::error::TableFault;
use crate::files;
use crate::{Error, Result};

/// The longest line that is read. A longer line is broken, and is skipped without being held in memory.
pub const MAX_LINE_BYTES: usize = 64 << 20;
/// The longest header. It has a lower limit, because its names are stored one by one.
const MAX_HEADER_BYTES: usize = 1 << 20;
/// The bytes that say whether a file is a table at all, as many as [`is_tensors`] looks at.
const FIRST_BYTES: u64 = 9;

/// A reader of tables whose columns are found by the names in the header.
///
/// Fields are everything between two tabs, without quoting or escaping. Lines end in LF or CRLF. A UTF-8 byte order
/// mark is skipped, and empty lines are ignored. Names are compared after trimming, ignoring ASCII case.
pub struct TableReader {
    path: PathBuf,
    lines: Lines<Box<dyn BufRead + Send>>,
    header: Vec<String>,
    /// The number of columns that every row must have.
    required: usize,
    /// The current line without its end.
    text: String,
    /// The positions of the tabs in `text`, as many as the header has columns.
    tabs: Vec<u32>,
}

/// The result of [`TableReader::next`].
#[derive(Debug)]
pub enum Line<'a> {
    /// A row with all required columns.
    Whole(Row<'a>),
    /// A line to skip and count, or to refuse.
    Broken {
        /// The line, counted from 1.
        line: u64,
        /// The fault of the row.
        fault: TableFault,
    },
}

/// A row, which lives until the next one is read.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// The line, counted from 1.
    pub line: u64,
    text: &'a str,
    tabs: &'a [u32],
    columns: usize,
}

/// [`Line`] without a borrow, for use in a loop.
pub(crate) enum Step {
    Whole,
    Broken(TableFault),
    End,
}

impl TableReader {
    /// A reader of the table in a file (see [`files::open`]), whose header is read here.
    ///
    /// # Errors
    ///
    /// Those of [`files::open`] and of [`TableReader::from_reader`].
    pub fn open(path: &Path) -> Result<TableReader> {
        TableReader::from_reader(path, files::open(path)?)
    }

    /// A reader of a table that is already open, whose header is read here. `path` is for messages.
    ///
    /// # Errors
    ///
    /// [`Error::Table`] with [`TableFault::Empty`], [`TableFault::Utf16`], [`TableFault::Tensors`],
    /// [`TableFault::HeaderNotUtf8`] or [`TableFault::LineTooLong`];
    /// [`Error::ReadAt`] if reading fails.
    pub fn from_reader(path: &Path, mut source: Box<dyn BufRead + Send>) -> Result<TableReader> {
        let mut head = Vec::new();
        let read = source.by_ref().take(FIRST_BYTES).read_to_end(&mut head);
        read.map_err(|source| clickvec_tables::Error::read_at(path, 1, source))?;
        let other = other_than_table(&head);
        let source: Box<dyn BufRead + Send> = Box::new(Cursor::new(head).chain(source));
        let mut table = TableReader {
            path: path.to_owned(),
            lines: Lines::new(source, MAX_HEADER_BYTES),
            header: Vec::new(),
            required: 0,
            text: String::new(),
            tabs: Vec::new(),
        };
        if let Some(fault) = other {
            return Err(table.fault(None, fault));
        }
        match table.advance()? {
            // Without a byte order mark, every other byte of ASCII is 0.
            Step::Whole if table.text.contains('\0') => return Err(table.fault(None, TableFault::Utf16)),
            Step::Whole => {}
            Step::End => return Err(table.fault(None, TableFault::Empty)),
            Step::Broken(TableFault::NotUtf8 { byte }) => {
                return Err(table.fault(Some(table.line()), TableFault::HeaderNotUtf8 { byte }));
            }
            Step::Broken(fault) => return Err(table.fault(Some(table.line()), fault)),
        }
        table.header = table.text.split('\t').map(|name| name.trim().to_owned()).collect();
        table.lines.set_limit(MAX_LINE_BYTES);
        Ok(table)
    }

    /// The index of the first column with this name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|found| found.eq_ignore_ascii_case(name))
    }

    /// The index of a required column. From now on a row without it is broken.
    ///
    /// # Errors
    ///
    /// [`Error::Table`] with [`TableFault::MissingColumn`], or with [`TableFault::DuplicateColumn`] if several columns
    /// have the name.
    pub fn require(&mut self, name: &str) -> Result<usize> {
        let Some(column) = self.column(name) else {
            let fault = TableFault::MissingColumn { column: name.to_owned(), found: self.header.clone() };
            return Err(self.fault(None, fault));
        };
        if self.header[column + 1..].iter().any(|found| found.eq_ignore_ascii_case(name)) {
            return Err(self.fault(None, TableFault::DuplicateColumn { column: name.to_owned() }));
        }
        self.required = self.required.max(column + 1);
        Ok(column)
    }

    /// The index of a column that may be absent; otherwise like [`TableReader::require`].
    ///
    /// # Errors
    ///
    /// [`Error::Table`] with [`TableFault::DuplicateColumn`].
    pub(crate) fn optional(&mut self, name: &str) -> Result<Option<usize>> {
        self.column(name).map(|_| self.require(name)).transpose()
    }

    /// The next line that is not empty; `None` at the end.
    ///
    /// # Errors
    ///
    /// [`Error::ReadAt`] if reading fails, as it does when a compressed file was cut short.
    #[allow(clippy::should_implement_trait, reason = "a row borrows from the reader, which no Iterator can express")]
    pub fn next(&mut self) -> Result<Option<Line<'_>>> {
        Ok(match self.advance()? {
            Step::Whole => Some(Line::Whole(self.row())),
            Step::Broken(fault) => Some(Line::Broken { line: self.line(), fault }),
            Step::End => None,
        })
    }

    /// The last line read, counted from 1; at first that of the header.
    pub fn line(&self) -> u64 {
        self.lines.number()
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// An [`Error::Table`] about this file.
    pub(crate) fn fault(&self, line: Option<u64>, fault: TableFault) -> Error {
        Error::Table { path: self.path.clone(), line, fault }
    }

    /// The row that [`TableReader::advance`] found.
    pub(crate) fn row(&self) -> Row<'_> {
        Row { line: self.line(), text: &self.text, tabs: &self.tabs, columns: self.header.len() }
    }

    pub(crate) fn advance(&mut self) -> Result<Step> {
        loop {
            // Moves the buffer between Vec and String, so that UTF-8 is checked once and nothing is allocated.
            let mut bytes = std::mem::take(&mut self.text).into_bytes();
            match self.lines.next(&mut bytes) {
                Ok(FoundLine::Whole) => {}
                Ok(FoundLine::End) => return Ok(Step::End),
                Ok(FoundLine::TooLong) => {
                    return Ok(Step::Broken(TableFault::LineTooLong { limit: self.lines.limit() }));
                }
                Err(source) => {
                    return Err(clickvec_tables::Error::read_at(&self.path, self.line() + 1, source).into());
                }
            }
            match String::from_utf8(bytes) {
                Ok(text) => self.text = text,
                Err(error) => {
                    let byte = error.utf8_error().valid_up_to() + 1;
                    return Ok(Step::Broken(TableFault::NotUtf8 { byte }));
                }
            }
            if !self.text.is_empty() {
                return Ok(self.split());
            }
        }
    }

    fn split(&mut self) -> Step {
        // No more tabs than columns, to limit the work for a line of nothing but tabs.
        let tabs = memchr::memchr_iter(b'\t', self.text.as_bytes()).take(self.header.len());
        self.tabs.clear();
        // A line is at most MAX_LINE_BYTES long, so positions fit.
        self.tabs.extend(tabs.map(|tab| tab as u32));
        let found = self.tabs.len() + 1;
        if found < self.required {
            return Step::Broken(TableFault::TooFewColumns { expected: self.required, found });
        }
        if self.is_header() { Step::Broken(TableFault::HeaderAgain) } else { Step::Whole }
    }

    /// Whether the line has the names of all columns, two or more. A single one could be a query.
    fn is_header(&self) -> bool {
        let mut fields = self.text.split('\t').map(|field| field.trim_start_matches('\u{feff}').trim());
        self.header.len() > 1 && self.header.iter().all(|name| fields.next() == Some(name)) && fields.next().is_none()
    }
}

/// What is in place of a table, if its first bytes say so.
fn other_than_table(head: &[u8]) -> Option<TableFault> {
    match () {
        () if is_utf16(head) => Some(TableFault::Utf16),
        () if is_tensors(head) => Some(TableFault::Tensors),
        () => None,
    }
}

/// Whether a file begins as safetensors do: the length of a header in 8 bytes, and the header, an object. No header is as long
/// as 2^40 bytes.
pub fn is_tensors(head: &[u8]) -> bool {
    head.len() > 8 && head[8] == b'{' && head[5..8] == [0; 3]
}

/// Whether a file begins as Parquet does.
pub fn is_parquet(head: &[u8]) -> bool {
    head.starts_with(b"PAR1")
}

/// Whether the first bytes of a file are a byte order mark of UTF-16.
pub fn is_utf16(head: &[u8]) -> bool {
    head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff])
}

impl<'a> Row<'a> {
    /// The field in this column, if the row has it.
    pub fn get(&self, column: usize) -> Option<&'a str> {
        if column >= self.columns {
            return None;
        }
        let start = match column {
            0 => 0,
            _ => *self.tabs.get(column - 1)? as usize + 1,
        };
        let end = self.tabs.get(column).map_or(self.text.len(), |&tab| tab as usize);
        self.text.get(start..end)
    }

    /// [`Row::get`] for a required column, which the row is known to have.
    pub(crate) fn required(&self, column: usize) -> &'a str {
        self.get(column).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
