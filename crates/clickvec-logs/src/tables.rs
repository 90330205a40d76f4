//! Logs as rows whose columns have roles, in any format that [`clickvec_tables::table`] reads.

use std::collections::VecDeque;
use std::io::BufRead;
use std::path::Path;

use clickvec_tables::files;
use clickvec_tables::table::{self, RowFault, Table, Width, lookup};

use crate::columns::{ALL, Columns, ROLES, Role};
use crate::error::missing_column;
use crate::events::{Draft, Extract};
use crate::{Error, ErrorKind, Result};

pub use clickvec_tables::table::Format;

/// The length limit of rows. A longer row is broken and is never held in memory.
pub const MAX_ROW_BYTES: usize = 1 << 20;

/// Options for reading a log.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The format; `None`: recognised by the name and the first bytes.
    pub format: Option<Format>,
    /// The separator of fields in CSV; `None`: a comma, or a semicolon if the header has only those.
    pub delimiter: Option<u8>,
    /// The names of the columns, for a file without a header.
    pub header: Option<Vec<String>>,
    /// The names of the columns by role.
    pub columns: Columns,
    /// The reader of a preset's events in JSON.
    pub extract: Option<Extract>,
    /// Whether a row may end early; the missing fields are empty.
    pub short_rows: bool,
    /// Whether the log has TREC's form of judgments: fields separated by tabs or single blanks, and every grade from 1
    /// on is a click.
    pub judgments: bool,
}

impl Options {
    /// Returns how the table below is read.
    pub(crate) fn table(&self) -> table::Options {
        let width = if self.short_rows { Width::Padded } else { Width::Header };
        let (format, delimiter, header) = (self.format, self.delimiter, self.header.clone());
        table::Options { format, delimiter, header, width, max_row_bytes: MAX_ROW_BYTES }
    }
}

/// An open log.
pub struct LogTable {
    table: Table,
    /// The number of each role's column.
    columns: [Option<usize>; ROLES],
    names: Columns,
    /// Columns that the first lines of JSON lack. If one came later, it would change how earlier rows should have been read.
    late: Vec<(Role, String)>,
    extract: Option<Extract>,
    /// The rows of one line, if a preset finds more than one in it.
    drafts: VecDeque<Draft>,
}

/// A row: the fields of the roles that are needed.
#[derive(Debug, Default)]
pub struct Record {
    row: table::Record,
    columns: [Option<usize>; ROLES],
    /// Whether the row is a query that clicks in other rows refer to.
    pub is_search: bool,
    /// The line on which the row begins, counted from 1.
    pub line: u64,
}

impl Record {
    /// Returns a role's field; `None` if the row has none. It may be empty.
    #[inline]
    pub fn get(&self, role: Role) -> Option<&str> {
        self.row.get(self.columns[role as usize]?)
    }
}

/// The next row of a log, as [`LogTable::next`] finds it.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// A row, which is now in the record.
    Row,
    /// A repeated header, as in concatenated files.
    Header,
    /// An event that the preset does not know.
    Other,
    /// A row to leave out and count; the record has its line.
    Broken(RowFault),
    /// The end.
    End,
}

impl LogTable {
    /// Opens a log and finds its columns. It may be plain, gzip or zstd; `-` is standard input.
    ///
    /// # Errors
    ///
    /// Those of [`Table::open`], and [`ErrorKind::Malformed`] for a table without a column that was named.
    pub fn open(path: &Path, options: &Options) -> Result<LogTable> {
        if options.judgments {
            return LogTable::read(path, files::open(path)?, options);
        }
        LogTable::from_table(Table::open(path, &options.table())?, options)
    }

    /// [`LogTable::open`] for a source that is already open. `path` is for messages.
    ///
    /// # Errors
    ///
    /// Those of [`LogTable::open`].
    pub fn read(path: &Path, mut source: Box<dyn BufRead + Send>, options: &Options) -> Result<LogTable> {
        let mut form = options.table();
        if options.judgments {
            // Judgments are separated by tabs or by blanks.
            let first;
            (first, source) = files::first_line(source, path)?;
            let is_tsv = first.contains('\t');
            (form.format, form.delimiter) =
                if is_tsv { (Some(Format::Tsv), None) } else { (Some(Format::Csv), Some(b' ')) };
        }
        LogTable::from_table(Table::read(path, source, &form)?, options)
    }

