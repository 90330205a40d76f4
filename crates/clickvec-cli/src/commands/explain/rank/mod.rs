//! `clickvec explain rank`: why one title ranks above another, by words, by vectors, by trigrams and by a teacher.

mod engine;
mod fusion;
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
use crate::titles::{TitleColumns, without_field};

/// Show why one title ranks above another: what each word of the query adds to BM25 and to the cosine of the vectors,
/// and what they add to the sum.
///
/// If `--model` is a fusion of one model with bm25, trigram or vectors that `clickvec evaluate` saved, or if the index was made
/// with one, the sum is that of the fusion's searches. Otherwise it is the fusion `z-score` with equal weights: half the z-score of BM25
/// plus half the z-score of the cosine, where a z-score is the score minus its mean over all titles, divided by its standard
/// deviation. With `--index`, vectors are read from the index; otherwise all titles are encoded first.
#[derive(clap::Args)]
#[command(mut_arg("title_column", without_field))]
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
    #[arg(long, short = 'k', value_name = "N", default_value_t = 5, value_parser = crate::numbers::at_least_one::<usize>)]
    top: usize,

    /// Compare the titles with these ids, separated by commas, instead of the best ones.
    #[arg(long, value_name = "IDS", value_delimiter = ',', conflicts_with = "top")]
    ids: Vec<String>,

    #[command(flatten)]
    form: Form,
}

/// What ranks titles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RankedBy {
    Words,
    Vectors,
    Trigrams,
    Teacher,
}

impl RankedBy {
    fn name(self) -> &'static str {
        match self {
            RankedBy::Words => "words",
            RankedBy::Vectors => "vectors",
            RankedBy::Trigrams => "trigrams",
            RankedBy::Teacher => "teacher",
        }
    }

    /// Whether each word of the query has a share of the score.
    fn has_words(self) -> bool {
        matches!(self, RankedBy::Words | RankedBy::Vectors)
    }

    fn score(self) -> &'static str {
        match self {
            RankedBy::Words => "BM25",
            RankedBy::Vectors => "the cosine",
            RankedBy::Trigrams => "the cosine of the trigrams",
            RankedBy::Teacher => "the cosine of the teacher's vectors",
        }
    }
}

/// A part of the sum.
struct Part {
    kind: RankedBy,
    weight: f64,
    /// What one point of the score adds to the sum, for titles that this part found; `None` if no such number exists.
    scale: Option<f64>,
}

/// What a part says of a title that it found.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Share {
    score: f64,
    /// What it adds to the sum.
    adds: f64,
}

/// A title with its rank and what its sum is made of.
struct Placed {
    /// Its rank by the sum, from 1.
    rank: usize,
    title: Title,
    /// What each part adds to the sum; `None` if it did not find the title, which adds nothing.
    shares: Vec<Option<Share>>,
    bm25: f64,
    /// The cosine of the trigrams, if they are a part.
    trigrams: Option<f64>,
    /// The cosine of the teacher's vectors, if they are a part.
    teacher: Option<f64>,
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
    parts: Vec<Part>,
    method: FusionMethod,
    /// The number of titles that each part finds, if they are not all.
    depth: Option<usize>,
}

impl Placed {
    fn adds(&self, part: usize) -> f64 {
        self.shares[part].map_or(0.0, |share| share.adds)
    }

    fn sum(&self) -> f64 {
        (0..self.shares.len()).map(|part| self.adds(part)).sum()
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
    parts: Vec<GapOfPart>,
}

/// The difference of a part.
struct GapOfPart {
    kind: RankedBy,
    adds: f64,
    /// What each word of the query adds; empty if words have no share of their own in it.
    words: Vec<f64>,
}

impl Ranked {
    fn gaps(&self) -> Vec<Gap<'_>> {
        self.titles.windows(2).map(|pair| self.gap(&pair[0], &pair[1])).collect()
    }

    fn gap<'a>(&self, above: &'a Placed, below: &'a Placed) -> Gap<'a> {
        let part = |(place, part): (usize, &Part)| {
            let is_found = above.shares[place].is_some() && below.shares[place].is_some();
            let of_word = |word: usize, scale: f64| match part.kind {
                RankedBy::Words => (above.lexical[word] - below.lexical[word]) * scale,
                _ => (above.along(word) - below.along(word)) * scale,
            };
            let scale = part.scale.filter(|_| is_found && part.kind.has_words());
            let words = scale.map(|scale| (0..self.words.len()).map(|word| of_word(word, scale)).collect());
            GapOfPart { kind: part.kind, adds: above.adds(place) - below.adds(place), words: words.unwrap_or_default() }
        };
        Gap { above, below, parts: self.parts.iter().enumerate().map(part).collect() }
    }

    /// A part of the sum; cosines differ little, and reciprocal ranks are small.
    fn signed(&self, part: f64) -> String {
        format!("{part:+.*}", self.digits())
    }

    /// The decimals that sums and their parts are shown with.
    fn digits(&self) -> usize {
        match self.method {
            FusionMethod::MinMax | FusionMethod::ZScore => 2,
            FusionMethod::Linear => 4,
            FusionMethod::ReciprocalRank { .. } => 5,
        }
    }

    /// What the sum is, in words.
    fn sum_of(&self) -> String {
        let part = |part: &Part| {
            let score = part.kind.score();
            let normalised = match self.method {
                FusionMethod::Linear => score.to_owned(),
                FusionMethod::ZScore => format!("the z-score of {score}"),
                FusionMethod::MinMax => format!("{score} scaled to 0 … 1"),
                FusionMethod::ReciprocalRank { .. } => format!("the reciprocal rank by {score}"),
            };
            match part.weight {
                0.5 => format!("{}: half {normalised}", part.kind.name()),
                weight if self.method == FusionMethod::Linear => {
                    format!("{}: {weight:.4} times {normalised}", part.kind.name())
                }
                weight => format!("{}: {weight:.2} times {normalised}", part.kind.name()),
            }
        };
        let names: Vec<&str> = self.parts.iter().map(|part| part.kind.name()).collect();
        let parts: Vec<String> = self.parts.iter().map(part).collect();
        let mut text = format!("sum: {}; {}", names.join(" + "), parts.join("; "));
        match (self.method, self.depth) {
            (FusionMethod::ZScore, None) => {
                text += "\nz-score: the score minus its mean over all titles, divided by its standard deviation";
            }
            (FusionMethod::ZScore, Some(_)) => {
                text +=
                    "\nz-score: the score minus that of titles that were not found, divided by the standard deviation";
            }
            (FusionMethod::MinMax, _) => {}
            (FusionMethod::Linear, _) => text += "\nscores count from the lowest that each part found",
            (FusionMethod::ReciprocalRank { k }, _) => {
                text += &format!("\nreciprocal rank: 1 / ({k} + rank); words have no share of it");
            }
        }
        if let Some(depth) = self.depth {
            text += &format!(
                "\nas in a search, each part adds only to the {} that it finds",
                output::counted(depth as u64, "title")
            );
        }
        text
    }
}

impl Gap<'_> {
    fn sum(&self) -> f64 {
        self.parts.iter().map(|part| part.adds).sum()
    }
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
    args.title_columns.need(args.titles.is_some())?;
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
