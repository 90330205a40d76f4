//! The options of `prepare` as a user types them, in the program or as arguments in Python.

use std::path::PathBuf;

use clickvec_tables::column_names::ColumnNames;
use clickvec_tables::shown::printable;
use clickvec_tables::titles::Titles;

use crate::columns::{Columns, Role};
use crate::events::Action;
use crate::preset::Preset;
use crate::robots::Limits;
use crate::tables::{Format, Options};
use crate::{Config, DEFAULT_PER_DAY, Error, ErrorKind, PositionWeighting, Result};

/// The most clicks that an action counts as.
const MOST_CLICKS: u64 = 1000;
/// The most users that a query can be required to have.
const MOST_USERS: u16 = 1000;

/// What a user may say of a preparation. The defaults are those of `prepare`.
#[derive(Debug, Clone, Default)]
pub struct Typed {
    /// The format of the logs.
    pub format: Option<Form>,
    /// The source of the logs, if it is known, and the actions that count as clicks.
    pub preset: Option<(Preset, Vec<Action>)>,
    /// The names of columns.
    pub columns: Vec<LogColumns>,
    /// The form of times, as `strftime` has it.
    pub time_format: Option<String>,
    /// The table that gives items their titles.
    pub titles: Option<PathBuf>,
    /// The table that gives queries their texts.
    pub queries: Option<PathBuf>,
    /// Whether items are their own titles.
    pub item_as_title: bool,
    /// What stays in queries: `case`, `personal`, or both.
    pub keep: Vec<String>,
    /// The fewest users of a query that stays.
    pub min_users: Option<u16>,
    /// Whether queries of fewer users stay, marked.
    pub private: bool,
    /// The most queries of a user.
    pub max_queries: Option<MaxQueries>,
    /// The weighting of clicks by their position.
    pub correct_position_bias: Option<PositionWeighting>,
    /// The share of rows that may be broken, 0 to 1.
    pub max_bad: Option<f64>,
    /// The memory to use, in bytes.
    pub memory: Option<usize>,
}

impl Typed {
    /// Returns the settings for these logs and this output.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`] for options that contradict each other.
    pub fn config(self, logs: Vec<PathBuf>, output: PathBuf) -> Result<Config> {
        let mut columns = LogColumns::for_log(&self.columns);
        // Titles may come from a table of items; then a column of the usual name is no title.
        let has_titles = self.titles.is_some() || self.item_as_title || self.preset.is_some();
        if let Some(name) = columns.get(Role::Query).filter(|&name| columns.get(Role::Title) == Some(name))
            && (columns.is_named(Role::Title) || !has_titles)
        {
            let found = format!("`{}` for both", printable(name));
            let error = Error::expected(ErrorKind::Setting, "a column of queries and another of titles", found);
            return Err(error.help("name them as `query=NAME,title=NAME` in `columns`").settings(&["columns"]));
        }
        if self.queries.is_some() && !columns.is_named(Role::Key) && self.preset.is_none() {
            columns.name(Role::Key, Role::Key.name());
        }
        if self.private && self.min_users == Some(1) {
            let expected = "2 or more users for a private table, which say what is rare";
            let error = Error::expected(ErrorKind::Setting, expected, "1");
            return Err(error.help("raise `min_users`, or leave `private` out").settings(&["min_users", "private"]));
        }
        let defaults = Config::new(logs, output);
        let limit = |limit: u64| (limit > 0).then_some(limit);
        let max_queries = self.max_queries.unwrap_or_default();
        // A plain 0 means no limit at all; another limit for the log leaves the one a day as it is.
        let day = max_queries.day.unwrap_or(if max_queries.log == Some(0) { 0 } else { DEFAULT_PER_DAY });
        let (preset, actions) = self.preset.unzip();
        if let Some(other) = self.keep.iter().find(|keep| !["case", "personal"].contains(&keep.as_str())) {
            let found = format!("`{}`", printable(other));
            return Err(Error::expected(ErrorKind::Setting, "case or personal", found).within("keep"));
        }
        let keeps = |what: &str| self.keep.iter().any(|keep| keep == what);
        Ok(Config {
            table: Options {
                format: self.format.map(|form| form.format),
                delimiter: self.format.and_then(|form| form.delimiter),
                header: LogColumns::header(&self.columns),
                columns,
                time_format: self.time_format,
                actions: actions.unwrap_or_default(),
                ..Options::default()
            },
            preset,
            titles: self.titles.map(|path| LogColumns::titles(&self.columns, path)),
            queries: self.queries,
            item_as_title: self.item_as_title,
            keep_case: keeps("case"),
            keep_personal: keeps("personal"),
            min_users: self.min_users.map(usize::from),
            private: self.private,
            limits: Limits { day: limit(day), log: max_queries.log.and_then(limit) },
            needs_day_limit: max_queries.day.is_some(),
            position_weighting: self.correct_position_bias,
            max_bad: self.max_bad.unwrap_or(defaults.max_bad),
            memory: self.memory.unwrap_or(defaults.memory),
            ..defaults
        })
    }
}

