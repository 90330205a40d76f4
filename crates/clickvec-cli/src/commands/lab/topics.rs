//! `clickvec lab topics`: what each cell represents (LSTM paper, table III).

use anyhow::{Result, bail};
use clickvec::explain::{Explainer, KeywordOptions};
use clickvec_lab::explain::Topics;

use crate::answer::Answer;
use crate::commands::explain::arguments::{KeywordFlags, ModelAndTexts};

/// Show what each cell represents: the keywords that it collects over many queries.
///
/// In each query, the most active cells collect the words that change them by more than the threshold (for a CLSM: the
/// words that win them). The word that is read first is left out. A cell's purity is the mean pointwise mutual
/// information of the cell and its words, in bits: 0 if it collects words in proportion to their frequency.
///
/// `--table` instead shows queries in rows and cells in columns, like table III of the LSTM paper.
#[derive(clap::Args)]
#[command(mut_arg("file", |file| file.required(true)))]
#[command(mut_arg("keyword", |keyword| keyword.help("Which cells collect which words, as `cells=5,threshold=0.4` or a part of it: \
    the 5 most active cells of a query in each direction collect the words that change them by more than 0.4 of their mean activation. \
    For a CLSM, `units=5`: the 5 most active max-pooling units collect the words that win them. These are the defaults")))]
pub(super) struct Args {
    #[command(flatten)]
    shared: ModelAndTexts,

    #[command(flatten)]
    keyword: KeywordFlags,

    /// Show table III of the LSTM paper for the first N queries: a row for each query, a column for each cell, and the words that the
    /// cell collects. Without it, a page shows the first 200.
    #[arg(long, value_name = "N", value_parser = crate::numbers::at_least_one::<usize>)]
    table: Option<usize>,
}

/// Rows of the paper's table on a page, by default.
const PAGE_ROWS: usize = 200;
/// The number of most active cells that collect words of a query, by default, as in the paper's table.
const ACTIVE: usize = 5;

/// Shows the cells. The answer is no if none collects a word.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.keyword.refuse_at_least()?;
    let mut printer = args.shared.printer()?;
    let model = args.shared.load()?;
    let queries = args.shared.texts(&[])?;
    let options = args.keyword.over(KeywordOptions { cells: ACTIVE, ..KeywordOptions::default() });
    let Some(topics) = Topics::new(&Explainer::new(&model.model), args.shared.side, &queries, &options) else {
        bail!(
            "expected a model with a state at each word, which all encoders but the dssm have, found a {}, which reads bags of words",
            model.model.encoder_config().kind()
        );
    };
    printer.page(|| topics.to_markup(&model.title(), args.table.unwrap_or(PAGE_ROWS)));
    if let Some(rows) = args.table {
        topics.table.iter().take(rows).try_for_each(|row| printer.line(row))?;
        printer.text(&topics.table_report(rows))?;
    } else {
        topics.cells.iter().try_for_each(|cell| printer.line(cell))?;
        printer.text(&topics.report())?;
    }
    printer.finish("What the cells represent")?;
    Ok(if topics.cells.is_empty() { Answer::No } else { Answer::Done })
}
