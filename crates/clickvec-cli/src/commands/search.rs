//! `clickvec search`: the best of all titles for each query.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clickvec::collection::Collection;
use clickvec::index::{Hit, SearchScratch};
use clickvec::model::{Embedder, Model, Side};
use clickvec::tables::TITLE;
use clickvec::text::{Dictionary, words};
use serde::Serialize;

use crate::answer::Answer;
use crate::input::{self, Lines};
use crate::{output, progress};

/// From so many searches on, codes save more time than it takes to make them.
const WORTH_CODES: usize = 20;
/// Queries that are taken from standard input at once, if so many wait.
const BATCH_QUERIES: usize = 64;

/// Rank all titles for each query, best first.
///
/// Exact: every title is looked at. An index has the titles encoded; without one they are encoded first, each time.
/// Queries come from the command line or, without any, line by line from standard input, and are answered as they come.
#[derive(clap::Args)]
#[command(override_usage = "clickvec search --index INDEX [OPTIONS] [QUERY]...\n       \
    clickvec search --model MODEL --titles FILE [OPTIONS] [QUERY]...")]
pub(crate) struct Args {
    /// What is searched: the folder that `clickvec index` wrote.
    #[arg(long, value_name = "INDEX")]
    index: Option<PathBuf>,

    /// Without an index: the model that `clickvec train` wrote.
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,

    /// Without an index: what is searched, a table with the columns id and title, or a BEIR corpus; also .gz
    /// and .zst.
    #[arg(long, value_name = "FILE")]
    titles: Option<PathBuf>,

    /// Without an index: the column that is searched in the place of the title; `title+text` joins two.
    #[arg(long, value_name = "COLUMN", default_value = TITLE, conflicts_with = "index")]
    field: String,

    /// What to search for [default: lines of standard input].
    #[arg(value_name = "QUERY")]
    queries: Vec<String>,

    /// How many titles to show for each query.
    #[arg(long, short = 'k', default_value_t = 10, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,

    /// Print one JSON object a query.
    #[arg(long)]
    json: bool,
}

/// Answers the queries; no, if not one of them has a result.
pub(crate) fn run(args: Args) -> Result<Answer> {
    match (&args.index, &args.model, &args.titles) {
        (Some(index), None, None) => {
            let (model, collection, _) = Collection::open(index)?;
            answer(&args, model.dictionary(), model.embedder(), collection)
        }
        (None, Some(model), Some(titles)) => {
            let model = Model::load(model)?;
            let collection = encode(&model, titles, &args.field)?;
            answer(&args, model.dictionary(), model.embedder(Side::Query), collection)
        }
        (Some(_), ..) => {
            bail!("expected `--index INDEX` alone, found `--model` or `--titles` beside it; leave those out")
        }
        (None, model, titles) => {
            let found = match (model, titles) {
                (Some(_), _) => "`--model` alone",
                (_, Some(_)) => "`--titles` alone",
                _ => "none of them",
            };
            bail!(
                "expected `--index INDEX`, or `--model MODEL` with `--titles FILE`, found {found}; \
                 see `clickvec search --help`"
            )
        }
    }
}

fn answer(args: &Args, dictionary: &Dictionary, embedder: Embedder<'_>, collection: Collection) -> Result<Answer> {
    let mut session = Session {
        dictionary,
        collection,
        embedder,
        vector: Vec::new(),
        scratch: SearchScratch::default(),
        printer: Printer { json: args.json, several: args.queries.len() != 1, first: true },
        top: args.top as usize,
        searches: 0,
        answered: false,
    };
    if args.queries.is_empty() {
        session.answer_standard_input()?;
    } else {
        let mut out = output::stdout();
        for query in &args.queries {
            session.answer(query, &mut out)?;
        }
        output::written(out.flush())?;
    }
    Ok(if session.answered { Answer::Done } else { Answer::No })
}

