//! From rows to what is counted of them.

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use clickvec::files;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::{Config, MAX_POSITION, Split, named};
use crate::columns::{A_CLICK, A_COUNT, A_POSITION, A_TIME, Columns, Role};
use crate::distinct::Distinct;
use crate::error::{Asked, Error, Result, RowFault, TableFault, what};
use crate::gather::{Gatherer, Sighting};
use crate::join::Searches;
use crate::privacy::{self, Removed};
use crate::report::{BrokenRow, FileReport, LeftOut, Report, SHOWN_BROKEN, judge};
use crate::robots::{Robots, UserCounts};
use crate::table::{Next, Options, Record, Table, is_stream};
use crate::text;
use crate::time::Time;
use crate::titles::Titles;

/// Rows between two calls of `progress`.
const PROGRESS_ROWS: u64 = 1 << 16;
/// Rows after which too many broken ones end the reading at once.
const FIRST_JUDGED: u64 = 10_000;

/// Copies of standard input and of pipes, by their paths.
type Copied = Vec<(PathBuf, File)>;

/// The logs, open, with what is known of their columns.
pub(super) struct Inputs {
    paths: Vec<PathBuf>,
    /// What can be read only once, copied.
    copied: Copied,
    has: Vec<Role>,
    first: Table,
}

impl Inputs {
    /// Opens all logs once, so that what is wrong with the last one is said before the first is read.
    pub(super) fn open(config: &Config, options: &Options, folder: &Path) -> Result<Inputs> {
        let mut copied = Copied::new();
        for path in config.inputs.iter().filter(|path| is_stream(path)) {
            if copied.iter().any(|(other, _)| other == path) {
                return Err(Asked::ReadTwice { what: "the same log" }.into());
            }
            copied.push((path.clone(), copy(path, folder)?));
        }
        let mut first: Option<(Table, Vec<Role>)> = None;
        for path in &config.inputs {
            let table = open(path, &copied, options)?;
            let has: Vec<Role> = crate::columns::ALL.into_iter().filter(|&role| table.has(role)).collect();
            match &first {
                None => first = Some((table, has)),
                Some((_, expected)) if *expected == has => {}
                Some((_, expected)) => {
                    let names = |roles: &[Role]| -> Vec<String> {
                        roles.iter().filter_map(|&role| options.columns.of(role)).map(str::to_owned).collect()
                    };
                    let (expected, found) = (names(expected), names(&has));
                    let fault = TableFault::OtherColumns { first: config.inputs[0].clone(), expected, found };
                    return Err(Error::table(path, fault));
                }
            }
        }
        match first {
            Some((first, has)) => Ok(Inputs { paths: config.inputs.clone(), copied, has, first }),
            None => Err(Error::NothingLeft("no log was named".to_owned())),
        }
    }

    pub(super) fn has(&self, role: Role) -> bool {
        self.has.contains(&role)
    }

    pub(super) fn require(&self, role: Role, columns: &Columns) -> Result<()> {
        self.first.require(role, columns)
    }

    /// Columns that look as if they said who asked, if none is taken for that.
    pub(super) fn look_like_user(&self) -> Vec<String> {
        let names = self.first.names().iter();
        let found = names.filter(|name| crate::columns::looks_like_name(name) && crate::columns::looks_like_user(name));
        found.filter(|_| !self.has(Role::User)).cloned().collect()
    }

    /// Reads all rows before they are counted: who asks how much, and the searches that clicks belong to.
    pub(super) fn scan(
        &self,
        config: &Config,
        options: &Options,
        mut users: Option<&mut UserCounts>,
        mut searches: Option<&mut Searches>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let mut report = Report::default();
        self.each(config, options, &mut report, progress, |path, record| {
            let own = record.get(Role::Query).filter(|query| !query.trim().is_empty());
            let query = own.or(record.get(Role::Key)).unwrap_or_default();
            let time = record.get(Role::Time);
            if let Some(searches) = &mut searches
                && record.is_search
                && let Some(key) = record.get(Role::Key)
            {
                searches.add(path, key.trim(), time.and_then(Time::parse), own.unwrap_or_default())?;
            }
            // Where searches are rows of their own, only they are queries.
            if let Some(users) = &mut users
                && record.is_search == options.extract.is_some()
                && let Some(user) = who(record)
            {
                let visit = time.or(record.get(Role::Session)).unwrap_or_default();
                let asked = xxh3_64_with_seed(query.as_bytes(), xxh3_64(visit.as_bytes()));
                let day = time.and_then(Time::parse).map(Time::day);
                users.add(user, day, asked)?;
            }
            Ok(None)
        })
    }

    /// Counts all rows.
    pub(super) fn count(
        &self,
        config: &Config,
        options: &Options,
        counter: &mut Counter<'_>,
        gatherer: &mut Gatherer,
        report: &mut Report,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        self.each(config, options, report, progress, |_, record| counter.row(record, gatherer, options))?;
        counter.found.left_out.headers = report.left_out.headers;
        counter.found.left_out.other_events = report.left_out.other_events;
        Ok(())
    }

