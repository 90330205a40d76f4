//! Writing a table from counts.

use std::io::{BufWriter, Write};
use std::path::Path;

use clickvec_tables::files::Pending;
use clickvec_tables::shown::{count, counted, listed};
use xxhash_rust::xxh3::xxh3_64;

use crate::distinct::Distinct;
use crate::gather::{Cell, Gathered, QueryGroup};
use crate::paths::is_standard_output;
use crate::report::{Count, Report};
use crate::{Error, ErrorKind, Result};

/// The largest number of words with a bar of its own in a histogram.
const WORDS: u64 = 12;

/// A title, its counts, and its clicks.
type Clicked<'g> = (&'g [u8], &'g [Cell], u64);

/// The counts to write, and their output.
pub(crate) struct Emission<'a> {
    pub(crate) output: &'a Path,
    /// The fewest users of a query; `None` if any number will do.
    pub(crate) min_users: Option<usize>,
    /// Whether queries of fewer users are marked instead of left out.
    pub(crate) private: bool,
    /// The weight of a click at each position; if empty, there is no column of weights.
    pub(crate) weights: &'a [f64],
    /// Whether titles that were shown and not clicked are written too, with 0 in a column `clicked`.
    pub(crate) impressions: bool,
}

impl Emission<'_> {
    /// Writes the table or nothing: it is complete and on disk before it gets its name.
    pub(crate) fn write(
        &self,
        gathered: &Gathered,
        report: &mut Report,
        standard_output: &mut dyn Write,
    ) -> Result<()> {
        if is_standard_output(self.output) {
            let mut writer = BufWriter::new(standard_output);
            self.write_rows(gathered, &mut writer, report)?;
            return writer.flush().map_err(|source| Error::io(self.output, "write", source));
        }
        let mut pending = Pending::new(self.output)?;
        self.write_rows(gathered, pending.writer(), report)?;
        pending.seal()?.publish()
    }

    fn write_rows(&self, gathered: &Gathered, target: &mut dyn Write, report: &mut Report) -> Result<()> {
        let weight = if self.weights.is_empty() { "" } else { "\tweight" };
        let rare_column = if self.private { "\trare" } else { "" };
        let clicked = if self.impressions { "\tclicked" } else { "" };
        self.put(target, format!("query\ttitle\tcount{weight}{rare_column}{clicked}\n").as_bytes())?;
        let (mut reader, mut group) = (gathered.read()?, QueryGroup::default());
        let mut titles = Distinct::default();
        let mut row = Vec::new();
        while reader.next(&mut group)? {
            let Some(found) = self.query(&group, report) else { continue };
            let (counts, rare) = (&mut report.training, &mut report.rare);
            counts.queries += 1;
            let is_rare = self.private && self.is_rare(&group);
            rare.queries += u64::from(is_rare);
            for (title, cells, clicks) in found {
                counts.pairs += 1;
                counts.clicks = counts.clicks.saturating_add(clicks);
                titles.add(xxh3_64(title));
                report.title_words.add_single(words(title), WORDS);
                row.clear();
                push(&mut row, &[&group.query, title]);
                row.extend_from_slice(format!("\t{clicks}").as_bytes());
                if !self.weights.is_empty() {
                    row.extend_from_slice(format!("\t{}", self.weight(cells, clicks) as f32).as_bytes());
                }
                if self.private {
                    row.extend_from_slice(if is_rare { b"\t1" } else { b"\t0" });
                }
                if self.impressions {
                    row.extend_from_slice(b"\t1");
                }
                if is_rare {
                    rare.pairs += 1;
                    rare.clicks = rare.clicks.saturating_add(clicks);
                }
                row.push(b'\n');
                self.put(target, &row)?;
            }
            if self.impressions {
                let others =
                    ["\t0", if weight.is_empty() { "" } else { "\t0" }, if self.private { "\t0" } else { "" }, "\t0\n"]
                        .concat();
                for title in shown(&group) {
                    row.clear();
                    push(&mut row, &[&group.query, title]);
                    row.extend_from_slice(others.as_bytes());
                    self.put(target, &row)?;
                }
            }
        }
        report.titles = Count::from(&titles);
        // What was written before must not give way to a header alone.
        if report.training.pairs == 0 { Err(nothing_left(report)) } else { Ok(()) }
    }

    /// Returns the titles of a query to be written, if there are any.
    fn query<'g>(&self, group: &'g QueryGroup, report: &mut Report) -> Option<Vec<Clicked<'g>>> {
        let clicked = group.titles.iter().map(|title| {
            let clicks = sum(title.cells.iter().map(|cell| cell.clicks));
            (title.title.as_slice(), title.cells.as_slice(), clicks)
        });
        let clicked: Vec<_> = clicked.filter(|&(_, _, clicks)| clicks > 0).collect();
        if clicked.is_empty() {
            return None;
        }
        let all = sum(clicked.iter().map(|&(_, _, clicks)| clicks));
        if !self.private && self.is_rare(group) {
            let left = &mut report.too_few_users;
            left.queries += 1;
            left.pairs += clicked.len() as u64;
            left.clicks = left.clicks.saturating_add(all);
            return None;
        }
        report.clicks_per_query.add_doubling(all);
        report.query_words.add_single(words(&group.query), WORDS);
        Some(clicked)
    }

    /// Returns whether too few users clicked for a query.
    fn is_rare(&self, group: &QueryGroup) -> bool {
        self.min_users.is_some_and(|least| group.users.len() < least)
    }

    /// Returns the mean weight of a pair's clicks.
    fn weight(&self, cells: &[Cell], clicks: u64) -> f64 {
        let worth = |cell: &Cell| {
            let position = usize::from(cell.position).min(self.weights.len() - 1);
            self.weights[position] * cell.clicks as f64
        };
        cells.iter().map(worth).sum::<f64>() / clicks as f64
    }

    fn put(&self, target: &mut dyn Write, bytes: &[u8]) -> Result<()> {
        target.write_all(bytes).map_err(|source| Error::io(self.output, "write", source))
    }
}

