//! `clickvec search`: the best of all titles for each query.

mod modes;
mod outcome;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clickvec::model::Model;
use clickvec_eval::ranker::{self, FileKind};
use clickvec_eval::read_queries;
use clickvec_eval::trec::{RunLine, write_run_lines};
use clickvec_index::Index;

use clickvec::tables::{TITLE, Title};
use serde::Serialize;

use crate::answer::Answer as Exit;
use crate::input::{self, Lines};
use crate::titles::TitleColumns;
use crate::{output, progress};
use outcome::{Outcome, Shown};

/// The number of queries that are taken from standard input at once, if that many are waiting.
const BATCH_QUERIES: usize = 64;

/// Rank all titles for each query, best first.
///
/// An index is searched by its vectors, its words (BM25) and whatever else its fusion has; `--mode` searches by one of them. An
/// index contains the encoded titles; without one, they are encoded anew each time. Queries come from the command line or, if there are none, line by line from
/// standard input, and each is answered as it comes.
#[derive(clap::Args)]
#[command(override_usage = "clickvec search [OPTIONS] INDEX [QUERY]...\n       \
    clickvec search [OPTIONS] --model MODEL --titles FILE [QUERY]...")]
pub(crate) struct Args {
    /// The index to search: the folder that `clickvec index` wrote. With --model, the first query.
    #[arg(value_name = "INDEX")]
    index: Option<String>,

    /// The queries [default: lines of standard input].
    #[arg(value_name = "QUERY")]
    queries: Vec<String>,

    /// Without an index: the model that `clickvec train` wrote, or a ranker or fusion of `evaluate --save-rankers`.
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,

    /// Without an index: the titles to search, a table with the columns id and title, or a BEIR corpus; also as .gz or
    /// .zst.
    #[arg(long, value_name = "FILE")]
    titles: Option<PathBuf>,

    #[command(flatten)]
    title_columns: TitleColumns,

    /// Without an index: the column to search; `title+text` joins two [default: the one that the model learnt from].
    #[arg(long, value_name = "COLUMN", requires = "model")]
    field: Option<String>,

    /// The queries with their ids, for --trec: TREC topics, a table with the columns query_id and query, JSON lines, or judged
    /// titles as for `evaluate --judged`, whose queries get the ids that `evaluate` expects of a run.
    #[arg(long, value_name = "FILE")]
    topics: Option<PathBuf>,

    /// The number of titles to show for each query.
    #[arg(long, short = 'k', default_value_t = 10, value_name = "K", value_parser = crate::numbers::at_least_one::<u32>)]
    top: u32,

    #[command(flatten)]
    modes: modes::Args,

    /// Print one JSON object for each query.
    #[arg(long, conflicts_with = "trec")]
    json: bool,

    /// Print a TREC run for trec_eval, `evaluate` and `judge pool`. A query's id is that of --topics, or its
    /// number: 1 for the first line.
    #[arg(long)]
    trec: bool,
}

/// The tag of the runs of --trec.
const TAG: &str = "clickvec";
/// The name of standard output in errors.
const STANDARD_OUTPUT: &str = "standard output";

/// Finds titles for queries.
type Search<'s> = dyn Fn(&[String], usize) -> Result<Vec<Outcome>> + 's;

