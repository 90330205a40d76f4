//! `clickvec compare`: what two indexes find differently.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::Result;
use clickvec_index::{Hit, Index, Mode, Request};
use clickvec_report::report::{Cell, Column, Report, Table};
use clickvec_tools::queries;
use serde::Serialize;

use super::explain::printer::Form;
use crate::answer::Answer;
use crate::console;
use crate::progress::Watch;

/// The most queries that are shown one by one.
const SHOWN: usize = 50;

/// Show what two indexes find differently: yesterday's and today's, or one with and one without a teacher.
///
/// Both answer the same queries as `clickvec search` does. Titles are marked as new, gone, or moved by some ranks, and the queries
/// with the most change come first. `--html` writes a page that can be sent to colleagues.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The index before.
    #[arg(value_name = "BEFORE")]
    before: PathBuf,

    /// The index after.
    #[arg(value_name = "AFTER")]
    after: PathBuf,

    /// The queries: a table with the column query, such as a click log, or lines of text.
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,

    /// The number of titles to compare for each query.
    #[arg(long, short = 'k', default_value_t = 10, value_name = "K", value_parser = crate::numbers::at_least_one::<u32>)]
    top: u32,

    #[command(flatten)]
    form: Form,
}

/// A query and the differences between both lists.
#[derive(Serialize)]
struct Compared {
    query: String,
    /// The share of the longer list that both have.
    overlap: f64,
    /// Kendall's τ of the titles that both have; `None` for fewer than two.
    correlation: Option<f64>,
    before: Vec<Listed>,
    after: Vec<Listed>,
}

/// A title of a list.
#[derive(Serialize)]
struct Listed {
    rank: usize,
    id: String,
    title: String,
    /// Its rank in the other list; `None` if it is not there.
    other: Option<usize>,
}

impl Compared {
    fn new(query: String, before: Vec<Hit>, after: Vec<Hit>) -> Compared {
        let ranks = |hits: &[Hit]| hits.iter().map(|hit| (hit.id.clone(), hit.rank)).collect::<HashMap<_, _>>();
        let (in_before, in_after) = (ranks(&before), ranks(&after));
        let listed = |hits: Vec<Hit>, others: &HashMap<String, usize>| -> Vec<Listed> {
            let one = |Hit { rank, id, title, .. }| Listed { rank, other: others.get(&id).copied(), id, title };
            hits.into_iter().map(one).collect()
        };
        let (before, after) = (listed(before, &in_after), listed(after, &in_before));
        // In the order after, the ranks before of the titles that both have.
        let both: Vec<usize> = after.iter().filter_map(|title| title.other).collect();
        let longer = before.len().max(after.len());
        let overlap = if longer == 0 { 1.0 } else { both.len() as f64 / longer as f64 };
        Compared { query, overlap, correlation: kendall(&both), before, after }
    }

    /// Returns whether both lists are the same.
    fn is_same(&self) -> bool {
        let same = |list: &[Listed]| list.iter().all(|title| title.other == Some(title.rank));
        same(&self.before) && same(&self.after)
    }

    /// Returns both lists side by side.
    fn table(&self) -> Table {
        let mut table = Table::new([
            Column::number("rank"),
            Column::long("before"),
            Column::text(""),
            Column::long("after"),
            Column::text(""),
        ]);
        for row in 0..self.before.len().max(self.after.len()) {
            let cells = |list: &[Listed], without: &str| match list.get(row) {
                Some(title) => [title.title.as_str().into(), change(title, without)],
                None => ["".into(), "".into()],
            };
            let ([before, gone], [after, new]) = (cells(&self.before, "gone"), cells(&self.after, "new"));
            // What moved is marked once, where it is now.
            let gone = if self.before.get(row).is_some_and(|title| title.other.is_some()) { "".into() } else { gone };
            table.add([(row + 1).to_string().into(), before, gone, after, new]);
        }
        table
    }
}

