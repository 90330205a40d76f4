//! `clickvec lab errors`: the queries on which a model is worse than BM25, grouped by what makes them hard.

use std::path::PathBuf;

use anyhow::Result;
use clickvec::tables::TITLE;
use clickvec_eval::ranker::Neural;
use clickvec_eval::{CorpusFiles, read_corpus};
use clickvec_lab::explain::{error_report, outcomes};

use crate::answer::Answer;
use crate::commands::explain::models::NamedModel;
use crate::commands::explain::printer::Form;
use crate::console;
use crate::progress::Watch;
use crate::titles::TitleColumns;
use clickvec_tools::inputs;

/// Show the queries on which a model is worse than BM25, grouped by what makes them hard, with examples.
///
/// A query may belong to several groups: unseen word (in no title and no click), misspelt (one edit away from a known
/// word), long (six words or more), number or unit (`3/8 in.`, `120v`, `gallon`), sense (a word of the query is both in
/// a good title and in the bad title that the model ranks first), other.
#[derive(clap::Args)]
pub(super) struct Args {
    /// A model that `clickvec train` wrote, or an index that has one.
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// Judged titles: a table with the columns query, title and grade.
    #[arg(long, value_name = "FILE")]
    judged: PathBuf,

    /// The whole collection: BM25 takes its statistics from it, and its words count as seen [default: the judged titles].
    #[arg(long, value_name = "FILE")]
    titles: Option<PathBuf>,

    #[command(flatten)]
    title_columns: TitleColumns,

    /// The click log; its words count as seen too.
    #[arg(long, value_name = "FILE")]
    clicks: Option<PathBuf>,

    #[command(flatten)]
    form: Form,
}

/// Shows the groups.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.title_columns.need(args.titles.is_some())?;
    let files = [&args.model, &args.judged].into_iter().chain(&args.titles).chain(&args.clicks);
    let mut printer = args.form.printer(files)?;
    let judgments = inputs::judgments(&args.judged, TITLE, &Watch::default())?;
    let titles = args.titles.as_deref().map(|titles| args.title_columns.checked(titles, TITLE)).transpose()?;
    let files = CorpusFiles { titles, clicks: args.clicks.as_deref(), field: TITLE, ..CorpusFiles::default() };
    let read = read_corpus(&files, Some(&judgments))?;
    for (path, skipped) in read.titles.iter().chain(&read.clicks) {
        inputs::note_skipped(path, skipped, &Watch::default());
    }
    let named = NamedModel::load(&args.model)?;
    let name = named.name.clone();
    if args.model.is_dir() {
        console::note(format_args!(
            "{}: its model is compared by itself, without words and fusion; `evaluate --full` measures its searches",
            console::path(&args.model)
        ));
    }
    let learnt_titles = named.model.training().config.titles.is_some();
    let model = Neural::new(named.name, named.model);
    let found = outcomes(&judgments, &read.corpus, &model)?;
    found.iter().try_for_each(|outcome| printer.line(outcome))?;
    printer.report(&error_report(&name, &found, learnt_titles))?;
    printer.finish(&format!("Where {name} is worse than BM25"))?;
    Ok(Answer::Done)
}