/// Iterates over the titles that were shown for a query, and not clicked.
fn shown(group: &QueryGroup) -> impl Iterator<Item = &[u8]> {
    let is_shown =
        |cells: &[Cell]| cells.iter().any(|cell| cell.shown > 0) && cells.iter().all(|cell| cell.clicks == 0);
    group.titles.iter().filter(move |title| is_shown(&title.cells)).map(|title| title.title.as_slice())
}

/// Adds numbers, stopping at the largest one instead of overflowing.
fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

fn push(row: &mut Vec<u8>, fields: &[&[u8]]) {
    row.extend_from_slice(&fields.join(&b'\t'));
}

fn words(text: &[u8]) -> u64 {
    text.split(|&byte| byte == b' ').filter(|word| !word.is_empty()).count() as u64
}

/// Returns the error that says what happened to every row.
fn nothing_left(report: &Report) -> Error {
    let left = &report.left_out;
    let few_users = format!("clicks of queries with fewer than {} users", report.min_users.unwrap_or(0));
    let reasons = [
        ("broken", report.broken, ""),
        ("not clicked", left.not_clicked, ""),
        ("of robots", left.robots, "`max_queries`"),
        ("without a query", left.without_query + left.only_personal, ""),
        ("without their search", left.without_search, ""),
        ("without an item or title", left.without_item, ""),
        ("of items without a title", left.without_title, "`titles`"),
        ("with a count of 0", left.count_zero, ""),
        ("of no known event", left.other_events, ""),
        ("with a query or title that means nothing", left.null_text, ""),
        (&few_users, report.too_few_users.clicks, "`min_users`"),
    ];
    let reasons: Vec<_> = reasons.iter().filter(|(_, count, _)| *count > 0).collect();
    let rows = match reasons[..] {
        [] => "the log has no rows".to_owned(),
        _ => {
            let counts: Vec<String> =
                reasons.iter().map(|(reason, rows, _)| format!("{} {reason}", count(*rows))).collect();
            format!("of {}: {}", counted(report.rows, "row"), counts.join(", "))
        }
    };
    const SETTINGS: &[&str] = &["max_queries", "titles", "min_users"];
    let settings: Vec<&str> = reasons.iter().map(|(_, _, setting)| *setting).filter(|name| !name.is_empty()).collect();
    let found = format!("none left: {rows}");
    if left.other_events > 0 && left.without_search == 0 {
        let names: Vec<&String> = report.other_event_names.keys().collect();
        let help = format!(
            "the events are {}, but the preset counts clicks; for UBI, `ubi:ACTION=CLICKS` in `preset` counts other actions",
            listed(&names, names.len())
        );
        let error = Error::expected(ErrorKind::Mismatch, "clicks with their queries", found);
        return error.help(help).settings(&["preset"]);
    }
    let error = Error::expected(ErrorKind::Empty, "pairs of a query and a title", found);
    if settings.is_empty() { error } else { error.help(format!("see {}", settings.join(", "))).settings(SETTINGS) }
}
