//! The arguments of `clickvec prepare`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clickvec_logs::columns::{self, Columns, Role};
use clickvec_logs::events::Action;
use clickvec_logs::preset::{self, Preset};
use clickvec_logs::robots::Limits;
use clickvec_logs::tables::{Format, Options};
use clickvec_logs::time::Time;
use clickvec_logs::{Config, DEFAULT_PER_DAY, PositionWeighting, Split};
use clickvec_tables::titles::Titles;

use crate::columns::ColumnNames;
use crate::output;

/// The most clicks that an action counts as.
const MOST_CLICKS: u64 = 1000;

/// Turn raw logs into counted pairs of query and title for `train`.
///
/// Reads CSV, TSV, JSON lines and (if built in) Parquet, plain or compressed with gzip or zstd, of any size. Adds
/// titles to items; leaves out robots, rare queries, e-mail addresses, phone and card numbers; splits off a validation
/// set; corrects position bias. docs/reference/prepare.md describes all of it.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The logs; `-` is standard input.
    #[arg(value_name = "LOG", required = true)]
    pub(super) logs: Vec<PathBuf>,

    /// Where to write the pairs, `-` for standard output: a table with the columns query, title and count, and weight
    /// with --correct-position-bias.
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: PathBuf,

    /// The format of the logs: tsv (fields between tabs, nothing quoted), csv, json (one object a line) or parquet (in a program built
    /// with it). `csv:;` or `csv:tab` sets the separator of fields [default: recognised by the name and the first bytes; a comma, or a
    /// semicolon if the header has only those].
    #[arg(long, value_name = "FORMAT", value_parser = form)]
    format: Option<Form>,

    /// The source of the log, if its form is known. `ubi:add_to_cart=3,purchase=10` counts other actions of UBI as clicks.
    #[arg(long, value_name = "PRESET[:ACTION=CLICKS,…]", value_parser = preset, long_help = preset_help())]
    preset: Option<(Preset, Vec<Action>)>,

    #[command(flatten)]
    columns: ColumnsOption,

    /// The form of times if they are not ISO 8601 or numbers, as `strftime` has it: `%m/%d/%Y %I:%M:%S %p` or `%d.%m.%Y %H:%M`.
    #[arg(long, value_name = "FORM")]
    time_format: Option<String>,

    /// A table with the title of each item, with the columns id and title; or a BEIR corpus.
    #[arg(long, value_name = "FILE", help_heading = "Titles and queries")]
    pub(super) titles: Option<PathBuf>,

    /// A table with the text of each query id, with the columns query_id and query.
    #[arg(long, value_name = "FILE", help_heading = "Titles and queries")]
    pub(super) queries: Option<PathBuf>,

    /// Use the items themselves as titles.
    #[arg(long, help_heading = "Titles and queries", conflicts_with = "titles")]
    item_as_title: bool,

    /// What to keep in queries: their case, which is lowered by default; or what is personal, e-mail addresses, phone and card
    /// numbers, which are removed by default; or both.
    #[arg(long, value_name = "case,personal", value_delimiter = ',', value_parser = ["case", "personal"], hide_possible_values = true, help_heading = "What stays")]
    keep: Vec<String>,

    /// Leave out queries for which fewer different users clicked; 1 keeps all [default: 2 if the log has users, 5 with
    /// --private].
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=1000), help_heading = "What stays")]
    pub(super) min_users: Option<u16>,

    /// Keep the queries of fewer users than --min-users as well, marked in a column `rare`. `train` learns from them, but
    /// leaves out of the model every letter trigram that only they have. The table itself is as private as the log.
    #[arg(long, help_heading = "What stays")]
    private: bool,

    /// Leave out all rows of a user who makes more queries than this on any day (`200/day`), in the log (`5000`), or either
    /// (`200/day,5000`); 0 sets no limit at all. Needs users, and times for a day [default: 200/day if the log has them].
    #[arg(long, value_name = "N/day,N", value_parser = max_queries, help_heading = "What stays")]
    max_queries: Option<MaxQueries>,

    /// Where to write the validation set: a table with the columns query, title, grade and count, for `train
    /// --validation`. Clicked titles have grade 1, and ten others drawn at random grade 0.
    #[arg(long, value_name = "FILE", help_heading = "Validation")]
    validation: Option<PathBuf>,

    /// What goes into the validation set: the rows from this date or time (UTC) on, or this share of the queries, such as 0.1; then no
    /// query is in both outputs.
    #[arg(long, value_name = "DATE|PART", value_parser = split, help_heading = "Validation")]
    validation_split: Option<Split>,

    /// Weight clicks by how rarely their position is looked at, which a click model learns from the log. Needs positions, and rows for
    /// titles that were shown but not clicked. `clip` is the largest weight that a click can get because of its position. Clicks are
    /// also weighted by how much the titles at their position attract, to the power of `trust`: how far to trust the logged ranking;
    /// 0 trusts every click equally [default: clip=10,trust=2].
    #[arg(long, value_name = "clip=W,trust=POWER", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = weighting, help_heading = "Position bias")]
    correct_position_bias: Option<PositionWeighting>,

    /// Stop if more than this share of the rows is broken.
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = percent)]
    max_bad: f64,

    /// Memory to use, in megabytes or with a unit. What does not fit goes into temporary files next to the output.
    #[arg(long, value_name = "SIZE", default_value = "400M", value_parser = memory)]
    memory: usize,

    /// Write the report as one HTML page.
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,

    /// Print the report as one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

