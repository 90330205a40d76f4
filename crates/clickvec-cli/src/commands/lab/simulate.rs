//! `clickvec lab simulate`: a click log whose truth is known.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, ensure};
use clickvec::tables::TITLE;
use clickvec_lab::simulate::{self, SimulateConfig, Summary};
use serde::Serialize;

use crate::answer::Answer;
use crate::titles::TitleColumns;
use crate::{input, output, outputs, progress, settings};

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

    /// Let users look for these titles, by some of their words, instead of an invented web: a table with the columns
    /// id and title, or a BEIR corpus; also as .gz or .zst; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    titles: Option<PathBuf>,

    #[command(flatten)]
    title_columns: TitleColumns,

    /// Set a setting, such as pairs=50000, engine_bias=0.5 or impressions=true. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", long_help = settings::help(&SimulateConfig::documentation()))]
    set: Vec<String>,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Args {
    fn config(&self) -> Result<SimulateConfig> {
        let defaults = SimulateConfig::default();
        let config = settings::set(defaults.clone(), &self.set)?;
        ensure!(
            self.titles.is_none() || config.titles == defaults.titles,
            "expected `--titles FILE` or `--set titles=N`, found both; leave one out"
        );
        config.check()?;
        Ok(config)
    }
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
    let config = args.config()?;
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
        let report = Report { simulation: &args.output, seconds: seconds.as_secs_f64(), summary: &summary };
        output::json_lines([&report])?;
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
            "this is more than the {:.0} % that were to be: with so few titles, too many of the correctly spelt queries are \
             judged queries, which the log must not contain; use more titles, or fewer judged queries (`--set judged=N`, \
             `--set validation=N`)",
            100.0 * config.misspelt,
        ));
    }
    for fewer in &summary.fewer_judged {
        let (kind, wanted) = (fewer.kind.name(), config.judged);
        output::note(match fewer.found {
            0 => format!("no judged queries of the kind {kind} were found: there is no judged-{kind}.tsv"),
            found => {
                let (found, wanted) = (output::count(found), output::counted(u64::from(wanted), "judged query"));
                format!("only {found} of {wanted} of the kind {kind} were found")
            }
        });
    }
    if let Some(found) = summary.fewer_validation {
        let wanted = config.validation;
        output::note(match found {
            0 => "no queries for validation were found: there is no validation.tsv".to_owned(),
            found => {
                let (found, wanted) = (output::count(found), output::counted(u64::from(wanted), "query"));
                format!("only {found} of {wanted} for validation were found")
            }
        });
    }
    Ok(Answer::Done)
}