/// Answers the queries. The result is `No` if none of them has a result.
pub(crate) fn run(mut args: Args) -> Result<Exit> {
    if args.model.is_some() {
        args.queries.splice(..0, args.index.take());
    }
    ensure!(
        args.topics.is_none() || args.queries.is_empty(),
        "expected queries on the command line or in `--topics`, found both; leave one out"
    );
    args.title_columns.need(args.titles.is_some())?;
    args.title_columns.refuse_field(args.field.as_deref())?;
    if let (None, Some(model), Some(titles)) = (&args.index, &args.model, &args.titles)
        && FileKind::of(model)? != FileKind::Model
    {
        let ranker = ranker::load(model)?;
        let titles = input::titles(
            args.title_columns.checked(titles, args.field.as_deref().unwrap_or(TITLE))?,
            args.field.as_deref().unwrap_or(TITLE),
        )?;
        let texts: Vec<&str> = titles.iter().map(|title| title.title.as_str()).collect();
        let candidates = ranker.candidates(&texts)?;
        refuse_modes(&args)?;
        return answer(&args, &|queries, top| Ok(outcome::of_candidates(candidates.as_ref(), &titles, queries, top)?));
    }
    let index = match (&args.index, &args.model, &args.titles) {
        (Some(index), None, None) => Index::open(index.as_ref())?,
        (None, Some(model), Some(titles)) => {
            let model = Model::load(model)?;
            let field = args.title_columns.field_for(args.field.as_deref(), &model.training().config.field);
            encode(&model, input::titles(args.title_columns.checked(titles, &field)?, &field)?)?
        }
        (Some(_), ..) => {
            bail!("expected an index, or `--model` with `--titles`, found an index and `--titles`; leave one out")
        }
        (None, model, titles) => {
            let found = match (model, titles) {
                (Some(_), _) => "`--model` alone",
                (_, Some(_)) => "`--titles` alone",
                _ => "none of them",
            };
            bail!(
                "expected an index, or `--model MODEL` with `--titles FILE`, found {found}; see `clickvec search --help`"
            )
        }
    };
    answer(&args, &|queries, top| modes::search(&index, &args.modes, queries, top))
}

/// A ranker has no parts to choose from, and no columns.
fn refuse_modes(args: &Args) -> Result<()> {
    ensure!(
        !args.modes.are_given(),
        "expected an index or a model with `--mode`, `--filter` or `--offset`, found a ranker; leave them out"
    );
    Ok(())
}

/// Answers the queries of the command line, or those of standard input.
fn answer<'s>(args: &Args, search: &'s Search<'s>) -> Result<Exit> {
    let form = match (args.json, args.trec) {
        (true, _) => Form::Json,
        (_, true) => Form::Trec { asked: 0, lines: 0 },
        _ => Form::Text { several: args.queries.len() != 1, first: true },
    };
    let topics = args.topics.as_deref().map(read_queries).transpose()?;
    let ids = topics.iter().flatten().map(|topic| topic.id.clone()).collect();
    let printer = Printer { form, ids };
    let mut session = Session { search, printer, top: args.top as usize, answered: false };
    if let Some(topics) = &topics {
        let mut out = output::stdout();
        for topics in topics.chunks(BATCH_QUERIES) {
            let queries: Vec<String> = topics.iter().map(|topic| topic.text.clone()).collect();
            session.answer(&queries, &mut out)?;
        }
        output::written(out.flush())?;
    } else if args.queries.is_empty() {
        let bad = session.answer_standard_input()?;
        if bad > 0 {
            bail!("standard input: {} could not be read, all others were answered", output::counted(bad, "line"));
        }
    } else {
        let mut out = output::stdout();
        session.answer(&args.queries, &mut out)?;
        output::written(out.flush())?;
    }
    Ok(if session.answered { Exit::Done } else { Exit::No })
}

/// Encodes titles.
fn encode(model: &Model, titles: Vec<Title>) -> Result<Index> {
    let bar = progress::bar(titles.len() as u64, "encoding", "titles");
    let index = Index::in_memory(model, titles.into_iter().inspect(|_| bar.inc(1)))?;
    bar.finish_and_clear();
    input::note_left_out(index.facts().left_out);
    Ok(index)
}

struct Session<'s> {
    search: &'s Search<'s>,
    printer: Printer,
    top: usize,
    answered: bool,
}

