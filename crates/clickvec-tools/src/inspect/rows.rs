//! What is wrong with the rows of tables. What other commands read is read as they read it, so that all agree on every row.

use std::path::Path;

use clickvec::internals::clicks::ClickReader;
use clickvec::internals::text::words;
use clickvec::tables::{TITLE, Titles, for_each_title};
use clickvec::train::Weighting;
use clickvec_eval::trec::{read_qrels, read_run};
use clickvec_eval::{TestSetFiles, read_queries, read_test_set, read_test_set_for_runs};
use clickvec_logs::columns::Role;
use clickvec_logs::guess::{GRADE, GuessedColumns, Kind, is_query};
use clickvec_logs::tables::{LogTable, Next, Options, Record};
use clickvec_logs::time::Time;
use clickvec_logs::value_fault;
use clickvec_tables::shown::printable;
use clickvec_tables::table::{MAX_GRADE, parse_grade};
use clickvec_tables::{Error, ErrorKind, Result, files};
use serde::Serialize;

use crate::{Watcher, inputs};

/// The best grade of a sheet of `judge`.
const BEST_OF_SHEET: u8 = 4;

/// The rows that are read of each file.
const MOST_ROWS: u64 = 1_000_000;
/// The faults that are shown of each file.
const SHOWN_FAULTS: usize = 5;

/// The rows of a table.
#[derive(Default, Serialize)]
pub(super) struct Rows {
    pub(super) rows: u64,
    /// Whether there are more rows than were read.
    pub(super) has_more: bool,
    pub(super) faults: u64,
    pub(super) first_faults: Vec<Fault>,
    /// The number of rows without a grade.
    #[serde(skip)]
    pub(super) ungraded: u64,
}

/// What is wrong with a row.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Fault {
    pub(super) line: u64,
    pub(super) fault: String,
}

impl Rows {
    /// Adds a fault. The first ones are shown.
    pub(super) fn add(&mut self, line: u64, fault: impl Into<String>) {
        self.faults += 1;
        if self.first_faults.len() < SHOWN_FAULTS {
            self.first_faults.push(Fault { line, fault: fault.into() });
        }
    }

    /// Returns the rows of a table with this fault alone.
    pub(super) fn with_fault(line: u64, fault: impl Into<String>) -> Rows {
        let mut rows = Rows::default();
        rows.add(line, fault);
        rows
    }

    /// Returns what is wrong with a table as its only fault; other errors are errors here too.
    fn with_error(error: Error) -> Result<Rows> {
        if !error.kind().concerns_contents() && error.kind() != ErrorKind::Empty {
            return Err(error);
        }
        Ok(Rows::with_fault(error.line().unwrap_or(1), error.message()))
    }
}

/// Reads titles as `index` and `train` do; those of a corpus have its own names.
pub(super) fn titles(path: &Path, kind: Kind, columns: &GuessedColumns, watch: &dyn Watcher) -> Result<Rows> {
    let other = |role, usual| columns.other_name(role, usual).filter(|_| kind == Kind::Titles);
    let name = |role, usual| other(role, usual).map(str::to_owned);
    let titles = Titles { path: path.to_owned(), id: name(Role::Item, "id"), text: name(Role::Title, TITLE) };
    let (mut read, mut with_words) = (0u64, 0u64);
    let read = for_each_title(titles, TITLE, |title| {
        read += 1;
        with_words += u64::from(!words(&title.title).is_empty());
        told(watch, read)
    });
    match read {
        Err(error) => Rows::with_error(error),
        Ok(read) if read.titles > 0 && with_words == 0 => {
            Ok(Rows::with_fault(1, "expected titles with words, found none"))
        }
        Ok(read) => {
            let first = read.skipped.first.iter();
            Ok(Rows {
                rows: read.titles + read.skipped.count,
                faults: read.skipped.count,
                first_faults: first.map(|line| Fault { line: line.line, fault: line.reason.to_string() }).collect(),
                ..Rows::default()
            })
        }
    }
}

