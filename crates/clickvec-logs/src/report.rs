//! The figures of a log.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::columns::Role;
use crate::distinct::Distinct;
use clickvec_tables::shown::{count, counted};
use clickvec_tables::table::RowFault;

use crate::paths::named;
use crate::privacy::Removed;
use crate::{Error, ErrorKind, Result};

/// The number of broken rows to show.
pub const SHOWN_BROKEN: usize = 5;
/// The number of names of events to show.
const SHOWN_EVENTS: usize = 20;

/// The figures of a log, and the fate of each of its rows. It contains no query or title.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// The files that were read.
    pub files: Vec<FileReport>,
    /// The tables that were read next to the logs: titles, queries.
    pub side_tables: Vec<SideTable>,
    /// Columns that seem to identify users, if no column is used for that.
    pub looks_like_user: Vec<String>,
    /// Rows of all files, broken ones included.
    pub rows: u64,
    /// Broken rows.
    pub broken: u64,
    /// Broken rows by their fault.
    pub broken_by_kind: BTreeMap<&'static str, u64>,
    /// The first broken rows.
    pub first_broken: Vec<BrokenRow>,
    /// Valid rows that are not clicks.
    pub left_out: LeftOut,
    /// The names of events that the preset does not know, with their numbers; the first few names.
    pub other_event_names: BTreeMap<String, u64>,
    /// The actions that count as clicks and that no event has.
    pub absent_actions: Vec<String>,
    /// The whole queries and titles that mean nothing, with their numbers.
    pub null_texts: BTreeMap<&'static str, u64>,
    /// Queries and titles in which HTML entities were decoded.
    pub with_entities: u64,
    /// The column that was read as clicks (yes or no) or as their counts because of its name and values.
    pub read_as_clicked: Option<(Role, String)>,
    /// Personal data removed from queries.
    pub personal: Removed,
    /// Rows that are a search, which clicks refer to.
    pub searches: u64,
    /// Searches with the id of another search, where an id is one search: the earliest counts.
    pub repeated_searches: u64,
    /// Repeated searches with another query than the first of the log.
    pub contradicting_searches: u64,
    /// Clicks that were counted.
    pub clicks: u64,
    /// Distinct users; `None` if the log has none.
    pub users: Option<Count>,
    /// Users with too many queries to be people; `None` if robots were not looked for.
    pub robots: Option<u64>,
    /// Distinct items; `None` if the log has none.
    pub items: Option<Count>,
    /// Distinct items without a title.
    pub items_without_title: Option<Count>,
    /// The number of titles read for items.
    pub titles_read: Option<u64>,
    /// The day of the first row and of the last.
    pub days: Option<(String, String)>,
    /// The fewest users of a query that stays; `None` if any number will do.
    pub min_users: Option<usize>,
    /// Queries, pairs and clicks left out because too few users clicked.
    pub too_few_users: Counts,
    /// Whether queries of too few users were written and marked instead of left out.
    pub private: bool,
    /// Queries, pairs and clicks of too few users that were written for training, and marked as rare.
    pub rare: Counts,
    /// Queries, pairs and clicks written for training.
    pub training: Counts,
    /// Distinct titles written.
    pub titles: Count,
    /// Clicks for each written query.
    pub clicks_per_query: Histogram,
    /// Words in each written query.
    pub query_words: Histogram,
    /// Words in the title of each written pair.
    pub title_words: Histogram,
    /// The report of the examination of each position.
    pub positions: Option<PositionReport>,
    /// The number of times memory was full.
    pub spills: usize,
}

impl Report {
    /// Counts an event that the preset does not know.
    pub(crate) fn other_event(&mut self, name: &str) {
        self.left_out.other_events += 1;
        let names = &mut self.other_event_names;
        let has_room = !name.is_empty() && names.len() < SHOWN_EVENTS;
        match names.get_mut(name) {
            Some(count) => *count += 1,
            None if has_room => drop(names.insert(name.to_owned(), 1)),
            None => {}
        }
    }
}

/// The figures of one file.
#[derive(Debug, Clone, Serialize)]
pub struct FileReport {
    /// The file's name.
    pub path: String,
    /// The number of rows.
    pub rows: u64,
    /// The number of broken rows.
    pub broken: u64,
}

/// The figures of a table next to the logs.
#[derive(Debug, Clone, Serialize)]
pub struct SideTable {
    /// The file's name.
    pub path: String,
    /// The number of rows.
    pub rows: u64,
    /// The number of broken rows.
    pub broken: u64,
    /// The first broken rows.
    pub first_broken: Vec<BrokenRow>,
    /// Repeated headers.
    pub headers: u64,
    /// Rows without an id or a text, which say nothing.
    pub empty: u64,
    /// The texts of these rows that mean nothing, such as `null`, with their numbers.
    pub null_texts: BTreeMap<&'static str, u64>,
    /// Rows with the id of an earlier row, which is the one that counts.
    pub repeated: u64,
    /// Repeated rows with a different text.
    pub contradicting: u64,
    /// Texts in which HTML entities were decoded.
    pub with_entities: u64,
}

