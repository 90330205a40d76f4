//! Logs as rows of fields, whatever their format: TSV, CSV, JSON lines, Parquet.

mod csv;
mod head;
mod json;
mod lines;
#[cfg(feature = "parquet")]
mod parquet;
mod tsv;

use std::io::{BufRead, Cursor, Read};
use std::path::{Path, PathBuf};

use clickvec::files;

use crate::columns::{self, Columns, ROLES, Role};
use crate::error::{Error, Result, RowFault, TableFault};
use crate::preset::Extract;
use head::{first_line, guess, looks_like_parquet, read_header};
use lines::Lines;

pub(crate) use head::is_stream;
pub(crate) use json::{lookup, scalar};

/// The longest row and the longest header that are read. A longer one is broken and is never held in memory.
pub const MAX_ROW_BYTES: usize = 1 << 20;

/// How a log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Fields between tabs, nothing quoted.
    Tsv,
    /// RFC 4180: fields between commas, in quotes where they need it.
    Csv,
    /// One JSON object a line.
    Json,
    /// Apache Parquet.
    Parquet,
}

/// All of them.
pub const ALL: [Format; 4] = [Format::Tsv, Format::Csv, Format::Json, Format::Parquet];

impl Format {
    /// As `--format` has it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Tsv => "tsv",
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Parquet => "parquet",
        }
    }
}

/// How a log is to be read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// `None`: by the name and the first bytes.
    pub format: Option<Format>,
    /// What separates the fields of CSV; `None` is a comma, or a semicolon if the header has only those.
    pub delimiter: Option<u8>,
    /// The names of the columns, for a file that has no header.
    pub header: Option<Vec<String>>,
    /// What the columns are called.
    pub columns: Columns,
    /// What reads the events of a preset out of JSON.
    pub extract: Option<Extract>,
    /// A row may end early: what it lacks is empty.
    pub short_rows: bool,
    /// TREC's form of judgments: fields between tabs or single blanks, and every grade from 1 on is a click.
    pub judgments: bool,
}

/// One row: the fields that were asked for.
#[derive(Debug, Default)]
pub struct Record {
    text: String,
    /// Where each role's field is in `text`.
    spans: [Option<(u32, u32)>; ROLES],
    /// Whether the row is a query that clicks in other rows refer to.
    pub is_search: bool,
    /// The line that it begins in, counted from 1.
    pub line: u64,
}

impl Record {
    /// A role's field; `None` if the row has none. It may be empty.
    #[inline]
    pub fn get(&self, role: Role) -> Option<&str> {
        let (start, end) = self.spans[role as usize]?;
        self.text.get(start as usize..end as usize)
    }

    /// Empties it.
    fn clear(&mut self) {
        self.text.clear();
        self.spans = [None; ROLES];
        self.is_search = false;
    }

    /// Appends a field.
    fn push(&mut self, role: Role, field: &str) {
        let start = self.text.len() as u32;
        self.text.push_str(field);
        self.spans[role as usize] = Some((start, self.text.len() as u32));
    }
}

/// What [`Table::next`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// A row, now in the record.
    Row,
    /// The header again, as where files were concatenated.
    Header,
    /// Of a preset's log, an event that is none of those it knows.
    Other,
    /// A row to leave out and count; the record's line says where.
    Broken(RowFault),
    /// Nothing more.
    End,
}

/// A log that is open.
pub struct Table {
    path: PathBuf,
    source: Source,
    has: [bool; ROLES],
    names: Vec<String>,
}

enum Source {
    Tsv(tsv::Reader),
    // Its rules are a table.
    Csv(Box<csv::Reader>),
    Json(json::Reader),
    #[cfg(feature = "parquet")]
    Parquet(parquet::Reader),
}

impl Table {
    /// Opens a log, `-` for standard input, plain, gzip or zstd, and finds its columns.
    ///
    /// # Errors
    ///
    /// [`Error::File`], and [`Error::Table`] for a file without a header, without a column that was named, or of a format
    /// that cannot be told or read.
    pub fn open(path: &Path, options: &Options) -> Result<Table> {
        if looks_like_parquet(path, options)? {
            return Table::open_parquet(path, options);
        }
        Table::read(path, files::open(path)?, options)
    }

    #[cfg(feature = "parquet")]
    fn open_parquet(path: &Path, options: &Options) -> Result<Table> {
        if is_stream(path) {
            return Err(Error::table(path, TableFault::ParquetNotAFile { place: "in a pipe" }));
        }
        let (reader, found) = parquet::Reader::open(path, options)?;
        Ok(Table { path: path.to_owned(), source: Source::Parquet(reader), has: found.has, names: found.names })
    }

