//! The cells, or table III of the LSTM paper, as text.

use std::fmt::Write as _;

use clickvec_report::aligned;
use clickvec_report::report::{Cell, Column, Report, Table};
use clickvec_tables::shown::{agreeing, count, counted, printable};

use super::{CellTopic, Topics, collected_by, columns};

/// The most columns side by side.
const COLUMNS: usize = 6;

impl Topics {
    /// Returns the cells as text, each with at most so many words. The topics were found with `active` cells of each query and this
    /// threshold.
    pub fn text(&self, words: usize, active: usize, threshold: f32) -> String {
        let queries = counted(self.queries as u64, "query");
        if self.queries == 0 {
            return "no query has a word\n".to_owned();
        }
        if self.cells.is_empty() {
            return format!("no cell collects a word of {queries}; try a threshold below {threshold}\n");
        }
        let heads = ["cell", "queries", "share", "purity"].map(Column::number);
        let last = Column::text("words and counts, most informative first");
        let mut table = Table::new(heads.into_iter().chain([last]));
        for cell in &self.cells {
            let cells = [
                (cell.cell + 1).to_string(),
                count(cell.queries),
                format!("{:.3}", cell.share),
                format!("{:.2}", cell.purity),
                words_and_counts(cell, words),
            ];
            table.add(cells.map(Cell::from));
        }
        let mut report = Report::default();
        report.table(table);
        report.note(format!("{queries}; the {active} most active cells of each; threshold {threshold}"));
        report.note("share: fraction of the queries in which the cell collects a word");
        report.note("purity: mean pointwise mutual information of the cell and its words, in bits");
        report.to_text()
    }

    /// Returns the first rows of the paper's table of queries × cells as text, in parts of a few columns. A part leaves out rows that
    /// would be empty.
    pub fn table_text(&self, rows: usize) -> String {
        let all = self.table.len();
        let rows = &self.table[..rows.min(all)];
        let mut text = String::new();
        for cells in columns(rows).chunks(COLUMNS) {
            let mut part = aligned::plain();
            let heads = cells.iter().map(|cell| format!("cell {}", cell + 1));
            part.set_header(std::iter::once("query".to_owned()).chain(heads));
            for row in rows {
                if cells.iter().any(|&cell| !collected_by(row, cell).is_empty()) {
                    let words = cells.iter().map(|&cell| collected_by(row, cell).join(", "));
                    let cells = std::iter::once(row.query.clone()).chain(words);
                    part.add_row(cells.map(|cell| printable(&cell).into_owned()));
                }
            }
            let _ = writeln!(text, "{}\n", aligned::show(&mut part));
        }
        if text.is_empty() {
            text.push_str("no cell collects a word of these queries\n");
        }
        let empty = rows.iter().filter(|row| row.cells.iter().all(|cell| cell.words.is_empty())).count();
        let queries = counted(all as u64, "query");
        let first =
            if all > rows.len() { format!("The first {} of {queries}", rows.len()) } else { format!("All {queries}") };
        if (1..rows.len()).contains(&empty) {
            let (are, them) = (agreeing(empty as u64, "is", "are"), agreeing(empty as u64, "it", "them"));
            let empty = count(empty);
            let _ = writeln!(text, "{first}; {empty} {are} left out, since no cell collects a word of {them}.");
        } else if all > rows.len() {
            let _ = writeln!(text, "{first}.");
        }
        text
    }
}

fn words_and_counts(cell: &CellTopic, most: usize) -> String {
    let words = cell.words.iter().take(most).map(|word| format!("{} {}", word.word, word.count));
    words.collect::<Vec<_>>().join(", ")
}
