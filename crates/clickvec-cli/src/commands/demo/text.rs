//! The report for a terminal: 80 columns, no colours.

use std::fmt::Write as _;
use std::path::Path;

use clickvec::eval::Metric;

use super::searches::{Found, Search};
use super::{OfKind, Report};
use crate::commands::evaluate::{systems_table, tests_table};
use crate::superscripts::{beaten, marks};
use crate::{output, table};

/// Columns of a terminal.
const WIDTH: usize = 80;

/// What to do next.
pub(super) const NEXT: [(&str, &str); 4] = [
    ("learn from your log: columns query and title", "clickvec train --clicks clicks.tsv --output shop.safetensors"),
    (
        "is it better than BM25? columns query, title, grade (0 to 4)",
        "clickvec evaluate --judged judged.tsv --ranker bm25 --model shop.safetensors",
    ),
    ("search: columns id and title", "clickvec search --model shop.safetensors --titles titles.tsv \"angle bracket\""),
    ("no log yet? simulate one for your titles", "clickvec simulate --titles titles.tsv --output log"),
];

/// The whole report.
pub(super) fn text(report: &Report, page: &Path, kept: Option<&Path>) -> String {
    let mut text = String::new();
    let pairs = output::counted(report.pairs, "pair");
    let _ = writeln!(text, "Learnt from {pairs} of a query and a clicked title. How well are {}", report.queries);
    let _ = writeln!(text, "queries answered that nobody asked before? Titles have grades from 0 to 4.\n");
    let _ = writeln!(text, "{}", systems_table(&report.systems, &report.tests));
    text.push_str("\nᵃ: significantly better than system a (paired t-test over queries, p < 0.05)\n\n");
    let _ = writeln!(text, "{}\n", tests_table(&report.systems, &report.tests));
    text.push_str("What is hard about a query decides, NDCG@1:\n\n");
    let _ = writeln!(text, "{}\n", kinds_table(&report.kinds));
    let titles = output::counted(report.titles, "title");
    let _ = writeln!(text, "Searches among all {titles}, the first judged query of four kinds, and");
    text.push_str("what each result has in common with the query:\n");
    report.searches.iter().for_each(|search| push_search(&mut text, search));
    let _ = writeln!(text, "\nThe same with pictures: {}\n", page.display());
    text.push_str("Now with your own files, tab-separated with a header (docs/formats.md):\n");
    for (what, command) in NEXT {
        let _ = writeln!(text, "\n  # {what}\n  {command}");
    }
    if let Some(folder) = kept {
        let folder = folder.display();
        let _ = writeln!(text, "\nThe log and the models of this demo are in {folder}:\n");
        let _ = writeln!(text, "  clickvec search --model {folder}/lstm.safetensors --titles {folder}/log/titles.tsv");
    }
    text
}

/// One row a kind, with NDCG@1 of each system.
fn kinds_table(kinds: &[OfKind]) -> String {
    let mut table = table::plain();
    let systems = kinds.first().map_or(&[][..], |kind| &kind.systems);
    let names = systems.iter().map(|system| system.name.clone());
    table.set_header(["kind", "what is hard", "queries"].into_iter().map(str::to_owned).chain(names));
    for kind in kinds {
        let mut row = vec![kind.name.to_owned(), kind.about.to_owned(), kind.queries.to_string()];
        row.extend((0..kind.systems.len()).map(|place| shown(kind, place)));
        table.add_row(row);
    }
    table::align_right(&mut table, 2..3);
    table::show(&mut table)
}

fn shown(kind: &OfKind, place: usize) -> String {
    let better = beaten(&kind.systems, place, Metric::Ndcg1, &kind.tests, |test| test.test.p);
    format!("{:.3}{}", kind.systems[place].mean.get(Metric::Ndcg1), marks(&better))
}

fn push_search(text: &mut String, search: &Search) {
    let _ = writeln!(text, "\n  {}: \"{}\"", search.kind, search.query);
    push_found(text, "lstm", &search.lstm);
    if search.bm25.is_empty() {
        text.push_str("    bm25  nothing: no title has a word of it\n");
        return;
    }
    push_found(text, "bm25", &search.bm25);
    if search.bm25_equals > search.bm25.len() {
        let _ = writeln!(
            text,
            "          ({} titles have the first one's score)",
            output::count(search.bm25_equals as u64)
        );
    }
}

fn push_found(text: &mut String, engine: &str, found: &[Found]) {
    for (place, found) in found.iter().enumerate() {
        let name = if place == 0 { engine } else { "" };
        let _ = writeln!(text, "    {name:<4}  {}  {}", place + 1, fitted(&found.title, WIDTH - 13));
        let _ = writeln!(text, "             {}", fitted(&found.why, WIDTH - 13));
    }
}

/// As much of a text as fits.
fn fitted(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    }
}
