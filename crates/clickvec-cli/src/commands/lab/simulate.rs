//! `clickvec lab simulate`: a click log whose truth is known.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, ensure};
use clickvec::tables::TITLE;
use clickvec_lab::simulate::{self, SimulateConfig, Summary};
use serde::Serialize;

use crate::answer::Answer;
use crate::progress::Watch;
use crate::titles::TitleColumns;
use crate::{console, progress, settings};
use clickvec_tools::inputs;

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
    #[serde(serialize_with = "console::json_path")]
    simulation: &'a Path,
    seconds: f64,
    #[serde(flatten)]
    summary: &'a Summary,
}

/// Simulates, and reports what was written.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let config = args.config()?;
    args.title_columns.need(args.titles.is_some())?;
    simulate::check_output(&args.output, args.titles.as_deref())?;
    let titles = match &args.titles {
        Some(path) => Some(inputs::titles(args.title_columns.checked(path, TITLE)?, TITLE, &Watch::default())?),
        None => None,
    };
    let started = Instant::now();
    let bar = progress::bar(config.pairs, "simulating", "pairs");
    let summary = simulate::simulate(&config, titles, &args.output, &mut |pairs| {
        bar.set_position(pairs);
        ControlFlow::Continue(())
    });
    bar.finish_and_clear();
    let summary = summary?;
    let seconds = started.elapsed();
    if args.json {
        let report = Report { simulation: &args.output, seconds: seconds.as_secs_f64(), summary: &summary };
        console::json_lines([&report])?;
        return Ok(Answer::Done);
    }
    let folder = console::path(&args.output);
    let time = progress::duration(seconds);
    console::note(format_args!("{folder}: written after {time}; {}", summary.size()));
    console::note(summary.shares());
    summary.shortfalls(&config).iter().for_each(console::note);
    Ok(Answer::Done)
}