/// A format, and the separator of fields in CSV.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Form {
    format: Format,
    delimiter: Option<u8>,
}

/// The number of queries that a user may make; 0: any number.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MaxQueries {
    day: Option<u64>,
    log: Option<u64>,
}

/// Names of columns of logs, and of the table of titles.
#[derive(Debug, Clone)]
pub enum LogColumns {
    /// The names of some.
    Some(ColumnNames<Column>),
    /// The names of all in order, which the logs do not have.
    All(Vec<String>),
}

/// A column of the logs, or of the table of titles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Column {
    /// A column of the logs.
    Log(Role),
    /// The ids of titles.
    TitleId,
    /// The texts of titles.
    Title,
}

impl LogColumns {
    /// Returns the name of a column, if it was set.
    fn name(all: &[LogColumns], column: Column) -> Option<String> {
        let names = all.iter().filter_map(|names| match names {
            LogColumns::Some(names) => Some(names),
            LogColumns::All(_) => None,
        });
        ColumnNames::last(names, column).map(str::to_owned)
    }

    /// Returns the names of all columns, if they were set.
    pub fn header(all: &[LogColumns]) -> Option<Vec<String>> {
        all.iter().rev().find_map(|names| match names {
            LogColumns::All(names) => Some(names.clone()),
            LogColumns::Some(_) => None,
        })
    }

    /// Returns the names of the log's columns that were set.
    pub fn for_log(all: &[LogColumns]) -> Columns {
        let mut columns = Columns::default();
        for role in Role::ALL {
            match LogColumns::name(all, Column::Log(role)) {
                Some(name) if name == "-" => columns.leave_out(role),
                Some(name) => columns.name(role, name),
                None => {}
            }
        }
        columns
    }

    /// Returns a table of titles, with the names of its columns that were set.
    pub fn titles(all: &[LogColumns], path: PathBuf) -> Titles {
        Titles { path, id: LogColumns::name(all, Column::TitleId), text: LogColumns::name(all, Column::Title) }
    }
}

/// Parses names of columns: `query=search_term,item=sku`, or `query,title,-` for all columns.
///
/// # Errors
///
/// What was expected, as for the functions below.
pub fn columns(text: &str) -> Result<LogColumns, String> {
    if !text.contains('=') && text.contains(',') {
        return Ok(LogColumns::All(text.split(',').map(str::to_owned).collect()));
    }
    let mut known: Vec<_> = Role::ALL.into_iter().map(|role| (role.name(), Column::Log(role))).collect();
    known.extend([("titles.id", Column::TitleId), ("titles.title", Column::Title)]);
    ColumnNames::parse(text, &known).map(LogColumns::Some)
}

/// Parses a preset, and the actions of UBI that count as clicks.
///
/// # Errors
///
/// What was expected.
pub fn preset(text: &str) -> Result<(Preset, Vec<Action>), String> {
    let (name, actions) = text.split_once(':').map_or((text, None), |(name, actions)| (name, Some(actions)));
    let Some(preset) = Preset::from_name(name) else {
        let names = Preset::ALL.map(Preset::name).join(", ");
        return Err(format!("expected one of {names}"));
    };
    let mut counted = Vec::new();
    for pair in actions.into_iter().flat_map(|actions| actions.split(',')) {
        let action = pair.split_once('=').and_then(|(name, clicks)| {
            let clicks = clicks.parse::<u64>().ok().filter(|clicks| *clicks <= MOST_CLICKS)?;
            (preset == Preset::Ubi && !name.is_empty()).then(|| (name.to_owned(), clicks))
        });
        counted.push(action.ok_or("expected ubi:ACTION=CLICKS,… with whole numbers of at most 1000")?);
    }
    Ok((preset, counted))
}