    /// Hands over all whole rows; what is wrong with one may come back.
    fn each(
        &self,
        config: &Config,
        options: &Options,
        report: &mut Report,
        progress: &mut dyn FnMut(u64),
        mut row: impl FnMut(&Path, &Record) -> Result<Option<RowFault>>,
    ) -> Result<()> {
        let mut record = Record::default();
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
                        report.left_out.other_events += 1;
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
                    progress(report.rows);
                    if report.rows >= FIRST_JUDGED {
                        judge(report.rows, report.broken, &report.first_broken, config.max_bad)?;
                    }
                }
            }
            table.check_named(&options.columns)?;
            report.files.push(file);
        }
        progress(report.rows);
        judge(report.rows, report.broken, &report.first_broken, config.max_bad)
    }
}

fn open(path: &Path, copied: &Copied, options: &Options) -> Result<Table> {
    match copied.iter().find(|(other, _)| other == path) {
        None => Table::open(path, options),
        Some((_, copied)) => {
            let failed = |source| Error::io(path, "read", source);
            let mut file = copied.try_clone().map_err(failed)?;
            file.seek(SeekFrom::Start(0)).map_err(failed)?;
            Table::read(path, Box::new(BufReader::with_capacity(256 * 1024, file)), options)
        }
    }
}

/// A stream, decompressed, in an unnamed file.
fn copy(path: &Path, folder: &Path) -> Result<File> {
    let mut source = files::open(path)?;
    let failed = |source| Error::io(folder, "write a temporary file in", source);
    let mut file = tempfile::tempfile_in(folder).map_err(failed)?;
    // What fails is the disk or the stream; who knows which says so in the message.
    std::io::copy(&mut source, &mut file)
        .map_err(|source| Error::io(path, "copy to a temporary file beside the output", source))?;
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

/// What was seen while counting.
#[derive(Default)]
pub(super) struct Found {
    pub(super) left_out: LeftOut,
    pub(super) personal: Removed,
    pub(super) clicks: u64,
    pub(super) users: Distinct,
    pub(super) items: Distinct,
    pub(super) without_title: Distinct,
    pub(super) times: Option<(Time, Time)>,
}

/// Counts row by row.
pub(super) struct Counter<'a> {
    config: &'a Config,
    titles: Option<&'a Titles>,
    searches: Option<&'a Searches>,
    robots: &'a Robots,
    has_time: bool,
    has_clicked: bool,
    has_count: bool,
    found: Found,
    query: String,
    title: String,
}

