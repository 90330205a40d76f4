//! `clickvec lab topics`: what each cell represents (LSTM paper, table III).

mod page;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clickvec::encoder::EncoderConfig;
use clickvec::explain::{Explainer, KeywordOptions};
use clickvec::internals::encoder::{Reading, describe};
use clickvec::model::Side;
use clickvec_lab::explain::{CellTopic, QueryTopics, Topics};
use serde::Serialize;

use crate::answer::Answer;
use crate::commands::explain::{self, Form, OneModel};
use crate::{aligned, output};

/// Show what each cell represents: the keywords that it collects over many queries.
///
/// In each query, the most active cells collect the words that change them by more than the threshold (for a CLSM: the
/// words that win them). The word that is read first is left out. A cell's purity is the mean pointwise mutual
/// information of the cell and its words, in bits: 0 if it collects words in proportion to their frequency.
///
/// `--table` instead shows queries in rows and cells in columns, like table III of the LSTM paper.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: OneModel,

    /// The queries, one a line; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,

    /// How many of the most active cells of a query collect its words, in each direction.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = crate::numbers::at_least_one::<usize>)]
    active: usize,

    /// A cell collects a word that changes it by more than this fraction of the cells' mean activation.
    #[arg(long, value_name = "X", default_value_t = KeywordOptions::default().threshold, value_parser = explain::threshold)]
    threshold: f32,

    /// How many words to show for each cell.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = crate::numbers::at_least_one::<usize>)]
    words: usize,

    /// Show table III of the LSTM paper: a row for each query, a column for each cell, and the words that the cell
    /// collects.
    #[arg(long)]
    table: bool,

    /// How many queries this table shows [default: 20 on the terminal, 200 on the page].
    #[arg(long, value_name = "N", value_parser = crate::numbers::at_least_one::<usize>)]
    rows: Option<usize>,

    #[command(flatten)]
    form: Form,
}

#[derive(Serialize)]
struct JsonCell<'a> {
    cell: usize,
    name: String,
    queries: usize,
    share: f64,
    purity: f64,
    words: Vec<JsonWord<'a>>,
}

#[derive(Serialize)]
struct JsonWord<'a> {
    word: &'a str,
    count: usize,
    information: f64,
}

/// A row of the paper's table.
#[derive(Serialize)]
struct JsonRow<'a> {
    query: &'a str,
    cells: Vec<JsonCollected<'a>>,
}

#[derive(Serialize)]
struct JsonCollected<'a> {
    cell: usize,
    words: &'a [String],
}

/// Rows of the paper's table, and the most columns side by side.
const ROWS: usize = 20;
const COLUMNS: usize = 6;

/// Shows the cells. The answer is no if none collects a word.
pub(super) fn run(args: &Args) -> Result<Answer> {
    ensure!(
        args.rows.is_none() || args.table || args.form.html.is_some(),
        "expected `--table` or `--html FILE` with `--rows`, which says how long the table is, found neither; add one of them, or \
         leave `--rows` out"
    );
    args.form.check(args.model.files().chain([&args.queries]))?;
    let model = args.model.load()?;
    let bag = |config: &EncoderConfig| describe(config).reading == Reading::Bag;
    if bag(model.model.encoder_config()) {
        bail!(
            "expected a model with a state at each word, which all encoders but the dssm have, found a {}, which reads bags of words",
            model.model.encoder_config().kind()
        );
    }
    let queries = explain::texts(&[], Some(&args.queries))?;
    let options = KeywordOptions { threshold: args.threshold, ..KeywordOptions::default() };
    let explainer = Explainer::new(&model.model);
    let topics = Topics::new(&explainer, Side::Query, &queries, args.active, &options).expect("states at each word");
    let mut out = output::stdout();
    if args.form.json {
        if args.table {
            for row in topics.table.iter().take(args.rows.unwrap_or(usize::MAX)) {
                output::json_line(&mut out, &json_row(row))?;
            }
        } else {
            for cell in &topics.cells {
                output::json_line(&mut out, &json(cell, &topics, args.words))?;
            }
        }
    } else {
        let rows = &topics.table[..args.rows.unwrap_or(ROWS).min(topics.table.len())];
        let text = if args.table { paper_table(rows, topics.table.len()) } else { shown(&topics, args) };
        output::written(write!(out, "{text}"))?;
    }
    output::written(out.flush())?;
    args.form.write_page(|| page::page(&model, &topics, args))?;
    Ok(if topics.cells.is_empty() { Answer::No } else { Answer::Done })
}

