//! The arguments of `clickvec prepare`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clickvec_logs::columns::{self, Columns, Role};
use clickvec_logs::preset::{self, Preset};
use clickvec_logs::robots::Limits;
use clickvec_logs::tables::{Format, Options};
use clickvec_logs::time::Time;
use clickvec_logs::{Config, PositionWeighting, Split};

use crate::columns::ColumnNames;
use crate::output;

/// The default limit of queries a day; a user with more is a robot.
const DEFAULT_PER_DAY: u64 = 200;

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

    /// The format of the logs [default: recognised by the name and the first bytes].
    #[arg(long, value_name = "FORMAT", value_parser = format())]
    format: Option<Format>,

    /// The source of the log, if its form is known.
    #[arg(long, value_name = "PRESET", value_parser = preset())]
    preset: Option<Preset>,

    /// The separator of fields in CSV [default: a comma, or a semicolon if the header has only those].
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter, conflicts_with = "preset")]
    delimiter: Option<u8>,

    /// The names of the columns, for logs without a header, such as `query,title,-`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    header: Option<Vec<String>>,

    /// Columns that have other names than usual, as in `query=search_term,item=sku`; may be repeated. The usual names are query, title, item,
    /// clicked, count, position, time, user and session; and, of other tables, query_id, titles.id and titles.title. A column that is
    /// named must exist.
    #[arg(long, value_name = "COLUMN=NAME,…", value_parser = column_names)]
    columns: Vec<ColumnNames<Column>>,

    /// A table with the title of each item, with the columns id and title; or a BEIR corpus.
    #[arg(long, value_name = "FILE", help_heading = "Titles and queries")]
    pub(super) titles: Option<PathBuf>,

    /// A table with the text of each query id, with the columns query_id and query.
    #[arg(long, value_name = "FILE", help_heading = "Titles and queries")]
    pub(super) queries: Option<PathBuf>,

    /// Use the items themselves as titles.
    #[arg(long, help_heading = "Titles and queries", conflicts_with = "titles")]
    item_as_title: bool,

    /// Keep the case of queries; by default they are lower-cased.
    #[arg(long, help_heading = "What stays")]
    keep_case: bool,

    /// Keep e-mail addresses, phone and card numbers in queries; by default they are removed.
    #[arg(long, help_heading = "What stays")]
    keep_personal: bool,

    /// Leave out pairs with fewer clicks than this.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = crate::numbers::at_least_one::<u64>, help_heading = "What stays")]
    min_count: u64,

    /// Leave out queries for which fewer different users clicked; 1 keeps all [default: 2 if the log has users, 5 with
    /// --private].
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=1000), help_heading = "What stays")]
    pub(super) min_users: Option<u16>,

    /// Keep the queries of fewer users than --min-users as well, marked in a column `rare`. `train` learns from them, but
    /// leaves out of the model every letter trigram that only they have. The table itself is as private as the log.
    #[arg(long, help_heading = "What stays")]
    private: bool,

    /// Leave out all rows of a user who makes more queries than this on any day; 0 sets no limit. Needs users and times
    /// [default: 200 if the log has them].
    #[arg(long, value_name = "N", help_heading = "What stays")]
    max_queries_per_day: Option<u64>,

    /// Leave out all rows of a user who makes more queries than this in the whole log; 0 sets no limit.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "What stays")]
    max_queries: u64,

    /// Where to write the validation set: a table with the columns query, title, grade and count, for `train
    /// --validation`.
    #[arg(long, value_name = "FILE", help_heading = "Validation")]
    validation: Option<PathBuf>,

    /// What goes into the validation set: the rows from this date or time (UTC) on, or this share of the queries, such as 0.1; then no
    /// query is in both outputs.
    #[arg(long, value_name = "DATE|PART", value_parser = split, help_heading = "Validation")]
    validation_split: Option<Split>,

    /// The number of random titles with grade 0 to add to each query of the validation set.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(0..=1000), requires = "validation", help_heading = "Validation")]
    validation_titles: u16,

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

/// A column of the logs, or of the table of titles.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    Log(Role),
    TitleId,
    Title,
}

