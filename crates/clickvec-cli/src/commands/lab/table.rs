//! `clickvec lab table`: compares many systems, whose free parameters are chosen by cross validation.

use std::path::PathBuf;

use anyhow::Result;
use clickvec::train::Weighting;
use clickvec_eval::Correction;
use clickvec_eval::ranker::RankerSpec;
use clickvec_lab::table::report::{self, Report};
use clickvec_lab::table::spec::{self, Spec};
use clickvec_lab::table::{self, Options};

use super::watch::Watcher;
use crate::answer::Answer;
use crate::commands::evaluate::rankers;
use crate::numbers::choice;
use crate::progress::Watch;
use crate::{console, program};
use clickvec_tools::test_set;

/// Train and compare many systems: the papers' tables on your own data.
///
/// A spec in TOML names the systems, with the values to try for their free parameters (docs/reference/spec.md). Each
/// fold of the queries is judged with the parameters that are best on the other folds. Rankers alone need no spec: name
/// each with `--ranker`. Finished work is kept: a table that was stopped continues where it was, and only what has
/// changed is done again. The exit status is 1 if a system was left out.
#[derive(clap::Args)]
#[command(after_long_help = rankers(&clickvec_lab::SYSTEMS))]
pub(crate) struct Args {
    /// The spec.
    #[arg(required_unless_present = "ranker")]
    spec: Option<PathBuf>,

    /// Instead of a spec: a ranker with its parameters and files, such as `bm25`, `plsa:topics=50` or
    /// `skip-thought:encoder=FOLDER`. `--help` lists all rankers. May be repeated.
    #[arg(long, value_name = "RANKER", conflicts_with = "spec")]
    ranker: Vec<RankerSpec>,

    /// Judged titles, instead of the spec's.
    #[arg(long, value_name = "FILE")]
    judged: Option<PathBuf>,

    /// The texts of the queries, if the judged titles are TREC qrels, instead of the spec's.
    #[arg(long, value_name = "FILE")]
    topics: Option<PathBuf>,

    /// The click log, instead of the spec's.
    #[arg(long, value_name = "FILE")]
    clicks: Option<PathBuf>,

    /// The collection, instead of the spec's.
    #[arg(long, value_name = "FILE")]
    titles: Option<PathBuf>,

    /// The weight of a pair for rankers from the column count of the log, instead of the spec's: log, linear,
    /// none or binary. Models have it in their `train`.
    #[arg(long, value_name = "HOW", value_parser = choice::<Weighting>)]
    weighting: Option<Weighting>,

    /// The column to judge and learn from instead of the title, whatever the spec says; `title+text` joins two.
    #[arg(long, value_name = "COLUMN")]
    field: Option<String>,

    /// Where to keep finished rows, rankers and models [default: next to the spec, under its name and `.cache`; without a
    /// spec, `table.cache`].
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,

    /// The system that all others are compared with, by its name in the table [default: the first].
    #[arg(long, value_name = "NAME")]
    against: Option<String>,

    /// Mark differences that are significant in a single test, as the papers do, without Holm's correction for many
    /// tests.
    #[arg(long)]
    uncorrected: bool,

    /// Write the table to this file: as Markdown if its name ends in .md, and if it ends in .html, as one page with the
    /// table, the grades of first titles, every query and all curves. May be repeated.
    #[arg(long, short, value_name = "FILE")]
    output: Vec<PathBuf>,

    /// Print the table as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Makes the table and prints it.
pub(crate) fn run(args: &Args) -> Result<Answer> {
    let mut spec = match &args.spec {
        Some(path) => spec::read(path)?,
        None => Spec::from_rankers(args.ranker.clone()),
    };
    spec.check_against(args.against.as_deref())?;
    spec.replace_data(spec::Data {
        judged: args.judged.clone(),
        topics: args.topics.clone(),
        clicks: args.clicks.clone(),
        titles: args.titles.clone(),
        field: args.field.clone(),
        weighting: args.weighting,
    })?;
    let plan = spec.plan()?;
    report::check_outputs(&args.output, args.spec.as_deref(), &plan)?;
    let program = program::file()?;
    let overlap = plan.overlap();
    if let (Some(clicks), Some(overlap)) = (&plan.data.clicks, &overlap) {
        test_set::note_overlap(&plan.data.judged, clicks, overlap, &Watch::default());
    }
    let cache = args.cache.clone().unwrap_or_else(|| spec::cache_of(args.spec.as_deref()));
    let mut watcher = Watcher::new(&plan);
    let made = table::make(&plan, &Options { cache: &cache, program: &program }, &mut |event| watcher.event(event));
    watcher.close();
    if let (Err(error), Some(status)) = (&made, watcher.stop_status())
        && error.kind() == clickvec_tables::ErrorKind::Interrupted
    {
        return Ok(Answer::Stopped(status));
    }
    let made = made?;
    let left_out = made.rows.iter().filter(|row| row.outcome.is_err()).count();
    if let Some(name) = &args.against
        && made.rows.iter().any(|row| row.name == *name && row.outcome.is_err())
    {
        console::note(format_args!(
            "{}: left out, so all systems are compared with the first",
            console::printable(name)
        ));
    }
    let statistics = made.statistics(args.against.as_deref(), &spec.claims)?;
    let correction = if args.uncorrected { Correction::None } else { Correction::Holm };
    let report = Report { spec: &spec, plan: &plan, table: &made, statistics, correction, overlap };
    args.output.iter().try_for_each(|path| report.write(path))?;
    if args.json {
        console::json_lines([&report])?;
    } else {
        console::print(report.text())?;
        console::note(format_args!(
            "{}: {} of cached results; the same command reuses them",
            console::path(&cache),
            report::bytes(table::size_of(&cache))
        ));
    }
    Ok(if left_out == 0 { Answer::Done } else { Answer::No })
}