/// Returns the mark of a title: `without` if the other list does not have it, or the ranks that it moved by.
fn change(title: &Listed, without: &str) -> Cell {
    match title.other {
        None => Cell::Strong(without.to_owned()),
        Some(other) if other > title.rank => format!("↑{}", other - title.rank).into(),
        Some(other) if other < title.rank => format!("↓{}", title.rank - other).into(),
        Some(_) => "".into(),
    }
}

/// Returns Kendall's τ between distinct ranks and their order; `None` for fewer than two.
fn kendall(ranks: &[usize]) -> Option<f64> {
    let pairs = ranks.len() * ranks.len().saturating_sub(1) / 2;
    let rising = |at: usize| ranks[at + 1..].iter().filter(|&&later| later > ranks[at]).count();
    let concordant: usize = (0..ranks.len()).map(rising).sum();
    (pairs > 0).then(|| 2.0 * concordant as f64 / pairs as f64 - 1.0)
}

/// Searches both indexes and shows what differs.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let mut printer = args.form.printer([&args.queries])?;
    let queries = queries::read(&args.queries, &Watch::default())?;
    let requests: Vec<Request> =
        queries.into_iter().map(|query| Request::new(query.text, Mode::Fused).with_k(args.top as usize)).collect();
    let search = |path: &PathBuf| -> Result<_> { Ok(Index::open(path)?.search_all(&requests)?) };
    let (before, after) = (search(&args.before)?, search(&args.after)?);
    let answers = requests.into_iter().zip(before.into_iter().zip(after));
    let mut compared: Vec<Compared> =
        answers.map(|(request, (before, after))| Compared::new(request.text, before.hits, after.hits)).collect();
    let order = |compared: &Compared| (compared.overlap, compared.correlation.unwrap_or(1.0));
    compared.sort_by(|a, b| order(a).partial_cmp(&order(b)).expect("no NaN"));
    compared.iter().try_for_each(|compared| printer.line(compared))?;
    let count = compared.len();
    let overlap = compared.iter().map(|compared| compared.overlap).sum::<f64>() / count as f64;
    let same = compared.iter().filter(|compared| compared.is_same()).count();
    let mut report = Report::default();
    report.paragraph(format!(
        "{} compared with {}: {} of {} find the same titles in the same order; on average {:.1} % of the first {} are in both.",
        console::path(&args.after),
        console::path(&args.before),
        console::count(same),
        console::counted(count as u64, "query"),
        100.0 * overlap,
        args.top
    ));
    let changed = || compared.iter().filter(|compared| !compared.is_same()).take(SHOWN);
    let mut table = Table::new([
        Column::long("query"),
        Column::number("in both"),
        Column::number("Kendall's τ"),
        Column::number("new"),
        Column::number("gone"),
    ]);
    for of in changed() {
        let missing = |list: &[Listed]| list.iter().filter(|title| title.other.is_none()).count().to_string();
        let correlation = of.correlation.map_or("–".to_owned(), |correlation| format!("{correlation:.2}"));
        let overlap = format!("{:.0} %", 100.0 * of.overlap);
        table.add([
            of.query.as_str().into(),
            overlap.into(),
            correlation.into(),
            missing(&of.after).into(),
            missing(&of.before).into(),
        ]);
    }
    report.table(table);
    printer.report(&report)?;
    for of in changed() {
        let mut part = Report::default();
        part.heading(2, of.query.clone());
        part.table(of.table());
        printer.page(|| part.to_markup());
    }
    printer.finish("Two indexes compared")?;
    Ok(Answer::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_what_both_have_is_correlated() {
        assert_eq!((kendall(&[]), kendall(&[3])), (None, None));
        assert_eq!((kendall(&[1, 4, 9]), kendall(&[9, 4, 1])), (Some(1.0), Some(-1.0)));
        assert!(kendall(&[2, 1, 3, 4]).is_some_and(|correlation| (correlation - 2.0 / 3.0).abs() < 1e-9));
    }
}
