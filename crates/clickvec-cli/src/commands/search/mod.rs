//! `clickvec search`: the best of all titles for each query.

mod outcome;
mod printer;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clickvec_eval::read_queries;
use clickvec_index::{Confidence, Filter, Index, Mode};

use crate::answer::Answer as Exit;
use crate::console;
use clickvec_tools::inputs::Lines;
use printer::Printer;

/// The number of queries that are taken from standard input at once, if that many are waiting.
const BATCH_QUERIES: usize = 64;

/// Rank all titles of an index for each query, best first.
///
/// An index is searched by its vectors, its words (BM25) and whatever else its fusion has; `--mode` searches by one of them.
/// Queries come from the command line or, if there are none, line by line from standard input, and each is answered as it comes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The index to search: the folder that `clickvec index` wrote.
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    /// The queries [default: lines of standard input].
    #[arg(value_name = "QUERY")]
    queries: Vec<String>,

    /// The queries with their ids, for --trec: TREC topics, a table with the columns query_id and query, JSON lines, or judged
    /// titles as for `evaluate --judged`, whose queries get the ids that `evaluate` expects of a run.
    #[arg(long, value_name = "FILE")]
    topics: Option<PathBuf>,

    /// The number of titles to show for each query.
    #[arg(long, short = 'k', default_value_t = 10, value_name = "K", value_parser = crate::numbers::at_least_one::<u32>)]
    top: u32,

    /// Search by `vectors`, `words` (BM25), `trigrams` or `teacher` alone, or by all that the index's fusion weighs, `fused`.
    #[arg(long, value_name = "MODE", default_value = "fused")]
    mode: Mode,

    /// Only titles that meet these conditions on stored columns: brand:acme, brand:acme|zed, price<50, or price:10..20, where
    /// either end may be missing. Titles must meet all conditions, with commas between them or an option for each.
    #[arg(long = "filter", value_name = "CONDITIONS", value_parser = Filter::parse_list)]
    filters: Vec<Vec<Filter>>,

    /// Leave out titles that are less likely than this to be a good match, from 0 to 1, in fused searches [default: 0.02; with --trec: 0].
    #[arg(long, value_name = "P", value_parser = crate::numbers::share::<f32>)]
    min_confidence: Option<f32>,

    /// Search for the words as they are typed. Without this, a fused search corrects words that no title has.
    #[arg(long)]
    as_typed: bool,

    /// Skip this many of the best titles: with -k 10, the third page begins after 20.
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,

    /// Print one JSON object for each query.
    #[arg(long, conflicts_with = "trec")]
    json: bool,

    /// Print a TREC run for trec_eval, `evaluate` and `judge`. A query's id is that of --topics, or its
    /// number: 1 for the first line.
    #[arg(long)]
    trec: bool,
}

impl Args {
    /// Returns the confidence that titles must reach. A run has all titles, for `evaluate` to judge.
    fn min_confidence(&self) -> f32 {
        self.min_confidence.unwrap_or(if self.trec { 0.0 } else { Confidence::LEAST })
    }
}

