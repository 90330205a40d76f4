//! What was found in a log, in numbers.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::distinct::Distinct;
use crate::error::{Error, Result, RowFault};
use crate::paths::named;
use crate::privacy::Removed;

/// How many broken rows are shown.
pub const SHOWN_BROKEN: usize = 5;

/// Everything that people ask of a log, and what became of each of its rows. It has no query and no title in it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// What was read, file by file.
    pub files: Vec<FileReport>,
    /// What was read of tables next to the logs: of titles, of queries.
    pub side_tables: Vec<SideTable>,
    /// Columns whose names say that they may hold who asked, in a log in which nothing else does.
    pub looks_like_user: Vec<String>,
    /// Rows of all files, broken ones included.
    pub rows: u64,
    /// Broken rows.
    pub broken: u64,
    /// Broken rows by what is wrong with them.
    pub broken_by_kind: BTreeMap<&'static str, u64>,
    /// The first of them.
    pub first_broken: Vec<BrokenRow>,
    /// Rows that are whole and yet no click.
    pub left_out: LeftOut,
    /// What was cut out of queries.
    pub personal: Removed,
    /// Rows that are a search, to which clicks refer.
    pub searches: u64,
    /// Clicks that were counted.
    pub clicks: u64,
    /// Different users; `None` if the log has none.
    pub users: Option<Count>,
    /// Users who asked too much to be persons; `None` if they were not looked for.
    pub robots: Option<u64>,
    /// Different items; `None` if the log has none.
    pub items: Option<Count>,
    /// Different items without a title.
    pub items_without_title: Option<Count>,
    /// Titles of items that were read.
    pub titles_read: Option<u64>,
    /// The day of the first row, and of the last.
    pub days: Option<(String, String)>,
    /// A query stays if as many users clicked for it; `None`: any does.
    pub min_users: Option<usize>,
    /// Queries, pairs and clicks left out since too few users asked.
    pub too_few_users: Counts,
    /// A pair stays if it was clicked as often.
    pub min_count: u64,
    /// Pairs and clicks left out since they are too few; `queries` counts those that lost all.
    pub too_few_clicks: Counts,
    /// What was written to train on.
    pub training: Counts,
    /// What was written to validate with.
    pub validation: Option<Counts>,
    /// Different titles written.
    pub titles: Count,
    /// Clicks of a written query.
    pub clicks_per_query: Histogram,
    /// Words of a written query.
    pub query_words: Histogram,
    /// Words of a title of a written pair.
    pub title_words: Histogram,
    /// How often a place of the list is looked at.
    pub positions: Option<PositionReport>,
    /// How often memory was full.
    pub spills: usize,
}

/// What was read of one file.
#[derive(Debug, Clone, Serialize)]
pub struct FileReport {
    /// Its name.
    pub path: String,
    /// Its rows.
    pub rows: u64,
    /// Broken ones among them.
    pub broken: u64,
}

/// What was read of a table next to the logs.
#[derive(Debug, Clone, Serialize)]
pub struct SideTable {
    /// Its name.
    pub path: String,
    /// Its rows.
    pub rows: u64,
    /// Broken ones among them.
    pub broken: u64,
    /// The first of them.
    pub first_broken: Vec<BrokenRow>,
    /// Rows without an id or without a text, which say nothing.
    pub empty: u64,
    /// Rows whose id an earlier row has: the first counts.
    pub repeated: u64,
    /// Those of them whose text is another one.
    pub contradicting: u64,
}

impl SideTable {
    pub(crate) fn new(path: &Path) -> SideTable {
        SideTable {
            path: named(path),
            rows: 0,
            broken: 0,
            first_broken: Vec::new(),
            empty: 0,
            repeated: 0,
            contradicting: 0,
        }
    }

    /// Counts a broken row.
    pub(crate) fn broken(&mut self, line: u64, fault: &RowFault) {
        self.rows += 1;
        self.broken += 1;
        if self.first_broken.len() < SHOWN_BROKEN {
            self.first_broken.push(BrokenRow { path: self.path.clone(), line, reason: fault.to_string() });
        }
    }

    /// That no more rows are broken than may be.
    pub(crate) fn judge(&self, max_bad: f64) -> Result<()> {
        judge(self.rows, self.broken, &self.first_broken, max_bad, false)
    }
}

/// That no more rows are broken than the part `max_bad` of all. `is_early`: more rows may follow.
pub(crate) fn judge(rows: u64, broken: u64, first_broken: &[BrokenRow], max_bad: f64, is_early: bool) -> Result<()> {
    if broken as f64 <= max_bad * rows as f64 {
        return Ok(());
    }
    let line = |row: &BrokenRow| format!("\n  {}:{}: {}", row.path, row.line, row.reason);
    let mut first: String = first_broken.iter().map(line).collect();
    let more = broken - first_broken.len() as u64;
    if more > 0 {
        first.push_str(&format!("\n  and {more} more"));
    }
    first.push('\n');
    Err(Error::TooManyBroken { broken, rows, allowed: 100.0 * max_bad, is_early, first })
}

/// A row that was left out since it is broken.
#[derive(Debug, Clone, Serialize)]
pub struct BrokenRow {
    /// The file.
    pub path: String,
    /// The line, counted from 1.
    pub line: u64,
    /// What is wrong.
    pub reason: String,
}

