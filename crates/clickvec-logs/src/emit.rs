//! Writing tables from counts.

use std::io::{BufWriter, Write};
use std::path::Path;

use clickvec::train::click_grades;
use clickvec_tables::files::{Pending, Sealed};
use clickvec_tables::shown::{count, counted};
use xxhash_rust::xxh3::xxh3_64;

use crate::distinct::Distinct;
use crate::gather::{Cell, Gathered, QueryGroup};
use crate::paths::is_standard_output;
use crate::report::{Count, Counts, Report};
use crate::sample::{TitleSample, beside};
use crate::{Error, ErrorKind, Result};

/// The largest number of words with a bar of its own in a histogram.
const WORDS: u64 = 12;

/// The number of titles without a click that each query of the validation set has besides.
const UNCLICKED: usize = 10;

/// A title, its counts, and its clicks.
type Clicked<'g> = (&'g [u8], &'g [Cell], u64);

/// Which counts to write, and where.
pub(crate) struct Emission<'a> {
    pub(crate) output: &'a Path,
    pub(crate) validation: Option<&'a Path>,
    /// The fewest users of a query; `None` if any number will do.
    pub(crate) min_users: Option<usize>,
    /// Whether queries of fewer users are marked instead of left out.
    pub(crate) private: bool,
    /// The share of queries that goes into the validation set, whatever the split of the rows.
    pub(crate) validation_part: Option<f64>,
    /// The weight of a click at each position; if empty, there is no column of weights.
    pub(crate) weights: &'a [f64],
    /// Whether titles that were shown and not clicked are written too, with 0 in a column `clicked`.
    pub(crate) impressions: bool,
}

/// The destination of a table.
enum Target<'w> {
    File(Box<Pending>),
    StandardOutput(BufWriter<&'w mut dyn Write>),
}

impl<'w> Target<'w> {
    /// A target for `path`. The table that goes to standard output takes `standard_output`.
    fn new(path: &Path, standard_output: &mut Option<&'w mut dyn Write>) -> Result<Target<'w>> {
        Ok(match is_standard_output(path).then(|| standard_output.take()).flatten() {
            Some(writer) => Target::StandardOutput(BufWriter::new(writer)),
            None => Target::File(Box::new(Pending::new(path)?)),
        })
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Target::File(pending) => pending.writer(),
            Target::StandardOutput(writer) => writer,
        }
    }

    fn seal(self, path: &Path) -> Result<Option<Sealed>> {
        match self {
            Target::File(pending) => Ok(Some(pending.seal()?)),
            Target::StandardOutput(mut writer) => {
                writer.flush().map_err(|source| Error::io(path, "write", source))?;
                Ok(None)
            }
        }
    }
}

