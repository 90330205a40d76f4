//! A page to browse cells, words and queries.

use std::collections::BTreeMap;

use clickvec_tables::shown::{count, counted};
use maud::{Markup, html};

use super::{CellTopic, Topics, WORDS, collected_by, columns};

/// Words listed with their cells, and queries listed with each cell.
const LISTED: usize = 500;
const EXAMPLES: usize = 8;

impl Topics {
    /// Returns a page to browse the topics of a model of this name, with at most so many rows of the paper's table.
    pub fn to_markup(&self, model: &str, rows: usize) -> Markup {
        let rows = &self.table[..rows.min(self.table.len())];
        let queries = counted(self.table.len() as u64, "query");
        let examples = examples(self);
        html! {
            p { (model) ", " (queries) "." }
            p.note {
                "In each query, the " (self.active) " most active cells collect the words that change them by more than "
                (self.threshold) " of their mean activation (for a CLSM: the words that win them). The word that is read first is left out. "
                "A cell’s share is the fraction of the queries in which it collects a word. Its purity is the mean pointwise mutual "
                "information of the cell and its words, in bits: 0 if it collects words in proportion to their frequency. Its name is made of "
                "its most informative words: read it as “these, among others”."
            }
            p.note { a href="#cells" { "Cells" } " · " a href="#words" { "Words" } " · " a href="#queries" { "Queries" } }
            h2 #cells { "Cells" }
            (filter("#cells-table tbody tr", "filter by word or cell"))
            div.wide {
                table #cells-table {
                    thead { tr { th.n { "cell" } th { "name" } th.n { "queries" } th.n { "share" } th.n { "purity" } th { "words and counts" } } }
                    tbody {
                        @for cell in &self.cells {
                            tr id={ "cell" (cell.cell + 1) } {
                                td.n { (cell.cell + 1) }
                                td { (cell.name) }
                                td.n { (count(cell.queries as u64)) }
                                td.n { (format!("{:.3}", cell.share)) }
                                td.n { (format!("{:.2}", cell.purity)) }
                                td.long { (words(cell)) (example_queries(examples.get(&cell.cell))) }
                            }
                        }
                    }
                }
            }
            (words_section(self))
            h2 #queries { "Queries" }
            p.note { "Like table III of the LSTM paper: the words of each query (rows) that each cell (columns) collects." }
            (filter("#queries-table tbody tr", "filter by word"))
            div.wide {
                table.matrix #queries-table {
                    @let cells = columns(rows);
                    thead { tr { th { "query" } @for cell in &cells { th { a href={ "#cell" (cell + 1) } { "cell " (cell + 1) } } } } }
                    tbody {
                        @for row in rows {
                            tr {
                                td.text { (row.query) }
                                @for &cell in &cells {
                                    td { @for word in collected_by(row, cell) { span data-w=(word) { (word) } " " } }
                                }
                            }
                        }
                    }
                }
            }
            @if self.table.len() > rows.len() {
                p.note { "The first " (rows.len()) " of " (queries) "." }
            }
        }
    }
}

/// Returns a field that filters rows. It is hidden unless the script runs.
fn filter(rows: &str, what: &str) -> Markup {
    html! { input.filter type="search" data-rows=(rows) placeholder=(what) aria-label=(what) hidden; }
}

fn words(cell: &CellTopic) -> Markup {
    html! {
        @for word in cell.words.iter().take(WORDS) { span data-w=(word.word) { (word.word) } " " span.soft { (word.count) } " " }
        @if cell.words.len() > WORDS { span.soft { "and " (cell.words.len() - WORDS) " more" } }
    }
}

fn example_queries(queries: Option<&Vec<&str>>) -> Markup {
    html! {
        @if let Some(queries) = queries {
            details { summary.soft { "queries" } @for query in queries { div.text { (query) } } }
        }
    }
}

/// Returns for each cell some queries of which it collects a word.
fn examples(topics: &Topics) -> BTreeMap<usize, Vec<&str>> {
    let mut examples = BTreeMap::<usize, Vec<&str>>::new();
    for query in &topics.table {
        for cell in query.cells.iter().filter(|cell| !cell.words.is_empty()) {
            let queries = examples.entry(cell.cell).or_default();
            if queries.len() < EXAMPLES && queries.last() != Some(&query.query.as_str()) {
                queries.push(&query.query);
            }
        }
    }
    examples
}

/// Returns the words, most frequent first, each with the cells that collect it.
fn words_section(topics: &Topics) -> Markup {
    let mut cells_by_word = BTreeMap::<&str, Vec<(usize, usize)>>::new();
    for cell in &topics.cells {
        for word in &cell.words {
            cells_by_word.entry(&word.word).or_default().push((word.count, cell.cell));
        }
    }
    let total = |cells: &[(usize, usize)]| cells.iter().map(|(count, _)| count).sum::<usize>();
    let mut words: Vec<(&str, Vec<(usize, usize)>)> = cells_by_word.into_iter().collect();
    words.iter_mut().for_each(|(_, cells)| cells.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1))));
    words.sort_by(|a, b| total(&b.1).cmp(&total(&a.1)).then(a.0.cmp(b.0)));
    html! {
        h2 #words { "Words" }
        p.note { "How often cells collect each word, and which cells do." }
        (filter("#words-table tbody tr", "filter by word"))
        div.wide {
            table #words-table {
                thead { tr { th { "word" } th.n { "collected" } th { "cells and counts" } } }
                tbody {
                    @for (word, cells) in words.iter().take(LISTED) {
                        tr {
                            td { span data-w=(word) { (word) } }
                            td.n { (count(total(cells) as u64)) }
                            td.long {
                                @for (count, cell) in cells.iter().take(12) {
                                    a href={ "#cell" (cell + 1) } { (cell + 1) } " " span.soft { (count) } " "
                                }
                                @if cells.len() > 12 { span.soft { "and " (cells.len() - 12) " more" } }
                            }
                        }
                    }
                }
            }
        }
        @if words.len() > LISTED { p.note { "The " (LISTED) " most frequent of " (counted(words.len() as u64, "word")) "." } }
    }
}
