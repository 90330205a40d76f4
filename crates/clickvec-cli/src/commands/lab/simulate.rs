//! `clickvec lab simulate`: a click log whose truth is known.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, ensure};
use clickvec::tables::TITLE;
use clickvec_lab::simulate::{self, SimulateConfig, Summary};
use serde::Serialize;

use crate::answer::Answer;
use crate::titles::TitleColumns;
use crate::{input, output, outputs, progress};

/// Write a click log whose truth is known, with judged titles.
///
/// Users of an invented search engine look for things, misspell them, and click on what they are shown, mostly on the
/// first titles. The folder contains the clicks, the titles, judged queries that are not among the clicks, and the
/// true click probabilities. docs/how-to/simulate.md shows how to use it.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder to write. An existing simulation is replaced; anything else is refused.
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,

    /// Rows of the click log. Each has a query, a title clicked for it, and the number of clicks on one day.
    #[arg(long, value_name = "N", default_value_t = SimulateConfig::default().pairs, value_parser = crate::numbers::at_least_one::<u64>)]
    pairs: u64,

    /// Also write every list of results that was shown: log.tsv, with users, sessions, positions and times.
    #[arg(long)]
    impressions: bool,

    /// Let users look for these titles, by some of their words, instead of an invented web: a table with the columns
    /// id and title, or a BEIR corpus; also as .gz or .zst; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "collection")]
    titles: Option<PathBuf>,

    /// Titles of the invented web. There is at least one for everything that can be looked for.
    #[arg(long, value_name = "N", default_value_t = SimulateConfig::default().titles, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    collection: u32,

    /// Judged queries of each kind.
    #[arg(long, value_name = "N", default_value_t = SimulateConfig::default().judged, value_parser = clap::value_parser!(u32).range(..=100_000))]
    judged: u32,

    /// Queries of the validation set.
    #[arg(long, value_name = "N", default_value_t = SimulateConfig::default().validation, value_parser = clap::value_parser!(u32).range(..=100_000))]
    validation: u32,

    /// The share of queries that are misspelt, 0 to 1.
    #[arg(long, value_name = "SHARE", default_value_t = SimulateConfig::default().misspelt, value_parser = share)]
    misspelt: f64,

    #[command(flatten)]
    title_columns: TitleColumns,

    /// η: users look at rank r with probability r^−η; 0 means no bias.
    #[arg(long, value_name = "ETA", default_value_t = SimulateConfig::default().position_bias, value_parser = bias)]
    position_bias: f64,

    /// How strongly the engine prefers bestsellers to what the user searched for, from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value_t = SimulateConfig::default().engine_bias, value_parser = share)]
    engine_bias: f64,

    /// The probability that a user who looks at a useless title clicks it, from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value_t = SimulateConfig::default().click_noise, value_parser = share)]
    click_noise: f64,

    /// Random seed: the same seed gives the same bytes.
    #[arg(long, value_name = "N", default_value_t = SimulateConfig::default().seed)]
    seed: u64,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

fn bias(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=10.0).contains(number));
    number.ok_or_else(|| "expected a number from 0 to 10".to_owned())
}

/// The report as JSON.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "output::json_path")]
    simulation: &'a Path,
    seconds: f64,
    #[serde(flatten)]
    summary: &'a Summary,
}

/// Whether more queries are misspelt than chance explains: by four standard errors and at least a twentieth of all.
fn misspelt_beyond(share: f64, misspelt: u64, all: u64) -> bool {
    let deviation = (share * (1.0 - share) / all.max(1) as f64).sqrt();
    misspelt as f64 > (share + (4.0 * deviation).max(0.05)) * all as f64
}

/// Simulates, and reports what was written.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let config = SimulateConfig {
        pairs: args.pairs,
        titles: args.collection,
        judged: args.judged,
        validation: args.validation,
        misspelt: args.misspelt,
        position_bias: args.position_bias,
        engine_bias: args.engine_bias,
        click_noise: args.click_noise,
        seed: args.seed,
        impressions: args.impressions,
    };
    args.title_columns.need(args.titles.is_some())?;
    simulate::check_output(&args.output)?;
    outputs::refuse_folder_in_index(&args.output)?;
    if let (Some(titles), Ok(output)) = (&args.titles, args.output.canonicalize()) {
        ensure!(
            !titles.canonicalize().is_ok_and(|titles| titles.starts_with(output)),
            "expected an output without inputs, found `{}` in `{}`, which is replaced; name another folder",
            output::path(titles),
            output::path(&args.output)
        );
    }
    let titles = match &args.titles {
        Some(path) => Some(input::titles(args.title_columns.checked(path, TITLE)?, TITLE)?),
        None => None,
    };
    let started = Instant::now();
    let bar = progress::bar(config.pairs, "simulating", "pairs");
    let summary = simulate::simulate(&config, titles, &args.output, &mut |pairs| bar.set_position(pairs));
    bar.finish_and_clear();
    let summary = summary?;
    let seconds = started.elapsed();
    if args.json {
        let mut out = output::stdout();
        let report = Report { simulation: &args.output, seconds: seconds.as_secs_f64(), summary: &summary };
        output::json_line(&mut out, &report)?;
        output::written(out.flush())?;
        return Ok(Answer::Done);
    }
    let folder = output::path(&args.output);
    let percent = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
    output::note(format_args!(
        "{folder}: written after {}; {} from {} in {} shown, {}",
        progress::duration(seconds),
        output::counted(summary.pairs, "pair"),
        output::counted(summary.clicks, "click"),
        output::counted(summary.impressions, "list"),
        output::counted(summary.titles, "title"),
    ));
    output::note(format_args!(
        "{:.0} % of the queries are misspelt, {:.0} % of the clicks are on titles of grade 3 or 4",
        percent(summary.misspelt, summary.impressions),
        percent(summary.relevant_clicks, summary.clicks),
    ));
    if misspelt_beyond(config.misspelt, summary.misspelt, summary.impressions) {
        output::note(format_args!(
            "this is more than the {:.0} % of --misspelt: with so few titles, too many of the correctly spelt queries are \
             judged queries, which the log must not contain; use more titles, or smaller --judged and --validation",
            100.0 * config.misspelt,
        ));
    }
    for fewer in &summary.fewer_judged {
        let (kind, wanted) = (fewer.kind.name(), config.judged);
        output::note(match fewer.found {
            0 => format!("no judged queries of the kind {kind} were found: there is no judged-{kind}.tsv"),
            found => format!("only {found} of {wanted} judged queries of the kind {kind} were found"),
        });
    }
    if let Some(found) = summary.fewer_validation {
        let wanted = config.validation;
        output::note(match found {
            0 => "no queries for validation were found: there is no validation.tsv".to_owned(),
            found => format!("only {found} of {wanted} queries for validation were found"),
        });
    }
    Ok(Answer::Done)
}