impl Emission<'_> {
    /// Writes both tables or neither: both are complete and on disk before either gets its name.
    pub(crate) fn write(
        &self,
        gathered: &Gathered,
        report: &mut Report,
        standard_output: &mut dyn Write,
    ) -> Result<()> {
        let mut standard_output = Some(standard_output);
        let mut training = Target::new(self.output, &mut standard_output)?;
        let mut validation = self.validation.map(|path| Target::new(path, &mut standard_output)).transpose()?;
        let other = validation.as_mut().map(Target::writer);
        self.write_rows(gathered, training.writer(), other, report)?;
        let training = training.seal(self.output)?;
        let validation = validation.map(|target| target.seal(self.validation.unwrap_or(self.output))).transpose()?;
        for sealed in [Some(training), validation].into_iter().flatten().flatten() {
            sealed.publish()?;
        }
        Ok(())
    }

    fn write_rows(
        &self,
        gathered: &Gathered,
        training: &mut dyn Write,
        mut validation: Option<&mut dyn Write>,
        report: &mut Report,
    ) -> Result<()> {
        let weight = if self.weights.is_empty() { "" } else { "\tweight" };
        let rare_column = if self.private { "\trare" } else { "" };
        let clicked = if self.impressions { "\tclicked" } else { "" };
        put(self.output, training, format!("query\ttitle\tcount{weight}{rare_column}{clicked}\n").as_bytes())?;
        if let (Some(path), Some(validation)) = (self.validation, &mut validation) {
            put(path, validation, b"query\ttitle\tgrade\tcount\n")?;
        }
        let sample = if self.validation.is_some() { self.sample(gathered)? } else { Vec::new() };
        let (mut reader, mut group) = (gathered.read()?, QueryGroup::default());
        let mut titles = Distinct::default();
        let mut counts = [Counts::default(); 2];
        let mut row = Vec::new();
        while reader.next(&mut group)? {
            for part in 0..2u8 {
                let is_validation = match self.validation_part {
                    Some(share) => is_drawn(&seen(&group.query), share),
                    None => part == 1,
                };
                let Some(found) = self.query(&group, part, report) else { continue };
                let (path, target): (&Path, &mut dyn Write) = match (is_validation, self.validation, &mut validation) {
                    (true, Some(path), Some(validation)) => (path, validation),
                    _ => (self.output, training),
                };
                let counts = &mut counts[usize::from(is_validation)];
                counts.queries += 1;
                let is_rare = self.private && self.is_rare(&group, part);
                let rare = if is_validation { &mut report.rare_validation } else { &mut report.rare };
                rare.queries += u64::from(is_rare);
                let weights: Vec<f64> = if self.weights.is_empty() {
                    Vec::new()
                } else {
                    found.iter().map(|(_, cells, clicks)| self.weight(cells, part, *clicks)).collect()
                };
                // Clicks at positions that few look at count for more here as well.
                let worth: Vec<f64> = found.iter().zip(&weights).map(|(of, weight)| weight * of.2 as f64).collect();
                let grades = if weights.is_empty() { vec![1; found.len()] } else { click_grades(&worth) };
                for (number, (title, _, clicks)) in found.iter().enumerate() {
                    counts.pairs += 1;
                    counts.clicks = counts.clicks.saturating_add(*clicks);
                    titles.add(xxh3_64(title));
                    report.title_words.add_single(words(title), WORDS);
                    row.clear();
                    push(&mut row, &[&group.query, title]);
                    if is_validation {
                        row.extend_from_slice(format!("\t{}", grades[number]).as_bytes());
                    }
                    row.extend_from_slice(format!("\t{clicks}").as_bytes());
                    if let (false, Some(weight)) = (is_validation, weights.get(number)) {
                        row.extend_from_slice(format!("\t{}", *weight as f32).as_bytes());
                    }
                    if !is_validation && self.private {
                        row.extend_from_slice(if is_rare { b"\t1" } else { b"\t0" });
                    }
                    if !is_validation && self.impressions {
                        row.extend_from_slice(b"\t1");
                    }
                    if is_rare {
                        rare.pairs += 1;
                        rare.clicks = rare.clicks.saturating_add(*clicks);
                    }
                    row.push(b'\n');
                    put(path, target, &row)?;
                }
                if !is_validation && self.impressions {
                    let others = [
                        "\t0",
                        if weight.is_empty() { "" } else { "\t0" },
                        if self.private { "\t0" } else { "" },
                        "\t0\n",
                    ]
                    .concat();
                    for title in shown(&group, part) {
                        row.clear();
                        push(&mut row, &[&group.query, title]);
                        row.extend_from_slice(others.as_bytes());
                        put(path, target, &row)?;
                    }
                }
                if is_validation {
                    // This includes titles whose clicks are in the other part of the log.
                    let any = group.titles.iter().filter(|title| title.cells.iter().any(|cell| cell.clicks > 0));
                    let clicked: Vec<&[u8]> = any.map(|title| title.title.as_slice()).collect();
                    for title in beside(&sample, &group.query, &clicked, UNCLICKED) {
                        row.clear();
                        push(&mut row, &[&group.query, title]);
                        row.extend_from_slice(b"\t0\t0\n");
                        put(path, target, &row)?;
                    }
                }
            }
        }
        report.titles = Count::from(&titles);
        [report.training, _] = counts;
        report.validation = self.validation.map(|_| counts[1]);
        if report.training.pairs == 0 && report.validation.is_none_or(|validation| validation.pairs == 0) {
            return Err(nothing_left(report));
        }
        // What was written before must not give way to a header alone.
        for (path, is_validation) in [(Some(self.output), false), (self.validation, true)] {
            if let Some(path) = path.filter(|_| counts[usize::from(is_validation)].pairs == 0) {
                let help = if is_validation {
                    "no click that is kept is that late, or the part is too small"
                } else {
                    "all clicks that are kept are that late, or the part is too large"
                };
                let found = "none for this one, so neither was written";
                return Err(Error::expected(ErrorKind::Empty, "pairs for both tables", found).help(help).at(path));
            }
        }
        Ok(())
    }

    /// A sample of the titles that are written.
    fn sample(&self, gathered: &Gathered) -> Result<Vec<Vec<u8>>> {
        let (mut reader, mut group) = (gathered.read()?, QueryGroup::default());
        let mut sample = TitleSample::default();
        while reader.next(&mut group)? {
            for part in 0..2 {
                let found = self.query(&group, part, &mut Report::default());
                found.into_iter().flatten().for_each(|(title, ..)| sample.add(title));
            }
        }
        Ok(sample.finish())
    }

    /// The titles of a query to be written in one part, if there are any.
    fn query<'g>(&self, group: &'g QueryGroup, part: u8, report: &mut Report) -> Option<Vec<Clicked<'g>>> {
        let clicked = group.titles.iter().map(|title| {
            let clicks = sum(title.cells.iter().filter(|cell| cell.part == part).map(|cell| cell.clicks));
            (title.title.as_slice(), title.cells.as_slice(), clicks)
        });
        let clicked: Vec<_> = clicked.filter(|&(_, _, clicks)| clicks > 0).collect();
        if clicked.is_empty() {
            return None;
        }
        let all = sum(clicked.iter().map(|&(_, _, clicks)| clicks));
        if !self.private && self.is_rare(group, part) {
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

    /// Whether too few users clicked for a query in one part.
    fn is_rare(&self, group: &QueryGroup, part: u8) -> bool {
        self.min_users.is_some_and(|least| group.users[usize::from(part)].len() < least)
    }

    /// The mean weight of a pair's clicks.
    fn weight(&self, cells: &[Cell], part: u8, clicks: u64) -> f64 {
        let worth = |cell: &Cell| {
            let place = usize::from(cell.position).min(self.weights.len() - 1);
            self.weights[place] * cell.clicks as f64
        };
        cells.iter().filter(|cell| cell.part == part).map(worth).sum::<f64>() / clicks as f64
    }
}

