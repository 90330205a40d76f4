//! Reading a click log from a table.

use std::path::Path;

use crate::Result;
use crate::settings::Weighting;
use crate::tables::{RowFault, Skipped};
use clickvec_tables::shown::shortened;
use clickvec_tables::table::{
    ClickColumn, ClickColumns, FIRST_ROWS, Field, Next, Options, Record, Table, field_names, flag, says_clicked,
    says_clicks, says_grade, unclear,
};
use clickvec_tables::{Error, ErrorKind, null_text};

/// A clicked pair, which lives until the next one is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Click<'a> {
    /// The query.
    pub query: &'a str,
    /// The title that was clicked, or the text of another column.
    pub title: &'a str,
    /// The factor of the pair's loss: finite, 0 or more.
    pub weight: f32,
    /// The total weight of the pair's clicks in the table, `weight` times `count`, the same for every [`Weighting`]. It grades
    /// held-out clicks.
    pub worth: f64,
    /// Whether only few users typed the query, according to the column `rare`. Nothing that only such queries contain may appear
    /// in what is learnt.
    pub rare: bool,
    /// The line, counted from 1.
    pub line: u64,
}

/// The smallest and the largest weight of a pair other than 0. Beyond them the squares of gradients that training adds up
/// would leave the range of an f32.
pub(super) const WEIGHTS: std::ops::RangeInclusive<f64> = 1e-12..=1e12;

/// What to do with a column that may say what was clicked.
const RENAME: &str =
    "if it says what was clicked, call it `clicked`; if it counts clicks, `count`; if neither, leave the column out";

/// A reader of click logs. It skips and counts broken rows, because every large log has some.
pub struct ClickReader {
    table: Table,
    record: Record,
    /// Working memory for a title of several columns.
    joined: String,
    query: usize,
    title: Field,
    weight: Option<usize>,
    count: Option<usize>,
    /// The column of counts, also where the weighting does not read it.
    clicks: Option<usize>,
    clicked: Option<usize>,
    /// The other columns, unless `clicked` says what was clicked.
    others: Option<ClickColumns>,
    rare: Option<usize>,
    weighting: Weighting,
    skipped: Skipped,
    not_clicked: u64,
}

/// The kind of a row.
enum RowKind {
    /// A click, with its weight, its worth, and whether its query is rare.
    Click(f32, f64, bool),
    /// A title that was shown and not clicked.
    Shown,
}

impl ClickReader {
    /// Returns a reader of a click log with the columns `query` and `field`, and optionally `weight`, `count`, `clicked` and
    /// `rare`, or another usual name for `count` and `clicked`. `field` is usually [`crate::tables::TITLE`]; it may name several columns joined by `+`.
    ///
    /// If both are present, a pair's weight is `weight` times the value that `weighting` gives `count`, or 1 click with
    /// [`Weighting::Binary`]. Rows whose `clicked` is 0 are no clicks, and are counted and left out.
    ///
    /// # Errors
    ///
    /// Those of [`Table::open`] and [`Table::require`]; [`ErrorKind::Malformed`] if the table has the column
    /// `grade` and none of `weight`, `count` and `clicked`.
    pub fn open(path: &Path, field: &str, weighting: Weighting) -> Result<ClickReader> {
        ClickReader::from_table(Table::open(path, &Options::default())?, field, weighting)
    }

    /// Like [`ClickReader::open`] for a table that is already open.
    ///
    /// # Errors
    ///
    /// Those of [`Table::require`].
    pub(crate) fn from_table(mut table: Table, field: &str, weighting: Weighting) -> Result<ClickReader> {
        let query = table.require("query")?;
        let title = Field::require(&mut table, field)?;
        let weight = table.column("weight")?;
        let named = if table.has("count") {
            Some("count".to_owned())
        } else {
            table.names().iter().find(|name| says_clicks(name)).cloned()
        };
        let clicks = named.as_ref().map(|name| table.require(name)).transpose()?;
        let count = clicks.filter(|_| weighting.reads_counts());
        let clicked = table.names().iter().find(|name| says_clicked(name)).cloned();
        let clicked = clicked.map(|name| table.require(&name)).transpose()?;
        let is_counted = weight.is_some() || clicks.is_some();
        if let Some(grade) = table.names().iter().find(|name| !is_counted && clicked.is_none() && says_grade(name)) {
            return Err(judged(&table, grade));
        }
        let rare = table.column("rare")?;
        let others = clicked.is_none().then(|| {
            let known = ["query", "weight", "rare"].into_iter().chain(field_names(field)).chain(named.as_deref());
            let known: Vec<&str> = known.collect();
            ClickColumns::new(&mut table, |name| !known.iter().any(|known| known.eq_ignore_ascii_case(name.trim())))
        });
        let skipped = Skipped::new(table.path());
        let not_clicked = 0;
        let (record, joined) = (Record::default(), String::new());
        Ok(ClickReader {
            table,
            record,
            joined,
            query,
            title,
            weight,
            count,
            clicks,
            clicked,
            others,
            rare,
            weighting,
            skipped,
            not_clicked,
        })
    }

