//! Logs as rows of fields, in any format: TSV, CSV, JSON lines, Parquet.

mod csv;
mod format;
mod head;
mod header;
mod json;
#[cfg(feature = "parquet")]
mod parquet;
mod record;
mod tsv;

use std::io::{BufRead, Cursor, Read};
use std::path::{Path, PathBuf};

use clickvec::internals::files;
use clickvec::internals::tables::{is_parquet, is_tensors, is_utf16};

use crate::columns::{self, Columns, ROLES, Role};
use crate::error::{Error, InputTable, Result, TableFault};
use head::{first_line, guess, looks_like_parquet, read_header};
use header::{Rows, find_columns};
use record::Lines;

pub use format::{ALL, Format, Options};
#[cfg(feature = "parquet")]
pub use parquet::{check_parquet, failed as parquet_failed, guard_parquet};
pub use record::{MAX_ROW_BYTES, Next, Record};

/// An open log.
pub struct LogTable {
    path: PathBuf,
    source: Source,
    has: [bool; ROLES],
    names: Vec<String>,
}

enum Source {
    Tsv(tsv::Reader),
    // Boxed, because its parser contains a table.
    Csv(Box<csv::Reader>),
    Json(json::Reader),
    #[cfg(feature = "parquet")]
    Parquet(parquet::Reader),
}

impl LogTable {
    /// A log, opened, with its columns found. It may be plain, gzip or zstd; `-` is standard input.
    ///
    /// # Errors
    ///
    /// [`Error::File`], and [`Error::Table`] for a file without a header, without a column that was named, or in a
    /// format that is not recognised or supported.
    pub fn open(path: &Path, options: &Options) -> Result<LogTable> {
        if looks_like_parquet(path, options)? {
            return LogTable::open_parquet(path, options);
        }
        LogTable::read(path, files::open(path)?, options)
    }

    #[cfg(feature = "parquet")]
    fn open_parquet(path: &Path, options: &Options) -> Result<LogTable> {
        if files::is_stream(path) {
            return Err(Error::table(path, TableFault::ParquetNotAFile { place: "in a pipe" }));
        }
        let (reader, found) = parquet::Reader::open(path, options)?;
        Ok(LogTable { path: path.to_owned(), source: Source::Parquet(reader), has: found.has, names: found.names })
    }

    #[cfg(not(feature = "parquet"))]
    fn open_parquet(path: &Path, _: &Options) -> Result<LogTable> {
        Err(Error::table(path, TableFault::NoParquet))
    }

    /// [`LogTable::open`] for a source that is already open. `path` is for messages.
    ///
    /// # Errors
    ///
    /// Those of [`LogTable::open`].
    pub fn read(path: &Path, mut source: Box<dyn BufRead + Send>, options: &Options) -> Result<LogTable> {
        let fault = |fault| Error::table(path, fault);
        let head = first_line(&mut source).map_err(|error| Error::io(path, "read", error))?;
        if is_utf16(&head) {
            return Err(fault(TableFault::Utf16));
        }
        if is_tensors(&head) {
            return Err(fault(TableFault::Tensors));
        }
        if is_parquet(&head) {
            let place = if files::is_stream(path) { "in a pipe" } else { "compressed" };
            return Err(fault(match cfg!(feature = "parquet") {
                true => TableFault::ParquetNotAFile { place },
                false => TableFault::NoParquet,
            }));
        }
        let format = match options.format {
            Some(format) => format,
            None => guess(path, &head).map_err(fault)?,
        };
        // Judgments are separated by tabs or by blanks.
        let first = head.trim_ascii_start().split(|&byte| byte == b'\n').next().unwrap_or_default();
        let (format, delimiter) = match options.judgments {
            true if first.contains(&b'\t') => (Format::Tsv, None),
            true => (Format::Csv, Some(b' ')),
            false => (format, options.delimiter),
        };
        let options = &Options { format: Some(format), delimiter, ..options.clone() };
        let mut lines = Lines::new(Box::new(Cursor::new(head).chain(source)), MAX_ROW_BYTES);
        if format == Format::Json {
            let (reader, found) = json::Reader::new(path, lines, options)?;
            return Ok(LogTable {
                path: path.to_owned(),
                source: Source::Json(reader),
                has: found.has,
                names: found.names,
            });
        }
        let mut header = Vec::new();
        if options.header.is_none() {
            read_header(path, &mut lines, &mut header)?;
        }
        let delimiter = csv::delimiter(&header, options.delimiter);
        let names = match &options.header {
            Some(names) => names.clone(),
            None if format == Format::Csv => csv::names(&header, delimiter),
            None => String::from_utf8_lossy(&header).split('\t').map(str::to_owned).collect(),
        };
        let found = find_columns(path, names, &options.columns)?;
        let (columns, short_rows) = (found.names.len(), options.short_rows);
        let rows = Rows { lines, header, columns, wanted: found.wanted, short_rows };
        let source = match format {
            Format::Csv => Source::Csv(Box::new(csv::Reader::new(rows, delimiter))),
            _ => Source::Tsv(tsv::Reader::new(rows)),
        };
        Ok(LogTable { path: path.to_owned(), source, has: found.has, names: found.names })
    }

    /// What comes next; a row is in `record`.
    ///
    /// # Errors
    ///
    /// [`clickvec::Error::ReadAt`] if reading fails, as it does when a compressed file was cut short; [`Error::Table`] if a Parquet
    /// file is damaged, or has what cannot be read.
    #[inline]
    pub fn next(&mut self, record: &mut Record) -> Result<Next> {
        match &mut self.source {
            Source::Tsv(reader) => reader.next(record),
            Source::Csv(reader) => reader.next(record),
            Source::Json(reader) => match reader.next(record) {
                Err(json::Failed::Table(fault)) => return Err(Error::table(&self.path, fault)),
                Err(json::Failed::Reading(source)) => Err(source),
                Ok(next) => Ok(next),
            },
            #[cfg(feature = "parquet")]
            Source::Parquet(reader) => return reader.next(&self.path, record),
        }
        .map_err(|source| {
            let line = record.line + 1;
            clickvec_tables::Error::read_at(&self.path, line, source).into()
        })
    }

    /// Whether the log has a column of this role.
    pub fn has(&self, role: Role) -> bool {
        self.has[role as usize]
    }

    /// Checks that every column that was named occurred in some row. JSON has no header to check.
    ///
    /// # Errors
    ///
    /// [`TableFault::MissingColumn`].
    pub fn check_named(&self, columns: &Columns) -> Result<()> {
        let Source::Json(reader) = &self.source else { return Ok(()) };
        match columns::ALL.into_iter().find(|&role| columns.is_named(role) && !reader.saw(role)) {
            None => Ok(()),
            Some(role) => Err(self.missing(role, columns)),
        }
    }

    /// The names of all columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Checks that there is a column of this role.
    ///
    /// # Errors
    ///
    /// [`TableFault::MissingColumn`].
    pub fn require(&self, role: Role, columns: &Columns) -> Result<()> {
        if self.has(role) {
            return Ok(());
        }
        Err(self.missing(role, columns))
    }

    fn missing(&self, role: Role, columns: &Columns) -> Error {
        let column = columns.of(role).unwrap_or(role.name()).to_owned();
        let found = self.names.clone();
        Error::table(&self.path, TableFault::MissingColumn { column, role, found, of: InputTable::Log })
    }
}

#[cfg(test)]
mod tests;
