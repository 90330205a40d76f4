//! `clickvec search`: the best of all titles for each query.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clickvec::clicks::Title;
use clickvec::index::{FlatIndex, Hit, QuantizedIndex, SearchScratch};
use clickvec::model::{Embedder, Model, Side};
use clickvec::text::{Dictionary, words};
use serde::Serialize;

use super::Answer;
use crate::input::{self, Lines};
use crate::{output, progress};

/// Titles that are encoded at once, between two steps of the progress bar.
const BATCH_TITLES: usize = 2048;
/// Queries that are taken from standard input at once, if so many wait.
const BATCH_QUERIES: usize = 64;

/// Rank all titles for each query, best first.
///
/// Exact: every title is looked at. The titles are encoded once, at the start; queries come from the command line or,
/// without any, line by line from standard input, and are answered as they come.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The model that `clickvec train` wrote.
    #[arg(long, value_name = "MODEL")]
    model: PathBuf,

    /// What is searched: a table with the columns id and title; also .gz and .zst.
    #[arg(long, value_name = "FILE")]
    titles: PathBuf,

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
    let model = Model::load(&args.model)?;
    let titles = input::titles(&args.titles)?;
    let collection = Collection::encode(&model, titles)?;
    let mut session = Session {
        model: &model,
        collection: &collection,
        embedder: model.embedder(Side::Query),
        vector: Vec::new(),
        scratch: SearchScratch::default(),
        printer: Printer { json: args.json, several: args.queries.len() != 1, first: true },
        top: args.top as usize,
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

/// Titles that can be found, beside their vectors.
struct Collection {
    titles: Vec<Title>,
    index: QuantizedIndex,
}

impl Collection {
    /// Encodes the titles. One of which the model knows no word would have a vector that says nothing: it is left out.
    fn encode(model: &Model, mut titles: Vec<Title>) -> Result<Collection> {
        let all = titles.len();
        titles.retain(|title| knows_a_word(model.dictionary(), &title.title));
        if titles.len() < all {
            let strange = output::counted((all - titles.len()) as u64, "title");
            output::note(format_args!("{strange} cannot be found: the model knows none of their words"));
        }
        let mut embedder = model.embedder(Side::Title);
        let mut vectors = Vec::with_capacity(titles.len() * model.dimension());
        let bar = progress::bar(titles.len() as u64, "encoding", "titles");
        for batch in titles.chunks(BATCH_TITLES) {
            let texts: Vec<&str> = batch.iter().map(|title| title.title.as_str()).collect();
            vectors.extend_from_slice(embedder.embed(&texts));
            bar.inc(batch.len() as u64);
        }
        bar.finish_and_clear();
        let index = QuantizedIndex::new(FlatIndex::new(model.dimension(), vectors)?);
        Ok(Collection { titles, index })
    }
}

/// Whether at least one trigram of the text is in the dictionary.
fn knows_a_word(dictionary: &Dictionary, text: &str) -> bool {
    let mut features = Vec::new();
    words(text).iter().any(|word| {
        features.clear();
        dictionary.hash_word(word, &mut features);
        !features.is_empty()
    })
}

fn scale_to_unit(vector: &mut [f32]) {
    let length = vector.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
    }
}

struct Session<'a> {
    model: &'a Model,
    collection: &'a Collection,
    embedder: Embedder<'a>,
    /// The query's vector, of length 1: scores are cosines.
    vector: Vec<f32>,
    scratch: SearchScratch,
    printer: Printer,
    top: usize,
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
        let known = knows_a_word(self.model.dictionary(), query);
        let hits = if known {
            self.vector.clear();
            self.vector.extend_from_slice(self.embedder.embed(&[query]));
            scale_to_unit(&mut self.vector);
            self.collection.index.search(&self.vector, self.top, &mut self.scratch)?
        } else {
            let shown = output::printable(query);
            match words(query).is_empty() {
                true => output::note(format_args!("`{shown}`: no results: expected words, found none")),
                false => output::note(format_args!("`{shown}`: no results: the model knows none of its words")),
            }
            &[]
        };
        self.answered |= !hits.is_empty();
        let found = hits.iter().filter_map(|hit| Some((hit, self.collection.titles.get(hit.position as usize)?)));
        self.printer.print(query, &found.collect::<Vec<_>>(), out)
    }
}

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
    fn print(&mut self, query: &str, found: &[(&Hit, &Title)], out: &mut impl Write) -> Result<()> {
        if self.json {
            let ranked = (1..).zip(found);
            let results = ranked
                .map(|(rank, (hit, title))| JsonResult { rank, id: &title.id, title: &title.title, score: hit.score })
                .collect();
            return output::json_line(out, &JsonAnswer { query, results });
        }
        output::written(self.print_text(query, found, out))
    }

    /// One line a title: rank, score, id, title.
    fn print_text(&mut self, query: &str, found: &[(&Hit, &Title)], out: &mut impl Write) -> io::Result<()> {
        if self.several {
            let gap = if self.first { "" } else { "\n" };
            writeln!(out, "{gap}{}", output::printable(query))?;
        }
        self.first = false;
        let rank_width = found.len().to_string().len();
        let id_width = found.iter().map(|(_, title)| title.id.chars().count()).max().unwrap_or(0);
        for (rank, (hit, title)) in (1..).zip(found) {
            let (id, text) = (output::printable(&title.id), output::printable(&title.title));
            writeln!(out, "{rank:>rank_width$}  {:>6.3}  {id:<id_width$}  {text}", hit.score)?;
        }
        Ok(())
    }
}