    /// Takes each row as a pair that a teacher scored: no other column says what was clicked.
    pub(super) fn scored(self) -> ClickReader {
        ClickReader { others: None, ..self }
    }

    /// Returns the next valid row; `None` at the end.
    ///
    /// # Errors
    ///
    /// Those of [`Table::next`], and [`ErrorKind::Setting`] if another column may say what was clicked.
    #[allow(clippy::should_implement_trait, reason = "a click borrows from the reader, which no Iterator can express")]
    pub fn next(&mut self) -> Result<Option<Click<'_>>> {
        loop {
            match self.advance()? {
                None => return Ok(None),
                Some(RowKind::Shown) => {}
                Some(kind @ RowKind::Click(..)) => return Ok(Some(self.click(&kind))),
            }
        }
    }

    /// Returns the next valid row like [`ClickReader::next`], also one of a title that was shown and not clicked, which weighs 0. The
    /// flag says whether it was clicked.
    pub(super) fn next_row(&mut self) -> Result<Option<(Click<'_>, bool)>> {
        let Some(kind) = self.advance()? else { return Ok(None) };
        let is_clicked = matches!(kind, RowKind::Click(..));
        Ok(Some((self.click(&kind), is_clicked)))
    }

    /// Advances to the next valid row and returns its kind.
    fn advance(&mut self) -> Result<Option<RowKind>> {
        loop {
            let fault = match self.table.next(&mut self.record)? {
                Next::End => {
                    self.check_others(true)?;
                    return Ok(None);
                }
                Next::Broken(fault) => fault,
                Next::Header => RowFault::repeated_header(),
                Next::Row => match self.check_others(false).map(|()| self.kind())? {
                    Ok(kind) => {
                        self.not_clicked += u64::from(matches!(kind, RowKind::Shown));
                        return Ok(Some(kind));
                    }
                    Err(fault) => fault,
                },
            };
            self.skipped.add(self.record.line, fault);
        }
    }

    /// Checks that no other column seems to say what was clicked: adds the current row, or decides at the end of the table.
    fn check_others(&mut self, is_end: bool) -> Result<()> {
        let Some(others) = &mut self.others else { return Ok(()) };
        if !is_end && let Some(name) = others.add(&self.record) {
            let why = format!("which says yes in the first {FIRST_ROWS} rows, and not in line {}", self.record.line);
            return Err(unclear(self.table.path(), name, &why).help(RENAME));
        }
        if !is_end && !others.is_complete() {
            return Ok(());
        }
        let is_counted = self.weight.is_some() || self.clicks.is_some();
        let (name, why) = match others.finding(is_counted, false) {
            None => {
                others.watch();
                return Ok(());
            }
            Some(ClickColumn::Grade(name)) => return Err(judged(&self.table, name)),
            Some(ClickColumn::Flag(name)) => (name, "which seems to say what was clicked"),
            Some(ClickColumn::Count(name)) => (name, "which seems to count clicks"),
            Some(ClickColumn::Unclear(name, why)) => (name, why),
        };
        Err(unclear(self.table.path(), name, why).help(RENAME))
    }

    /// Returns the current row.
    fn click(&mut self, kind: &RowKind) -> Click<'_> {
        let (weight, worth, rare) = match *kind {
            RowKind::Click(weight, worth, rare) => (weight, worth, rare),
            RowKind::Shown => (0.0, 0.0, false),
        };
        let query = self.record.get(self.query).unwrap_or_default();
        let title = self.title.text(&self.record, &mut self.joined);
        Click { query, title, weight, worth, rare, line: self.record.line }
    }

    /// Returns the rows that were left out so far.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Returns the rows so far of titles that were shown and not clicked.
    pub fn not_clicked(&self) -> u64 {
        self.not_clicked
    }

    /// Returns whether clicks weigh differently for another reason than their number: the table has the column `weight`, and
    /// [`Weighting::Binary`] does not ignore it.
    pub fn is_weighted(&self) -> bool {
        self.weight.is_some() && self.weighting != Weighting::Binary
    }

    fn kind(&self) -> Result<RowKind, RowFault> {
        let field = |column| self.record.get(column).unwrap_or_default();
        // A title of several columns is one if any of them is.
        let texts = [("query", self.record.get(self.query)), ("title", self.title.only(&self.record))];
        for (column, text) in texts {
            if let Some(text) = text.filter(|text| null_text(text).is_some()) {
                let found = format_args!("`{}`, which means none", text.trim());
                return Err(RowFault::expected("no text", format_args!("a text in column `{column}`"), found));
            }
        }
        if let Some(column) = self.clicked
            && !yes_or_no("clicked", field(column))?
        {
            return Ok(RowKind::Shown);
        }
        let rare = self.rare.map_or(Ok(false), |column| yes_or_no("rare", field(column)))?;
        let (weight, worth) = self.weigh()?;
        Ok(RowKind::Click(weight, worth, rare))
    }

    /// Returns the factor of a pair's loss, and what its clicks are worth.
    fn weigh(&self) -> Result<(f32, f64), RowFault> {
        let field = |column| self.record.get(column).unwrap_or_default();
        let weight = self.weight.map_or(Ok(1.0), |column| number("weight", field(column)))?;
        let count = self.count.map(|column| number("count", field(column))).transpose()?;
        let factor = self.weighting.factor(weight, count);
        if factor != 0.0 && !WEIGHTS.contains(&factor) {
            let expected = "a weight of 0 or from 1e-12 to 1e12 (after `weight` times `count`)";
            let found = format!("{factor:e}; multiply the whole column by one number");
            return Err(RowFault::expected("bad weight", expected, found));
        }
        // A weighting that does not read the column ignores it.
        let clicks = || self.clicks.and_then(|column| number("count", self.record.get(column)?).ok());
        let worth = weight * count.or_else(clicks).unwrap_or(1.0);
        Ok((factor as f32, worth.min(f64::MAX)))
    }
}

