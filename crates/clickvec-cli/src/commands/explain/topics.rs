//! `clickvec explain topics`: what each cell stands for (LSTM paper, table III).

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clickvec::explain::{CellTopic, Explainer, KeywordOptions, Topics};
use clickvec::model::Side;
use maud::{Markup, html};
use serde::Serialize;

use super::{Form, OneModel, page};
use crate::answer::Answer;
use crate::{output, table};

/// Show what each cell stands for: the keywords that it collects over many queries.
///
/// For each query, its most active cells collect the words that change them by more than the threshold (of a CLSM: the
/// words that win them); the word that is read first is left out. A cell's purity is the mean of its words' pointwise mutual information with it, in bits: 0 if it
/// collects words as they come.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: OneModel,

    /// The queries, one a line; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,

    /// How many of a query's most active cells collect its words, in each direction.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = super::at_least_one)]
    active: usize,

    /// A cell collects a word that changes it by more than this part of the cells' mean activation.
    #[arg(long, value_name = "X", default_value_t = KeywordOptions::default().threshold, value_parser = super::threshold)]
    threshold: f32,

    /// How many words to show for each cell.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = super::at_least_one)]
    words: usize,

    /// How many queries the page shows as the paper's table does.
    #[arg(long, value_name = "N", default_value_t = 100)]
    rows: usize,

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

/// Shows the cells; no, if none collects a word.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.form.check(args.model.files().chain([&args.queries]))?;
    let model = args.model.load()?;
    let queries = super::lines(&args.queries)?;
    let options = KeywordOptions { threshold: args.threshold, ..KeywordOptions::default() };
    let explainer = Explainer::new(&model.model);
    let Some(topics) = Topics::new(&explainer, Side::Query, &queries, args.active, &options) else {
        bail!(
            "expected a model with states at words (lstm, bilstm, rnn or clsm), found a {}, which reads bags of words",
            model.model.encoder_config().kind()
        );
    };
    let mut out = output::stdout();
    if args.form.json {
        for cell in &topics.cells {
            output::json_line(&mut out, &json(cell, &topics, args.words))?;
        }
    } else {
        output::written(write!(out, "{}", shown(&topics, args)))?;
    }
    output::written(out.flush())?;
    args.form.write_page(|| page_of(&model.name, &topics, args))?;
    Ok(if topics.cells.is_empty() { Answer::No } else { Answer::Done })
}

fn share(cell: &CellTopic, topics: &Topics) -> f64 {
    cell.queries as f64 / topics.queries as f64
}

fn json<'a>(cell: &'a CellTopic, topics: &Topics, words: usize) -> JsonCell<'a> {
    let word = |word: &'a clickvec::explain::CellWord| JsonWord {
        word: &word.word,
        count: word.count,
        information: word.information,
    };
    JsonCell {
        cell: cell.cell,
        name: cell.name(),
        queries: cell.queries,
        share: share(cell, topics),
        purity: cell.purity,
        words: cell.words.iter().take(words).map(word).collect(),
    }
}

fn words_of(cell: &CellTopic, most: usize) -> String {
    let word = |word: &clickvec::explain::CellWord| format!("{} {}", word.word, word.count);
    cell.words.iter().take(most).map(word).collect::<Vec<_>>().join(", ")
}

fn shown(topics: &Topics, args: &Args) -> String {
    let mut cells = table::plain();
    cells.set_header(["cell", "queries", "share", "purity", "words, with how often"]);
    for cell in &topics.cells {
        cells.add_row([
            (cell.cell + 1).to_string(),
            output::count(cell.queries as u64),
            format!("{:.3}", share(cell, topics)),
            format!("{:.2}", cell.purity),
            output::printable(&words_of(cell, args.words)).into_owned(),
        ]);
    }
    table::align_right(&mut cells, 0..4);
    let mut text = table::show(&mut cells);
    let _ = writeln!(
        text,
        "\n\n{}; of each, the {} most active cells; threshold {}\nshare: of the queries in which the cell collects a word\n\
         purity: mean information of its words about it, in bits",
        output::counted(topics.queries as u64, "query"),
        args.active,
        args.threshold
    );
    text
}

fn page_of(model: &str, topics: &Topics, args: &Args) -> Markup {
    let body = html! {
        p {
            (model) ", " (output::counted(topics.queries as u64, "query")) ". Of each query, its " (args.active)
            " most active cells collect the words that change them by more than " (args.threshold) " of their mean activation. A cell's purity is the "
            "mean information of its words about it, in bits: 0 if it collects words as they come."
        }
        h2 { "Cells" }
        div.wide {
            table {
                tr { th.n { "cell" } th { "name" } th.n { "queries" } th.n { "share" } th.n { "purity" } th { "words" } }
                @for cell in &topics.cells {
                    tr id={ "cell" (cell.cell + 1) } {
                        td.n { (cell.cell + 1) }
                        td { (cell.name()) }
                        td.n { (cell.queries) }
                        td.n { (format!("{:.3}", share(cell, topics))) }
                        td.n { (format!("{:.2}", cell.purity)) }
                        td { (words_of(cell, args.words)) }
                    }
                }
            }
        }
        h2 { "Queries" }
        p { "The paper's table, turned: for each query, the words that each of its most active cells collects." }
        div.wide {
            table {
                tr { th { "query" } th { "cells and their words" } }
                @for query in topics.table.iter().take(args.rows) {
                    tr {
                        td { (query.query) }
                        td {
                            @for (cell, words) in query.cells.iter().filter(|(_, words)| !words.is_empty()) {
                                a href={ "#cell" (cell + 1) } { (cell + 1) } " " (words.join(", ")) "; "
                            }
                        }
                    }
                }
            }
        }
        @if topics.table.len() > args.rows { p.soft { "The first " (args.rows) " of " (topics.table.len()) " queries." } }
    };
    page::page("What the cells stand for", false, body)
}
