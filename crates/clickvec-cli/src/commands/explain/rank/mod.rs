//! `clickvec explain rank`: why one title ranks above another, by words and by vectors.

mod page;
mod place;
mod text;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clickvec::explain::{Match, WordShares};
use clickvec::internals::text::words;
use clickvec::ranker::FusionMethod;
use clickvec::tables::Title;
use serde::Serialize;

use super::{Form, OneModel};
use crate::answer::Answer;
use crate::output;
use crate::titles::TitleColumns;

/// Show why one title ranks above another: what each word of the query adds to BM25 and to the cosine of the vectors,
/// and what these two add to their sum.
///
/// The sum is the fusion `z-score` with equal weights: half the z-score of BM25 plus half the z-score of the cosine. A
/// z-score is the score minus its mean over all titles, divided by its standard deviation. If `--model` is a fusion of
/// bm25 and a model that `clickvec evaluate` saved, its method and its weights are used. With `--index`, vectors are read
/// from the index; otherwise all titles are encoded first.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: OneModel,

    /// The titles if there is no index: a table with the columns id and title.
    #[arg(long, value_name = "FILE", required_unless_present = "index", conflicts_with = "index")]
    titles: Option<PathBuf>,

    #[command(flatten)]
    title_columns: TitleColumns,

    /// The query.
    #[arg(value_name = "QUERY")]
    query: String,

    /// How many titles to show.
    #[arg(long, short = 'k', value_name = "N", default_value_t = 5, value_parser = super::at_least_one)]
    top: usize,

    /// Compare the titles with these ids, separated by commas, instead of the best ones.
    #[arg(long, value_name = "IDS", value_delimiter = ',', conflicts_with = "top")]
    ids: Vec<String>,

    #[command(flatten)]
    form: Form,
}

/// A title with its rank and what its sum is made of.
struct Placed {
    /// Its rank by the sum, from 1.
    rank: usize,
    title: Title,
    /// What words and vectors add to the sum.
    parts: [f64; 2],
    bm25: f64,
    /// What each word of the query adds to BM25.
    lexical: Vec<f64>,
    /// `None` if the model knows no word of the query: then its vector means nothing, and no search uses it.
    found: Option<Match>,
}

/// The titles that are shown, best first.
struct Ranked {
    query: String,
    words: Vec<String>,
    model: String,
    titles: Vec<Placed>,
    /// The number of all titles.
    of: usize,
    /// What one point of BM25 and of the cosine adds to the sum; `None` if no such number exists.
    scales: Option<[f64; 2]>,
    method: FusionMethod,
    /// Of words and of vectors.
    weights: [f64; 2],
}

impl Placed {
    fn sum(&self) -> f64 {
        self.parts.iter().sum()
    }

    /// What each word of the query adds to the cosine; a word that the model does not read adds nothing.
    fn along(&self, place: usize) -> f64 {
        self.share(place, |shares| &shares.along)
    }

    fn without(&self, place: usize) -> f64 {
        self.share(place, |shares| &shares.without)
    }

    fn share(&self, place: usize, of: impl Fn(&WordShares) -> &Vec<f64>) -> f64 {
        let shares = self.found.as_ref().map(|found| of(&found.query_words));
        shares.and_then(|shares| shares.get(place)).copied().unwrap_or(0.0)
    }

    fn cosine(&self) -> f32 {
        self.found.as_ref().map_or(0.0, |found| found.score)
    }
}

/// Why a title ranks above the next one: the differences of their sums' parts.
struct Gap<'a> {
    above: &'a Placed,
    below: &'a Placed,
    /// Of words and of vectors.
    parts: [f64; 2],
    /// Of each word of the query, the same two; none if words have no part in the sum of their own.
    words: Vec<[f64; 2]>,
}

impl Ranked {
    fn gaps(&self) -> Vec<Gap<'_>> {
        let gap = |pair: &'_ [Placed]| -> ([f64; 2], Vec<[f64; 2]>) {
            let (above, below) = (&pair[0], &pair[1]);
            let word = |place: usize, scales: [f64; 2]| {
                [
                    (above.lexical[place] - below.lexical[place]) * scales[0],
                    (above.along(place) - below.along(place)) * scales[1],
                ]
            };
            let parts = [0, 1].map(|part| above.parts[part] - below.parts[part]);
            let words = self.scales.map(|scales| (0..self.words.len()).map(|place| word(place, scales)).collect());
            (parts, words.unwrap_or_default())
        };
        self.titles
            .windows(2)
            .map(|pair| {
                let (parts, words) = gap(pair);
                Gap { above: &pair[0], below: &pair[1], parts, words }
            })
            .collect()
    }
}

impl Ranked {
    /// A part of the sum; reciprocal ranks are small.
    fn signed(&self, part: f64) -> String {
        let digits = if self.scales.is_none() { 5 } else { 2 };
        format!("{part:+.digits$}")
    }

    /// What the sum is, in words.
    fn sum_of(&self) -> String {
        let normalised = |score: &str| match self.method {
            FusionMethod::ZScore => format!("the z-score of {score}"),
            FusionMethod::MinMax => format!("{score} scaled to 0 … 1"),
            FusionMethod::ReciprocalRank { .. } => format!("the reciprocal rank by {score}"),
        };
        let part = |part: usize, score: &str| match self.weights[part] {
            0.5 => format!("half {}", normalised(score)),
            weight => format!("{weight:.2} times {}", normalised(score)),
        };
        let more = match self.method {
            FusionMethod::ZScore => {
                "\nz-score: the score minus its mean over all titles, divided by its standard deviation".to_owned()
            }
            FusionMethod::MinMax => String::new(),
            FusionMethod::ReciprocalRank { k } => {
                format!("\nreciprocal rank: 1 / ({k} + rank), with ranks among all titles; words have no share of it")
            }
        };
        format!("sum: words + vectors; words: {}; vectors: {}{more}", part(0, "BM25"), part(1, "the cosine"))
    }
}

impl Gap<'_> {
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

/// Shows the titles. The answer is no if no word of the query is known.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.form.check(args.model.files().chain(&args.titles))?;
    if words(&args.query).is_empty() {
        output::note(format_args!("`{}`: expected words, found none", output::printable(&args.query)));
        return Ok(Answer::No);
    }
    let Some(ranked) = place::place(args)? else {
        let query = output::printable(&args.query);
        output::note(format_args!("`{query}`: no title has any of its words, and the model knows none of them"));
        return Ok(Answer::No);
    };
    let mut out = output::stdout();
    if args.form.json {
        for placed in &ranked.titles {
            output::json_line(&mut out, &json(placed, &ranked.words))?;
        }
    } else {
        output::written(write!(out, "{}", text::text(&ranked)))?;
    }
    output::written(out.flush())?;
    args.form.write_page(|| page::page(&ranked))?;
    Ok(Answer::Done)
}

fn json<'a>(placed: &'a Placed, query: &'a [String]) -> Line<'a> {
    let word = |(place, word): (usize, &'a String)| JsonWord {
        word,
        bm25: placed.lexical[place],
        along: placed.along(place),
        without: placed.without(place),
    };
    Line {
        rank: placed.rank,
        id: &placed.title.id,
        title: &placed.title.title,
        sum: placed.sum(),
        words_part: placed.parts[0],
        vectors_part: placed.parts[1],
        bm25: placed.bm25,
        cosine: placed.cosine(),
        query: query.iter().enumerate().map(word).collect(),
    }
}
