//! Clicked queries that are not learnt, so that a model can be judged by them.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::log::ClickLog;
use super::{RepeatableClicks, Storage, click_grades};
use crate::rng::Permutation;
use crate::settings::{Section, Weighting};
use crate::text::words;
use clickvec_tables::Result;

/// The seed of the hash that says which queries are held out. It is the same for every run: another for each would let a
/// model learn what the next one is judged by.
const SEED: u64 = 0x686f_6c64_2d6f_7574;
/// With fewer queries than the least, hardly any difference can be shown. More than the most cost time and show little more.
const LEAST: usize = 100;
const MOST: usize = 1000;
/// The most titles that queries are judged on, so that neither time nor memory grow with the log.
const TITLES: usize = 100_000;

/// Returns the hash of a query's words with spaces between them. Queries with the lowest hashes are held out first.
pub fn query_hash(words: &str) -> u64 {
    xxh3_64_with_seed(words.as_bytes(), SEED)
}

impl RepeatableClicks<'_> {
    /// Returns whether a training that holds out this share of the queries has enough of them, reading no further than it must.
    ///
    /// # Errors
    ///
    /// Those of [`ClickReader`](super::ClickReader).
    pub fn can_hold_out(&self, share: f32, field: &str, weighting: Weighting) -> Result<bool> {
        let source = self.source();
        if source.is_scored() {
            return Ok(false);
        }
        let least = (LEAST as f64 / wide(share)).ceil() as usize;
        let mut queries = HashSet::new();
        let flow = source.read(field, weighting, &mut |pair| {
            let query = words(pair.query).join(" ");
            if pair.clicked && !query.is_empty() && !words(pair.title).is_empty() {
                queries.insert(query);
            }
            Ok(if queries.len() >= least { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(flow.is_break())
    }
}

/// Returns the share in 64 bits. In 32 bits it may be a little less than what was typed.
fn wide(share: f32) -> f64 {
    f64::from(share) * (1.0 + f64::from(f32::EPSILON))
}

/// Clicked queries that are not learnt, and the titles of the log. Serialized, their counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct HeldOut {
    /// The queries; none if the log has too few to say anything.
    #[serde(skip)]
    pub queries: Vec<HeldOutQuery>,
    /// The texts of the titles to search: all distinct titles of the log, clicked or not, or, of more than 100,000, those
    /// that were clicked for a held-out query and others at random. Each consists of its words with spaces between them.
    #[serde(skip)]
    pub titles: Vec<String>,
    /// Whether each of these titles was clicked for any query of the log.
    #[serde(skip)]
    pub was_clicked: Vec<bool>,
    /// The numbers of queries, pairs and titles.
    #[serde(flatten)]
    pub counts: HeldOutCounts,
}

/// The numbers of held-out queries, pairs and titles, and of all queries and titles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct HeldOutCounts {
    /// Queries that are held out.
    pub queries: u64,
    /// Distinct clicked queries in the log, including these.
    pub of_queries: u64,
    /// Clicked pairs that are not learnt.
    pub pairs: u64,
    /// Titles to search.
    pub titles: u64,
    /// Distinct titles in the log.
    pub of_titles: u64,
    /// Whether the titles that were clicked for a query have different grades.
    pub graded: bool,
}

/// A query that is not learnt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldOutQuery {
    /// Its words, with spaces between them.
    pub text: String,
    /// The titles that were clicked for it, each with its position and its grade: 1, or, if the log weighs clicks, that of
    /// [`crate::train::click_grades`] of `weight` times `count` in the log, however training weights them.
    pub clicked: Vec<(u32, u8)>,
    /// The positions of the titles that were shown for it and not clicked, as far as the log says, ascending.
    pub shown: Vec<u32>,
}