/// Answers the queries. The result is `No` if none of them has a result.
pub(crate) fn run(args: Args) -> Result<Exit> {
    ensure!(
        args.topics.is_none() || args.queries.is_empty(),
        "expected queries on the command line or in `--topics`, found both; leave one out"
    );
    let index = Index::open(&args.index)?;
    index.prepare(args.mode)?;
    let topics = match args.topics.as_deref() {
        Some(path) => {
            let (topics, headers) = read_queries(path)?;
            if headers > 0 {
                let left_out = console::counted(headers, "repeated header");
                console::note(format_args!("{}: left out {left_out}", console::input(path)));
            }
            Some(topics)
        }
        None => None,
    };
    ensure!(
        !args.trec || !topics.iter().flatten().any(|topic| topic.id.contains(char::is_whitespace)),
        "{}: expected ids without white space, as in TREC's files, found one with it; rename it",
        console::input(args.topics.as_deref().unwrap_or(Path::new("-")))
    );
    let ids = topics.iter().flatten().map(|topic| topic.id.clone()).collect();
    let mut session = Session { index, printer: Printer::new(&args, ids), args: &args, answered: false, corrected: 0 };
    if let Some(topics) = &topics {
        let mut out = console::stdout();
        for topics in topics.chunks(BATCH_QUERIES) {
            let queries: Vec<String> = topics.iter().map(|topic| topic.text.clone()).collect();
            session.answer(&queries, &mut out)?;
        }
        console::written(out.flush())?;
        if session.corrected > 0 {
            let (corrected, all) = (console::count(session.corrected), console::counted(topics.len() as u64, "topic"));
            console::note(format_args!("searched for {corrected} of {all} with corrected words; {AS_TYPED}"));
        }
    } else if args.queries.is_empty() {
        let bad = session.answer_standard_input()?;
        if bad > 0 {
            bail!("standard input: {} could not be read, all others were answered", console::counted(bad, "line"));
        }
    } else {
        let mut out = console::stdout();
        session.answer(&args.queries, &mut out)?;
        console::written(out.flush())?;
    }
    Ok(if session.answered { Exit::Done } else { Exit::No })
}

/// The help for a user whose words were no typing errors.
const AS_TYPED: &str = "`--as-typed` keeps the words as they are";

struct Session<'a> {
    index: Index,
    args: &'a Args,
    printer: Printer,
    /// Whether a query had a result.
    answered: bool,
    /// The number of queries whose words were corrected.
    corrected: u64,
}

impl Session<'_> {
    /// Answers line by line. Returns the number of lines that are not valid queries.
    fn answer_standard_input(&mut self) -> Result<u64> {
        if io::stdin().is_terminal() {
            console::note("type a query and press enter; end with Ctrl-D");
        }
        let mut lines = Lines::open(Path::new("-"))?;
        let (mut batch, mut bad, mut answered) = (Vec::new(), 0, 0);
        loop {
            let mut out = console::stdout();
            match lines.next_batch(BATCH_QUERIES, &mut batch) {
                Ok(()) if batch.is_empty() => {
                    if answered + bad == 0 {
                        console::note("standard input: expected queries, one a line, found none");
                    }
                    return Ok(bad);
                }
                Ok(()) => {
                    answered += batch.len() as u64;
                    self.answer(&batch, &mut out)?;
                }
                // A bad line gets an answer of its own, and the next lines get theirs.
                Err(error) if error.kind() == clickvec_tables::ErrorKind::Malformed => {
                    bad += 1;
                    console::note(&error);
                    self.printer.print_bad(&error, &mut out)?;
                }
                Err(error) => return Err(error.into()),
            }
            console::written(out.flush())?;
        }
    }

    fn answer(&mut self, queries: &[String], out: &mut impl Write) -> Result<()> {
        for (query, answer) in queries.iter().zip(outcome::search(&self.index, self.args, queries)?) {
            let shown = console::printable(query);
            if let Some(corrected) = answer.corrected.as_deref().filter(|_| !self.args.json) {
                self.corrected += 1;
                // A file of topics may have thousands.
                if self.args.topics.is_none() {
                    let corrected = console::printable(corrected);
                    console::note(format_args!("`{shown}`: searched for `{corrected}`; {AS_TYPED}"));
                }
            }
            if answer.weak && answer.nothing.is_none() && !self.args.json && !self.args.trec {
                console::note(format_args!("`{shown}`: weak matches: no title is likely to be what was meant"));
            }
            if let Some(nothing) = &answer.nothing {
                console::note(format_args!("`{shown}`: no results: {nothing}"));
            }
            self.answered |= !answer.results.is_empty();
            self.printer.print(query, &answer, out)?;
        }
        Ok(())
    }
}