impl Session<'_> {
    /// Answers line by line. Returns the number of lines that are not valid queries.
    fn answer_standard_input(&mut self) -> Result<u64> {
        if io::stdin().is_terminal() {
            output::note("type a query and press enter; end with Ctrl-D");
        }
        let mut lines = Lines::open(Path::new("-"))?;
        let (mut batch, mut bad, mut asked) = (Vec::new(), 0, 0);
        loop {
            let mut out = output::stdout();
            match lines.next_batch(BATCH_QUERIES, &mut batch) {
                Ok(()) if batch.is_empty() => {
                    if asked + bad == 0 {
                        output::note("standard input: expected queries, one a line, found none");
                    }
                    return Ok(bad);
                }
                Ok(()) => {
                    asked += batch.len() as u64;
                    self.answer(&batch, &mut out)?;
                }
                // A bad line gets an answer of its own, and the next lines get theirs.
                Err(error) if error.kind() == clickvec_tables::ErrorKind::Malformed => {
                    bad += 1;
                    output::note(&error);
                    self.printer.print_bad(&error, &mut out)?;
                }
                Err(error) => return Err(error.into()),
            }
            output::written(out.flush())?;
        }
    }

    fn answer(&mut self, queries: &[String], out: &mut impl Write) -> Result<()> {
        for (query, answer) in queries.iter().zip((self.search)(queries, self.top)?) {
            let shown = output::printable(query);
            if let Some(nothing) = answer.nothing {
                output::note(format_args!("`{shown}`: no results: {nothing}"));
            }
            self.answered |= !answer.results.is_empty();
            self.printer.print(query, &answer.results, out)?;
        }
        Ok(())
    }
}

struct Printer {
    form: Form,
    /// The ids of the queries, if they have any.
    ids: Vec<String>,
}

/// What answers look like.
enum Form {
    Text {
        /// Whether results show which query they belong to.
        several: bool,
        first: bool,
    },
    Json,
    Trec {
        /// The queries that were answered already.
        asked: usize,
        /// The lines that were written already.
        lines: u64,
    },
}

/// The answer as JSON.
#[derive(Serialize)]
struct JsonAnswer<'a> {
    /// `None` if a line of standard input is not valid text.
    query: Option<&'a str>,
    results: &'a [Shown],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Printer {
    fn print(&mut self, query: &str, found: &[Shown], out: &mut impl Write) -> Result<()> {
        match &mut self.form {
            Form::Json => output::json_line(out, &JsonAnswer { query: Some(query), results: found, error: None }),
            Form::Text { several, first } => {
                let gap = if *first { "" } else { "\n" };
                *first = false;
                let heading = several.then(|| format!("{gap}{}\n", output::printable(query)));
                output::written(print_text(&heading.unwrap_or_default(), found, out))
            }
            Form::Trec { asked, lines } => {
                let id = self.ids.get(*asked).cloned().unwrap_or_else(|| (*asked + 1).to_string());
                *asked += 1;
                let line = |found: &Shown| RunLine {
                    query_id: id.clone(),
                    title_id: found.id.clone(),
                    rank: found.rank as u64,
                    score: f64::from(found.score),
                };
                let run: Vec<RunLine> = found.iter().map(line).collect();
                let mut text = Vec::new();
                write_run_lines(&mut text, Path::new(STANDARD_OUTPUT), TAG, *lines + 1, &run)?;
                *lines += run.len() as u64;
                output::written(out.write_all(&text))
            }
        }
    }

    /// Prints the answer to a bad line for programs. People have read the error already. In a run, the line still counts as a
    /// query.
    fn print_bad(&mut self, error: &clickvec_tables::Error, out: &mut impl Write) -> Result<()> {
        match &mut self.form {
            Form::Text { .. } => Ok(()),
            Form::Json => {
                let answer = JsonAnswer { query: None, results: &[], error: Some(error.to_string()) };
                output::json_line(out, &answer)
            }
            Form::Trec { asked, .. } => {
                *asked += 1;
                Ok(())
            }
        }
    }
}

/// The width of the column of ids. Longer ones move their titles to the right.
const WIDEST_ID: usize = 60;

/// One line for each title: rank, score, id, title.
fn print_text(heading: &str, found: &[Shown], out: &mut impl Write) -> io::Result<()> {
    write!(out, "{heading}")?;
    let rank_width = found.last().map_or(1, |found| found.rank.to_string().len());
    let id_width = found.iter().map(|found| found.id.chars().count()).max().unwrap_or(0).min(WIDEST_ID);
    // Sums of reciprocal ranks are small.
    let digits = if found.iter().all(|found| found.score.abs() < 0.1) { 5 } else { 3 };
    let score_width = digits + 3;
    for Shown { rank, id, title, score, .. } in found {
        let (id, text) = (output::printable(id), output::printable(title));
        writeln!(out, "{rank:>rank_width$}  {score:>score_width$.digits$}  {id:<id_width$}  {text}")?;
    }
    Ok(())
}
