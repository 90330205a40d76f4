//! `clickvec build`: from a log and titles to an index that is searched, and how much better it is.

mod report;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clickvec::train::{Outcome, Overrides};
use clickvec_build::{Build, folder_beside};
use clickvec_logs::options::LogColumns;
use clickvec_logs::tables::Options;
use clickvec_tables::files;

use self::report::Reporter;
use super::prepare::ColumnsOption;
use crate::answer::Answer;
use crate::interrupt::Interrupt;
use crate::{console, output_files};

/// Make a search from your log and your titles: look at the files, count clicks, learn, test, and write one index.
///
/// The logs may be raw, in any form that `prepare` reads, or counted pairs; columns are guessed from their names, and said.
/// Without a log it learns from the titles alone. It ends with a comparison with BM25. Ctrl-C stops it; what is done by then is
/// kept in a folder beside the output, and the same command resumes from there.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The logs.
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,

    /// All titles to search: a table with the columns id and title, or a BEIR corpus.
    #[arg(long, value_name = "FILE")]
    titles: PathBuf,

    #[command(flatten)]
    columns: ColumnsOption,

    /// Judged titles, to compare the index with BM25 by: a table with the columns query, title and grade. Without them, clicked
    /// queries that are held out compare it.
    #[arg(long, value_name = "FILE")]
    judged: Option<PathBuf>,

    /// A teacher: the folder of a sentence transformer, which encodes titles and queries and becomes a part of the index if that pays;
    /// or vectors of queries and titles from another program, or scores, as for `train`. May be repeated.
    #[arg(long, value_name = "FOLDER|VECTORS")]
    teacher: Vec<PathBuf>,

    /// Columns to store with the titles, such as brand,price: results show them, and searches can filter by them.
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    store: Vec<String>,

    /// Take about a quarter of the time: learn a smaller model, and not the clicks that it is tested by.
    #[arg(long)]
    fast: bool,

    /// Set any setting of the training by name, such as encoder.cells=192. May be repeated. See `train --help-settings`.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,

    /// The index to write, a folder. An existing index is replaced when the new one is complete.
    #[arg(long, short, value_name = "INDEX")]
    output: PathBuf,

    /// Print events as JSON, one object per line.
    #[arg(long)]
    json: bool,
}

/// Makes the index.
pub(crate) fn run(args: Args) -> Result<Answer> {
    output_files::refuse_repeated(&args.logs, "log")?;
    let mut settings = Overrides::default();
    for pair in &args.set {
        settings.set_pair(pair)?;
    }
    output_files::refuse_in_index(&args.output)?;
    let names = &args.columns.columns;
    let table =
        Options { header: LogColumns::header(names), columns: LogColumns::for_log(names), ..Options::default() };
    let build = Build {
        logs: &args.logs,
        table,
        preset: None,
        titles: LogColumns::titles(names, args.titles.clone()),
        store: &args.store,
        teachers: &args.teacher,
        judged: args.judged.as_deref(),
        fast: args.fast,
        settings,
        output: &args.output,
    };
    for path in build.inputs() {
        ensure!(
            !files::is_stream(&path) && path != Path::new("-"),
            "{}: expected a file, because it is read more than once, found a pipe; write it to a file first",
            console::input(&path)
        );
    }
    let interrupt = Interrupt::watch()?;
    let mut reporter = Reporter::new(&args);
    let outcome = build.run(&mut |progress| {
        reporter.report(&progress);
        if interrupt.status().is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    reporter.close();
    match outcome? {
        Outcome::Finished(built) => {
            reporter.done(&built)?;
            Ok(Answer::Done)
        }
        Outcome::Cancelled => {
            let work = folder_beside(&args.output);
            if work.exists() {
                console::note(format_args!(
                    "stopped; the work so far is in {}, and the same command resumes",
                    console::path(&work)
                ));
            } else {
                console::note("stopped; nothing was made");
            }
            Ok(Answer::Stopped(interrupt.status().unwrap_or(2)))
        }
    }
}
