//! `clickvec lab topics`: what each cell represents (LSTM paper, table III).

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clickvec::encoder::EncoderConfig;
use clickvec::explain::{Explainer, KeywordOptions};
use clickvec::internals::encoder::Reading;
use clickvec::model::Side;
use clickvec_lab::explain::{PageOptions, Topics, topics_page};

use crate::answer::Answer;
use crate::commands::explain::{self, Form, OneModel};
use crate::output;

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

/// Rows of the paper's table on a terminal and on a page, by default.
const ROWS: usize = 20;
const PAGE_ROWS: usize = 200;

/// Shows the cells. The answer is no if none collects a word.
pub(super) fn run(args: &Args) -> Result<Answer> {
    ensure!(
        args.rows.is_none() || args.table || args.form.html.is_some(),
        "expected `--table` or `--html FILE` with `--rows`, which says how long the table is, found neither; add one of them, or \
         leave `--rows` out"
    );
    args.form.check(args.model.files().chain([&args.queries]))?;
    let model = args.model.load()?;
    let bag = |config: &EncoderConfig| config.description().reading == Reading::Bag;
    if bag(model.model.encoder_config()) {
        bail!(
            "expected a model with a state at each word, which all encoders but the dssm have, found a {}, which reads bags of words",
            model.model.encoder_config().kind()
        );
    }
    let queries = explain::texts(&[], Some(&args.queries))?;
    let options = KeywordOptions { threshold: args.threshold, ..KeywordOptions::default() };
    let explainer = Explainer::new(&model.model);
    let mut topics =
        Topics::new(&explainer, Side::Query, &queries, args.active, &options).expect("states at each word");
    let (title, rows) = (&model.title(), args.rows.unwrap_or(PAGE_ROWS));
    let options = PageOptions { title, active: args.active, threshold: args.threshold, words: args.words, rows };
    args.form.write_page(|| topics_page(&topics, &options))?;
    if !args.form.json {
        output::print(if args.table {
            topics.table_text(args.rows.unwrap_or(ROWS))
        } else {
            topics.text(args.words, args.active, args.threshold)
        })?;
    } else if args.table {
        output::json_lines(topics.table.iter().take(args.rows.unwrap_or(usize::MAX)))?;
    } else {
        topics.cells.iter_mut().for_each(|cell| cell.words.truncate(args.words));
        output::json_lines(&topics.cells)?;
    }
    Ok(if topics.cells.is_empty() { Answer::No } else { Answer::Done })
}
