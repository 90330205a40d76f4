//! The report for a terminal: 80 columns, no colours.

use std::fmt::Write as _;

use clickvec_eval::{Correction, Metric, beaten};
use clickvec_report::comparison::{systems_table, tests_table};
use clickvec_report::report::{Cell, Column, Table};
use clickvec_report::superscripts::{letter, marks};
use clickvec_tables::shown::{count, counted, fitted};

use super::searches::{Found, Search};
use super::{KindReport, Next, Report};

/// The width of the report in columns.
const WIDTH: usize = 80;

/// Returns the whole report.
pub(super) fn text(report: &Report, page: &str, next: &Next) -> String {
    let mut text = String::new();
    let pairs = counted(report.pairs, "pair");
    let _ = writeln!(text, "Learnt from {pairs} of a query and a clicked title, and judged on {}", report.queries);
    let _ = writeln!(text, "queries that are not among them. Titles have grades from 0 to 4.\n");
    let _ = writeln!(text, "{}", systems_table(&report.systems, &report.tests, 6).to_text());
    text.push_str("\nᵃ, ᵇ, ᶜ: significantly better than system a, b, c (paired t-test over queries,\n");
    text.push_str("p < 0.05, not corrected for the number of tests)\n\n");
    let _ = writeln!(text, "{}\n", tests_table(&report.systems, &report.tests).to_text());
    text.push_str("The figures are means over equally many queries of six kinds. Several kinds are\n");
    text.push_str("made so that matching words must fail. Each system was trained once; the best\n");
    let validation = counted(report.validation as u64, "other judged query");
    let _ = writeln!(text, "epoch was chosen with {validation}. NDCG@1 by kind:\n");
    let _ = writeln!(text, "{}\n", kinds_table(&report.kinds));
    let titles = counted(report.titles, "title");
    let _ = writeln!(text, "Searches among all {titles}: the first judged query of four kinds, with");
    text.push_str("the true grade of each result and why it was found: for the lstm, the pairs of\n");
    text.push_str("words that add most to its score; for bm25, what each word adds.\n");
    report.searches.iter().for_each(|search| push_search(&mut text, search));
    let _ = writeln!(text, "\nThe same with charts: {}\n", page);
    if !next.folder.is_empty() {
        text.push_str("To go on with the log and the models that were kept:\n");
        push_commands(&mut text, &next.folder);
        text.push('\n');
    }
    text.push_str("Now with your own files: TSV, CSV or JSON lines. `clickvec inspect FILE` says\n");
    text.push_str("how a file is read, and docs/reference/tables.md what its columns mean.\n");
    push_commands(&mut text, &next.own);
    text
}

fn push_commands(text: &mut String, commands: &[(&str, String)]) {
    for (what, command) in commands {
        let _ = writeln!(text, "\n  # {what}");
        let mut column = 0;
        for (number, part) in command.split(" --").enumerate() {
            let part = if number == 0 { part.to_owned() } else { format!("--{part}") };
            // Leave room for ` \` at the end of the line.
            if column == 0 {
                text.push_str("  ");
            } else if column + 1 + part.chars().count() > WIDTH - 2 {
                text.push_str(" \\\n      ");
            } else {
                text.push(' ');
            }
            column = text.rsplit('\n').next().unwrap_or_default().chars().count() + part.chars().count();
            text.push_str(&part);
        }
        text.push('\n');
    }
}

/// One row for each kind, with NDCG@1 of each system.
fn kinds_table(kinds: &[KindReport]) -> String {
    let systems = kinds.first().map_or(&[][..], |kind| &kind.systems);
    let names = (0..).zip(systems).map(|(number, system)| format!("{} {}", letter(number), system.name));
    let heads = [Column::text("kind"), Column::text("difficulty"), Column::number("queries")];
    let mut table = Table::new(heads.into_iter().chain(names.map(Column::text)));
    for kind in kinds {
        let mut row = vec![kind.name.to_owned(), kind.about.to_owned(), kind.queries.to_string()];
        row.extend((0..kind.systems.len()).map(|number| shown(kind, number)));
        table.add(row.into_iter().map(Cell::from));
    }
    table.to_text()
}

fn shown(kind: &KindReport, number: usize) -> String {
    let better = beaten(number, Metric::Ndcg(1), &kind.systems, &kind.tests, Correction::None);
    format!("{:.3}{}", kind.systems[number].mean.get(Metric::Ndcg(1)), marks(&better))
}

fn push_search(text: &mut String, search: &Search) {
    let _ = writeln!(text, "\n  {}: \"{}\"", search.kind, search.query);
    push_found(text, "lstm", &search.lstm);
    if search.bm25.is_empty() {
        text.push_str("    bm25  nothing: no title has any of these words\n");
        return;
    }
    push_found(text, "bm25", &search.bm25);
    if search.bm25_equals > search.bm25.len() {
        let _ = writeln!(text, "          ({} titles share the first one's score)", count(search.bm25_equals as u64));
    }
}

fn push_found(text: &mut String, engine: &str, found: &[Found]) {
    for (number, found) in found.iter().enumerate() {
        let name = if number == 0 { engine } else { "" };
        let _ = writeln!(text, "    {name:<4}  {}  {}", number + 1, fitted(&found.title, WIDTH - 13));
        let _ =
            writeln!(text, "             grade {}: {}", found.grade, found.why.within(WIDTH - 13 - "grade 4: ".len()));
    }
}