/// Creates the error of a table that has grades, so that a title of grade 0 would be learnt as one that was clicked.
fn judged(table: &Table, name: &str) -> Error {
    let found = format!("judged titles: the column `{}`", shortened(name.trim()));
    let help = "if these are clicks, rename it; see docs/reference/tables.md";
    Error::expected(ErrorKind::Malformed, "clicks", found).help(help).at(table.path())
}

fn number(column: &'static str, field: &str) -> Result<f64, RowFault> {
    match field.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number.abs()),
        _ => {
            let expected = format_args!("a finite number of 0 or more in column `{column}`");
            Err(RowFault::expected("bad number", expected, format_args!("`{}`", shortened(field))))
        }
    }
}

/// Returns a field that is 0 or 1, or a word for one of them.
fn yes_or_no(column: &'static str, field: &str) -> Result<bool, RowFault> {
    flag(field.trim()).ok_or_else(|| {
        let expected = format_args!("0 or 1 in column `{column}`");
        RowFault::expected("bad flag", expected, format_args!("`{}`", shortened(field)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::TITLE;

    fn table(bytes: &'static [u8]) -> Table {
        Table::read(Path::new("t.tsv"), Box::new(bytes), &Options::default()).unwrap()
    }

    fn clicks(bytes: &'static [u8], weighting: Weighting) -> (Vec<(String, String, f32, u64)>, Skipped) {
        let mut reader = ClickReader::from_table(table(bytes), TITLE, weighting).unwrap();
        let mut clicks = Vec::new();
        while let Some(click) = reader.next().unwrap() {
            clicks.push((click.query.to_owned(), click.title.to_owned(), click.weight, click.line));
        }
        (clicks, reader.skipped().clone())
    }

    fn weights(bytes: &'static [u8], weighting: Weighting) -> Vec<f32> {
        clicks(bytes, weighting).0.into_iter().map(|click| click.2).collect()
    }

    fn only_fault(bytes: &'static [u8]) -> String {
        let (clicks, skipped) = clicks(bytes, Weighting::Log);
        assert_eq!((clicks.len(), skipped.count), (0, 1));
        skipped.first[0].reason.to_string()
    }

    #[test]
    fn columns_are_found_by_name() {
        let (clicks, skipped) = clicks(b"day\ttitle\tquery\n1\tb\ta\n2\td\tc\n", Weighting::Log);
        let expected = [("a".to_owned(), "b".to_owned(), 1.0, 2), ("c".to_owned(), "d".to_owned(), 1.0, 3)];
        assert_eq!(clicks, expected);
        assert_eq!(skipped, Skipped::default());
    }

    #[test]
    fn another_column_in_the_place_of_the_title() {
        let bytes = b"query\ttitle\tbody\na\tb\tc d\n";
        let mut reader = ClickReader::from_table(table(bytes), "Body", Weighting::Log).unwrap();
        assert_eq!(reader.next().unwrap().unwrap().title, "c d");
        let Err(error) = ClickReader::from_table(table(bytes), "text", Weighting::Log) else { panic!("a reader") };
        let missing = "t.tsv: expected a column `text` in the header, found `query`, `title`, `body`";
        assert_eq!(error.to_string(), format!("{missing}; see docs/reference/tables.md"));
    }

    #[test]
    fn weights_and_counts_multiply() {
        let counts = b"query\ttitle\tcount\na\tb\t0\na\tb\t 3 \n";
        assert_eq!(weights(counts, Weighting::Log), [0.0, 4f32.ln()]);
        assert_eq!(weights(counts, Weighting::Linear), [0.0, 3.0]);
        assert_eq!(weights(counts, Weighting::None), [1.0, 1.0]);
        assert_eq!(weights(counts, Weighting::Binary), [0.0, 1.0]);
        let both = b"query\ttitle\tcount\tweight\na\tb\t3\t0.5\na\tb\t3\t-0\n";
        assert_eq!(weights(both, Weighting::Linear), [1.5, 0.0]);
        assert_eq!(weights(both, Weighting::None), [0.5, 0.0]);
        assert_eq!(weights(both, Weighting::Binary), [1.0, 0.0], "one click each");
        let huge = b"query\ttitle\tcount\tweight\na\tb\t1e308\t1e308\na\tb\t1e-300\t1e-300\n";
        assert_eq!(weights(huge, Weighting::Binary), [1.0, 1.0], "neither is too large or too small");
        assert_eq!(weights(b"query\ttitle\na\tb\n", Weighting::Binary), [1.0]);
        assert_eq!(weights(b"query\ttitle\tcount\na\tb\tmany\n", Weighting::None), [1.0]);
    }

    #[test]
    fn what_was_shown_and_not_clicked_is_no_click() {
        let usual = b"query\ttitle\tIs_Click\na\tb\t1\na\tc\t0.0\n";
        assert_eq!(clicks(usual, Weighting::Log).0.len(), 1);
        let bytes = b"query\ttitle\tclicked\trare\na\tb\t1\t0\na\tc\t0\t0\nd\te\tyes\t1\nf\tg\tmaybe\t0\nh\ti\t1\t\n";
        let mut reader = ClickReader::from_table(table(bytes), TITLE, Weighting::Log).unwrap();
        let mut found = Vec::new();
        while let Some(click) = reader.next().unwrap() {
            found.push((click.query.to_owned(), click.rare));
        }
        assert_eq!(found, [("a".to_owned(), false), ("d".to_owned(), true)]);
        assert_eq!((reader.not_clicked(), reader.skipped().count), (1, 2));
        let [clicked, rare] = &reader.skipped().first[..] else { panic!("{:?}", reader.skipped()) };
        assert_eq!((clicked.line, rare.line), (5, 6));
        assert_eq!(clicked.reason.to_string(), "expected 0 or 1 in column `clicked`, found `maybe`");
        assert_eq!(rare.reason.to_string(), "expected 0 or 1 in column `rare`, found ``");
    }

    #[test]
    fn a_column_that_may_say_what_was_clicked_is_not_passed_over() {
        let refused = |path: &str, bytes: &'static [u8]| {
            let table = Table::read(Path::new(path), Box::new(bytes), &Options::default()).unwrap();
            let mut reader = ClickReader::from_table(table, TITLE, Weighting::Log).unwrap();
            loop {
                match reader.next() {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("{path} is read"),
                    Err(error) => break error.to_string(),
                }
            }
        };
        for (name, bytes) in [
            ("action", &b"query\ttitle\taction\na\tb\tclick\na\tc\tview\n"[..]),
            ("bought", b"query\ttitle\tbought\na\tb\t1\na\tc\t0\n"),
            ("orders", b"query\ttitle\torders\na\tb\t3\na\tc\t0\n"),
            ("score", b"query\ttitle\tscore\na\tb\t0.9\na\tc\t0.1\n"),
        ] {
            let error = refused("t.tsv", bytes);
            assert!(error.contains(&format!("which column says what was clicked, found `{name}`")), "{error}");
        }
        for (name, expected) in
            [("clicked", "e.clicked"), ("clicks", "e.clicks"), ("grade", "judged titles: the column `e.grade`")]
        {
            let row = |value: u8| format!("{{\"query\":\"a\",\"title\":\"b\",\"e\":{{\"{name}\":{value}}}}}\n");
            let error = refused("t.jsonl", (row(1) + &row(0)).leak().as_bytes());
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(clicks(b"query\ttitle\tscore\tcount\na\tb\t0.9\t2\n", Weighting::Log).0.len(), 1);
    }

    #[test]
    fn a_word_for_a_missing_text_is_none() {
        let bytes = b"query\ttitle\nNULL\tb\na\t (not set) \nnull hose\tNone of these\n\\N\tb\n";
        let (clicks, skipped) = clicks(bytes, Weighting::Log);
        assert_eq!((clicks.len(), skipped.count), (1, 3));
        let reason = skipped.first[1].reason.to_string();
        assert_eq!(reason, "expected a text in column `title`, found `(not set)`, which means none");
    }

    #[test]
    fn a_weight_that_is_no_number_of_zero_or_more() {
        for bytes in [
            &b"query\ttitle\tweight\na\tb\t-1\n"[..],
            b"query\ttitle\tweight\na\tb\tNaN\n",
            b"query\ttitle\tweight\na\tb\tinf\n",
            b"query\ttitle\tweight\na\tb\t\n",
        ] {
            assert!(only_fault(bytes).starts_with("expected a finite number of 0 or more in column `weight`, found `"));
        }
        let fault = only_fault(b"query\ttitle\tcount\na\tb\tseven\n");
        assert_eq!(fault, "expected a finite number of 0 or more in column `count`, found `seven`");
    }

    #[test]
    fn a_weight_too_large_or_too_small_to_learn() {
        for (bytes, found) in [
            (&b"query\ttitle\tweight\na\tb\t1e39\n"[..], "1e39"),
            (b"query\ttitle\tweight\na\tb\t3e38\n", "3e38"),
            (b"query\ttitle\tweight\na\tb\t1e-40\n", "1e-40"),
            (b"query\ttitle\tweight\tcount\na\tb\t1e300\t1e300\n", "6.9"),
        ] {
            let shown = only_fault(bytes);
            assert!(shown.contains(&format!("found {found}")), "{shown}");
        }
        assert_eq!(
            weights(b"query\ttitle\tweight\na\tb\t1e-12\na\tb\t1e12\na\tb\t0\n", Weighting::Log),
            [1e-12, 1e12, 0.0]
        );
    }

    #[test]
    fn every_skipped_line_is_counted_and_the_first_five_are_kept() {
        let bytes = b"query\ttitle\n1\n2\n3\n\xff\t\n5\n6\na\tb\n7\n";
        let (clicks, skipped) = clicks(bytes, Weighting::Log);
        assert_eq!(clicks.len(), 1);
        assert_eq!(skipped.count, 7);
        assert_eq!(skipped.first.iter().map(|skipped| skipped.line).collect::<Vec<_>>(), [2, 3, 4, 5, 6]);
        assert_eq!(skipped.first[0].reason.kind(), "wrong number of columns");
        assert!(skipped.first[3].reason.is_not_utf8());
    }
}