/// The option that names the columns of logs.
#[derive(clap::Args)]
pub(crate) struct ColumnsOption {
    /// Columns that have other names than usual, as in `query=search_term,item=sku`; may be repeated. The usual names are query, title, item,
    /// clicked, count, position, time, user and session; and, of other tables, query_id, titles.id and titles.title. A column that is
    /// named must exist; `clicked=-` means that no column says what was clicked. A list without `=`, as in `query,title,-`, has the names of all columns of logs without a header.
    #[arg(long, value_name = "COLUMN=NAME,…", value_parser = log_columns)]
    columns: Vec<LogColumns>,
}

impl ColumnsOption {
    /// Returns the name of a column, if it was set.
    fn name(&self, column: Column) -> Option<String> {
        let names = self.columns.iter().filter_map(|names| match names {
            LogColumns::Some(names) => Some(names),
            LogColumns::All(_) => None,
        });
        ColumnNames::last(names, column).map(str::to_owned)
    }

    /// Returns the names of all columns, if they were set.
    pub(crate) fn header(&self) -> Option<Vec<String>> {
        self.columns.iter().rev().find_map(|names| match names {
            LogColumns::All(names) => Some(names.clone()),
            LogColumns::Some(_) => None,
        })
    }

    /// Returns the names of the log's columns that were set.
    pub(crate) fn for_log(&self) -> Columns {
        let mut columns = Columns::default();
        for role in columns::ALL {
            match self.name(Column::Log(role)) {
                Some(name) if name == "-" => columns.leave_out(role),
                Some(name) => columns.name(role, name),
                None => {}
            }
        }
        columns
    }

    /// Returns a table of titles, with the names of its columns that were set.
    pub(crate) fn titles(&self, path: PathBuf) -> Titles {
        Titles { path, id: self.name(Column::TitleId), text: self.name(Column::Title) }
    }
}

/// A column of the logs, or of the table of titles.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    Log(Role),
    TitleId,
    Title,
}

/// Names of columns.
#[derive(Debug, Clone)]
enum LogColumns {
    /// The names of some.
    Some(ColumnNames<Column>),
    /// The names of all in order, which the logs do not have.
    All(Vec<String>),
}

/// A format, and the separator of fields in CSV.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Form {
    format: Format,
    delimiter: Option<u8>,
}

/// How many queries a user may make; 0: any number.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct MaxQueries {
    day: Option<u64>,
    log: Option<u64>,
}

/// Parses names of columns.
fn log_columns(text: &str) -> Result<LogColumns, String> {
    if !text.contains('=') && text.contains(',') {
        return Ok(LogColumns::All(text.split(',').map(str::to_owned).collect()));
    }
    let mut known: Vec<_> = columns::ALL.into_iter().map(|role| (role.name(), Column::Log(role))).collect();
    known.extend([("titles.id", Column::TitleId), ("titles.title", Column::Title)]);
    ColumnNames::parse(text, &known).map(LogColumns::Some)
}

/// Returns what a preset reads.
fn about(preset: Preset) -> &'static str {
    match preset {
        Preset::Ubi => {
            "User Behavior Insights: dumps of ubi_queries and ubi_events, or the tables of its data generator"
        }
        Preset::Ga4 => "Events of Google Analytics 4, exported from BigQuery as JSON lines",
        Preset::Snowplow => "Enriched events of Snowplow as JSON lines",
        Preset::Orcas => "ORCAS; needs --titles msmarco-docs.tsv",
        Preset::MsmarcoPassage => "Qrels of MS MARCO's passages; needs --queries and --titles collection.tsv",
        Preset::MsmarcoDocument => "Qrels of MS MARCO's documents; needs --queries and --titles msmarco-docs.tsv",
        Preset::Aol => "The AOL log of 2006; needs --titles or --item-as-title",
    }
}

fn preset_help() -> String {
    let presets = preset::ALL.map(|preset| format!("- {}: {}", preset.name(), about(preset)));
    let first = "The source of the log, if its form is known. `ubi:add_to_cart=3,purchase=10` counts other actions of UBI as \
        clicks. Presets:";
    format!("{first}\n\n{}", presets.join("\n"))
}