fn share(cell: &CellTopic, topics: &Topics) -> f64 {
    cell.queries as f64 / topics.queries as f64
}

fn json<'a>(cell: &'a CellTopic, topics: &Topics, words: usize) -> JsonCell<'a> {
    let word = |word: &'a clickvec_lab::explain::CellWord| JsonWord {
        word: &word.word,
        count: word.count,
        information: word.information,
    };
    JsonCell {
        cell: cell.cell + 1,
        name: cell.name(),
        queries: cell.queries,
        share: share(cell, topics),
        purity: cell.purity,
        words: cell.words.iter().take(words).map(word).collect(),
    }
}

fn words_of(cell: &CellTopic, most: usize) -> String {
    let word = |word: &clickvec_lab::explain::CellWord| format!("{} {}", word.word, word.count);
    cell.words.iter().take(most).map(word).collect::<Vec<_>>().join(", ")
}

fn shown(topics: &Topics, args: &Args) -> String {
    if topics.queries == 0 {
        return "no query has a word\n".to_owned();
    }
    if topics.cells.is_empty() {
        let queries = output::counted(topics.queries as u64, "query");
        return format!("no cell collects a word of {queries}; try a threshold below {}\n", args.threshold);
    }
    let mut cells = aligned::plain();
    cells.set_header(["cell", "queries", "share", "purity", "words and counts, most informative first"]);
    for cell in &topics.cells {
        cells.add_row([
            (cell.cell + 1).to_string(),
            output::count(cell.queries as u64),
            format!("{:.3}", share(cell, topics)),
            format!("{:.2}", cell.purity),
            output::printable(&words_of(cell, args.words)).into_owned(),
        ]);
    }
    aligned::align_right(&mut cells, 0..4);
    let mut text = aligned::show(&mut cells);
    let _ = writeln!(
        text,
        "\n\n{}; the {} most active cells of each; threshold {}\nshare: fraction of the queries in which the cell collects a word\n\
         purity: mean pointwise mutual information of the cell and its words, in bits",
        output::counted(topics.queries as u64, "query"),
        args.active,
        args.threshold
    );
    text
}

fn json_row(row: &QueryTopics) -> JsonRow<'_> {
    let cells = row.cells.iter().map(|(cell, words)| JsonCollected { cell: cell + 1, words });
    JsonRow { query: &row.query, cells: cells.collect() }
}

/// The cells that collect a word in these rows, in their order.
fn columns(rows: &[QueryTopics]) -> Vec<usize> {
    let collecting = rows.iter().flat_map(|row| &row.cells).filter(|(_, words)| !words.is_empty());
    collecting.map(|&(cell, _)| cell).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The words of a query that a cell collects.
fn collects(row: &QueryTopics, cell: usize) -> &[String] {
    row.cells.iter().find(|(each, _)| *each == cell).map_or(&[], |(_, words)| words)
}

/// The paper's table of queries × cells, in parts of a few columns. A part leaves out rows that would be empty.
fn paper_table(rows: &[QueryTopics], all: usize) -> String {
    let mut text = String::new();
    for cells in columns(rows).chunks(COLUMNS) {
        let mut part = aligned::plain();
        part.set_header(["query".to_owned()].into_iter().chain(cells.iter().map(|cell| format!("cell {}", cell + 1))));
        for row in rows {
            if cells.iter().any(|&cell| !collects(row, cell).is_empty()) {
                let words = |&cell: &usize| output::printable(&collects(row, cell).join(", ")).into_owned();
                part.add_row([output::printable(&row.query).into_owned()].into_iter().chain(cells.iter().map(words)));
            }
        }
        let _ = writeln!(text, "{}\n", aligned::show(&mut part));
    }
    if text.is_empty() {
        text.push_str("no cell collects a word of these queries\n");
    }
    let empty = rows.iter().filter(|row| row.cells.iter().all(|(_, words)| words.is_empty())).count();
    let counted = output::counted(all as u64, "query");
    let first =
        if all > rows.len() { format!("The first {} of {counted}", rows.len()) } else { format!("All {counted}") };
    if (1..rows.len()).contains(&empty) {
        let (are, them) = (output::agreeing(empty as u64, "is", "are"), output::agreeing(empty as u64, "it", "them"));
        let empty = output::count(empty as u64);
        let _ = writeln!(text, "{first}; {empty} {are} left out, since no cell collects a word of {them}.");
    } else if all > rows.len() {
        let _ = writeln!(text, "{first}.");
    }
    text
}
