//! Columns that may say what was clicked, by their names and values. None is passed over: every row of a 0 would count as a click.

use std::path::Path;

use super::names::{Says, says};
use super::{Record, Table};
use crate::{Error, ErrorKind, null_text};

/// The number of first rows whose values decide.
pub const FIRST_ROWS: usize = 10_000;
/// The best grade of judgments.
const MOST_GRADE: f64 = 10.0;

/// The words for a click, in small letters without what separates words, besides 1.
const YES: [&str; 23] = [
    "true",
    "yes",
    "y",
    "t",
    "on",
    "wahr",
    "ja",
    "vrai",
    "oui",
    "si",
    "sí",
    "verdadero",
    "sim",
    "да",
    "是",
    "x",
    "click",
    "clicked",
    "clicks",
    "clickthrough",
    "clickout",
    "selectitem",
    "productclick",
];
/// The words for a title that was shown and not clicked, besides 0.
const NO: [&str; 26] = [
    "false",
    "no",
    "n",
    "f",
    "off",
    "falsch",
    "nein",
    "faux",
    "non",
    "falso",
    "não",
    "нет",
    "否",
    "view",
    "viewed",
    "impression",
    "impressions",
    "show",
    "shown",
    "display",
    "displayed",
    "skip",
    "skipped",
    "notclicked",
    "viewitemlist",
    "viewsearchresults",
];
/// The first of [`YES`] and of [`NO`] that are events.
const EVENTS: [usize; 2] = [16, 13];

/// Returns whether a field says that a title was clicked: 0 or 1, yes or no in some languages, or the name of an event.
pub fn flag(field: &str) -> Option<bool> {
    match field {
        "1" => Some(true),
        "0" => Some(false),
        _ => word(field).map(|(flag, _)| flag),
    }
}

/// Returns what a field says, and whether it is the name of an event.
fn word(field: &str) -> Option<(bool, bool)> {
    if let Some(number) = number(field) {
        return [0.0, 1.0].contains(&number).then_some((number == 1.0, false));
    }
    let plain = super::plain_name(field);
    let find = |words: &[&str], first| words.iter().position(|word| *word == plain).map(|position| position >= first);
    let yes = find(&YES, EVENTS[0]).map(|is_event| (true, is_event));
    yes.or_else(|| find(&NO, EVENTS[1]).map(|is_event| (false, is_event)))
}

fn number(field: &str) -> Option<f64> {
    field
        .starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        .then(|| field.replace(',', ".").parse().ok())?
}