/// Reads lines as the commands do that take them: qrels and runs, topics, and queries.
pub(super) fn lines(path: &Path, kind: Kind) -> Result<Rows> {
    let open = || files::open(path);
    let read = match kind {
        Kind::Qrels => {
            let qrels = open().and_then(|lines| read_qrels(lines, path));
            if qrels.as_ref().is_ok_and(|qrels| qrels.iter().all(|qrel| qrel.grade < 0)) {
                return Ok(Rows::with_fault(1, "expected a grade of 0 or more, found none: no title was judged"));
            }
            qrels.map(|lines| lines.len())
        }
        Kind::Run => open().and_then(|lines| read_run(lines, path)).map(|lines| lines.len()),
        Kind::Topics => read_queries(path).map(|(topics, _)| topics.len()),
        Kind::Queries => {
            let mut rows = Rows::default();
            for line in inputs::Lines::open(path)? {
                rows.rows += 1;
                match line {
                    Ok(line) if line.trim().is_empty() || is_query(line.trim()) => {}
                    Ok(_) => rows.add(rows.rows, "expected a query, found a line of something else"),
                    Err(error) => {
                        rows.add(rows.rows, error.to_string());
                        break;
                    }
                }
            }
            return Ok(rows);
        }
        _ => return Ok(Rows::default()),
    };
    match read {
        Ok(rows) => Ok(Rows { rows: rows as u64, ..Rows::default() }),
        Err(error) => Rows::with_error(error),
    }
}

/// Reads a BEIR folder as `evaluate` does.
pub(super) fn beir(path: &Path) -> Result<Rows> {
    let files = TestSetFiles { judged: path, topics: None, titles: None, field: TITLE };
    match read_test_set(&files).and_then(|set| set.check_not_empty(path)) {
        Ok(()) => Ok(Rows::default()),
        // Its place is one of the files in the folder.
        Err(error) if error.kind().concerns_contents() || error.kind() == ErrorKind::Empty => {
            Ok(Rows::with_fault(error.line().unwrap_or(1), error.to_string()))
        }
        Err(error) => Err(error),
    }
}

/// Reads judgments as `evaluate` does for systems that need no texts.
fn judgments(path: &Path) -> Result<Rows> {
    let set = read_test_set_for_runs(&TestSetFiles { judged: path, topics: None, titles: None, field: TITLE })?;
    set.check_not_empty(path)?;
    let titles: usize = set.judgments.queries.iter().map(|query| query.titles.len()).sum();
    let others = set.judgments.duplicates + set.judgments.headers + set.judgments.ungraded + set.negative_grades;
    Ok(Rows { rows: titles as u64 + others, ..Rows::default() })
}

/// Reads a JSON document of judgments; `None` if it is another one.
pub(super) fn document(path: &Path) -> Result<Option<Rows>> {
    match judgments(path) {
        Ok(rows) => Ok(Some(rows)),
        Err(error) if error.kind() == ErrorKind::Mismatch => Ok(None),
        Err(error) => Rows::with_error(error).map(Some),
    }
}

/// Reads judged titles as `evaluate` does, which stops at the first fault. Then faults of single fields are looked for in all
/// rows.
pub(super) fn judged(path: &Path, columns: &GuessedColumns, watch: &dyn Watcher) -> Result<Rows> {
    match judgments(path) {
        Ok(rows) => Ok(rows),
        Err(error) => {
            let rows = fields(path, Kind::Judged, columns, watch)?;
            if rows.faults == 0 { Rows::with_error(error) } else { Ok(rows) }
        }
    }
}

/// Reads a click log as `train` does.
pub(super) fn clicks(path: &Path, watch: &dyn Watcher) -> Result<Rows> {
    let mut reader = match ClickReader::open(path, TITLE, Weighting::default()) {
        Ok(reader) => reader,
        Err(error) => return Rows::with_error(error),
    };
    let mut rows = Rows::default();
    let (mut clicks, mut weigh) = (0u64, 0u64);
    loop {
        if clicks + reader.skipped().count + reader.not_clicked() >= MOST_ROWS {
            rows.has_more = reader.next()?.is_some();
            break;
        }
        let click = match reader.next() {
            Ok(Some(click)) => click,
            Ok(None) => break,
            // A column may say what was clicked.
            Err(error) if error.kind() == ErrorKind::Setting => return Ok(Rows::with_fault(1, error.message())),
            Err(error) => return Err(error),
        };
        clicks += 1;
        if words(click.query).is_empty() || words(click.title).is_empty() {
            rows.add(click.line, "expected words in the query and in the title, found a side without any");
        } else if click.weight > 0.0 {
            weigh += 1;
        }
        told(watch, clicks)?;
    }
    let skipped = reader.skipped();
    rows.rows = clicks + skipped.count + reader.not_clicked();
    rows.faults += skipped.count;
    rows.first_faults
        .extend(skipped.first.iter().map(|line| Fault { line: line.line, fault: line.reason.to_string() }));
    rows.first_faults.sort();
    rows.first_faults.truncate(SHOWN_FAULTS);
    if rows.faults == 0 && rows.rows > 0 && weigh == 0 && !rows.has_more {
        rows.add(1, "expected a click with a weight above 0, found none in any row");
    }
    Ok(rows)
}

