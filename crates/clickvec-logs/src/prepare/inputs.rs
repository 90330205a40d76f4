//! Reading the logs row by row.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clickvec_tables::files;
use clickvec_tables::table::{RowFault, Table};

use super::OnProgress;
use super::config::Config;
use super::user_query::user_query;
use crate::columns::{Columns, Role};
use clickvec_tables::shown::{looks_like_name, shown};
use clickvec_tables::table::shown_names;

use crate::error::WRITE_TEMPORARY;
use crate::join::Searches;
use crate::paths::named;
use crate::report::{BrokenRow, FileReport, Report, SHOWN_BROKEN, judge};
use crate::robots::UserCounts;
use crate::tables::{LogTable, Next, Options, Record, never_seen};
use crate::{Error, ErrorKind, Result};

/// The number of rows between two calls of `progress`.
const PROGRESS_ROWS: u64 = 1 << 16;
/// The share of broken rows that ends the reading early: the format or the columns must be wrong. A smaller share may
/// just be at the beginning of a good log.
const HOPELESS: f64 = 0.2;

/// Copies of standard input and of pipes, by path.
pub(super) type Copied = Vec<(PathBuf, File)>;

/// Copies standard input and pipes, which are read more than once.
pub(super) fn copy_streams(config: &Config, folder: &Path) -> Result<Copied> {
    let mut copied = Copied::new();
    for path in config.inputs.iter().filter(|path| files::is_stream(path)) {
        if copied.iter().any(|(other, _)| other == path) {
            let message = "the same log is read twice, so it cannot come from standard input";
            return Err(Error::new(ErrorKind::Setting, message).help("name a file"));
        }
        copied.push((path.clone(), copy(path, folder)?));
    }
    Ok(copied)
}

/// The open logs, and the facts known of their columns.
pub(super) struct Inputs {
    paths: Vec<PathBuf>,
    /// Copies of inputs that can be read only once.
    copied: Copied,
    has: Vec<Role>,
    first: LogTable,
}

impl Inputs {
    /// Opens all logs once, so that a fault of the last one is reported before the first is read.
    pub(super) fn open(config: &Config, options: &Options, copied: Copied) -> Result<Inputs> {
        let mut first: Option<(LogTable, Vec<Role>)> = None;
        for path in &config.inputs {
            let table = open(path, &copied, options)?;
            let has: Vec<Role> = Role::ALL.into_iter().filter(|&role| table.has(role)).collect();
            match &first {
                None => first = Some((table, has)),
                Some((_, expected)) if *expected == has => {}
                Some((_, expected)) => {
                    let names = |roles: &[Role]| -> Vec<String> {
                        roles.iter().filter_map(|&role| options.columns.get(role)).map(str::to_owned).collect()
                    };
                    let (first, names_of_first) = (shown(&config.inputs[0]), shown_names(&names(expected)));
                    let expected = format!("the columns of {first}, {names_of_first}");
                    let error = Error::expected(ErrorKind::Mismatch, expected, shown_names(&names(&has)));
                    return Err(error.help("prepare logs of different forms one by one").at(path));
                }
            }
        }
        match first {
            Some((first, has)) => Ok(Inputs { paths: config.inputs.clone(), copied, has, first }),
            None => Err(Error::expected(ErrorKind::Setting, "a log", "none")),
        }
    }

    pub(super) fn has(&self, role: Role) -> bool {
        self.has.contains(&role)
    }

    pub(super) fn require(&self, role: Role, columns: &Columns) -> Result<()> {
        self.first.require(role, columns)
    }

    /// Columns that seem to identify users, if no column is used for that.
    pub(super) fn look_like_user(&self) -> Vec<String> {
        let names = self.first.names().iter();
        let found = names.filter(|name| looks_like_name(name) && crate::columns::looks_like_user(name));
        found.filter(|_| !self.has(Role::User)).cloned().collect()
    }

    /// Reads all rows before they are counted, to count the queries of each user and to find the searches that clicks
    /// belong to.
    pub(super) fn scan(
        &self,
        config: &Config,
        options: &Options,
        mut users: Option<&mut UserCounts>,
        searches: &mut Searches,
        progress: &mut OnProgress<'_>,
    ) -> Result<()> {
        let mut report = Report::default();
        self.each(config, options, &mut report, progress, |path, record| {
            // If searches are rows of their own, only these are queries.
            if !record.is_search() {
                return Ok(None);
            }
            let time = record.get(Role::Time).and_then(|text| options.time(text));
            // An empty id is none.
            if let Some(key) = record.get(Role::Key).map(str::trim).filter(|key| !key.is_empty()) {
                let query = record.get(Role::Query).filter(|query| !query.trim().is_empty());
                searches.add(path, key, time, query.unwrap_or_default())?;
            }
            if let Some(users) = &mut users
                && let Some(user_query) = user_query(record, time)
            {
                users.add(user_query.user, user_query.day.map(i64::from), user_query.query)?;
            }
            Ok(None)
        })
    }

