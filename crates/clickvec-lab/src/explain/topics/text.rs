//! The cells, or table III of the LSTM paper, as reports.

use clickvec_report::report::{Cell, Column, Report, Table};
use clickvec_tables::shown::{agreeing, count, counted};

use super::{CellTopic, Topics, WORDS, collected_by, columns};

/// The most columns side by side.
const COLUMNS: usize = 6;

impl Topics {
    /// Reports the cells.
    pub fn report(&self) -> Report {
        let mut report = Report::default();
        let queries = counted(self.table.len() as u64, "query");
        if self.table.is_empty() {
            report.paragraph("no query has a word");
            return report;
        }
        if self.cells.is_empty() {
            let threshold = self.threshold;
            report.paragraph(format!("no cell collects a word of {queries}; try a threshold below {threshold}"));
            return report;
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
                words_and_counts(cell),
            ];
            table.add(cells.map(Cell::from));
        }
        report.table(table);
        report.note(format!("{queries}; the {} most active cells of each; threshold {}", self.active, self.threshold));
        report.note("share: fraction of the queries in which the cell collects a word");
        report.note("purity: mean pointwise mutual information of the cell and its words, in bits");
        report
    }

    /// Reports the first rows of the paper's table of queries × cells, in parts of a few columns. A part leaves out rows that would be
    /// empty.
    pub fn table_report(&self, rows: usize) -> Report {
        let rows = &self.table[..rows.min(self.table.len())];
        let cells = columns(rows);
        let mut report = Report::default();
        for cells in cells.chunks(COLUMNS) {
            let heads = cells.iter().map(|cell| Column::text(format!("cell {}", cell + 1)));
            let mut part = Table::new(std::iter::once(Column::text("query")).chain(heads));
            for row in rows {
                if cells.iter().any(|&cell| !collected_by(row, cell).is_empty()) {
                    let words = cells.iter().map(|&cell| collected_by(row, cell).join(", "));
                    part.add(std::iter::once(row.query.clone()).chain(words).map(Cell::from));
                }
            }
            report.table(part);
        }
        if cells.is_empty() {
            report.paragraph("no cell collects a word of these queries");
        }
        let empty = rows.iter().filter(|row| row.cells.iter().all(|cell| cell.words.is_empty())).count();
        let queries = counted(self.table.len() as u64, "query");
        let is_part = self.table.len() > rows.len();
        let first = if is_part { format!("The first {} of {queries}", rows.len()) } else { format!("All {queries}") };
        if (1..rows.len()).contains(&empty) {
            let (are, them) = (agreeing(empty as u64, "is", "are"), agreeing(empty as u64, "it", "them"));
            let empty = count(empty);
            report.paragraph(format!("{first}; {empty} {are} left out, since no cell collects a word of {them}."));
        } else if is_part {
            report.paragraph(format!("{first}."));
        }
        report
    }
}

fn words_and_counts(cell: &CellTopic) -> String {
    let words = cell.words.iter().take(WORDS).map(|word| format!("{} {}", word.word, word.count));
    words.collect::<Vec<_>>().join(", ")
}