/// Rows by why they were left out though they are whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Shown, not clicked (and positions were not asked for).
    pub not_clicked: u64,
    /// The header again.
    pub headers: u64,
    /// Of a robot.
    pub robots: u64,
    /// No query, or one without letter or digit.
    pub without_query: u64,
    /// The query was nothing but an address or a number.
    pub only_personal: u64,
    /// The search that the click belongs to is not in the log.
    pub without_search: u64,
    /// No item and no title.
    pub without_item: u64,
    /// The item has no title.
    pub without_title: u64,
    /// A count of 0.
    pub count_zero: u64,
    /// Of a preset's log, no event that is known.
    pub other_events: u64,
}

/// Different things.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// How many.
    pub count: u64,
    /// Whether this is exact; beyond 65,536 it is an estimate, 0.7 % off or so.
    pub exact: bool,
}

/// Queries, pairs and clicks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Different queries.
    pub queries: u64,
    /// Different pairs of query and title.
    pub pairs: u64,
    /// Clicks.
    pub clicks: u64,
}

/// How often each place of the list is looked at.
#[derive(Debug, Clone, Serialize)]
pub struct PositionReport {
    /// By place.
    pub positions: Vec<Position>,
    /// The place that others are compared with: the first, if the log can compare it.
    pub reference: usize,
    /// The most that a click weighs for its place's being looked at seldom.
    pub clip: f64,
    /// The power of `attraction` that it weighs besides.
    pub trust: f64,
    /// Rounds until the estimate stood.
    pub iterations: usize,
}

/// One place of the list.
#[derive(Debug, Clone, Serialize)]
pub struct Position {
    /// The place.
    pub position: usize,
    /// Titles shown there.
    pub shown: u64,
    /// Clicks there.
    pub clicks: u64,
    /// How often it is looked at, as a part of how often the reference is; `None` if the log cannot say.
    pub examination: Option<f64>,
    /// The standard error of that.
    pub standard_error: Option<f64>,
    /// How often its titles are clicked when looked at, as a part of how often the reference's are.
    pub attraction: Option<f64>,
    /// What a click there is worth.
    pub weight: f64,
}

/// How many things are of which size.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Histogram {
    /// `1`, `2`, `3–4` …, and how many.
    pub bars: Vec<Bar>,
}

/// One bar of a histogram.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bar {
    /// The smallest size in it.
    pub from: u64,
    /// The largest.
    pub to: u64,
    /// How many things.
    pub count: u64,
}

impl Histogram {
    /// Counts a size in bars that double: 1, 2, 3–4, 5–8 …
    pub(crate) fn add_doubling(&mut self, size: u64) {
        let place = match size {
            0 | 1 => 0,
            size => 64 - (size - 1).leading_zeros() as usize,
        };
        let bounds = |place: usize| match place {
            0 => (1, 1),
            place => ((1u64 << (place - 1)) + 1, 1u64.checked_shl(place as u32).unwrap_or(u64::MAX)),
        };
        self.add(place, bounds);
    }

    /// Counts a size in bars of one, from 1 to `last`, the last being for all that are larger.
    pub(crate) fn add_single(&mut self, size: u64, last: u64) {
        let size = size.clamp(1, last);
        self.add(size as usize - 1, |place| {
            let from = place as u64 + 1;
            (from, if from == last { u64::MAX } else { from })
        });
    }

    fn add(&mut self, place: usize, bounds: impl Fn(usize) -> (u64, u64)) {
        while self.bars.len() <= place {
            let (from, to) = bounds(self.bars.len());
            self.bars.push(Bar { from, to, count: 0 });
        }
        self.bars[place].count += 1;
    }
}

impl From<&Distinct> for Count {
    fn from(distinct: &Distinct) -> Count {
        Count { count: distinct.count(), exact: distinct.is_exact() }
    }
}

impl LeftOut {
    /// Adds what another counted.
    pub(crate) fn add(&mut self, other: LeftOut) {
        let LeftOut {
            not_clicked,
            headers,
            robots,
            without_query,
            only_personal,
            without_search,
            without_item,
            without_title,
            count_zero,
            other_events,
        } = other;
        self.not_clicked += not_clicked;
        self.headers += headers;
        self.robots += robots;
        self.without_query += without_query;
        self.only_personal += only_personal;
        self.without_search += without_search;
        self.without_item += without_item;
        self.without_title += without_title;
        self.count_zero += count_zero;
        self.other_events += other_events;
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        let LeftOut {
            not_clicked,
            headers,
            robots,
            without_query,
            only_personal,
            without_search,
            without_item,
            without_title,
            count_zero,
            other_events,
        } = *self;
        not_clicked
            + headers
            + robots
            + without_query
            + only_personal
            + without_search
            + without_item
            + without_title
            + count_zero
            + other_events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_double_or_stand_for_one_size() {
        let mut doubling = Histogram::default();
        [1, 2, 3, 4, 5, 8, 9].into_iter().for_each(|size| doubling.add_doubling(size));
        let bars: Vec<_> = doubling.bars.iter().map(|bar| (bar.from, bar.to, bar.count)).collect();
        assert_eq!(bars, [(1, 1, 1), (2, 2, 1), (3, 4, 2), (5, 8, 2), (9, 16, 1)]);
        doubling.add_doubling(u64::MAX);
        assert_eq!(doubling.bars.len(), 65);
        let mut single = Histogram::default();
        [1, 3, 7].into_iter().for_each(|size| single.add_single(size, 3));
        let bars: Vec<_> = single.bars.iter().map(|bar| (bar.from, bar.to, bar.count)).collect();
        assert_eq!(bars, [(1, 1, 1), (2, 2, 0), (3, u64::MAX, 2)]);
    }
}