/// Reads a table of titles and encodes it.
pub(super) fn encode(model: &Model, titles: &Path, field: &str) -> Result<Collection> {
    let titles = input::titles(titles, field)?;
    let bar = progress::bar(titles.len() as u64, "encoding", "titles");
    let collection = Collection::encode(model, titles, &mut |done| bar.set_position(done as u64))?;
    bar.finish_and_clear();
    if collection.left_out() > 0 {
        let strange = output::counted(collection.left_out() as u64, "title");
        output::note(format_args!("{strange} cannot be found: the model knows none of their words"));
    }
    Ok(collection)
}

/// Scales a vector to length 1, if it has any.
pub(super) fn scale_to_unit(vector: &mut [f32]) {
    let length = vector.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
    }
}

struct Session<'a> {
    dictionary: &'a Dictionary,
    collection: Collection,
    embedder: Embedder<'a>,
    /// The query's vector, of length 1: scores are cosines.
    vector: Vec<f32>,
    scratch: SearchScratch,
    printer: Printer,
    top: usize,
    searches: usize,
    answered: bool,
}

impl Session<'_> {
    fn answer_standard_input(&mut self) -> Result<()> {
        if io::stdin().is_terminal() {
            output::note("type a query and press enter; end with Ctrl-D");
        }
        let mut lines = Lines::open(Path::new("-"))?;
        let mut batch = Vec::new();
        loop {
            lines.next_batch(BATCH_QUERIES, &mut batch)?;
            if batch.is_empty() {
                return Ok(());
            }
            let mut out = output::stdout();
            for query in &batch {
                self.answer(query, &mut out)?;
            }
            output::written(out.flush())?;
        }
    }

    fn answer(&mut self, query: &str, out: &mut impl Write) -> Result<()> {
        let known = self.dictionary.knows_a_word(query);
        let hits = if known {
            self.vector.clear();
            self.vector.extend_from_slice(self.embedder.embed(&[query]));
            scale_to_unit(&mut self.vector);
            self.searches += 1;
            if self.searches == WORTH_CODES {
                self.collection.quantize();
            }
            self.collection.search(&self.vector, self.top, &mut self.scratch)?
        } else {
            let shown = output::printable(query);
            match words(query).is_empty() {
                true => output::note(format_args!("`{shown}`: no results: expected words, found none")),
                false => output::note(format_args!("`{shown}`: no results: the model knows none of its words")),
            }
            &[]
        };
        self.answered |= !hits.is_empty();
        let found = hits.iter().filter_map(|hit| Some((hit, self.collection.title(hit.position)?)));
        self.printer.print(query, &found.collect::<Vec<_>>(), out)
    }
}

/// A hit, and id and text of the title.
type Found<'a> = (&'a Hit, (&'a str, &'a str));

struct Printer {
    json: bool,
    /// Whether results say which query they belong to.
    several: bool,
    first: bool,
}

/// What programs read.
#[derive(Serialize)]
struct JsonAnswer<'a> {
    query: &'a str,
    results: Vec<JsonResult<'a>>,
}

#[derive(Serialize)]
struct JsonResult<'a> {
    rank: usize,
    id: &'a str,
    title: &'a str,
    score: f32,
}

impl Printer {
    fn print(&mut self, query: &str, found: &[Found<'_>], out: &mut impl Write) -> Result<()> {
        if self.json {
            let ranked = (1..).zip(found);
            let results =
                ranked.map(|(rank, &(hit, (id, title)))| JsonResult { rank, id, title, score: hit.score }).collect();
            return output::json_line(out, &JsonAnswer { query, results });
        }
        output::written(self.print_text(query, found, out))
    }

    /// One line a title: rank, score, id, title.
    fn print_text(&mut self, query: &str, found: &[Found<'_>], out: &mut impl Write) -> io::Result<()> {
        if self.several {
            let gap = if self.first { "" } else { "\n" };
            writeln!(out, "{gap}{}", output::printable(query))?;
        }
        self.first = false;
        let rank_width = found.len().to_string().len();
        let id_width = found.iter().map(|(_, (id, _))| id.chars().count()).max().unwrap_or(0);
        for (rank, (hit, (id, title))) in (1..).zip(found) {
            let (id, text) = (output::printable(id), output::printable(title));
            writeln!(out, "{rank:>rank_width$}  {:>6.3}  {id:<id_width$}  {text}", hit.score)?;
        }
        Ok(())
    }
}
