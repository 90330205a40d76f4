//! The arguments of `clickvec prepare`.

use std::path::PathBuf;

use clickvec_logs::events::Action;
use clickvec_logs::options::{self, Form, LogColumns, MaxQueries, Typed};
use clickvec_logs::preset::Preset;
use clickvec_logs::{Config, PositionWeighting, Result};

/// Turn raw logs into counted pairs of query and title for `train`.
///
/// Reads CSV, TSV, JSON lines and (if built in) Parquet, plain or compressed with gzip or zstd, of any size. Adds
/// titles to items; leaves out robots, rare queries, e-mail addresses, phone and card numbers; corrects
/// position bias. docs/reference/prepare.md describes all of it.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The logs; `-` is standard input.
    #[arg(value_name = "LOG", required = true)]
    pub(super) logs: Vec<PathBuf>,

    /// Where to write the pairs, `-` for standard output.
    ///
    /// A table with the columns query, title and count, and weight with --correct-position-bias.
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: PathBuf,

    /// The format of the logs: tsv (fields between tabs, nothing quoted), csv, json (one object a line) or parquet. `csv:;` or
    /// `csv:tab` sets the separator of fields [default: recognised by the name and the first bytes; a comma, or a semicolon if the
    /// header has only those].
    #[arg(long, value_name = "FORMAT", value_parser = options::form, help_heading = "Form of the logs", hide_short_help = true)]
    format: Option<Form>,

    /// The source of the log, if its form is known.
    #[arg(long, value_name = "PRESET[:ACTION=CLICKS,…]", value_parser = options::preset, long_help = preset_help(), help_heading = "Form of the logs")]
    preset: Option<(Preset, Vec<Action>)>,

    #[command(flatten)]
    columns: ColumnsOption,

    /// The form of times if they are not ISO 8601 or numbers, as `strftime` has it: `%m/%d/%Y %I:%M:%S %p` or `%d.%m.%Y %H:%M`.
    #[arg(long, value_name = "FORM", help_heading = "Form of the logs", hide_short_help = true)]
    time_format: Option<String>,

    /// A table with the title of each item, with the columns id and title; or a BEIR corpus.
    #[arg(long, value_name = "FILE", help_heading = "Titles and queries")]
    pub(super) titles: Option<PathBuf>,

    /// A table with the text of each query id, with the columns query_id and query.
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = "Titles and queries")]
    pub(super) queries: Option<PathBuf>,

    /// Use the items themselves as titles.
    #[arg(long, hide_short_help = true, help_heading = "Titles and queries", conflicts_with = "titles")]
    item_as_title: bool,

    /// Keep this in queries: their case, which is lowered by default; or what is personal, e-mail addresses, phone and card
    /// numbers, which are removed by default; or both.
    #[arg(long, value_name = "case,personal", value_delimiter = ',', value_parser = ["case", "personal"], hide_possible_values = true, hide_short_help = true, help_heading = "What stays")]
    keep: Vec<String>,

    /// Leave out queries for which fewer different users clicked; 1 keeps all [default: 2 if the log has users, 5 with
    /// --private].
    #[arg(long, value_name = "K", value_parser = options::min_users, help_heading = "What stays")]
    pub(super) min_users: Option<u16>,

    /// Keep the queries of fewer users than --min-users as well, marked in a column `rare`.
    ///
    /// `train` learns from them, but leaves out of the model every letter trigram that only they have. The table itself is as private as
    /// the log.
    #[arg(long, help_heading = "What stays")]
    private: bool,

    /// Leave out users who make more queries, on any day or in the log [default: 200/day if the log has users and times].
    ///
    /// `200/day` limits the queries of a day, `5000` those of the log, and `200/day,5000` both; 0 sets no limit at all. Needs users, and
    /// times for a day.
    #[arg(long, value_name = "N/day,N", value_parser = options::max_queries, help_heading = "What stays")]
    max_queries: Option<MaxQueries>,

    /// Weight clicks by how rarely their position is looked at [default: clip=10,trust=2].
    ///
    /// A click model learns this from the log. Needs positions, and rows for titles that were shown but not clicked. `clip` is the largest weight that a click can get because of its position. Clicks are
    /// also weighted by how much the titles at their position attract, to the power of `trust`: how far to trust the logged ranking;
    /// 0 trusts every click equally.
    #[arg(long, value_name = "clip=W,trust=POWER", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = options::weighting, help_heading = "Position bias")]
    correct_position_bias: Option<PositionWeighting>,

    /// Stop if more than this share of the rows is broken.
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = options::percent, hide_short_help = true)]
    max_bad: f64,

    /// Memory to use, in megabytes or with a unit. What does not fit goes into temporary files next to the output.
    #[arg(long, value_name = "SIZE", default_value = "400M", value_parser = options::memory, hide_short_help = true)]
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
    /// Columns that have other names than usual, as in `query=search_term,item=sku`; may be repeated.
    ///
    /// The usual names are query, title, item, clicked, count, position, time, user and session; and, of other tables, query_id, titles.id
    /// and titles.title. A column that is named must exist; `clicked=-` means that no column says what was clicked. A list without `=`, as
    /// in `query,title,-`, has the names of all columns of logs without a header.
    #[arg(long, value_name = "COLUMN=NAME,…", value_parser = options::columns)]
    pub(crate) columns: Vec<LogColumns>,
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
        Preset::TripClick => "The logs of TripClick; needs --titles allarticles.txt",
    }
}

fn preset_help() -> String {
    let presets = Preset::ALL.map(|preset| format!("- {}: {}", preset.name(), about(preset)));
    let first = "The source of the log, if its form is known. `ubi:add_to_cart=3,purchase=10` counts other actions of UBI as \
        clicks. Presets:";
    format!("{first}\n\n{}", presets.join("\n"))
}

impl Args {
    /// Returns the settings for the library.
    pub(super) fn config(&self) -> Result<Config> {
        let typed = Typed {
            format: self.format,
            preset: self.preset.clone(),
            columns: self.columns.columns.clone(),
            time_format: self.time_format.clone(),
            titles: self.titles.clone(),
            queries: self.queries.clone(),
            item_as_title: self.item_as_title,
            keep: self.keep.clone(),
            min_users: self.min_users,
            private: self.private,
            max_queries: self.max_queries,
            correct_position_bias: self.correct_position_bias,
            max_bad: Some(self.max_bad),
            memory: Some(self.memory),
        };
        typed.config(self.logs.clone(), self.output.clone())
    }
}
