//! Logs as rows whose columns have roles, in any format that [`clickvec_tables::table`] reads.

use std::collections::VecDeque;
use std::io::BufRead;
use std::path::Path;

use clickvec_tables::files;
use clickvec_tables::table::{self, ClickColumns, FIRST_ROWS, RowFault, Table, Width, lookup};
use serde_json::{Map, Value};

use crate::columns::{Columns, Role};
use crate::error::{ask, missing_column};
use crate::events::{Action, Draft, Event, Extract};
use crate::time::Time;
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
    /// The reader of a preset's events.
    pub extract: Option<Extract>,
    /// The form of times, as `strftime` has it; `None`: those of [`Time::parse`].
    pub time_format: Option<String>,
    /// The actions of UBI that count as clicks, besides clicks.
    pub actions: Vec<Action>,
    /// Whether a row may end early; the missing fields are empty.
    pub short_rows: bool,
    /// Whether a column that says yes in all of the first rows, and may say what was clicked, must not say no later.
    pub watches_clicks: bool,
    /// Whether every number from 1 on is a click, and a log that is not JSON lines has TREC's form of judgments: fields separated by
    /// tabs or single blanks.
    pub judgments: bool,
}

impl Options {
    /// Returns the time in a field.
    #[inline]
    pub(crate) fn time(&self, text: &str) -> Option<Time> {
        match &self.time_format {
            Some(form) => Time::parse_as(form, text),
            None => Time::parse(text),
        }
    }

    /// Returns whether fields are separated by tabs or by single blanks.
    fn is_trec(&self) -> bool {
        self.judgments && self.format != Some(Format::Json)
    }

    /// Returns the options of the table below.
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
    columns: [Option<usize>; Role::ALL.len()],
    names: Columns,
    /// Columns that the first lines of JSON lack. If one came later, it would change how earlier rows should have been read.
    late: Vec<(Role, String)>,
    events: Option<Events>,
    /// The columns without a role, if they are watched.
    watched: Option<ClickColumns>,
    /// The rows of one line, if a preset finds more than one in it.
    drafts: VecDeque<Draft>,
}

/// The reading of a preset's events.
struct Events {
    extract: Extract,
    actions: Vec<Action>,
    /// Whether any event had each of these names.
    seen_actions: Vec<bool>,
    /// The columns that were named, which take precedence, and whether any event had them.
    named: Vec<(Role, String, bool)>,
}

/// A row: the fields of the roles that are needed.
#[derive(Debug, Default)]
pub struct Record {
    row: table::Record,
    columns: [Option<usize>; Role::ALL.len()],
    /// The kind of the row, if a preset read it.
    pub event: Option<Event>,
    /// The name of an event that the preset does not know.
    pub event_name: String,
    /// The line on which the row begins, counted from 1.
    pub line: u64,
}

impl Record {
    /// Returns a role's field; `None` if the row has none. It may be empty.
    #[inline]
    pub fn get(&self, role: Role) -> Option<&str> {
        self.row.get(self.columns[role as usize]?)
    }

    /// Returns whether the row is a query that clicks in other rows refer to.
    pub fn is_search(&self) -> bool {
        self.event == Some(Event::Search)
    }
}