/// What a column says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClickColumn<'a> {
    /// Whether each title was clicked.
    Flag(&'a str),
    /// The number of clicks.
    Count(&'a str),
    /// Grades: the table has judged titles.
    Grade(&'a str),
    /// Perhaps one of these, for this reason.
    Unclear(&'a str, &'static str),
}

/// The columns of a log that have no role, with what their values are like.
#[derive(Debug)]
pub struct ClickColumns {
    columns: Vec<Column>,
    rows: usize,
}

#[derive(Debug)]
struct Column {
    name: String,
    number: usize,
    /// Whether all values say yes or no.
    flags: bool,
    /// Whether all values are whole numbers of 0 or more.
    counts: bool,
    /// Whether all values are whole numbers that may be grades.
    grades: bool,
    has_yes: bool,
    has_no: bool,
    has_none: bool,
    /// Whether a value is the name of an event.
    has_event: bool,
}

impl ClickColumns {
    /// Selects the columns of `table` that are free.
    pub fn new(table: &mut Table, is_free: impl Fn(&str) -> bool) -> ClickColumns {
        let mut columns = Vec::new();
        for name in table.paths().into_iter().filter(|name| is_free(name)) {
            // A name that occurs twice cannot be read, and is refused if it is.
            if let Ok(Some(number)) = table.watch(&name) {
                columns.push(Column::new(name, number));
            }
        }
        ClickColumns { columns, rows: 0 }
    }

    /// Adds a row. After the first rows, only columns that said yes in each are watched; returns the name of one that no longer does.
    #[inline]
    pub fn add(&mut self, record: &Record) -> Option<&str> {
        if self.columns.is_empty() {
            return None;
        }
        self.rows += 1;
        if self.rows > FIRST_ROWS {
            let is_no = |column: &&Column| record.get(column.number).map(str::trim).and_then(flag) != Some(true);
            return self.columns.iter().find(is_no).map(|column| &*column.name);
        }
        self.columns.iter_mut().for_each(|column| column.add(record.get(column.number).unwrap_or_default().trim()));
        None
    }

    /// Returns whether the first rows are complete.
    pub fn is_complete(&self) -> bool {
        self.rows == FIRST_ROWS
    }

    /// Forgets the columns that need not be watched after the first rows.
    pub fn watch(&mut self) {
        self.columns.retain(|column| column.flags && column.has_yes && !column.has_no && !column.has_none);
    }

    /// Returns the column that says most clearly what was clicked. `is_counted`: the table has counts of clicks. `is_logged`: it
    /// has what judgments lack, such as users and times.
    pub fn finding(&self, is_counted: bool, is_logged: bool) -> Option<ClickColumn<'_>> {
        let with_values = || self.columns.iter().filter(|column| column.has_yes || column.has_no);
        let saying = |what| with_values().filter(move |column| says(&column.name) == Some(what));
        let by_name: Vec<&Column> = saying(Says::Clicked).collect();
        match by_name[..] {
            [column] if column.flags => return Some(ClickColumn::Flag(&column.name)),
            [column, ..] => return Some(ClickColumn::Unclear(&column.name, "which seems to say what was clicked")),
            [] => {}
        }
        let event = with_values().find_map(|column| match says(&column.name) {
            _ if column.has_event && column.flags => Some(ClickColumn::Flag(&column.name)),
            name if column.has_event || name == Some(Says::Event) => {
                Some(ClickColumn::Unclear(&column.name, "whose values may say what was clicked"))
            }
            _ => None,
        });
        if event.is_some() {
            return event;
        }
        if !is_counted {
            if let Some(column) = saying(Says::Clicks).next() {
                let unclear = ClickColumn::Unclear(&column.name, "which seems to count clicks");
                return Some(if column.counts { ClickColumn::Count(&column.name) } else { unclear });
            }
            if let Some(column) = saying(Says::Number).find(|column| column.counts) {
                return Some(ClickColumn::Unclear(&column.name, "which may count clicks"));
            }
            if let Some(column) = saying(Says::Rate).next() {
                return Some(ClickColumn::Unclear(&column.name, "which seems to be a share of clicks and no count"));
            }
            if let Some(column) = saying(Says::Grade).find(|column| !is_logged || column.grades || column.flags) {
                return Some(ClickColumn::Grade(&column.name));
            }
            if let Some(column) = saying(Says::Score).find(|_| !is_logged) {
                let why = "which may be a grade, and `grade` its name for `evaluate`, or another score";
                return Some(ClickColumn::Unclear(&column.name, why));
            }
        }
        let is_two = |column: &&Column| column.flags && (column.has_no || column.has_none);
        with_values().find(is_two).map(|column| ClickColumn::Unclear(&column.name, "which says only yes and no"))
    }
}

impl Column {
    fn new(name: String, number: usize) -> Column {
        let (has_yes, has_no, has_none, has_event) = (false, false, false, false);
        Column { name, number, flags: true, counts: true, grades: true, has_yes, has_no, has_none, has_event }
    }

    fn add(&mut self, field: &str) {
        if field.is_empty() || null_text(field).is_some() {
            self.has_none = true;
            return;
        }
        let number = number(field);
        let whole = number.filter(|number| *number >= 0.0 && number.fract() == 0.0);
        self.counts &= whole.is_some();
        self.grades &= whole.is_some_and(|number| number <= MOST_GRADE);
        // Of yes and no, some programs write −1 for one.
        let word = if number == Some(-1.0) { Some((false, false)) } else { word(field) };
        let (says_yes, is_event) = word.unwrap_or((true, false));
        self.flags &= word.is_some();
        self.has_yes |= says_yes;
        self.has_no |= !says_yes;
        self.has_event |= is_event;
    }
}

/// Creates the error of a column that may say what was clicked.
pub fn unclear(path: &Path, name: &str, why: &str) -> Error {
    let found = format!("`{}`, {why}", crate::shown::shortened(name.trim()));
    Error::expected(ErrorKind::Setting, "to know which column says what was clicked", found).at(path)
}

#[cfg(test)]
mod tests {
    use super::super::{Next, Options};
    use super::*;

    fn columns(table: &str) -> ClickColumns {
        let mut table =
            Table::read(Path::new("t.csv"), Box::new(std::io::Cursor::new(table.to_owned())), &Options::default())
                .unwrap();
        let mut columns = ClickColumns::new(&mut table, |name| !["query", "title", "count"].contains(&name));
        let mut record = Record::default();
        while table.next(&mut record).unwrap() == Next::Row {
            columns.add(&record);
        }
        columns
    }

    /// Returns what a column with these values says beside query and title.
    fn finding(name: &str, values: &[&str]) -> Option<String> {
        let rows: String = values.iter().map(|value| format!("q;t;{value}\n")).collect();
        let columns = columns(&format!("query;title;{name}\n{rows}"));
        columns.finding(false, false).map(|found| format!("{found:?}"))
    }

    #[test]
    fn columns_are_told_by_names_and_values() {
        let is = |name: &str, values: &[&str], expected: &str| {
            let found = finding(name, values).unwrap_or_default();
            assert!(
                found.starts_with(expected) && found.is_empty() == expected.is_empty(),
                "{name} {values:?}: {found}"
            );
        };
        for name in ["is_click", "Clicked?", "click"] {
            is(name, &["1", "0"], "Flag");
            is(name, &["maybe", "0"], "Unclear");
        }
        for name in ["event_type", "action", "event_name", "type", "kind"] {
            is(name, &["click", "impression"], "Flag");
            is(name, &["select_item", "view_item_list"], "Flag");
            is(name, &["click", "add_to_cart"], "Unclear");
        }
        is("action", &["add_to_cart"], "Unclear");
        is("type", &["organic", "sponsored"], "");
        is("what", &["click", "purchase"], "Unclear");
        for name in ["clicks", "num_clicks", "Total clicks", "nb_clicks", "click_count", "Klicks"] {
            is(name, &["5", "0"], "Count");
            is(name, &["5", "many"], "Unclear");
        }
        for name in ["freq", "n", "purchases", "impressions", "event_count", "Anzahl Klicks", "clicks_7d", "点击次数"]
        {
            is(name, &["5", "0"], "Unclear");
        }
        for name in ["ctr", "CTR", "click_rate", "Click-through rate", "avg_ctr"] {
            is(name, &["0.2", "0.05"], "Unclear");
        }
        for name in ["click_position", "clicked_at", "price", "words", "tax_rate", "share"] {
            is(name, &["5", "7"], "");
        }
        for name in ["rating", "esci_label", "judgment_value", "Judge A"] {
            for values in [["4.5", ".5"], ["perfect", "bad"], ["99", "11"], ["-1", "2"], ["E", "I"], ["1", "0"]] {
                is(name, &values, "Grade");
            }
        }
        for values in [["3", "0"], ["0.9", "0.1"], ["good", "bad"]] {
            is("score", &values, "Unclear");
        }
    }

    #[test]
    fn two_values_are_yes_and_no_in_whatever_words() {
        for values in [
            ["WAHR", "FALSCH"],
            ["VRAI", "FAUX"],
            ["ja", "nein"],
            ["oui", "non"],
            ["on", "off"],
            ["да", "нет"],
            ["x", ""],
            ["1", ""],
            ["", "0"],
            ["1", "NULL"],
            ["1", "-1"],
            ["1e0", "0e0"],
            ["1,0", "0,0"],
            ["00", "01"],
            ["True", "None"],
            ["0", "0"],
        ] {
            assert!(finding("flag", &values).is_some_and(|found| found.contains("only yes and no")), "{values:?}");
        }
        for values in [["1", "1"], ["", ""], ["1", "2"], ["red", "blue"], ["0.5", "1"]] {
            assert_eq!(finding("flag", &values), None, "{values:?}");
        }
    }

    #[test]
    fn a_column_that_says_no_late_is_seen() {
        let mut table = String::from("query,title,flag\n");
        table.push_str(&"q,t,1\n".repeat(FIRST_ROWS));
        let mut columns = columns(&table);
        assert!(columns.is_complete() && columns.finding(false, false).is_none());
        columns.watch();
        let record = Record::default();
        assert_eq!(columns.add(&record), Some("flag"));
    }
}