    /// Passes on all valid rows. `each` may still return a fault.
    pub(super) fn each(
        &self,
        config: &Config,
        options: &Options,
        report: &mut Report,
        progress: &mut OnProgress<'_>,
        mut row: impl FnMut(&Path, &Record) -> Result<Option<RowFault>>,
    ) -> Result<()> {
        let mut record = Record::default();
        let (mut seen, mut seen_actions) = (HashSet::new(), HashSet::new());
        for path in &self.paths {
            let mut table = open(path, &self.copied, options)?;
            let mut file = FileReport { path: named(path), rows: 0, broken: 0 };
            record.line = 0;
            loop {
                let fault = match table.next(&mut record)? {
                    Next::End => break,
                    Next::Row => row(path, &record)?,
                    Next::Broken(fault) => Some(fault),
                    Next::Header => {
                        report.left_out.headers += 1;
                        None
                    }
                    Next::Other => {
                        report.other_event(&record.event_name);
                        None
                    }
                };
                file.rows += 1;
                report.rows += 1;
                if let Some(fault) = fault {
                    file.broken += 1;
                    broken(report, &file.path, record.line, &fault);
                }
                if report.rows.is_multiple_of(PROGRESS_ROWS) {
                    go_on(progress(report.rows))?;
                    if report.broken as f64 > HOPELESS * report.rows as f64 {
                        judge(report.rows, report.broken, &report.first_broken, config.max_bad, true)?;
                    }
                }
            }
            seen.extend(table.seen());
            seen_actions.extend(table.seen_actions().map(str::to_owned));
            report.files.push(file);
        }
        go_on(progress(report.rows))?;
        let absent = options.actions.iter().map(|(action, _)| action).filter(|action| !seen_actions.contains(*action));
        report.absent_actions = absent.cloned().collect();
        if options.extract.is_some()
            && let Some(path) = self.paths.first()
            && let Some(role) =
                Role::ALL.into_iter().find(|&role| options.columns.is_named(role) && !seen.contains(&role))
        {
            return Err(never_seen(path, role, &options.columns));
        }
        judge(report.rows, report.broken, &report.first_broken, config.max_bad, false)
    }
}

/// Returns an error if the caller stopped the reading.
fn go_on(flow: ControlFlow<()>) -> Result<()> {
    if flow.is_break() { Err(Error::interrupted()) } else { Ok(()) }
}

pub(super) fn open(path: &Path, copied: &Copied, options: &Options) -> Result<LogTable> {
    match reader(path, copied)? {
        None => LogTable::open(path, options),
        Some(reader) => LogTable::read(path, reader, options),
    }
}

/// Opens a log as a plain table.
pub(super) fn open_table(path: &Path, copied: &Copied, options: &Options) -> Result<Table> {
    match reader(path, copied)? {
        None => Table::open(path, &options.table()),
        Some(reader) => Table::read(path, reader, &options.table()),
    }
}

/// Returns a reader of the copy of a stream, from its beginning.
fn reader(path: &Path, copied: &Copied) -> Result<Option<Box<dyn BufRead + Send>>> {
    let Some((_, copied)) = copied.iter().find(|(other, _)| other == path) else { return Ok(None) };
    let failed = |source| Error::io(path, "read", source);
    let mut file = copied.try_clone().map_err(failed)?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    Ok(Some(Box::new(BufReader::with_capacity(256 * 1024, file))))
}

/// Copies a stream, decompressed, to an unnamed file.
fn copy(path: &Path, folder: &Path) -> Result<File> {
    let mut source = files::open(path)?;
    let failed = |source| Error::io(folder, WRITE_TEMPORARY, source);
    let mut file = tempfile::tempfile_in(folder).map_err(failed)?;
    // The error may come from the stream or from the disk, so the message names both.
    std::io::copy(&mut source, &mut file)
        .map_err(|source| Error::io(path, "copy to a temporary file next to the output", source))?;
    file.flush().map_err(failed)?;
    Ok(file)
}

fn broken(report: &mut Report, path: &str, line: u64, fault: &RowFault) {
    report.broken += 1;
    *report.broken_by_kind.entry(fault.kind()).or_default() += 1;
    if report.first_broken.len() < SHOWN_BROKEN {
        report.first_broken.push(BrokenRow { path: path.to_owned(), line, reason: fault.to_string() });
    }
}