/// Iterates over the titles that were shown for a query in one part, and not clicked there.
fn shown(group: &QueryGroup, part: u8) -> impl Iterator<Item = &[u8]> {
    let is_shown = move |cells: &[Cell]| {
        let own = || cells.iter().filter(|cell| cell.part == part);
        own().any(|cell| cell.shown > 0) && own().all(|cell| cell.clicks == 0)
    };
    group.titles.iter().filter(move |title| is_shown(&title.cells)).map(|title| title.title.as_slice())
}

/// A sum that stops at the largest number instead of overflowing.
fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// The words of a query, as models see it. Queries with the same words go to the same side of a split.
fn seen(query: &[u8]) -> Vec<u8> {
    let words = std::str::from_utf8(query).map(clickvec::internals::text::words).unwrap_or_default();
    if words.is_empty() { query.to_vec() } else { words.join(" ").into_bytes() }
}

/// Whether a query belongs to a random share of all queries. This depends on the query alone.
fn is_drawn(query: &[u8], share: f64) -> bool {
    // An f64 holds 53 bits.
    let drawn = (xxhash_rust::xxh3::xxh3_64_with_seed(query, 0x76_616c) >> 11) as f64 / (1u64 << 53) as f64;
    drawn < share
}

fn push(row: &mut Vec<u8>, fields: &[&[u8]]) {
    row.extend_from_slice(&fields.join(&b'\t'));
}

fn words(text: &[u8]) -> u64 {
    text.split(|&byte| byte == b' ').filter(|word| !word.is_empty()).count() as u64
}

fn put(path: &Path, target: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    target.write_all(bytes).map_err(|source| Error::io(path, "write", source))
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
    let error = Error::expected(ErrorKind::Empty, "pairs of a query and a title", format!("none left: {rows}"));
    if settings.is_empty() { error } else { error.help(format!("see {}", settings.join(", "))).settings(SETTINGS) }
}