    #[cfg(not(feature = "parquet"))]
    fn open_parquet(path: &Path, _: &Options) -> Result<Table> {
        Err(Error::table(path, TableFault::NoParquet))
    }

    /// [`Table::open`] for what is already open; `path` is for messages.
    ///
    /// # Errors
    ///
    /// Those of [`Table::open`].
    pub fn read(path: &Path, mut source: Box<dyn BufRead + Send>, options: &Options) -> Result<Table> {
        let fault = |fault| Error::table(path, fault);
        let head = first_line(&mut source).map_err(|error| Error::io(path, "read", error))?;
        if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
            return Err(fault(TableFault::Utf16));
        }
        if head.starts_with(b"PAR1") {
            let place = if is_stream(path) { "in a pipe" } else { "compressed" };
            return Err(fault(match cfg!(feature = "parquet") {
                true => TableFault::ParquetNotAFile { place },
                false => TableFault::NoParquet,
            }));
        }
        let format = match options.format {
            Some(format) => format,
            None => guess(path, &head).map_err(fault)?,
        };
        // Judgments are written with tabs or with blanks.
        let first = head.trim_ascii_start().split(|&byte| byte == b'\n').next().unwrap_or_default();
        let (format, delimiter) = match options.judgments {
            true if first.contains(&b'\t') => (Format::Tsv, None),
            true => (Format::Csv, Some(b' ')),
            false => (format, options.delimiter),
        };
        let options = &Options { format: Some(format), delimiter, ..options.clone() };
        let mut lines = Lines::new(Box::new(Cursor::new(head).chain(source)));
        if format == Format::Json {
            let (reader, found) = json::Reader::new(path, lines, options)?;
            return Ok(Table {
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
        Ok(Table { path: path.to_owned(), source, has: found.has, names: found.names })
    }

    /// The next row.
    ///
    /// # Errors
    ///
    /// [`clickvec::Error::ReadAt`] if reading fails, also where a compressed file was cut short.
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
            Source::Parquet(reader) => reader.next(record),
        }
        .map_err(|source| {
            let line = record.line + 1;
            Error::File(clickvec::Error::ReadAt { path: self.path.clone(), line, source })
        })
    }

    /// Whether the log has a column of this role.
    pub fn has(&self, role: Role) -> bool {
        self.has[role as usize]
    }

    /// That every column that somebody named came in some row: JSON has no header that could say so.
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

    /// The names of all its columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// That it has a column of this role.
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
        Error::table(&self.path, TableFault::MissingColumn { column, found, option: role.option() })
    }
}

/// Rows of separated values, and which of them are fields to read.
struct Rows {
    lines: Lines,
    /// Passed over where it comes again.
    header: Vec<u8>,
    columns: usize,
    wanted: Vec<(usize, Role)>,
    short_rows: bool,
}

/// Which roles a file has, and what its columns are called.
struct Columned {
    has: [bool; ROLES],
    names: Vec<String>,
    /// Column and role, by column.
    wanted: Vec<(usize, Role)>,
}

/// Finds the columns of all roles. A name is compared after trimming, ASCII case ignored.
///
/// # Errors
///
/// [`TableFault::MissingColumn`] for one that somebody named, [`TableFault::DuplicateColumn`].
fn find_columns(path: &Path, names: Vec<String>, columns: &Columns) -> Result<Columned> {
    let mut found = Columned { has: [false; ROLES], names, wanted: Vec::new() };
    for role in columns::ALL {
        let is = |name: &str| found.names.iter().any(|other| other.trim().eq_ignore_ascii_case(name.trim()));
        let Some(name) = columns.names_of(role).find(|name| is(name)).or(columns.of(role)) else { continue };
        let mut places =
            found.names.iter().enumerate().filter(|(_, other)| other.trim().eq_ignore_ascii_case(name.trim()));
        match (places.next(), places.next()) {
            (Some((place, _)), None) => {
                found.has[role as usize] = true;
                found.wanted.push((place, role));
            }
            (Some(_), Some(_)) => {
                return Err(Error::table(path, TableFault::DuplicateColumn { column: name.to_owned() }));
            }
            (None, _) if columns.is_named(role) => {
                let fault = TableFault::MissingColumn {
                    column: name.to_owned(),
                    found: found.names.clone(),
                    option: role.option(),
                };
                return Err(Error::table(path, fault));
            }
            (None, _) => {}
        }
    }
    found.wanted.sort_by_key(|&(place, role)| (place, role as usize));
    Ok(found)
}

#[cfg(test)]
mod tests;
