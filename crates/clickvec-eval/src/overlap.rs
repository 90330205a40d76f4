//! Judged queries that are also clicked: what a system learns should not hold the answers that judge it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::Judgments;
use clickvec::internals::clicks::ClickReader;
use clickvec::internals::text::words;
use clickvec::train::Weighting;
use clickvec_tables::Result;
use clickvec_tables::shown::{listed, shown};
use serde::Serialize;

/// The most queries that are named.
const NAMED: usize = 5;

/// The part of a test set that is also in a click log. Texts are equal if their words are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Overlap {
    /// The number of judged queries that were clicked for.
    pub queries: u64,
    /// The number of judged queries.
    pub of_queries: u64,
    /// The number of judged pairs of a query and a title that are clicked pairs.
    pub pairs: u64,
    /// The number of judged pairs.
    pub of_pairs: u64,
    /// The first of these queries, in the order of the test set.
    pub first: Vec<String>,
}

impl Overlap {
    /// Returns a warning that names the first of these queries; `None` if there are none.
    pub fn warning(&self, judged: &Path, clicks: &Path) -> Option<String> {
        let Overlap { queries, of_queries, pairs, of_pairs, first } = self;
        let are = if *queries == 1 { "is" } else { "are" };
        let more = if *queries > first.len() as u64 { ", …" } else { "" };
        (*queries > 0).then(|| {
            format!(
                "{}: {queries} of {of_queries} judged queries {are} also in {}, with {pairs} of {of_pairs} judged pairs: {}{more}; \
                 what learns from these clicks may know the answers",
                shown(judged),
                shown(clicks),
                listed(first, NAMED),
            )
        })
    }
}

/// The part of a test set that is also in a click log. Pairs of weight 0 are no clicks.
///
/// # Errors
///
/// Those of [`ClickReader::open`] and [`ClickReader::next`].
pub fn overlap(judgments: &Judgments, clicks: &Path, field: &str) -> Result<Overlap> {
    let mut reader = ClickReader::open(clicks, field, Weighting::Binary)?;
    let mut counter = OverlapCounter::new(judgments);
    while let Some(click) = reader.next()? {
        counter.add(click.query, click.title, click.weight);
    }
    Ok(counter.finish())
}

/// A counter of an [`Overlap`], which takes click by click.
pub(super) struct OverlapCounter<'a> {
    judgments: &'a Judgments,
    /// The positions of the judged queries, by their words.
    queries: HashMap<String, Vec<usize>>,
    /// By the position of a query that was clicked for: its titles by their words, how many there are, and whether one was
    /// clicked.
    seen: BTreeMap<usize, HashMap<String, (u64, bool)>>,
    /// The last query with the positions of those judged that equal it: clicks of a query often follow each other.
    last: (String, Vec<usize>),
}

fn key(text: &str) -> String {
    words(text).join(" ")
}

impl<'a> OverlapCounter<'a> {
    pub(super) fn new(judgments: &'a Judgments) -> OverlapCounter<'a> {
        let mut queries: HashMap<String, Vec<usize>> = HashMap::new();
        for (position, query) in judgments.queries.iter().enumerate() {
            queries.entry(key(&query.text)).or_default().push(position);
        }
        // A query without words is as good as none.
        queries.remove("");
        OverlapCounter { judgments, queries, seen: BTreeMap::new(), last: Default::default() }
    }

    /// Counts a clicked pair.
    pub(super) fn add(&mut self, query: &str, title: &str, weight: f32) {
        if weight == 0.0 {
            return;
        }
        if self.last.0 != query {
            self.last = (query.to_owned(), self.queries.get(&key(query)).cloned().unwrap_or_default());
        }
        if self.last.1.is_empty() {
            return;
        }
        let title = key(title);
        for &position in &self.last.1 {
            let titles = self.seen.entry(position).or_insert_with(|| {
                let mut titles: HashMap<String, (u64, bool)> = HashMap::new();
                for title in &self.judgments.queries[position].titles {
                    titles.entry(key(&title.text)).or_default().0 += 1;
                }
                titles
            });
            if let Some((_, clicked)) = titles.get_mut(&title) {
                *clicked = true;
            }
        }
    }

    pub(super) fn finish(self) -> Overlap {
        let clicks = |titles: &HashMap<String, (u64, bool)>| -> u64 {
            titles.values().filter(|(_, clicked)| *clicked).map(|(count, _)| count).sum()
        };
        let name = |position: &usize| self.judgments.queries[*position].text.clone();
        Overlap {
            queries: self.seen.len() as u64,
            of_queries: self.judgments.queries.len() as u64,
            pairs: self.seen.values().map(clicks).sum(),
            of_pairs: self.judgments.queries.iter().map(|query| query.titles.len() as u64).sum(),
            first: self.seen.keys().take(NAMED).map(name).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JudgedQuery, JudgedTitle};

    fn judged(queries: &[(&str, &[&str])]) -> Judgments {
        let title = |text: &&str| JudgedTitle { id: String::new(), text: (*text).to_owned(), grade: 1 };
        let query = |(text, titles): &(&str, &[&str])| JudgedQuery {
            id: String::new(),
            text: (*text).to_owned(),
            titles: titles.iter().map(title).collect(),
        };
        Judgments { queries: queries.iter().map(query).collect(), ..Judgments::default() }
    }

    #[test]
    fn texts_with_the_same_words_are_the_same() {
        let judgments = judged(&[
            ("Red lamp!", &["A red lamp", "a lamp, RED", "a red  lamp."]),
            ("sofa", &["a sofa"]),
            ("red-lamp", &["a red lamp"]),
            ("!", &["?"]),
            ("北京", &["x"]),
        ]);
        let mut counter = OverlapCounter::new(&judgments);
        for (query, title, weight) in [
            ("red lamp", "a red lamp", 1.0),
            ("red lamp", "another", 1.0),
            ("red lamp", "a red lamp", 2.0),
            ("sofa", "a sofa", 0.0),
            ("?", "?", 1.0),
            ("北 京", "y", 1.0),
            ("lamp red", "a lamp, red", 1.0),
        ] {
            counter.add(query, title, weight);
        }
        let first = ["Red lamp!", "red-lamp", "北京"].map(str::to_owned).to_vec();
        assert_eq!(counter.finish(), Overlap { queries: 3, of_queries: 5, pairs: 3, of_pairs: 7, first });
    }

    #[test]
    fn at_most_a_few_queries_are_named() {
        let names: Vec<String> = (0..9).map(|number| format!("query {number}")).collect();
        let queries: Vec<(&str, &[&str])> = names.iter().map(|name| (name.as_str(), &[][..])).collect();
        let judgments = judged(&queries);
        let mut counter = OverlapCounter::new(&judgments);
        names.iter().rev().for_each(|name| counter.add(name, "", 1.0));
        let found = counter.finish();
        assert_eq!((found.queries, found.pairs, found.first), (9, 0, names[..NAMED].to_vec()));
        assert_eq!(OverlapCounter::new(&judged(&[])).finish(), Overlap::default());
    }
}
