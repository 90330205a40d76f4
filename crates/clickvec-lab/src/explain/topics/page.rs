//! A page to browse cells, words and queries.

use std::collections::BTreeMap;

use clickvec_report::explanation;
use clickvec_tables::shown::{count, counted};
use maud::{Markup, html};

use super::{CellTopic, Topics, collected_by, columns};

/// Words listed with their cells, and queries listed with each cell.
const WORDS: usize = 500;
const EXAMPLES: usize = 8;

/// What a page of topics shows.
#[derive(Debug, Clone, Copy)]
pub struct PageOptions<'a> {
    /// The model's name.
    pub title: &'a str,
    /// The number of active cells that the topics were found with.
    pub active: usize,
    /// The threshold that they were found with.
    pub threshold: f32,
    /// The most words of a cell.
    pub words: usize,
    /// The most queries of the paper's table.
    pub rows: usize,
}

/// Returns a page to browse the topics.
pub fn topics_page(topics: &Topics, options: &PageOptions<'_>) -> String {
    let rows = &topics.table[..options.rows.min(topics.table.len())];
    let examples = examples(topics);
    let body = html! {
        p { (options.title) ", " (counted(topics.queries as u64, "query")) "." }
        p.note {
            "In each query, the " (options.active) " most active cells collect the words that change them by more than "
            (options.threshold) " of their mean activation (for a CLSM: the words that win them). The word that is read first is left out. "
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
                    @for cell in &topics.cells {
                        tr id={ "cell" (cell.cell + 1) } {
                            td.n { (cell.cell + 1) }
                            td { (cell.name) }
                            td.n { (count(cell.queries as u64)) }
                            td.n { (format!("{:.3}", cell.share)) }
                            td.n { (format!("{:.2}", cell.purity)) }
                            td.long { (words(cell, options.words)) (example_queries(examples.get(&cell.cell))) }
                        }
                    }
                }
            }
        }
        (words_section(topics))
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
        @if topics.table.len() > rows.len() {
            p.note { "The first " (rows.len()) " of " (counted(topics.table.len() as u64, "query")) "." }
        }
    };
    explanation::page("What the cells represent", false, &body)
}

/// Returns a field that filters rows. It is hidden unless the script runs.
fn filter(rows: &str, what: &str) -> Markup {
    html! { input.filter type="search" data-rows=(rows) placeholder=(what) aria-label=(what) hidden; }
}

fn words(cell: &CellTopic, most: usize) -> Markup {
    html! {
        @for word in cell.words.iter().take(most) { span data-w=(word.word) { (word.word) } " " span.soft { (word.count) } " " }
        @if cell.words.len() > most { span.soft { "and " (cell.words.len() - most) " more" } }
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
    let mut cells_of_word = BTreeMap::<&str, Vec<(usize, usize)>>::new();
    for cell in &topics.cells {
        for word in &cell.words {
            cells_of_word.entry(&word.word).or_default().push((word.count, cell.cell));
        }
    }
    let total = |cells: &[(usize, usize)]| cells.iter().map(|(count, _)| count).sum::<usize>();
    let mut words: Vec<(&str, Vec<(usize, usize)>)> = cells_of_word.into_iter().collect();
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
                    @for (word, cells) in words.iter().take(WORDS) {
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
        @if words.len() > WORDS { p.note { "The " (WORDS) " most frequent of " (counted(words.len() as u64, "word")) "." } }
    }
}