/// Reads the rows of a table of any form, and counts fields that are wrong.
pub(super) fn fields(path: &Path, kind: Kind, columns: &GuessedColumns, watch: &dyn Watcher) -> Result<Rows> {
    let mut options = Options::default();
    Role::ALL.into_iter().for_each(|role| options.columns.leave_out(role));
    columns.iter().for_each(|(role, name)| options.columns.name(role, name));
    let mut table = LogTable::open(path, &options)?;
    let (mut record, mut rows) = (Record::default(), Rows::default());
    loop {
        let fault = match table.next(&mut record)? {
            Next::End => break,
            _ if rows.rows == MOST_ROWS => {
                rows.has_more = true;
                break;
            }
            Next::Header | Next::Other => continue,
            Next::Broken(fault) => Some(fault.to_string()),
            // A spreadsheet writes rows that are blank.
            Next::Row
                if kind == Kind::Sheet
                    && Role::ALL.iter().all(|role| record.get(*role).is_none_or(|field| field.trim().is_empty())) =>
            {
                continue;
            }
            Next::Row => {
                rows.ungraded += u64::from(record.get(GRADE).is_none_or(|grade| grade.trim().is_empty()));
                columns.iter().find_map(|(role, name)| fault(kind, role, name, record.get(role)))
            }
        };
        rows.rows += 1;
        told(watch, rows.rows)?;
        if let Some(fault) = fault {
            rows.add(record.line, fault);
        }
    }
    Ok(rows)
}

/// Tells now and then how many rows were read.
fn told(watch: &dyn Watcher, rows: u64) -> Result<()> {
    if rows.is_multiple_of(1 << 14) { watch.progress("reading", "rows", rows, None) } else { Ok(()) }
}

/// Returns what is wrong with a field. Nothing that a user typed is repeated.
fn fault(kind: Kind, role: Role, column: &str, field: Option<&str>) -> Option<String> {
    let text = field.unwrap_or_default().trim();
    let column = printable(column);
    let expected = |what: &str| Some(format!("expected {what} in column `{column}`, found {}", shown(text)));
    match role {
        // Rows of a preset's log are of several kinds, and each has some of the fields: only `prepare` knows which.
        _ if matches!(kind, Kind::Preset(_)) => None,
        // `prepare` leaves them out, and counts them.
        Role::Query | Role::Item if text.is_empty() && kind != Kind::Log => expected("a text"),
        Role::Title if text.is_empty() && kind != Kind::Log => expected("a text"),
        GRADE if kind == Kind::Sheet && text.is_empty() => None,
        GRADE => {
            let most = if kind == Kind::Sheet { BEST_OF_SHEET } else { MAX_GRADE };
            if parse_grade(text, most).is_some() { None } else { expected(&format!("a grade from 0 to {most}")) }
        }
        // As `prepare` reads them.
        Role::Count | Role::Clicked | Role::Time if kind == Kind::Log => {
            value_fault(role, &column, field.unwrap_or_default()).map(|fault| fault.to_string())
        }
        Role::Count if text.parse::<u64>().is_err() => expected("a whole number"),
        Role::Time if !text.is_empty() && Time::parse(text).is_none() => expected("a time"),
        _ => None,
    }
}

/// Shows a short number itself; of any other text only its length.
fn shown(text: &str) -> String {
    match text.chars().count() {
        0 => "nothing".to_owned(),
        1..=8 if text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.".contains(&byte)) => format!("`{text}`"),
        length => format!("other text ({length} characters)"),
    }
}
