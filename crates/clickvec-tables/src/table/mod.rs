//! The one reader of tables: TSV, CSV, JSON lines, Parquet and tables in memory, by the names of their columns.
//!
//! A [`Table`] is opened once, from a path, a pipe or memory. It recognises compression, format, separator and header. Select
//! columns by name, then read row by row into one [`Record`]:
//!
//! ```
//! use std::path::Path;
//! use clickvec_tables::table::{Next, Options, Record, Table};
//!
//! let csv = b"id,title\n7,\"Shoes, red\"\n";
//! let mut table = Table::read(Path::new("titles.csv"), Box::new(&csv[..]), &Options::default())?;
//! let title = table.require("title")?;
//! let mut record = Record::default();
//! assert_eq!(table.next(&mut record)?, Next::Row);
//! assert_eq!((record.line, record.get(title)), (2, Some("Shoes, red")));
//! # Ok::<(), clickvec_tables::Error>(())
//! ```
//!
//! Names are compared after trimming, ignoring ASCII case. Fields are passed on as they are: callers trim ids, numbers and flags,
//! and treat an id that is empty then as missing. Texts keep their blanks, which separate words.

mod clicked;
mod csv;
mod field;
mod format;
mod grade;
mod head;
mod json;
mod memory;
mod names;
mod parquet;
mod record;
mod separated;
mod skipped;
mod tsv;