impl<'a> Counter<'a> {
    pub(super) fn new(
        config: &'a Config,
        inputs: &Inputs,
        titles: Option<&'a Titles>,
        searches: Option<&'a Searches>,
        robots: &'a Robots,
    ) -> Counter<'a> {
        let has_time = inputs.has(Role::Time);
        let (has_clicked, has_count) = (inputs.has(Role::Clicked), inputs.has(Role::Count));
        let (found, query, title) = (Found::default(), String::new(), String::new());
        Counter { config, titles, searches, robots, has_time, has_clicked, has_count, found, query, title }
    }

    pub(super) fn finish(self) -> Found {
        self.found
    }

    /// Counts a row. What is wrong with it comes back; what is merely no click is counted here.
    #[inline]
    fn row(&mut self, record: &Record, gatherer: &mut Gatherer, options: &Options) -> Result<Option<RowFault>> {
        if record.is_search {
            return Ok(None);
        }
        let values = match self.values(record, options) {
            Ok(values) => values,
            Err(fault) => return Ok(Some(fault)),
        };
        let left = &mut self.found.left_out;
        if let Some(time) = values.time {
            let (first, last) = self.found.times.unwrap_or((time, time));
            self.found.times = Some((first.min(time), last.max(time)));
        }
        let user = who(record);
        if let Some(user) = user {
            self.found.users.add(user);
            if !self.robots.is_empty() && self.robots.contains(&user) {
                left.robots += 1;
                return Ok(None);
            }
        }
        if values.clicks == 0 && self.config.position_clip.is_none() {
            match values.shown {
                0 => left.count_zero += 1,
                _ => left.not_clicked += 1,
            }
            return Ok(None);
        }
        if values.clicks == 0 && values.shown == 0 {
            left.count_zero += 1;
            return Ok(None);
        }
        // A click names its query, or what leads to it.
        let own = record.get(Role::Query).filter(|query| !query.trim().is_empty());
        let query = match (own, self.searches, record.get(Role::Key)) {
            (Some(query), _, _) => query,
            (None, Some(searches), Some(key)) => match searches.find(key.trim(), values.time) {
                Some(query) => query,
                None => {
                    left.without_search += 1;
                    return Ok(None);
                }
            },
            (None, _, _) => "",
        };
        text::clean_query(query, !self.config.keep_case, &mut self.query);
        if self.query.is_empty() {
            left.without_query += 1;
            return Ok(None);
        }
        if !self.config.keep_personal {
            let removed = privacy::remove_personal(&mut self.query);
            self.found.personal.add(removed);
            if self.query.is_empty() {
                left.only_personal += 1;
                return Ok(None);
            }
        }
        let item = record.get(Role::Item).map(str::trim).filter(|item| !item.is_empty());
        if let Some(item) = item {
            self.found.items.add(xxh3_64(item.as_bytes()));
        }
        match (self.titles, item) {
            (Some(titles), Some(item)) => match titles.get(item) {
                // Cleaned when it was read.
                Some(title) => {
                    self.title.clear();
                    self.title.push_str(title);
                }
                None => {
                    self.found.without_title.add(xxh3_64(item.as_bytes()));
                    left.without_title += 1;
                    return Ok(None);
                }
            },
            (Some(_), None) => self.title.clear(),
            (None, Some(item)) if self.config.item_as_title => text::clean(item, false, &mut self.title),
            (None, _) if self.config.item_as_title => self.title.clear(),
            (None, _) => text::clean(record.get(Role::Title).unwrap_or_default(), false, &mut self.title),
        }
        if self.title.is_empty() {
            left.without_item += 1;
            return Ok(None);
        }
        self.found.clicks = self.found.clicks.saturating_add(values.clicks);
        let part = match (self.config.split, values.time) {
            (Split::After(after), Some(time)) => u8::from(time >= after),
            _ => 0,
        };
        gatherer.add(Sighting {
            query: &self.query,
            title: &self.title,
            part,
            position: values.position,
            shown: values.shown,
            clicks: values.clicks,
            user,
        })?;
        Ok(None)
    }

    fn values(&self, record: &Record, options: &Options) -> Result<Values, RowFault> {
        let bad = |role: Role, expected, found: &str| {
            let column = options.columns.of(role).unwrap_or(role.name()).to_owned();
            RowFault::BadValue { column, expected, found: what(found) }
        };
        let count = match record.get(Role::Count) {
            None if self.has_count => return Err(bad(Role::Count, A_COUNT, "")),
            None => 1,
            Some(text) => text.trim().parse::<u64>().map_err(|_| bad(Role::Count, A_COUNT, text))?,
        };
        let (shown, clicks) = match record.get(Role::Clicked) {
            None if self.has_clicked => return Err(bad(Role::Clicked, A_CLICK, "")),
            None => (count, count),
            Some(text) => match clicked(text.trim(), options.judgments) {
                Some(Clicked::No) => (count, 0),
                Some(Clicked::Yes) => (count, count),
                Some(Clicked::Event) => (0, count),
                None => return Err(bad(Role::Clicked, A_CLICK, text)),
            },
        };
        let position = match (self.config.position_clip, record.get(Role::Position)) {
            (None, _) => 0,
            (Some(_), text) => {
                let position = text.and_then(|text| text.trim().parse::<u16>().ok());
                let text = text.unwrap_or_default();
                position.ok_or_else(|| bad(Role::Position, A_POSITION, text))?.min(MAX_POSITION)
            }
        };
        let time = match record.get(Role::Time) {
            // A time that nothing needs may be missing; one that is there must be one.
            Some(text) if !text.is_empty() => Some(Time::parse(text).ok_or_else(|| bad(Role::Time, A_TIME, text))?),
            _ if matches!(self.config.split, Split::After(_)) && self.has_time => {
                return Err(bad(Role::Time, A_TIME, ""));
            }
            _ => None,
        };
        Ok(Values { shown, clicks, position, time })
    }
}

/// What logs write for somebody whom they do not know.
const NOBODY: [&str; 10] = ["", "null", "-", "(not set)", "undefined", "none", "n/a", "nan", "nil", "unknown"];

/// A hash of who asked; `None` if nobody knows. Letter case and white space around it make no other user.
fn who(record: &Record) -> Option<u64> {
    let user = record.get(Role::User)?.trim();
    if NOBODY.iter().any(|nobody| user.eq_ignore_ascii_case(nobody)) {
        return None;
    }
    if user.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Some(xxh3_64(user.as_bytes()));
    }
    Some(xxh3_64(user.to_lowercase().as_bytes()))
}

struct Values {
    shown: u64,
    clicks: u64,
    position: u16,
    time: Option<Time>,
}

enum Clicked {
    No,
    Yes,
    /// What was shown is said by other rows.
    Event,
}

fn clicked(text: &str, judgments: bool) -> Option<Clicked> {
    match text {
        "0" => return Some(Clicked::No),
        "1" => return Some(Clicked::Yes),
        "click" => return Some(Clicked::Event),
        _ => {}
    }
    if judgments {
        let grade = text.parse::<i64>().ok()?;
        return Some(if grade >= 1 { Clicked::Yes } else { Clicked::No });
    }
    let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match () {
        () if is(&["false", "no", "f", "n"]) => Some(Clicked::No),
        () if is(&["true", "yes", "t", "y"]) => Some(Clicked::Yes),
        () => None,
    }
}