/// The next row of a log, as [`LogTable::next`] finds it.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// A row, which is now in the record.
    Row,
    /// A repeated header, as in concatenated files.
    Header,
    /// An event that the preset does not know; the record has its name.
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
        if options.is_trec() {
            return LogTable::read(path, files::open(path)?, options);
        }
        LogTable::from_table(Table::open(path, &options.table())?, options)
    }

    /// Opens a log like [`LogTable::open`], from a source that is already open. `path` is for messages.
    ///
    /// # Errors
    ///
    /// Those of [`LogTable::open`].
    pub fn read(path: &Path, mut source: Box<dyn BufRead + Send>, options: &Options) -> Result<LogTable> {
        let mut form = options.table();
        if options.is_trec() {
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
        let (mut columns, mut late) = ([None; Role::ALL.len()], Vec::new());
        let names = &options.columns;
        // Of JSON lines without an object, nothing is known before the end.
        let is_unknown = table.first_lines().is_some_and(|(_, none)| none);
        let is_json = table.first_lines().is_some();
        for role in Role::ALL.into_iter().filter(|_| options.extract.is_none()) {
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
        let mut events = None;
        if let Some(extract) = options.extract {
            if !is_json {
                table.names().to_vec().iter().try_for_each(|name| table.require(name).map(drop))?;
            }
            let named = Role::ALL.into_iter().filter(|&role| names.is_named(role));
            let named = named.filter_map(|role| Some((role, names.get(role)?.to_owned(), false))).collect();
            let (actions, seen_actions) = (options.actions.clone(), vec![false; options.actions.len()]);
            events = Some(Events { extract, actions, seen_actions, named });
        }
        let watched = options.watches_clicks.then(|| ClickColumns::new(&mut table, |name| names.is_free(name)));
        Ok(LogTable { table, columns, names: names.clone(), late, events, watched, drafts: VecDeque::new() })
    }

    /// Reads the next row into `record`.
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
        record.event = None;
        record.columns = self.columns;
        let next = self.table.next(&mut record.row);
        record.line = record.row.line;
        match next {
            Ok(table::Next::Row) if self.events.is_some() => Ok(self.next_event(record)),
            Ok(table::Next::Row) => {
                self.watch(record)?;
                self.check_object(record)
            }
            Ok(table::Next::Header) => Ok(Next::Header),
            Ok(table::Next::Broken(fault)) => Ok(Next::Broken(fault)),
            Ok(table::Next::End) => Ok(Next::End),
            Err(error) => Err(self.with_role(error)),
        }
    }

    /// Checks that no watched column begins to say what was not clicked.
    #[inline]
    fn watch(&mut self, record: &Record) -> Result<()> {
        let Some(watched) = &mut self.watched else { return Ok(()) };
        if let Some(name) = watched.add(&record.row) {
            let why = format!("which says yes in the first {FIRST_ROWS} rows, and not in line {}", record.line);
            return Err(ask(self.table.path(), name, &why));
        }
        if watched.is_complete() {
            watched.watch();
        }
        Ok(())
    }

    /// Reads the events of a row.
    fn next_event(&mut self, record: &mut Record) -> Next {
        let Some(Events { extract, actions, seen_actions, named }) = &mut self.events else { return Next::Row };
        let row;
        let written = self.table.written_object();
        let object = match &written {
            Some(object) => &**object,
            None => {
                row = object_of(&self.table, &record.row);
                &row
            }
        };
        let name = extract.read(object, actions, &mut self.drafts);
        for ((action, _), seen) in actions.iter().zip(seen_actions) {
            *seen |= action == name;
        }
        for (role, column, seen) in named {
            let value = lookup(extract.columns(object), column);
            *seen |= value.is_some();
            self.drafts.iter_mut().for_each(|draft| draft.set(*role, value));
        }
        if let Some((role, found)) = self.drafts.iter().find_map(|draft| draft.fault) {
            self.drafts.clear();
            return Next::Broken(RowFault::expected("bad value", format_args!("a text as {}", role.name()), found));
        }
        match self.drafts.pop_front() {
            Some(draft) => {
                record.take(draft);
                Next::Row
            }
            None => {
                record.event_name.clear();
                record.event_name.push_str(name);
                Next::Other
            }
        }
    }

    /// Returns the named columns that an event had so far.
    pub(crate) fn seen(&self) -> impl Iterator<Item = Role> {
        let named = self.events.iter().flat_map(|events| &events.named);
        named.filter(|(_, _, seen)| *seen).map(|(role, _, _)| *role)
    }

    /// Returns the actions that count as clicks and that an event had so far.
    pub(crate) fn seen_actions(&self) -> impl Iterator<Item = &str> {
        let events = self.events.as_ref();
        let actions = events.map_or(&[][..], |events| &events.actions).iter();
        let seen = events.map_or(&[][..], |events| &events.seen_actions);
        actions.zip(seen).filter(|(_, seen)| **seen).map(|((action, _), _)| action.as_str())
    }

    /// Checks that an object has one id where one is expected, and no column too late.
    #[inline]
    fn check_object(&self, record: &Record) -> Result<Next> {
        let Some(object) = self.table.object() else { return Ok(Next::Row) };
        for role in [Role::Query, Role::Title, Role::Item] {
            if let (Some(_), Some(name)) = (self.columns[role as usize], self.names.get(role))
                && let Some(Value::Bool(flag)) = lookup(object, name)
            {
                return Ok(Next::Broken(RowFault::expected("bad value", format!("a text in column `{name}`"), flag)));
            }
        }
        for role in [Role::Item, Role::User, Role::Session, Role::Key] {
            if let (Some(_), Some(name)) = (self.columns[role as usize], self.names.get(role))
                && let Some(Value::Array(ids)) = lookup(object, name)
                && ids.len() != 1
            {
                let found = format!("a list of {}", ids.len());
                return Ok(Next::Broken(RowFault::expected("bad value", format!("one id in column `{name}`"), found)));
            }
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
        match Role::ALL.into_iter().find(is_lacking) {
            Some(role) => missing(&self.table, role, &self.names),
            None => error,
        }
    }

    /// Returns whether the log has a column of this role.
    pub fn has(&self, role: Role) -> bool {
        match &self.events {
            Some(events) => events.extract.roles().contains(&role),
            None => self.columns[role as usize].is_some(),
        }
    }

    /// Returns the names of all columns.
    pub fn names(&self) -> &[String] {
        self.table.names()
    }

    /// Returns the columns whose fields are texts or numbers: in JSON lines the paths of such members.
    pub fn paths(&self) -> Vec<String> {
        self.table.paths()
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
        self.row.clear(Role::ALL.len());
        self.columns = std::array::from_fn(Some);
        draft.fields.iter().for_each(|(role, text)| self.row.push(*role as usize, text));
        self.event = Some(draft.event);
    }
}

/// Returns a row of separated values as an object.
fn object_of(table: &Table, row: &table::Record) -> Value {
    let names = table.names().iter().enumerate();
    let field = |(column, name): (usize, &String)| {
        let text = row.get(column).map(str::trim).filter(|text| !text.is_empty())?;
        // A dump has the columns of its documents in `_source`.
        let name = name.trim();
        Some((name.strip_prefix("_source.").unwrap_or(name).to_owned(), Value::String(text.to_owned())))
    };
    Value::Object(names.filter_map(field).collect::<Map<_, _>>())
}

/// Creates the error of a named column that no event has.
pub(crate) fn never_seen(path: &Path, role: Role, columns: &Columns) -> Error {
    missing_column(path, columns.get(role).unwrap_or(role.name()), role, &[])
}

fn missing(table: &Table, role: Role, columns: &Columns) -> Error {
    if let Some(error) = table.first_fault() {
        return error;
    }
    missing_column(table.path(), columns.get(role).unwrap_or(role.name()), role, table.names())
}