use std::borrow::Cow;
use std::io::{BufRead, Cursor, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::shown::{listed, shortened};
use crate::{Error, ErrorKind, Lines, Result, Stop, files};
use format::MAX_HEADER_BYTES;

pub use clicked::{ClickColumn, ClickColumns, FIRST_ROWS, flag, unclear};
pub use field::{Field, field_names, plain_decimal, repeated_in_field};
pub use format::{Format, MAX_LINE_BYTES, Options, Width};
pub use grade::{MAX_GRADE, parse_grade};
pub use head::{Header, has_column, header, is_parquet, is_tensors, is_utf16};
pub use json::{lookup, no_text, scalar};
pub use memory::{MemoryTable, Rows, is_once};
use names::SHOWN_NAMES;
pub use names::{CLICKED, CLICKS, GRADES, is_header, plain_name, says_clicked, says_clicks, says_grade, shown_names};
pub use record::{Next, Record, RowFault};
pub use skipped::{SHOWN_SKIPPED_LINES, Skipped, SkippedLine};

/// What a table is read from.
type Source = Box<dyn BufRead + Send>;

/// An open table.
pub struct Table {
    path: PathBuf,
    form: Form,
    names: Vec<String>,
    /// The names of the selected columns, and whether they are required.
    selected: Vec<(String, bool)>,
    /// How often [`Table::next_row`] found the header again.
    repeated_headers: u64,
}

enum Form {
    Tsv(tsv::Reader),
    // Boxed, because its parser contains a table.
    Csv(Box<csv::Reader>),
    Json(json::Reader),
    Memory(memory::Reader),
    Parquet(parquet::Reader),
}

impl Table {
    /// Opens a table. It may be plain, gzip or zstd; `-` is standard input, and the path of a [`MemoryTable`] is that table.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`], and [`ErrorKind::Malformed`] for a file without a header or in a format that is not recognised.
    pub fn open(path: &Path, options: &Options) -> Result<Table> {
        if let Some(reader) = memory::Reader::open(path)? {
            let names = reader.names().to_vec();
            return Ok(Table::new(path, Form::Memory(reader), names));
        }
        let is_parquet = match options.format {
            Some(format) => format == Format::Parquet,
            None => is_parquet(&files::first_bytes::<4>(path)?),
        };
        if is_parquet {
            let (reader, names) = parquet::Reader::open(path)?;
            return Ok(Table::new(path, Form::Parquet(reader), names));
        }
        // A pipe can be read only once.
        Table::read_form(path, files::open(path)?, options, !files::is_stream(path))
    }

    /// Opens a table of which `source` has been looked at and still has everything: a file anew, since [`Table::open`] finds what a
    /// spreadsheet quoted.
    ///
    /// # Errors
    ///
    /// Those of [`Table::open`].
    pub fn reopen(path: &Path, source: Box<dyn BufRead + Send>, options: &Options) -> Result<Table> {
        if !files::is_stream(path) && path.is_file() {
            Table::open(path, options)
        } else {
            Table::read(path, source, options)
        }
    }

    /// Reads a table from a source that is already open. `path` is for messages.
    ///
    /// # Errors
    ///
    /// Those of [`Table::open`].
    pub fn read(path: &Path, source: Box<dyn BufRead + Send>, options: &Options) -> Result<Table> {
        Table::read_form(path, source, options, false)
    }

    fn read_form(path: &Path, mut source: Box<dyn BufRead + Send>, options: &Options, is_file: bool) -> Result<Table> {
        let head = head::first_line(&mut source).map_err(|error| Error::read_at(path, 1, error))?;
        if let Some(error) = head::other(path, &head) {
            return Err(error);
        }
        if is_utf16(&head) {
            return Err(head::utf16(path));
        }
        if is_tensors(&head) {
            return Err(head::malformed(path, "a table", "a model or another file of tensors"));
        }
        if is_parquet(&head) {
            return Err(parquet::not_a_file(path, if files::is_stream(path) { "in a pipe" } else { "compressed" }));
        }
        let format = match options.format {
            Some(format) => format,
            None => head::guess(path, &head)?,
        };
        let source: Source = Box::new(Cursor::new(head).chain(source));
        if format == Format::Json {
            let (reader, names) = json::Reader::new(path, Lines::new(source, options.max_row_bytes))?;
            return Ok(Table::new(path, Form::Json(reader), names));
        }
        let mut lines = Lines::new(source, options.max_row_bytes.min(MAX_HEADER_BYTES));
        let mut header = match options.header {
            None => head::read_header(path, &mut lines)?,
            Some(_) => Vec::new(),
        };
        // Excel names the separator before the header.
        let separator = header.strip_prefix(b"sep=").filter(|rest| rest.len() == 1).map(|rest| rest[0]);
        if separator.is_some() {
            header = head::read_header(path, &mut lines)?;
        }
        lines.set_limit(options.max_row_bytes);
        let (format, delimiter) = match format {
            // As some programs write all fields, and spreadsheets some.
            Format::Tsv if tsv::are_quoted(&header) => (Format::Csv, b'\t'),
            Format::Tsv if options.format.is_none() && is_file && tsv::has_quotes(path)? => (Format::Csv, b'\t'),
            _ => (format, csv::delimiter(&header, options.delimiter.or(separator))),
        };
        let names = match (&options.header, format) {
            (Some(names), _) => names.clone(),
            (None, Format::Csv) => csv::names(&header, delimiter),
            (None, _) => tsv::names(&header),
        };
        let (columns, width) = (names.len(), options.width);
        let bare = names.iter().map(|name| separated::bare_name(name)).collect();
        let rows = separated::Rows { lines, names: bare, columns, selected: Vec::new(), required: 0, width };
        let form = match format {
            Format::Csv => Form::Csv(Box::new(csv::Reader::new(rows, delimiter))),
            _ => Form::Tsv(tsv::Reader::new(rows, options.format.is_none() && !is_file)),
        };
        Ok(Table::new(path, form, names))
    }

    fn new(path: &Path, form: Form, names: Vec<String>) -> Table {
        Table { path: path.to_owned(), form, names, selected: Vec::new(), repeated_headers: 0 }
    }

    /// Returns the path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names of all columns; of JSON lines, those of the first thousand.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the columns whose fields are texts or numbers: in JSON lines the paths of such members, in other forms all names.
    pub fn paths(&self) -> Vec<String> {
        match &self.form {
            Form::Json(reader) => reader.leaves(),
            _ => self.names.clone(),
        }
    }

    /// Returns how often [`Table::next_row`] found the header again, as in concatenated files.
    pub fn repeated_headers(&self) -> u64 {
        self.repeated_headers
    }

    /// Returns whether there is a column of this name; in JSON lines, whether one of the first thousand has it.
    pub fn has(&self, name: &str) -> bool {
        match &self.form {
            Form::Json(reader) => reader.has(self.key(name)),
            Form::Parquet(reader) => reader.find(name).is_some(),
            Form::Tsv(_) | Form::Csv(_) | Form::Memory(_) => self.position(name).is_some(),
        }
    }

    /// Selects a column if there is one of this name. Returns its number in a [`Record`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`] if several columns have the name.
    pub fn column(&mut self, name: &str) -> Result<Option<usize>> {
        if self.has(name) { self.select(name, false, false).map(Some) } else { Ok(None) }
    }

    /// Selects a column that is only looked at: in memory its fields may be anything.
    ///
    /// # Errors
    ///
    /// Those of [`Table::column`].
    pub(super) fn watch(&mut self, name: &str) -> Result<Option<usize>> {
        if self.has(name) { self.select(name, false, true).map(Some) } else { Ok(None) }
    }

    /// Selects a column that every row of separated values must have, and at least one object of JSON lines.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`] if no column has the name, or several have it. JSON lines without it fail at their end.
    pub fn require(&mut self, name: &str) -> Result<usize> {
        if self.has(name) || matches!(self.form, Form::Json(_)) {
            return self.select(name, true, false);
        }
        Err(self.missing(name))
    }

    /// Selects a column that may be absent from JSON lines altogether.
    ///
    /// # Errors
    ///
    /// Those of [`Table::require`] for other forms.
    pub fn maybe(&mut self, name: &str) -> Result<usize> {
        if matches!(self.form, Form::Json(_)) { self.select(name, false, false) } else { self.require(name) }
    }

    /// Selects a column of lists, which [`Table::numbers`] reads.
    ///
    /// # Errors
    ///
    /// Those of [`Table::require`]. JSON lines need not have it.
    pub fn require_lists(&mut self, name: &str) -> Result<()> {
        if let Form::Json(_) = self.form { Ok(()) } else { self.require(name).map(drop) }
    }

    fn missing(&self, name: &str) -> Error {
        if let Some(error) = self.first_fault() {
            return error;
        }
        let expected = format!("a column `{}`", shortened(name));
        if let Form::Memory(_) = self.form {
            return Error::expected(ErrorKind::Malformed, expected, listed(&self.names, SHOWN_NAMES)).at(&self.path);
        }
        let scope = if matches!(self.form, Form::Json(_)) { "" } else { " in the header" };
        let error = Error::expected(ErrorKind::Malformed, expected + scope, shown_names(&self.names));
        error.help("see docs/reference/tables.md").at(&self.path)
    }

    /// Returns the error of JSON lines of which the first are all broken.
    pub fn first_fault(&self) -> Option<Error> {
        let Form::Json(json::Reader { fault: Some((line, found)), .. }) = &self.form else { return None };
        let error = Error::expected(ErrorKind::Malformed, "one JSON object a line", found.clone());
        Some(error.help("no line before has one; mend the lines").at_line(&self.path, *line))
    }

    fn select(&mut self, name: &str, required: bool, is_watched: bool) -> Result<usize> {
        let is_same = |(other, _): &(String, bool)| other.trim().eq_ignore_ascii_case(name.trim());
        if let Some(column) = self.selected.iter().position(is_same) {
            self.selected[column].1 |= required;
            return Ok(column);
        }
        let key = self.key(name).to_owned();
        let position = self.position(name);
        let repeated = position.is_some_and(|position| self.names[position + 1..].iter().any(|other| is(other, name)));
        if repeated && !matches!(self.form, Form::Json(_)) {
            let scope = if let Form::Memory(_) = self.form { "" } else { " in the header" };
            let expected = format!("one column `{}`{scope}", shortened(name));
            let error = Error::expected(ErrorKind::Malformed, expected, "several");
            return Err(error.help("rename all but one").at(&self.path));
        }
        match &mut self.form {
            Form::Tsv(reader) => reader.rows.select(position.unwrap_or_default(), required),
            Form::Csv(reader) => reader.rows.select(position.unwrap_or_default(), required),
            Form::Json(reader) => reader.select(&key),
            Form::Memory(reader) => reader.select(position.unwrap_or_default(), is_watched),
            Form::Parquet(reader) => {
                let path = reader.find(name).unwrap_or_default();
                reader.select(path);
            }
        }
        self.selected.push((name.to_owned(), required));
        Ok(self.selected.len() - 1)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|other| is(other, name))
    }

    /// The key of JSON lines that has this name.
    fn key<'a>(&'a self, name: &'a str) -> &'a str {
        match self.position(name) {
            Some(position) if !self.names.iter().any(|other| other == name) => &self.names[position],
            _ => name,
        }
    }

    /// Reads what comes next; a row is in `record`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] if reading fails, as it does when a compressed file was cut short; [`ErrorKind::Malformed`] for another header,
    /// and at the end of JSON lines that lack a required column; [`ErrorKind::Damaged`] for a damaged Parquet file;
    /// [`ErrorKind::Interrupted`] if the work of this thread should [stop](Stop).
    #[inline]
    pub fn next(&mut self, record: &mut Record) -> Result<Next> {
        Stop::of_thread().check()?;
        let line = record.line;
        let next = match &mut self.form {
            Form::Tsv(reader) => reader.next(record),
            Form::Csv(reader) => reader.next(record),
            Form::Json(reader) => reader.next(record),
            Form::Memory(reader) => return reader.next(&self.path, record),
            Form::Parquet(reader) => return reader.next(&self.path, record),
        };
        match next {
            Ok(Next::End) => self.check_seen(),
            // The rows after it have other columns.
            Ok(Next::Broken(fault)) if fault.is_other_header() => Err(fault.at_line(&self.path, record.line)),
            Ok(next) => Ok(next),
            Err(source) => Err(Error::read_at(&self.path, line + 1, source)),
        }
    }

    /// Reads the next row, for a reader that refuses broken ones; false at the end. A repeated header is left out and counted.
    ///
    /// # Errors
    ///
    /// Those of [`Table::next`], and [`ErrorKind::Malformed`] for a broken row.
    pub fn next_row(&mut self, record: &mut Record) -> Result<bool> {
        loop {
            match self.next(record)? {
                Next::Row => return Ok(true),
                Next::End => return Ok(false),
                Next::Header => self.repeated_headers += 1,
                Next::Broken(fault) => return Err(fault.at_line(&self.path, record.line)),
            }
        }
    }

    /// Checks at the end of JSON lines that every required column occurred.
    fn check_seen(&self) -> Result<Next> {
        match self.selected.iter().enumerate().find(|(column, (_, required))| *required && !self.saw(*column)) {
            Some((_, (name, _))) => Err(self.missing(name)),
            None => Ok(Next::End),
        }
    }

    /// Returns whether any row so far had a selected column; other forms than JSON lines have it in their header.
    pub fn saw(&self, column: usize) -> bool {
        match &self.form {
            Form::Json(reader) => reader.saw(column),
            _ => true,
        }
    }

    /// Returns the object of the current row, if the table is JSON lines.
    pub fn object(&self) -> Option<&Value> {
        match &self.form {
            Form::Json(reader) => Some(&reader.object),
            _ => None,
        }
    }

    /// Returns the object of the current row, if the table is JSON lines. Numbers with a fraction or an exponent are texts in it, as
    /// they were written.
    pub fn written_object(&self) -> Option<Cow<'_, Value>> {
        match &self.form {
            Form::Json(reader) => Some(reader.written()),
            _ => None,
        }
    }

    /// Reads the list of numbers that the current row has in a column of [`Table::require_lists`].
    ///
    /// # Errors
    ///
    /// What the row has instead, for a message.
    pub fn numbers(&self, name: &str, numbers: &mut Vec<f32>) -> Result<(), String> {
        numbers.clear();
        match &self.form {
            Form::Json(reader) => reader.numbers(name, numbers),
            Form::Parquet(reader) => reader.numbers(name, numbers),
            Form::Tsv(_) | Form::Csv(_) | Form::Memory(_) => Err("a text".to_owned()),
        }
    }

    /// Returns whether the first line of the table has the names of its columns.
    pub fn has_header(&self) -> bool {
        matches!(self.form, Form::Tsv(_) | Form::Csv(_))
    }

    /// Returns how many first lines of JSON lines were looked at for columns, and whether none of them is an object.
    pub fn first_lines(&self) -> Option<(usize, bool)> {
        match &self.form {
            Form::Json(reader) => Some((reader.looked_at, reader.has_no_object())),
            _ => None,
        }
    }
}

fn is(name: &str, other: &str) -> bool {
    name.trim().eq_ignore_ascii_case(other.trim())
}

#[cfg(test)]
mod tests;