/// Parses a preset, and the actions of UBI that count as clicks.
fn preset(text: &str) -> Result<(Preset, Vec<Action>), String> {
    let (name, actions) = text.split_once(':').map_or((text, None), |(name, actions)| (name, Some(actions)));
    let Some(preset) = preset::ALL.into_iter().find(|preset| preset.name() == name) else {
        let names = preset::ALL.map(Preset::name).join(", ");
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

impl Args {
    /// Returns the output for the validation set.
    pub(super) fn validation(&self) -> Option<&PathBuf> {
        self.validation.as_ref()
    }

    /// Returns which rows go into the validation set.
    pub(super) fn split(&self) -> Split {
        self.validation_split.unwrap_or(Split::None)
    }

    /// Returns the settings for the library.
    pub(super) fn config(&self) -> Result<Config> {
        let mut columns = self.columns.for_log();
        // Titles may come from a table of items; then a column of the usual name is no title.
        let has_titles = self.titles.is_some() || self.item_as_title || self.preset.is_some();
        if let Some(name) = columns.get(Role::Query).filter(|&name| columns.get(Role::Title) == Some(name))
            && (columns.is_named(Role::Title) || !has_titles)
        {
            bail!(
                "expected a column of queries and another of titles, found `{}` for both; name them with `--columns \
                 query=NAME,title=NAME`",
                output::printable(name)
            );
        }
        if self.queries.is_some() && !columns.is_named(Role::Key) && self.preset.is_none() {
            columns.name(Role::Key, Role::Key.name());
        }
        if self.private && self.min_users == Some(1) {
            bail!("`--private` needs a `--min-users` of 2 or more, which says what is rare; found 1");
        }
        let limit = |limit: u64| (limit > 0).then_some(limit);
        let (format, delimiter) = self.format.map_or((None, None), |form| (Some(form.format), form.delimiter));
        let header = self.columns.header();
        let titles = self.titles.clone().map(|path| self.columns.titles(path));
        let max_queries = self.max_queries.unwrap_or_default();
        // A plain 0 means no limit at all; another limit for the log leaves the one a day as it is.
        let day = max_queries.day.unwrap_or(if max_queries.log == Some(0) { 0 } else { DEFAULT_PER_DAY });
        let actions = self.preset.as_ref().map_or_else(Vec::new, |(_, actions)| actions.clone());
        let keeps = |what: &str| self.keep.iter().any(|keep| keep == what);
        Ok(Config {
            inputs: self.logs.clone(),
            table: Options {
                format,
                delimiter,
                header,
                columns,
                time_format: self.time_format.clone(),
                actions,
                ..Options::default()
            },
            preset: self.preset.as_ref().map(|(preset, _)| *preset),
            titles,
            queries: self.queries.clone(),
            item_as_title: self.item_as_title,
            keep_case: keeps("case"),
            keep_personal: keeps("personal"),
            min_users: self.min_users.map(usize::from),
            private: self.private,
            limits: Limits { day: limit(day), log: max_queries.log.and_then(limit) },
            needs_day_limit: max_queries.day.is_some(),
            split: self.split(),
            position_weighting: self.correct_position_bias,
            impressions: 0.0,
            max_bad: self.max_bad,
            memory: self.memory,
            output: self.output.clone(),
            validation: self.validation.clone(),
        })
    }
}

/// Parses a format, which for CSV may have the separator of fields behind it.
fn form(text: &str) -> Result<Form, String> {
    let (name, delimiter) = text.split_once(':').map_or((text, None), |(name, delimiter)| (name, Some(delimiter)));
    let format = Format::ALL.into_iter().find(|format| format.name() == name);
    match (format, delimiter) {
        (Some(format), None) => Ok(Form { format, delimiter: None }),
        (Some(Format::Csv), Some(text)) => Ok(Form { format: Format::Csv, delimiter: Some(separator(text)?) }),
        _ => Err("expected tsv, csv, csv:CHARACTER, json or parquet".to_owned()),
    }
}

/// Parses limits such as `200/day,5000`.
fn max_queries(text: &str) -> Result<MaxQueries, String> {
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

/// Parses a share of the queries, or the time from which rows are held out.
fn split(text: &str) -> Result<Split, String> {
    if let Some(part) = text.parse::<f64>().ok().filter(|part| *part > 0.0 && *part < 1.0) {
        return Ok(Split::Part(part));
    }
    let time = if Time::is_small_number(text) { None } else { Time::parse(text) };
    time.map(Split::After).ok_or_else(|| {
        "expected a date or a time, such as 2024-05-17 or 2024-05-17T08:30:00Z, or a number between 0 and 1, as in 0.1".to_owned()
    })
}

fn weighting(text: &str) -> Result<PositionWeighting, String> {
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

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let number = number.filter(|number| (0.0..=100.0).contains(number));
    number.map(|number| number / 100.0).ok_or_else(|| "expected a percentage, as in 1%".to_owned())
}

fn memory(text: &str) -> Result<usize, String> {
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
