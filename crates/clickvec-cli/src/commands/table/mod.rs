//! `clickvec table`: many systems, their free parameters chosen by cross validation, one table.

mod cache;
mod fusion;
mod grades;
mod json;
mod memory;
mod page;
mod process;
mod report;
mod run;
mod spec;
mod statistics;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clickvec::eval::{EvaluateOptions, Folds};
use clickvec::tables::titles_file;

use self::cache::Cache;
use self::run::Table;
use self::spec::Spec;
use crate::answer::Answer;
use crate::{input, output, test_set};

/// Train and compare many systems: the papers' tables on your own data.
///
/// A spec in TOML names the systems with the values to try for their free parameters (docs/reference/spec.md). Each fold of the
/// queries is judged with the parameters that were best on the other folds. What is finished is kept: a table that was
/// stopped goes on where it was, and only what has changed is done again. Exit status 1 if a system was left out.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The spec.
    spec: PathBuf,

    /// Judged titles, instead of the spec's.
    #[arg(long, value_name = "FILE")]
    judged: Option<PathBuf>,

    /// The texts of the queries, where judged titles are TREC qrels, instead of the spec's.
    #[arg(long, value_name = "FILE")]
    topics: Option<PathBuf>,

    /// The click log, instead of the spec's.
    #[arg(long, value_name = "FILE")]
    clicks: Option<PathBuf>,

    /// The collection, instead of the spec's.
    #[arg(long, value_name = "FILE")]
    titles: Option<PathBuf>,

    /// Running text for `skip-thought`, instead of the spec's.
    #[arg(long, value_name = "FILE")]
    contiguous: Option<PathBuf>,

    /// The column that is judged and learnt from in the place of the title, instead of the spec's;
    /// `title+text` joins two.
    #[arg(long, value_name = "COLUMN")]
    field: Option<String>,

    /// Where finished rows and models are kept; by default beside the spec, under its name and `.cache`.
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,

    /// The system that all others are compared with, by its name in the spec [default: the first].
    #[arg(long, value_name = "NAME")]
    against: Option<String>,

    /// Mark differences as significant test by test, as the papers do, without Holm's correction for many tests.
    #[arg(long)]
    uncorrected: bool,

    /// Write the table as Markdown.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    /// Write one page with the table, the grades of first titles, every query and all curves.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Print the table as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Makes the table and prints it.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let mut spec = spec::read(&args.spec)?;
    if let Some(name) = &args.against
        && !spec.systems.iter().any(|system| system.name == *name)
    {
        bail!("expected a system of the spec for `--against`, found `{}`", output::printable(name));
    }
    let Data { judged, clicks, titles, contiguous } = data(&mut spec, &args)?;
    let topics = spec.data.topics.clone();
    for file in [&judged].into_iter().chain([&topics, &clicks, &titles, &contiguous].into_iter().flatten()) {
        test_set::refuse_pipe_in_table(file)?;
    }
    // A file and not its folder: what else lies there has no say.
    let titles = titles.map(|titles| titles_file(&titles)).transpose()?;
    spec.data.titles.clone_from(&titles);
    let judged_files = spec.data.judged_files();
    for file in judged_files.iter().chain(spec.files()) {
        test_set::refuse_pipe_in_table(file)?;
    }
    let outputs: Vec<&PathBuf> = args.markdown.iter().chain(&args.html).collect();
    let read: Vec<&PathBuf> =
        [&clicks, &titles, &contiguous].into_iter().flatten().chain(&judged_files).chain([&args.spec]).collect();
    for output in &outputs {
        input::refuse_overwriting(output, read.iter().copied().chain(spec.files()))?;
        let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            bail!("{}: expected a folder to write into, found none; make it first", folder.display());
        }
    }
    if let [first, second] = outputs[..]
        && first == second
    {
        bail!("expected two outputs, found `{}` for both; name another file", first.display());
    }
    for file in read.iter().copied().chain([&judged]).chain(spec.files()) {
        std::fs::metadata(file).map_err(|source| clickvec::Error::io(file, "read", source))?;
    }
    let Some(files) = spec.data.test_set() else { unreachable!("there are judged titles") };
    let before = cache::stamps(&judged_files)?;
    let set = test_set::read(&files)?;
    spec.data.titles = test_set::collection(&set, titles.as_deref());
    let judgments = set.judgments;
    let folds = Folds::new(&judgments, spec.evaluation.folds, spec.evaluation.seed);
    if folds.count() > folds.texts() {
        let texts = output::counted(folds.texts() as u64, "query");
        bail!("expected at most as many folds as different queries, {texts}, found {}", folds.count());
    }
    let mut cache = Cache::open(&args.cache.clone().unwrap_or_else(|| args.spec.with_extension("cache")))?;
    for file in &judged_files {
        cache.hash_of(file)?;
    }
    if cache::stamps(&judged_files)? != before {
        return Err(cache::changed(&judged));
    }
    let mut table = Table::new(&spec, &judgments, EvaluateOptions::default(), folds, cache);
    let rows = table.rows()?;
    let left_out = rows.iter().filter(|row| row.outcome.is_err()).count();
    if let Some(name) = &args.against
        && rows.iter().any(|row| row.name == *name && row.outcome.is_err())
    {
        output::note(format_args!("{}: was left out; all are compared with the first", output::printable(name)));
    }
    let statistics = statistics::of(&rows, args.uncorrected, args.against.as_deref())?;
    let report = report::Report { spec: &spec, judgments: &judgments, folds: &table.folds, rows: &rows, statistics };
    if let Some(path) = &args.markdown {
        clickvec::files::write_bytes_atomically(path, report.markdown().as_bytes())?;
    }
    if let Some(path) = &args.html {
        clickvec::files::write_bytes_atomically(path, page::page(&report)?.as_bytes())?;
    }
    if args.json {
        json::print(&report)?;
    } else {
        output::print(report.text())?;
    }
    Ok(if left_out == 0 { Answer::Done } else { Answer::No })
}

/// The files of a table.
struct Data {
    judged: PathBuf,
    clicks: Option<PathBuf>,
    titles: Option<PathBuf>,
    contiguous: Option<PathBuf>,
}

/// The command line's files take the place of the spec's.
fn data(spec: &mut Spec, args: &Args) -> Result<Data> {
    let data = &mut spec.data;
    let pairs = [
        (&mut data.judged, &args.judged),
        (&mut data.topics, &args.topics),
        (&mut data.clicks, &args.clicks),
        (&mut data.titles, &args.titles),
        (&mut data.contiguous, &args.contiguous),
    ];
    for (of_spec, given) in pairs {
        if given.is_some() {
            of_spec.clone_from(given);
        }
    }
    if args.field.is_some() {
        data.field.clone_from(&args.field);
    }
    let Some(judged) = data.judged.clone() else {
        bail!("expected judged titles, found none; name them with `--judged FILE` or in the spec's `[data]`");
    };
    Ok(Data { judged, clicks: data.clicks.clone(), titles: data.titles.clone(), contiguous: data.contiguous.clone() })
}
