//! Searches among all titles, and what each result has in common with its query.

use std::collections::HashMap;

use anyhow::Result;
use clickvec::ranker::Ranker;
use clickvec::search::Searcher;

use super::matches::Match;

/// Results that are shown.
const TOP: usize = 3;

/// What a search found.
pub(super) struct Search {
    pub(super) kind: &'static str,
    pub(super) query: String,
    pub(super) lstm: Vec<Found>,
    /// Empty if no title has a word of the query.
    pub(super) bm25: Vec<Found>,
    /// Titles with the first one's score in BM25: among equals, the order means nothing.
    pub(super) bm25_equals: usize,
}

/// A title, and why.
pub(super) struct Found {
    pub(super) title: String,
    pub(super) why: String,
    /// How good it is in truth, 0 to 4.
    pub(super) grade: u8,
}

/// What searches.
pub(super) struct Engines<'a> {
    pub(super) lstm: &'a Searcher,
    pub(super) bm25: &'a dyn Ranker,
    pub(super) titles: &'a [&'a str],
}

/// Asks both engines; `grades` are the true ones, in the order of the titles.
pub(super) fn search(engines: &Engines<'_>, kind: &'static str, query: &str, grades: &[u8]) -> Result<Search> {
    let grade_of: HashMap<&str, u8> = engines.titles.iter().copied().zip(grades.iter().copied()).collect();
    let found = |title: &str| Found {
        title: title.to_owned(),
        why: Match::new(query, title).explanation(),
        grade: grade_of.get(title).copied().unwrap_or(0),
    };
    let answer = engines.lstm.search(query, TOP)?;
    let lstm = answer.results().iter().map(|result| found(result.title)).collect();

    let scores = engines.bm25.score(query, engines.titles);
    let mut order: Vec<usize> = (0..scores.len()).filter(|&title| scores[title] > 0.0).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    let bm25_equals =
        order.first().map_or(0, |&best| order.iter().filter(|&&title| scores[title] == scores[best]).count());
    let bm25 = order.iter().take(TOP).map(|&title| found(engines.titles[title])).collect();
    Ok(Search { kind, query: query.to_owned(), lstm, bm25, bm25_equals })
}
