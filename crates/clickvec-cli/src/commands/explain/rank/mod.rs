//! `clickvec explain rank`: why a search of an index ranks one title above another.

mod page;
mod ranked;
mod text;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clickvec::internals::text::words;
use clickvec_index::Engine;
use serde::Serialize;

use super::Form;
use crate::answer::Answer;
use crate::output;
use ranked::{Gap, GapOfPart, Placed, Ranked, RankedBy};

/// Show why one title of an index ranks above another: what each word of the query adds to BM25 and to the cosine of the
/// vectors, and what each part of the search adds to the score.
///
/// The titles, their order and the sums are those of `clickvec search`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The index that `clickvec index` wrote.
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    /// The query.
    #[arg(value_name = "QUERY")]
    query: String,

    /// How many titles to show.
    #[arg(long, short = 'k', value_name = "N", default_value_t = 5, value_parser = crate::numbers::at_least_one::<usize>)]
    top: usize,

    /// Compare the titles with these ids, separated by commas, instead of the best ones.
    #[arg(long, value_name = "IDS", value_delimiter = ',', conflicts_with = "top")]
    ids: Vec<String>,

    #[command(flatten)]
    form: Form,
}

#[derive(Serialize)]
struct Line<'a> {
    rank: usize,
    id: &'a str,
    title: &'a str,
    sum: f64,
    /// What each part adds; null if it did not find the title, and left out if it takes no part.
    #[serde(skip_serializing_if = "Option::is_none")]
    words_part: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vectors_part: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigrams_part: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    teacher_part: Option<Option<f64>>,
    bm25: f64,
    cosine: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigrams: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    teacher: Option<f64>,
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
    args.form.check([&args.index])?;
    if words(&args.query).is_empty() {
        output::note(format_args!("`{}`: expected words, found none", output::printable(&args.query)));
        return Ok(Answer::No);
    }
    let Some(ranked) = Ranked::by_search(args, &Engine::open(&args.index)?)? else {
        let query = output::printable(&args.query);
        output::note(format_args!("`{query}`: no title has any of its words, and the model knows none of them"));
        return Ok(Answer::No);
    };
    let mut out = output::stdout();
    if args.form.json {
        for placed in &ranked.titles {
            output::json_line(&mut out, &json(placed, &ranked))?;
        }
    } else {
        output::written(write!(out, "{}", text::text(&ranked)))?;
    }
    output::written(out.flush())?;
    args.form.write_page(|| page::page(&ranked))?;
    Ok(Answer::Done)
}

fn json<'a>(placed: &'a Placed, ranked: &'a Ranked) -> Line<'a> {
    let part = |kind: RankedBy| {
        let place = ranked.parts.iter().position(|part| part.kind == kind);
        place.map(|place| placed.shares[place].map(|share| share.adds))
    };
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
        words_part: part(RankedBy::Words),
        vectors_part: part(RankedBy::Vectors),
        trigrams_part: part(RankedBy::Trigrams),
        teacher_part: part(RankedBy::Teacher),
        bm25: placed.bm25,
        cosine: placed.cosine(),
        trigrams: placed.trigrams,
        teacher: placed.teacher,
        query: ranked.words.iter().enumerate().map(word).collect(),
    }
}