impl ClickLog {
    /// Takes a share of the clicked queries, at most 1,000, out of the log, with all their pairs. The words of the queries
    /// decide which. None are taken if that would be fewer than 100.
    pub(crate) fn hold_out(&mut self, share: f32, storage: Storage<'_>) -> Result<HeldOut> {
        let clicks = self.section(Section::Clicks);
        // A title without a click is in `clicked` as its own query; so is a query that was clicked for a title of the same words.
        let pairs = clicks.clone().map(|number| self.pair(number as usize));
        let clicked: HashSet<u64> = pairs.clone().filter(|pair| pair.weight > 0.0).map(|pair| pair.title).collect();
        let own: HashSet<u64> = pairs.filter(|pair| pair.query == pair.title).map(|pair| pair.query).collect();
        let is_query = |of: &&[[u64; 2]]| of.len() > 1 || of[0][0] != of[0][1] || own.contains(&of[0][0]);
        let of_queries = self.clicked.chunk_by(|a, b| a[0] == b[0]).filter(is_query).count();
        let mut held = HeldOut::default();
        held.counts.of_queries = of_queries as u64;
        let wanted = ((of_queries as f64 * wide(share)) as usize).min(MOST);
        if wanted < LEAST {
            return Ok(held);
        }
        let mut lowest: BTreeMap<u64, u64> = BTreeMap::new();
        for number in clicks.clone() {
            let pair = self.pair(number as usize);
            if pair.weight > 0.0 {
                lowest.insert(query_hash(&self.text(pair.query_words)), pair.query);
                if lowest.len() > wanted + 1 {
                    lowest.pop_last();
                }
            }
        }
        // Clicks that weigh something must be left to learn from.
        if lowest.len() <= wanted {
            return Ok(held);
        }
        lowest.pop_last();
        let drawn: HashSet<u64> = lowest.into_values().collect();
        let (mut queries, mut positions) = (HashMap::new(), HashMap::new());
        let mut weights: Vec<Vec<f64>> = Vec::new();
        // Where a query has a title.
        let mut indexes: HashMap<(usize, u32), usize> = HashMap::new();
        for number in clicks {
            let pair = self.pair(number as usize);
            if !drawn.contains(&pair.query) {
                continue;
            }
            held.counts.pairs += 1;
            if pair.weight == 0.0 {
                continue;
            }
            let query = *queries.entry(pair.query).or_insert_with(|| {
                held.queries.push(HeldOutQuery {
                    text: self.text(pair.query_words),
                    clicked: Vec::new(),
                    shown: Vec::new(),
                });
                weights.push(Vec::new());
                held.queries.len() - 1
            });
            let title = *positions.entry(pair.title).or_insert_with(|| {
                held.titles.push(self.text(pair.title_words));
                held.titles.len() as u32 - 1
            });
            let clicked = &mut held.queries[query].clicked;
            let weights = &mut weights[query];
            let worth = self.worth.get(number as usize).copied().map_or(1.0, f64::from);
            match indexes.entry((query, title)) {
                Entry::Occupied(entry) => weights[*entry.get()] += worth,
                Entry::Vacant(entry) => {
                    entry.insert(clicked.len());
                    clicked.push((title, 1));
                    weights.push(worth);
                }
            }
        }
        if !self.worth.is_empty() {
            for (query, weights) in held.queries.iter_mut().zip(&weights) {
                let grades = click_grades(weights);
                query.clicked.iter_mut().zip(grades).for_each(|((_, own), grade)| *own = grade);
            }
            held.counts.graded = true;
        }
        held.was_clicked = vec![true; held.titles.len()];
        let distinct = self.distinct_titles(storage)?;
        held.counts.of_titles = distinct.len() as u64;
        let order = Permutation::new(held.counts.of_titles, SEED, "titles for held-out queries", 0);
        for number in 0..held.counts.of_titles {
            if held.titles.len() >= TITLES {
                break;
            }
            let [title, pair] = distinct[order.at(number) as usize];
            if let Entry::Vacant(entry) = positions.entry(title) {
                entry.insert(held.titles.len() as u32);
                held.titles.push(self.text(self.pair(pair as usize).title_words));
                held.was_clicked.push(clicked.contains(&title));
            }
        }
        for [query, title] in self.shown.iter() {
            let (Some(&query), Some(&title)) = (queries.get(query), positions.get(title)) else { continue };
            if !indexes.contains_key(&(query, title)) {
                held.queries[query].shown.push(title);
            }
        }
        for HeldOutQuery { shown, .. } in &mut held.queries {
            shown.sort_unstable();
            shown.dedup();
        }
        self.records.retain(|record| record.is_title == 1 || !drawn.contains(&record.query))?;
        self.statistics.pairs -= held.counts.pairs;
        self.statistics.held_out = held.counts.pairs;
        self.held_out = drawn;
        (held.counts.queries, held.counts.titles) = (held.queries.len() as u64, held.titles.len() as u64);
        Ok(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clicks::{ClickSource, LogConfig};
    use crate::settings::TrainConfig;

    /// Returns each query has two titles, which it shares with its neighbours.
    fn log(queries: usize, storage: Storage<'_>) -> ClickLog {
        let pairs = (0..2 * queries).map(|i| (format!("query {}", i / 2), format!("Title {}", i / 2 + i % 2), 1.0));
        ClickLog::read(ClickSource::pairs(pairs), storage, &TrainConfig::default()).expect("a log")
    }

    fn texts(held: &HeldOut) -> HashSet<&str> {
        held.queries.iter().map(|query| query.text.as_str()).collect()
    }

    #[test]
    fn what_is_held_out_is_not_learnt_and_nothing_else_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        for storage in [Storage::Memory, Storage::Folder(folder.path())] {
            let mut log = log(1500, storage);
            let held = log.hold_out(0.1, storage).expect("held out");
            let counts = (
                held.queries.len(),
                held.counts.pairs,
                held.counts.of_queries,
                held.titles.len(),
                held.counts.of_titles,
            );
            assert_eq!(counts, (150, 300, 1500, 1501, 1501));
            assert_eq!((log.len(), log.statistics().held_out), (2700, 300));
            let learnt = log.section(Section::Clicks).map(|number| log.pair(number as usize));
            let learnt: HashSet<String> = learnt.map(|pair| log.text(pair.query_words)).collect();
            assert_eq!(learnt.len(), 1350);
            assert!(held.titles.iter().collect::<HashSet<_>>().len() == 1501, "each title once");
            for query in &held.queries {
                assert!(!learnt.contains(&query.text));
                let number: usize = query.text.trim_start_matches("query ").parse().expect("a number");
                let clicked: Vec<&str> =
                    query.clicked.iter().map(|&(title, _)| held.titles[title as usize].as_str()).collect();
                assert_eq!(clicked, [format!("title {number}"), format!("title {}", number + 1)]);
            }
        }
    }

    #[test]
    fn a_query_that_was_clicked_for_its_own_words_counts() {
        let same = |queries: usize| (0..queries).map(|i| (format!("query {i}"), format!("Query {i}"), 1.0));
        let log = |queries| ClickLog::read(ClickSource::pairs(same(queries)), Storage::Memory, &TrainConfig::default());
        let held = log(2000).expect("a log").hold_out(0.1, Storage::Memory).expect("held out");
        assert_eq!((held.queries.len(), held.counts.of_queries), (200, 2000));
        // 0.35 is a little less in 32 bits.
        let held = log(1000).expect("a log").hold_out(0.35, Storage::Memory).expect("held out");
        assert_eq!(held.queries.len(), 350);
    }

    #[test]
    fn clicks_that_weigh_more_make_a_higher_grade() {
        let folder = tempfile::tempdir().expect("a folder");
        let grades = |columns: &str, weighting| {
            let path = folder.path().join("clicks.tsv");
            // The first title of each query in two rows, and one whose clicks weigh nothing.
            let rows = (0..1000).map(|i| {
                let rows = [("a", "2.5", 3), ("b", "1", 3), ("a", "2.5", 3), ("c", "0", 3), ("d", "1", 30)];
                rows.map(|(title, weight, count)| format!("query {i}\ttitle {i} {title}\t{weight}\t{count}\n")).concat()
            });
            std::fs::write(&path, format!("query\ttitle\t{columns}\n{}", rows.collect::<String>())).expect("written");
            let config = TrainConfig { weighting, ..TrainConfig::default() };
            let mut log = ClickLog::read(ClickSource::file(&path), Storage::Memory, &config).expect("a log");
            let held = log.hold_out(0.1, Storage::Memory).expect("held out");
            assert_eq!(held.queries.len(), 100);
            let of = |query: &HeldOutQuery| query.clicked.iter().map(|&(_, grade)| grade).collect::<Vec<u8>>();
            let first = of(&held.queries[0]);
            assert!(held.queries.iter().all(|query| of(query) == first));
            (first, held.counts.graded)
        };
        assert_eq!(grades("weight\tother", Weighting::Log), (vec![4, 2, 2], true));
        assert_eq!(grades("weight\tother", Weighting::Binary), (vec![1, 1, 1], false));
        assert_eq!(grades("count\tother", Weighting::Linear), (vec![1, 1, 1], false), "one person may click often");
        for weighting in [Weighting::Log, Weighting::Linear, Weighting::None] {
            assert_eq!(grades("weight\tcount", weighting), (vec![3, 1, 4], true), "{weighting:?} is about learning");
        }
    }

    #[test]
    fn what_was_shown_and_not_clicked_is_known_of_held_out_queries() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log.tsv");
        let rows = (0..1000).map(|i| {
            let next = (i + 1) % 1000;
            // Shown and clicked is clicked. A title that was never clicked is not searched.
            let rows = [(i, 1), (next, 0), (i, 0), (next, 0), (2000, 0)];
            rows.map(|(title, clicked)| format!("query {i}\ttitle {title}\t{clicked}\n")).concat()
        });
        std::fs::write(&path, format!("query\ttitle\tclicked\n{}", rows.collect::<String>())).expect("written");
        for storage in [Storage::Memory, Storage::Folder(folder.path())] {
            let mut log = ClickLog::read(ClickSource::file(&path), storage, &TrainConfig::default()).expect("a log");
            let statistics = log.statistics().clone();
            assert_eq!((statistics.pairs, statistics.not_clicked, statistics.cut), (1000, 4000, 0));
            let held = log.hold_out(0.1, storage).expect("held out");
            assert_eq!((held.queries.len(), held.titles.len()), (100, 1000));
            for query in &held.queries {
                let number: usize = query.text.trim_start_matches("query ").parse().expect("a number");
                let shown: Vec<&str> = query.shown.iter().map(|&title| held.titles[title as usize].as_str()).collect();
                assert_eq!((query.clicked.len(), shown), (1, vec![&*format!("title {}", (number + 1) % 1000)]));
            }
        }
    }

