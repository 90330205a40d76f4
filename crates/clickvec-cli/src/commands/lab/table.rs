//! `clickvec lab table`: compares many systems, whose free parameters are chosen by cross validation.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clickvec::train::Weighting;
use clickvec_eval::ranker::RankerSpec;
use clickvec_eval::{self as eval, Correction, Overlap};
use clickvec_lab::table::report::{self, Report};
use clickvec_lab::table::spec::{self, Spec};
use clickvec_lab::table::{self, Options, Plan};
use clickvec_tables::files;

use super::watch::Watcher;
use crate::answer::Answer;
use crate::commands::evaluate::rankers;
use crate::numbers::choice;
use crate::outputs::Kind;
use crate::{advice, output, outputs, program, test_set};

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

    /// How the column count of the log becomes the weight of a pair for rankers, instead of the spec's: log, linear,
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

/// The endings of the forms of a written table.
const MARKDOWN: &str = "md";
const PAGE: &str = "html";

/// Makes the table and prints it.
pub(crate) fn run(args: &Args) -> Result<Answer> {
    let mut spec = match &args.spec {
        Some(path) => spec::read(path)?,
        None => Spec::from_rankers(args.ranker.clone()),
    };
    if let Some(name) = &args.against
        && !spec.systems.iter().any(|system| system.name == *name)
    {
        bail!("expected a system of the table for `--against`, found `{}`", output::printable(name));
    }
    take_over(&mut spec, args);
    ensure!(
        args.weighting.is_none() || spec.data.clicks.is_some(),
        "`--weighting` is about the counts of a click log; name one with `--clicks`"
    );
    let plan = spec.plan()?;
    check_outputs(args, &plan)?;
    let program = program::file()?;
    let overlap = overlap(&plan);
    let named = args.spec.as_deref().unwrap_or(Path::new("table"));
    let cache = args.cache.clone().unwrap_or_else(|| named.with_extension("cache"));
    let mut watcher = Watcher::new(&plan);
    let made = table::make(&plan, &Options { cache: &cache, program: &program }, &mut |event| watcher.event(event));
    watcher.close();
    if let (Err(error), Some(status)) = (&made, watcher.asked_to_stop())
        && error.kind() == clickvec_tables::ErrorKind::Interrupted
    {
        return Ok(Answer::Stopped(status));
    }
    let made = made?;
    let left_out = made.rows.iter().filter(|row| row.outcome.is_err()).count();
    if let Some(name) = &args.against
        && made.rows.iter().any(|row| row.name == *name && row.outcome.is_err())
    {
        output::note(format_args!("{}: was left out; all are compared with the first", output::printable(name)));
    }
    let statistics = made.statistics(args.against.as_deref())?;
    let correction = if args.uncorrected { Correction::None } else { Correction::Holm };
    let report = Report { spec: &spec, plan: &plan, table: &made, statistics, correction, overlap, told: advice::told };
    for path in &args.output {
        let text = if has_ending(path, PAGE) { report.page() } else { report.markdown() };
        files::write_bytes_atomically(path, text.as_bytes())?;
    }
    if args.json {
        output::json_lines([&report])?;
    } else {
        output::print(report.text())?;
        output::note(format_args!(
            "{}: {} of finished work, with which the same command trains nothing again",
            output::path(&cache),
            report::bytes(size_of(&cache))
        ));
    }
    Ok(if left_out == 0 { Answer::Done } else { Answer::No })
}

/// Counts the judged queries that are also in the click log, if there is one, and reports them.
fn overlap(plan: &Plan) -> Option<Overlap> {
    let clicks = plan.data.clicks.as_ref()?;
    // A pipe is refused, and what is wrong with a file is said, where all files are checked.
    if files::is_stream(clicks) || plan.data.judged_files().iter().any(|file| files::is_stream(file)) {
        return None;
    }
    let set = eval::read_test_set(&plan.data.test_set()).ok()?;
    let found = eval::overlap(&set.judgments, clicks, &plan.data.field).ok()?;
    test_set::note_overlap(&plan.data.judged, clicks, &found);
    Some(found)
}

/// The size of all files in a folder. What cannot be read counts as nothing.
fn size_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        metadata => metadata.map_or(0, |metadata| metadata.len()),
    };
    entries.map(size).sum()
}

/// Checks before hours of work that each output can be written and is not an input.
fn check_outputs(args: &Args, plan: &Plan) -> Result<()> {
    let mut read = plan.files();
    read.extend(args.spec.iter().chain([&plan.data.judged]).cloned());
    outputs::check(&args.output, &read)?;
    for path in &args.output {
        ensure!(
            has_ending(path, MARKDOWN) || has_ending(path, PAGE),
            "expected a name that ends in `.{MARKDOWN}` or `.{PAGE}` for `--output`, found `{}`",
            output::path(path)
        );
        outputs::refuse_other(path, if has_ending(path, PAGE) { Kind::Page } else { Kind::Markdown })?;
    }
    Ok(())
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|extension| extension == ending)
}

/// Replaces files of the spec with those of the command line.
fn take_over(spec: &mut Spec, args: &Args) {
    let data = &mut spec.data;
    let pairs = [
        (&mut data.judged, &args.judged),
        (&mut data.topics, &args.topics),
        (&mut data.clicks, &args.clicks),
        (&mut data.titles, &args.titles),
    ];
    for (in_spec, option) in pairs {
        if option.is_some() {
            in_spec.clone_from(option);
        }
    }
    if args.field.is_some() {
        data.field.clone_from(&args.field);
    }
    data.weighting = args.weighting.or(data.weighting);
}
