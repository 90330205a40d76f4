//! `clickvec explain rank`: why one title stands above another, by words and by vectors.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use clickvec::explain::{Explainer, Match};
use clickvec::internals::text::words;
use clickvec::ranker::{Corpus, FusionMethod, Ranker, fuse};
use clickvec::tables::{TITLE, Title};
use maud::{Markup, html};
use serde::Serialize;

use super::errors::bm25;
use super::{Form, OneModel, page};
use crate::answer::Answer;
use crate::{input, output, table};

/// The titles' file in an index.
const TITLES_OF_INDEX: &str = "titles.tsv";
/// How much words and vectors count in the sum.
const WEIGHT: f64 = 0.5;

/// Show why one title stands above another: what each word of the query brings to BM25 and to the vectors' cosine, and
/// what both bring to their sum.
///
/// The sum is the fusion `z-score` with equal weights: each score less its mean over all titles, divided by its standard
/// deviation.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: OneModel,

    /// Without an index: the titles, a table with the columns id and title.
    #[arg(long, value_name = "FILE", required_unless_present = "index", conflicts_with = "index")]
    titles: Option<PathBuf>,

    /// The query.
    #[arg(value_name = "QUERY")]
    query: String,

    /// How many titles to show.
    #[arg(long, short = 'k', value_name = "N", default_value_t = 5, value_parser = super::at_least_one)]
    top: usize,

    #[command(flatten)]
    form: Form,
}

/// A title with what its place is made of.
struct Placed<'a> {
    title: &'a Title,
    /// The parts that both bring to the sum.
    parts: [f64; 2],
    bm25: f64,
    /// What each word of the query brings to BM25.
    lexical: Vec<f64>,
    found: Match,
}

impl Placed<'_> {
    fn sum(&self) -> f64 {
        self.parts.iter().sum()
    }
}

#[derive(Serialize)]
struct Line<'a> {
    rank: usize,
    id: &'a str,
    title: &'a str,
    sum: f64,
    words_part: f64,
    vectors_part: f64,
    bm25: f64,
    cosine: f32,
    query: Vec<JsonWord<'a>>,
}

#[derive(Serialize)]
struct JsonWord<'a> {
    word: &'a str,
    bm25: f64,
    along: f64,
    without: f64,
}

/// Shows the titles; no, if the query has no word.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.form.check(args.model.files().chain(&args.titles))?;
    let named = args.model.load()?;
    let path = match (&args.titles, &args.model.index) {
        (Some(titles), _) => titles.clone(),
        (None, Some(index)) => index.join(TITLES_OF_INDEX),
        (None, None) => unreachable!("one of them is required"),
    };
    let titles = input::titles(&path, TITLE)?;
    let query_words = words(&args.query);
    if query_words.is_empty() {
        output::note(format_args!("`{}`: expected words, found none", output::printable(&args.query)));
        return Ok(Answer::No);
    }
    let mut corpus = Corpus::default();
    titles.iter().for_each(|title| corpus.add_title(&title.title));
    let lexical = bm25(&corpus)?;
    let explainer = Explainer::new(&named.model);
    let placed = place(&args.query, &query_words, &titles, lexical.as_ref(), &explainer, args.top)?;
    let mut out = output::stdout();
    if args.form.json {
        for (rank, placed) in (1..).zip(&placed) {
            output::json_line(&mut out, &json(rank, placed, &query_words))?;
        }
    } else {
        output::written(write!(out, "{}", shown(&placed, &query_words)))?;
    }
    output::written(out.flush())?;
    args.form.write_page(|| page_of(&args.query, &placed, &query_words))?;
    Ok(Answer::Done)
}

/// The best titles by the sum.
fn place<'t>(
    query: &str,
    query_words: &[String],
    titles: &'t [Title],
    lexical: &dyn Ranker,
    explainer: &Explainer<'_>,
    top: usize,
) -> Result<Vec<Placed<'t>>> {
    let texts: Vec<&str> = titles.iter().map(|title| title.title.as_str()).collect();
    let by_words = lexical.score(query, &texts);
    let by_vectors: Vec<f64> = explainer.scores(query, &texts).into_iter().map(f64::from).collect();
    ensure!(by_vectors.iter().all(|score| score.is_finite()), "the model's scores are not finite");
    let part = |scores: &Vec<f64>| fuse(&[scores.as_slice()], &[WEIGHT], FusionMethod::ZScore);
    let parts = [part(&by_words), part(&by_vectors)];
    let sum = |title: usize| parts[0][title] + parts[1][title];
    let mut order: Vec<usize> = (0..titles.len()).collect();
    order.sort_by(|&a, &b| sum(b).total_cmp(&sum(a)).then(a.cmp(&b)));
    order.truncate(top);
    let shown: Vec<&str> = order.iter().map(|&title| texts[title]).collect();
    // BM25 is a sum over the query's words.
    let of_words: Vec<Vec<f64>> = query_words.iter().map(|word| lexical.score(word, &shown)).collect();
    let placed = |(row, &title): (usize, &usize)| Placed {
        title: &titles[title],
        parts: [parts[0][title], parts[1][title]],
        bm25: by_words[title],
        lexical: of_words.iter().map(|scores| scores[row]).collect(),
        found: explainer.explain(query, texts[title]),
    };
    Ok(order.iter().enumerate().map(placed).collect())
}