    #[test]
    fn words_alone_decide_which() {
        let held = |queries| log(queries, Storage::Memory).hold_out(0.1, Storage::Memory).expect("held out");
        let (few, more) = (held(2000), held(2400));
        assert_eq!(few, held(2000));
        // In a larger log, nearly all of the same queries are held out.
        let still = texts(&few).intersection(&texts(&more)).count();
        assert!(still > 180, "{still} of 200");
    }

    #[test]
    fn a_small_log_is_learnt_whole_and_a_large_one_has_bounds() {
        let mut small = log(999, Storage::Memory);
        let held = small.hold_out(0.1, Storage::Memory).expect("nothing");
        assert_eq!(
            (held.queries.len(), held.counts.of_queries, small.len(), small.statistics().held_out),
            (0, 999, 1998, 0)
        );
        let held = log(120_000, Storage::Memory).hold_out(0.1, Storage::Memory).expect("held out");
        assert_eq!((held.queries.len(), held.titles.len(), held.counts.of_titles), (MOST, TITLES, 120_001));
    }

    #[test]
    fn something_is_left_to_learn_from() {
        let pairs = (0..5000).map(|i| (format!("query {i}"), format!("title {i}"), f32::from(u8::from(i < 500))));
        let mut log =
            ClickLog::read(ClickSource::pairs(pairs), Storage::Memory, &TrainConfig::default()).expect("a log");
        let held = log.hold_out(0.1, Storage::Memory).expect("nothing");
        assert_eq!((held.queries.len(), log.len()), (0, 5000));
    }

    #[test]
    fn titles_without_a_click_are_no_queries_and_a_click_of_weight_0_is_not_relevant() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("titles.tsv");
        let titles: String = (0..5000).map(|i| format!("t{i}\tsomething else {i}\n")).collect();
        std::fs::write(&path, format!("id\ttitle\n{titles}")).expect("written");
        let settings = TrainConfig::default();
        let config = LogConfig { titles: &[(&path).into()], ..(&settings).into() };
        let pairs = (0..4000).map(|i| (format!("query {}", i / 2), format!("title {i}"), (i % 2) as f32));
        let mut log = ClickLog::read(ClickSource::pairs(pairs), Storage::Memory, config).expect("a log");
        let held = log.hold_out(0.1, Storage::Memory).expect("held out");
        assert_eq!(
            (held.queries.len(), held.counts.of_queries, held.counts.pairs, held.titles.len()),
            (200, 2000, 400, 9000)
        );
        assert!(held.queries.iter().all(|query| query.clicked.len() == 1));
        assert_eq!(log.section(Section::Titles), 3600..8600);
        let titles = log.section(Section::Titles).map(|number| log.text(log.pair(number as usize).title_words));
        assert!(titles.eq((0..5000).map(|i| format!("something else {i}"))));
    }
}