/// Parses a format, which for CSV may have the separator of fields behind it.
///
/// # Errors
///
/// What was expected.
pub fn form(text: &str) -> Result<Form, String> {
    let (name, delimiter) = text.split_once(':').map_or((text, None), |(name, delimiter)| (name, Some(delimiter)));
    let format = Format::from_name(name);
    match (format, delimiter) {
        (Some(format), None) => Ok(Form { format, delimiter: None }),
        (Some(Format::Csv), Some(text)) => Ok(Form { format: Format::Csv, delimiter: Some(separator(text)?) }),
        _ => Err("expected tsv, csv, csv:CHARACTER, json or parquet".to_owned()),
    }
}

/// Parses limits such as `200/day,5000`.
///
/// # Errors
///
/// What was expected.
pub fn max_queries(text: &str) -> Result<MaxQueries, String> {
    let mut limits = MaxQueries::default();
    for part in text.split(',') {
        let (number, limit) = match part.strip_suffix("/day") {
            Some(number) => (number, &mut limits.day),
            None => (part, &mut limits.log),
        };
        let number = number.parse().map_err(|_| "expected N/day, N or both, as in 200/day,5000".to_owned())?;
        if limit.replace(number).is_some() {
            return Err("expected one limit a day and one for the log, found two of a kind".to_owned());
        }
    }
    Ok(limits)
}

fn separator(text: &str) -> Result<u8, String> {
    match text {
        "\\t" | "tab" => Ok(b'\t'),
        text => match text.as_bytes() {
            [byte] if byte.is_ascii() && !b"\"\r\n".contains(byte) => Ok(*byte),
            _ => Err("expected one ASCII character other than a quote, as in `;`".to_owned()),
        },
    }
}

/// Parses a weighting by position, such as `clip=10,trust=2`; what is left out has its default.
///
/// # Errors
///
/// What was expected.
pub fn weighting(text: &str) -> Result<PositionWeighting, String> {
    let mut weighting = PositionWeighting { clip: 10.0, trust: 2.0 };
    for pair in text.split(',').filter(|pair| !pair.is_empty()) {
        let (name, number) = pair.split_once('=').unwrap_or((pair, ""));
        match (name, number.parse::<f64>()) {
            ("clip", Ok(clip)) if clip >= 1.0 && clip.is_finite() => weighting.clip = clip,
            ("trust", Ok(trust)) if (0.0..=10.0).contains(&trust) => weighting.trust = trust,
            _ => {
                return Err(
                    "expected clip=W with a finite number of 1 or more, trust=POWER from 0 to 10, or both".to_owned()
                );
            }
        }
    }
    Ok(weighting)
}

/// Parses a percentage as a share from 0 to 1.
///
/// # Errors
///
/// What was expected.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let number = number.filter(|number| (0.0..=100.0).contains(number));
    number.map(|number| number / 100.0).ok_or_else(|| "expected a percentage, as in 1%".to_owned())
}

/// Parses a size, in megabytes or with a unit, as bytes.
///
/// # Errors
///
/// What was expected.
pub fn memory(text: &str) -> Result<usize, String> {
    let upper = text.trim().to_ascii_uppercase();
    let upper = upper.strip_suffix("IB").or(upper.strip_suffix('B')).unwrap_or(&upper);
    let (number, shift) = match upper.strip_suffix('G') {
        Some(number) => (number, 30),
        None => (upper.strip_suffix('M').unwrap_or(upper), 20),
    };
    let size = number.trim().parse::<usize>().ok().and_then(|number| number.checked_mul(1 << shift));
    let size = size.filter(|size| (16 << 20..=1 << 44).contains(size));
    size.ok_or_else(|| "expected a size of 16M or more, as in 400M or 2G".to_owned())
}

/// Parses the least number of users.
///
/// # Errors
///
/// What was expected.
pub fn min_users(text: &str) -> Result<u16, String> {
    let users = text.parse().ok().filter(|users| (1..=MOST_USERS).contains(users));
    users.ok_or_else(|| format!("expected a whole number from 1 to {MOST_USERS}"))
}