    fn from_table(mut table: Table, options: &Options) -> Result<LogTable> {
        let (mut columns, mut late) = ([None; ROLES], Vec::new());
        let names = &options.columns;
        // Of JSON lines without an object, nothing is known before the end.
        let is_unknown = table.first_lines().is_some_and(|(_, none)| none);
        let is_json = table.first_lines().is_some();
        for role in ALL.into_iter().filter(|_| options.extract.is_none()) {
            let Some(name) = names.names_of(role).find(|name| table.has(name)).or(names.get(role)) else { continue };
            if table.has(name) || (is_json && (names.is_named(role) || is_unknown)) {
                let is_required = names.is_named(role) || !is_json;
                columns[role as usize] = if is_required { Some(table.require(name)?) } else { table.column(name)? };
            } else if names.is_named(role) {
                return Err(missing(&table, role, names));
            } else if is_json && matches!(role, Role::User | Role::Clicked | Role::Count | Role::Time) {
                late.extend(names.names_of(role).map(|name| (role, name.to_owned())));
            }
        }
        let (names, extract, drafts) = (names.clone(), options.extract, VecDeque::new());
        Ok(LogTable { table, columns, names, late, extract, drafts })
    }

    /// Reads what comes next; a row is in `record`.
    ///
    /// # Errors
    ///
    /// Those of [`Table::next`], and [`ErrorKind::Malformed`] if JSON lines have a column too late, or never.
    #[inline]
    pub fn next(&mut self, record: &mut Record) -> Result<Next> {
        if let Some(draft) = self.drafts.pop_front() {
            record.take(draft);
            return Ok(Next::Row);
        }
        record.row.line = record.line;
        record.is_search = false;
        record.columns = self.columns;
        let next = self.table.next(&mut record.row);
        record.line = record.row.line;
        match next {
            Ok(table::Next::Row) if self.extract.is_some() || !self.late.is_empty() => self.next_object(record),
            Ok(table::Next::Row) => Ok(Next::Row),
            Ok(table::Next::Header) => Ok(Next::Header),
            Ok(table::Next::Broken(fault)) => Ok(Next::Broken(fault)),
            Ok(table::Next::End) => Ok(Next::End),
            Err(error) => Err(self.with_role(error)),
        }
    }

    /// Reads the events of an object, and checks that it has no column too late.
    fn next_object(&mut self, record: &mut Record) -> Result<Next> {
        let Some(object) = self.table.object() else { return Ok(Next::Row) };
        if let Some(extract) = self.extract {
            extract.read(object, &mut self.drafts);
            let Some(draft) = self.drafts.pop_front() else { return Ok(Next::Other) };
            record.take(draft);
            return Ok(Next::Row);
        }
        match self.late.iter().find(|(_, name)| lookup(object, name).is_some()) {
            None => Ok(Next::Row),
            Some((role, column)) => {
                let (lines, _) = self.table.first_lines().unwrap_or_default();
                let expected = format!("the columns that the first {lines} lines have");
                let found = format!("a column `{column}` in line {}", record.line);
                let help = format!("say what it is as `{}=NAME` in `columns`, or give it another name", role.name());
                Err(Error::expected(ErrorKind::Malformed, expected, found)
                    .help(help)
                    .settings(&["columns"])
                    .at(self.table.path()))
            }
        }
    }

    /// Names the role of a column that JSON lines never had.
    fn with_role(&self, error: clickvec_tables::Error) -> Error {
        let is_lacking = |role: &Role| {
            let column = self.columns[*role as usize].filter(|_| self.names.is_named(*role));
            column.is_some_and(|column| !self.table.saw(column))
        };
        match ALL.into_iter().find(is_lacking) {
            Some(role) => missing(&self.table, role, &self.names),
            None => error,
        }
    }

    /// Returns whether the log has a column of this role.
    pub fn has(&self, role: Role) -> bool {
        match self.extract {
            Some(extract) => extract.roles().contains(&role),
            None => self.columns[role as usize].is_some(),
        }
    }

    /// Returns the names of all columns.
    pub fn names(&self) -> &[String] {
        self.table.names()
    }

    /// Checks that there is a column of this role.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`].
    pub fn require(&self, role: Role, columns: &Columns) -> Result<()> {
        if self.has(role) { Ok(()) } else { Err(missing(&self.table, role, columns)) }
    }
}

impl Record {
    /// Takes the fields of an event.
    fn take(&mut self, draft: Draft) {
        self.row.clear(ROLES);
        self.columns = std::array::from_fn(Some);
        draft.fields.iter().for_each(|(role, text)| self.row.push(*role as usize, text));
        self.is_search = draft.is_search;
    }
}

fn missing(table: &Table, role: Role, columns: &Columns) -> Error {
    missing_column(table.path(), columns.get(role).unwrap_or(role.name()), role, table.names())
}