fn json<'a>(rank: usize, placed: &'a Placed<'_>, query: &'a [String]) -> Line<'a> {
    let shares = &placed.found.query_words;
    let word = |(place, word): (usize, &'a String)| JsonWord {
        word,
        bm25: placed.lexical[place],
        along: shares.along.get(place).copied().unwrap_or(0.0),
        without: shares.without.get(place).copied().unwrap_or(0.0),
    };
    Line {
        rank,
        id: &placed.title.id,
        title: &placed.title.title,
        sum: placed.sum(),
        words_part: placed.parts[0],
        vectors_part: placed.parts[1],
        bm25: placed.bm25,
        cosine: placed.found.score,
        query: query.iter().enumerate().map(word).collect(),
    }
}

fn shown(placed: &[Placed<'_>], query: &[String]) -> String {
    let mut rows = table::plain();
    rows.set_header(["", "sum", "words", "vectors", "bm25", "cosine", "title"]);
    for (rank, placed) in (1..).zip(placed) {
        rows.add_row([
            rank.to_string(),
            format!("{:+.2}", placed.sum()),
            format!("{:+.2}", placed.parts[0]),
            format!("{:+.2}", placed.parts[1]),
            format!("{:.2}", placed.bm25),
            format!("{:.3}", placed.found.score),
            output::printable(&placed.title.title).into_owned(),
        ]);
    }
    table::align_right(&mut rows, 0..6);
    let mut text = format!(
        "{}\n\nWhat each word of the query brings: to BM25, and to the cosine (along)\n\n",
        table::show(&mut rows)
    );
    let mut by_word = table::plain();
    by_word.set_header(
        std::iter::once(String::new()).chain(query.iter().map(|word| output::printable(word).into_owned())),
    );
    for (rank, placed) in (1..).zip(placed) {
        let along = &placed.found.query_words.along;
        let cell = |place: usize| {
            let along = along.get(place).map_or(String::new(), |along| format!("{along:+.3}"));
            format!("{:.2} {along}", placed.lexical[place])
        };
        by_word.add_row(std::iter::once(rank.to_string()).chain((0..query.len()).map(cell)));
    }
    table::align_right(&mut by_word, 0..query.len() + 1);
    let _ = writeln!(text, "{}", table::show(&mut by_word));
    text
}

fn page_of(query: &str, placed: &[Placed<'_>], query_words: &[String]) -> Markup {
    let largest = placed.iter().flat_map(|placed| placed.parts).fold(0.0f64, |largest, part| largest.max(part.abs()));
    let body = html! {
        p { "For the query " b.text { (query) } ". The sum has two parts of equal weight: BM25 and the cosine of the vectors, each less its "
            "mean over all titles, divided by its standard deviation." }
        @for (rank, placed) in (1..).zip(placed) {
            h2.text { (rank) ". " (placed.title.title) }
            table {
                tr { th { "sum" } td.n { (format!("{:+.2}", placed.sum())) } td {} }
                tr { th { "words" } (page::share(placed.parts[0], largest)) }
                tr { th { "vectors" } (page::share(placed.parts[1], largest)) }
            }
            div.wide {
                table {
                    tr { th { "word of the query" } @for word in query_words { th.n { (word) } } th.n { "together" } }
                    tr {
                        td { "BM25" }
                        @for part in &placed.lexical { td.n { (format!("{part:.2}")) } }
                        td.n { (format!("{:.2}", placed.bm25)) }
                    }
                    tr {
                        td { "cosine (along)" }
                        @for place in 0..query_words.len() {
                            td.n { (placed.found.query_words.along.get(place).map_or(String::new(), |part| format!("{part:+.3}"))) }
                        }
                        td.n { (format!("{:.3}", placed.found.score)) }
                    }
                }
            }
        }
    };
    page::page("Why this order", false, body)
}