impl SideTable {
    pub(crate) fn new(path: &Path) -> SideTable {
        SideTable {
            path: named(path),
            rows: 0,
            broken: 0,
            first_broken: Vec::new(),
            headers: 0,
            empty: 0,
            null_texts: BTreeMap::new(),
            repeated: 0,
            contradicting: 0,
            with_entities: 0,
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

    /// Checks that no more rows are broken than allowed.
    pub(crate) fn judge(&self, max_bad: f64) -> Result<()> {
        judge(self.rows, self.broken, &self.first_broken, max_bad, false)
    }
}

/// Checks that at most the share `max_bad` of all rows is broken. `is_early`: more rows may follow.
pub(crate) fn judge(rows: u64, broken: u64, first_broken: &[BrokenRow], max_bad: f64, is_early: bool) -> Result<()> {
    // 0.29 of 100 is a little less than 29.
    if broken as f64 <= max_bad * rows as f64 * (1.0 + 1e-12) {
        return Ok(());
    }
    let line = |row: &BrokenRow| format!("; {}:{}: {}", row.path, row.line, row.reason);
    let first: String = first_broken.iter().map(line).collect();
    let expected = format!("at most {} % broken rows", (100.0 * max_bad * 1e9).round() / 1e9);
    let early = if is_early { "the first " } else { "" };
    let share = 100.0 * broken as f64 / rows.max(1) as f64;
    let found = format!("{} of {early}{} ({share:.2} %){first}", count(broken), counted(rows, "row"));
    let is_time = first_broken.iter().any(|row| row.reason.starts_with("expected a time"));
    let help = if is_time {
        "name the form of times as `time_format`, mend the log, or allow more as `max_bad`"
    } else {
        "mend the log, check `format` and `columns`, or allow more as `max_bad`"
    };
    const SETTINGS: &[&str] = &["time_format", "format", "columns", "max_bad"];
    Err(Error::expected(ErrorKind::Malformed, expected, found).help(help).settings(SETTINGS))
}

/// A row that was left out because it is broken.
#[derive(Debug, Clone, Serialize)]
pub struct BrokenRow {
    /// The file.
    pub path: String,
    /// The line, counted from 1.
    pub line: u64,
    /// The fault.
    pub reason: String,
}

/// Valid rows that were left out, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Shown and not clicked, and positions are not needed.
    pub not_clicked: u64,
    /// A repeated header.
    pub headers: u64,
    /// The user is a robot.
    pub robots: u64,
    /// No query, or one without letters and digits.
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
    /// An event that the preset does not know.
    pub other_events: u64,
    /// Whole queries and titles that mean nothing, such as `NULL`.
    pub null_text: u64,
}

/// The number of distinct values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The number.
    pub count: u64,
    /// Whether the number is exact. Above 65,536 it is an estimate with an error of about 0.7 %.
    pub exact: bool,
}

/// Numbers of queries, pairs and clicks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Distinct queries of a file. In the sum for both files, a query of both counts twice.
    pub queries: u64,
    /// Distinct pairs of query and title.
    pub pairs: u64,
    /// Clicks.
    pub clicks: u64,
}

/// The report of the examination of each position.
#[derive(Debug, Clone, Serialize)]
pub struct PositionReport {
    /// The positions.
    pub positions: Vec<Position>,
    /// The position that others are compared with: the first, if the log allows.
    pub reference: usize,
    /// The upper limit of a click's weight for a position that is seldom examined.
    pub clip: f64,
    /// The power of `attraction` that also multiplies the weight.
    pub trust: f64,
    /// Iterations until the estimate converged.
    pub iterations: usize,
}

/// A position in the list of results.
#[derive(Debug, Clone, Serialize)]
pub struct Position {
    /// The position.
    pub position: usize,
    /// Titles shown there.
    pub shown: u64,
    /// Clicks there.
    pub clicks: u64,
    /// The examination: how often the position is looked at, relative to the reference; `None` if the log cannot say.
    pub examination: Option<f64>,
    /// The standard error of `examination`.
    pub standard_error: Option<f64>,
    /// The attraction: how often its titles are clicked when looked at, relative to the reference.
    pub attraction: Option<f64>,
    /// The weight of a click there.
    pub weight: f64,
}

/// A histogram of sizes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Histogram {
    /// The bars, for sizes 1, 2, 3–4, and so on.
    pub bars: Vec<Bar>,
}

/// A bar of a histogram.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bar {
    /// The smallest size in it.
    pub from: u64,
    /// The largest.
    pub to: u64,
    /// The number of things.
    pub count: u64,
}

impl Histogram {
    /// Counts a size in bars that double: 1, 2, 3–4, 5–8, and so on.
    pub(crate) fn add_doubling(&mut self, size: u64) {
        let bar = match size {
            0 | 1 => 0,
            size => 64 - (size - 1).leading_zeros() as usize,
        };
        let bounds = |bar: usize| match bar {
            0 => (1, 1),
            bar => ((1u64 << (bar - 1)) + 1, 1u64.checked_shl(bar as u32).unwrap_or(u64::MAX)),
        };
        self.add(bar, bounds);
    }

    /// Counts a size in bars of one, from 1 to `last`; the last bar also counts all larger sizes.
    pub(crate) fn add_single(&mut self, size: u64, last: u64) {
        let size = size.clamp(1, last);
        self.add(size as usize - 1, |bar| {
            let from = bar as u64 + 1;
            (from, if from == last { u64::MAX } else { from })
        });
    }

    fn add(&mut self, bar: usize, bounds: impl Fn(usize) -> (u64, u64)) {
        while self.bars.len() <= bar {
            let (from, to) = bounds(self.bars.len());
            self.bars.push(Bar { from, to, count: 0 });
        }
        self.bars[bar].count += 1;
    }
}

impl From<&Distinct> for Count {
    fn from(distinct: &Distinct) -> Count {
        Count { count: distinct.count(), exact: distinct.is_exact() }
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

    #[test]
    fn a_share_of_broken_rows_is_exact() {
        assert!(judge(100, 29, &[], 0.29, false).is_ok());
        let refused = judge(100, 30, &[], 0.29, false).unwrap_err().to_string();
        assert!(refused.contains("at most 29 %"), "{refused}");
    }
}
