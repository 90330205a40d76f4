//! The mix of a day's queries, next to that of the days before: how long they are, and how much the most frequent ones are
//! asked.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

/// How many queries are the most frequent ones.
const FREQUENT: usize = 100;

/// The mix of queries in a window. Numbers that no click tells are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct QueryMix {
    /// Over all days but the newest.
    pub earlier: Mix,
    /// On the newest day.
    pub newest: Mix,
}

/// The mix of queries of some days.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Mix {
    /// The mean number of words of a query; every pair counts once.
    pub words_per_query: Option<f64>,
    /// The share of clicks of the 100 queries that have the most clicks on earlier days.
    pub frequent: Option<f64>,
}

/// A counter of the queries of a window, day by day.
#[derive(Default)]
pub(super) struct Mixing {
    earlier: Counts,
    newest: Counts,
    /// The clicks of each query of earlier days, by the hash of its words.
    clicks: HashMap<u64, f64>,
    frequent: HashSet<u64>,
}

#[derive(Default)]
struct Counts {
    pairs: u64,
    words: u64,
    clicks: f64,
    frequent_clicks: f64,
}

impl Counts {
    fn add(&mut self, words: u64, clicks: f64) {
        self.pairs += 1;
        self.words += words;
        self.clicks += clicks;
    }

    fn mix(&self, has_frequent: bool) -> Mix {
        let ratio = |part: f64, all: f64| (all > 0.0).then(|| part / all);
        Mix {
            words_per_query: ratio(self.words as f64, self.pairs as f64),
            frequent: ratio(self.frequent_clicks, self.clicks).filter(|_| has_frequent),
        }
    }
}

impl Mixing {
    /// Takes a pair of an earlier day.
    pub(super) fn add_earlier(&mut self, query: u64, words: u64, clicks: f64) {
        self.earlier.add(words, clicks);
        *self.clicks.entry(query).or_default() += clicks;
    }

    /// All earlier days have been read.
    pub(super) fn begin_newest(&mut self) {
        let mut queries: Vec<(f64, u64)> = self.clicks.iter().map(|(&query, &clicks)| (clicks, query)).collect();
        let order = |a: &(f64, u64), b: &(f64, u64)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if queries.len() > FREQUENT {
            queries.select_nth_unstable_by(FREQUENT - 1, order);
            queries.truncate(FREQUENT);
        }
        // Sums do not depend on the order of the map.
        queries.sort_unstable_by(order);
        self.earlier.frequent_clicks = queries.iter().map(|(clicks, _)| clicks).sum();
        self.frequent = queries.into_iter().map(|(_, query)| query).collect();
    }

    /// Takes a pair of the newest day. Returns whether an earlier day has the query.
    pub(super) fn add_newest(&mut self, query: u64, words: u64, clicks: f64) -> bool {
        self.newest.add(words, clicks);
        if self.frequent.contains(&query) {
            self.newest.frequent_clicks += clicks;
        }
        self.has_seen(query)
    }

    /// Returns whether an earlier day has the query.
    pub(super) fn has_seen(&self, query: u64) -> bool {
        self.clicks.contains_key(&query)
    }

    pub(super) fn finish(&self) -> QueryMix {
        let has_frequent = !self.frequent.is_empty();
        QueryMix { earlier: self.earlier.mix(has_frequent), newest: self.newest.mix(has_frequent) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_queries_of_earlier_days_are_followed() {
        let mut mixing = Mixing::default();
        // 150 queries with 1 to 150 clicks; the 100 with the most have 51 + … + 150.
        (1..=150).for_each(|query| mixing.add_earlier(query, 2, query as f64));
        mixing.begin_newest();
        assert!(mixing.add_newest(150, 4, 3.0), "asked before");
        assert!(mixing.add_newest(50, 4, 2.0), "asked before, but not frequent");
        assert!(!mixing.add_newest(1_000, 1, 1.0));
        let QueryMix { earlier, newest } = mixing.finish();
        assert_eq!(earlier, Mix { words_per_query: Some(2.0), frequent: Some(10_050.0 / 11_325.0) });
        assert_eq!(newest, Mix { words_per_query: Some(3.0), frequent: Some(0.5) });
    }

    #[test]
    fn what_no_click_tells_is_not_said() {
        let mut mixing = Mixing::default();
        mixing.begin_newest();
        mixing.add_newest(1, 3, 1.0);
        let newest = Mix { words_per_query: Some(3.0), frequent: None };
        assert_eq!(mixing.finish(), QueryMix { earlier: Mix::default(), newest });
    }
}