/// Parses names of columns.
fn column_names(text: &str) -> Result<ColumnNames<Column>, String> {
    let mut known: Vec<_> = columns::ALL.into_iter().map(|role| (role.name(), Column::Log(role))).collect();
    known.extend([("titles.id", Column::TitleId), ("titles.title", Column::Title)]);
    ColumnNames::parse(text, &known)
}

/// Returns a parser of values that have a name each, with a line of help for each.
fn named<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
    about: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let values = all.iter().map(|&value| PossibleValue::new(name(value)).help(about(value)));
    PossibleValuesParser::new(values).try_map(move |found| {
        let value = all.iter().copied().find(|&value| name(value) == found);
        value.ok_or("expected one of the possible values")
    })
}

fn format() -> impl TypedValueParser<Value = Format> {
    named(&Format::ALL, Format::name, |format| match format {
        Format::Tsv => "Fields between tabs, nothing quoted",
        Format::Csv => "Fields between commas, in quotes where they need it",
        Format::Json => "One JSON object a line",
        Format::Parquet => "Apache Parquet; needs a program built with it",
    })
}

fn preset() -> impl TypedValueParser<Value = Preset> {
    named(&preset::ALL, Preset::name, |preset| match preset {
        Preset::Ubi => "User Behavior Insights: dumps of ubi_queries and ubi_events",
        Preset::Ga4 => "Events of Google Analytics 4, exported from BigQuery as JSON lines",
        Preset::Snowplow => "Enriched events of Snowplow as JSON lines",
        Preset::Orcas => "ORCAS; needs --titles msmarco-docs.tsv",
        Preset::MsmarcoPassage => "Qrels of MS MARCO's passages; needs --queries and --titles collection.tsv",
        Preset::MsmarcoDocument => "Qrels of MS MARCO's documents; needs --queries and --titles msmarco-docs.tsv",
        Preset::Aol => "The AOL log of 2006; needs --titles or --item-as-title",
    })
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

    /// Returns the name of a column, if it was set.
    fn column(&self, column: Column) -> Option<String> {
        ColumnNames::last(&self.columns, column).map(str::to_owned)
    }

    /// Returns the settings for the library.
    pub(super) fn config(&self) -> Result<Config> {
        let mut columns = Columns::default();
        for role in columns::ALL {
            if let Some(name) = self.column(Column::Log(role)) {
                columns.name(role, name);
            }
        }
        // Titles may come from a table of items; then a column of the usual name is no title.
        let has_titles = self.titles.is_some() || self.item_as_title || self.preset.is_some();
        if let Some(name) = columns.of(Role::Query).filter(|&name| columns.of(Role::Title) == Some(name))
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
        let format = match (self.format, self.delimiter) {
            (None, Some(_)) => Some(Format::Csv),
            (Some(found), Some(_)) if found != Format::Csv => {
                bail!("`--delimiter` is for CSV, found `--format {}`; leave one of them out", found.name());
            }
            (format, _) => format,
        };
        if self.private && self.min_users == Some(1) {
            bail!("`--private` needs a `--min-users` of 2 or more, which says what is rare; found 1");
        }
        let limit = |limit: u64| (limit > 0).then_some(limit);
        let (delimiter, header) = (self.delimiter, self.header.clone());
        Ok(Config {
            inputs: self.logs.clone(),
            table: Options { format, delimiter, header, columns, extract: None, short_rows: false, judgments: false },
            preset: self.preset,
            titles: self.titles.clone(),
            title_id_column: self.column(Column::TitleId),
            title_text_column: self.column(Column::Title),
            queries: self.queries.clone(),
            item_as_title: self.item_as_title,
            keep_case: self.keep_case,
            keep_personal: self.keep_personal,
            min_count: self.min_count,
            min_users: self.min_users.map(usize::from),
            private: self.private,
            limits: Limits {
                day: limit(self.max_queries_per_day.unwrap_or(DEFAULT_PER_DAY)),
                log: limit(self.max_queries),
            },
            day_limit_asked: self.max_queries_per_day.is_some(),
            split: self.split(),
            validation_titles: usize::from(self.validation_titles),
            position_weighting: self.correct_position_bias,
            max_bad: self.max_bad,
            memory: self.memory,
            output: self.output.clone(),
            validation: self.validation.clone(),
        })
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
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
