//! `clickvec explain rank`: why a search of an index ranks one title above another.

mod ranked;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clickvec::internals::text::words;
use clickvec_index::{ByPart, Index, Part};
use serde::Serialize;

use super::{Form, page};
use crate::answer::Answer;
use crate::output;
use crate::report::{Cell, Column, Report, Table};
use ranked::{Gap, GapOfPart, Placed, Ranked, score_of};

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
    adds: ByPart<Option<f64>>,
    /// The score by each part of the index.
    scores: ByPart<f32>,
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
    let Some(ranked) = Ranked::by_search(args, &Index::open(&args.index)?)? else {
        let query = output::printable(&args.query);
        output::note(format_args!("`{query}`: no title has any of its words, and the model knows none of them"));
        return Ok(Answer::No);
    };
    let report = report(&ranked);
    let mut out = output::stdout();
    if args.form.json {
        for placed in &ranked.titles {
            output::json_line(&mut out, &json(placed, &ranked))?;
        }
    } else {
        output::written(write!(out, "{}", report.to_text()))?;
    }
    output::written(out.flush())?;
    args.form.write_page(|| page::page("Why this order", false, &report.to_markup()))?;
    Ok(Answer::Done)
}

fn json<'a>(placed: &'a Placed, ranked: &'a Ranked) -> Line<'a> {
    let adds = |part: Part| (part, placed.shares.get(part).map(|_| placed.adds(part)));
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
        adds: ranked.parts.iter().map(|of| adds(of.part)).collect(),
        scores: placed.scores,
        query: ranked.words.iter().enumerate().map(word).collect(),
    }
}

/// Returns the titles, what each word adds, and why each title ranks above the next.
fn report(ranked: &Ranked) -> Report {
    let mut report = Report::default();
    report.line("query", &ranked.query);
    report.line("model", &format!("{}; {}", ranked.model, output::counted(ranked.of as u64, "title")));
    report.table(sums(ranked));
    report.heading(3, "What each word of the query adds to BM25");
    report.table(by_word(ranked, |placed, place| format!("{:.2}", placed.lexical[place])));
    report.heading(3, "What each word of the query adds to the cosine of the vectors");
    report.table(by_word(ranked, |placed, place| format!("{:+.3}", placed.along(place))));
    let gaps: Vec<String> = ranked.gaps().iter().map(|gap| why(ranked, gap)).collect();
    if !gaps.is_empty() {
        report.heading(3, "Why each title ranks above the next: differences in the sum");
        report.paragraph(gaps.join("\n"));
    }
    report.note(ranked.sum_of());
    report
}

/// Returns the sum of each title and its parts; what did not find a title adds nothing.
fn sums(ranked: &Ranked) -> Table {
    let adds = |placed: &Placed| ranked.parts.iter().map(|of| placed.adds(of.part).abs()).fold(0.0, f64::max);
    let largest = ranked.titles.iter().map(adds).fold(0.0, f64::max);
    let mut columns = vec![Column::number(""), Column::number("sum")];
    columns.extend(ranked.parts.iter().map(|of| Column::share(of.part.name(), largest)));
    columns.extend(ranked.parts.iter().map(|of| Column::number(score_of(of.part).trim_start_matches("the "))));
    columns.push(Column::long("title"));
    let mut table = Table::new(columns);
    for placed in &ranked.titles {
        let mut row: Vec<Cell> = vec![placed.rank.to_string().into(), ranked.signed(placed.sum()).into()];
        row.extend(ranked.parts.iter().map(|of| match placed.shares.get(of.part) {
            Some(_) => Cell::Share(ranked.signed(placed.adds(of.part)), placed.adds(of.part)),
            None => "–".into(),
        }));
        let score = |part: Part| placed.scores.get(part).map_or_else(String::new, |score| format!("{score:.3}"));
        row.extend(ranked.parts.iter().map(|of| score(of.part).into()));
        row.push(placed.title.title.as_str().into());
        table.add(row);
    }
    table
}

/// Returns a table with a number for each title and each word of the query.
fn by_word(ranked: &Ranked, value: impl Fn(&Placed, usize) -> String) -> Table {
    let words = ranked.words.iter().map(|word| Column::number(word.as_str()));
    let mut table = Table::new(std::iter::once(Column::number("")).chain(words));
    for placed in &ranked.titles {
        let cells = (0..ranked.words.len()).map(|place| value(placed, place).into());
        table.add(std::iter::once(placed.rank.to_string().into()).chain(cells));
    }
    table
}

/// Reads `1 above 2 by 0.37: words +0.20 (hotels +0.20), vectors +0.17 (hotels +0.20, in -0.03)`. Words whose number would be zero are
/// left out.
fn why(ranked: &Ranked, gap: &Gap<'_>) -> String {
    let least = 0.5 / 10f64.powi(ranked.digits() as i32);
    let part = |part: &GapOfPart| {
        let words = ranked.words.iter().zip(part.words.iter().copied());
        let mut words: Vec<(&String, f64)> = words.filter(|(_, adds)| adds.abs() >= least).collect();
        words.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let words: Vec<String> = words.iter().map(|(word, adds)| format!("{word} {}", ranked.signed(*adds))).collect();
        let words = if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
        format!("{} {}{words}", part.part, ranked.signed(part.adds))
    };
    let parts: Vec<String> = gap.parts.iter().map(part).collect();
    let sum = ranked.signed(gap.sum());
    format!("{} above {} by {}: {}", gap.above.rank, gap.below.rank, sum.trim_start_matches('+'), parts.join(", "))
}
