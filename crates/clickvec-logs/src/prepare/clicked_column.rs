//! Finds the column that says whether a title was clicked, so that none is passed over: every 0 would count as a click.

use std::path::Path;

use clickvec_tables::table::{Next, Record, says_clicked, says_grade};

use super::config::Config;
use super::inputs::{Copied, open_table};
use super::rows::clicked;
use crate::columns::{ALL, Columns, Role};
use crate::tables::Options;
use crate::{Error, ErrorKind, Result};

/// The number of first rows whose values are looked at.
const ROWS: usize = 10_000;
/// The best grade of judgments.
const MOST_GRADE: u64 = 10;

/// Columns that only counted clicks have.
const COUNTS: [&str; 3] = ["count", "clicks", "weight"];

/// The values of a column.
#[derive(Clone, Copy)]
struct Values {
    /// Whether there are any, and all say yes or no.
    flags: bool,
    /// Whether there are any, and all are whole numbers that may be grades.
    grades: bool,
    has_yes: bool,
    has_no: bool,
}

/// Names the column of clicks in `options` if the logs have one by its name and values. Returns its name.
///
/// # Errors
///
/// [`ErrorKind::Setting`] if a column may be one of clicks, or has grades, and `options` do not say what it is.
pub(super) fn settle(config: &Config, copied: &Copied, options: &mut Options) -> Result<Option<String>> {
    let columns = &options.columns;
    if options.extract.is_some() || columns.is_named(Role::Clicked) || columns.get(Role::Clicked).is_none() {
        return Ok(None);
    }
    let mut found: Option<String> = None;
    for path in &config.inputs {
        let column = of_log(path, copied, options)?;
        if found.is_none() {
            found = column;
        }
    }
    if let Some(name) = &found {
        options.columns.name(Role::Clicked, name.clone());
    }
    Ok(found)
}

/// Returns the column of clicks of one log, unless it has its usual name.
fn of_log(path: &Path, copied: &Copied, options: &Options) -> Result<Option<String>> {
    let mut table = open_table(path, copied, options)?;
    if table.has(Role::Clicked.name()) {
        return Ok(None);
    }
    let free: Vec<String> = table.paths().into_iter().filter(|name| is_free(name, &options.columns)).collect();
    let mut all = vec![Values { flags: true, grades: true, has_yes: false, has_no: false }; free.len()];
    let mut numbers = Vec::new();
    for name in &free {
        // A name that occurs twice cannot be read, and is refused if it is.
        numbers.push(table.column(name).ok().flatten());
    }
    let mut record = Record::default();
    for _ in 0..ROWS {
        match table.next(&mut record) {
            Ok(Next::Row) => {}
            // What is wrong with the log is told by its reader.
            Ok(Next::End) | Err(_) => break,
            Ok(Next::Header | Next::Broken(_)) => continue,
        }
        for (values, number) in all.iter_mut().zip(&numbers) {
            let field = number.and_then(|number| record.get(number)).map(str::trim);
            if let Some(field) = field.filter(|field| !field.is_empty()) {
                values.add(field);
            }
        }
    }
    let seen = free.iter().zip(all).filter(|(_, values)| values.has_yes || values.has_no);
    let seen: Vec<(&String, Values)> = seen.collect();
    let by_name: Vec<&(&String, Values)> = seen.iter().filter(|(name, _)| says_clicked(name)).collect();
    match by_name[..] {
        [&(name, values)] if values.flags => return Ok(Some(name.clone())),
        [(name, _), ..] => return Err(ask(path, name, "which seems to say what was clicked")),
        [] => {}
    }
    // With counts they are clicks: a simulated log has grades too.
    let is_counted = options.columns.is_named(Role::Count) || COUNTS.iter().any(|name| table.has(name));
    let is_grade = |name: &str, values: &Values| says_grade(name) && (values.grades || values.flags);
    if let Some((name, _)) = seen.iter().find(|(name, values)| !is_counted && is_grade(name, values)) {
        let found = format!("judged titles: the column `{name}`");
        let help = "`evaluate` reads them; if these are clicks, name the column that says so as `clicked=NAME` in `columns`, or \
                    `clicked=-` if every row is one";
        return Err(Error::expected(ErrorKind::Setting, "a log", found).help(help).settings(&["columns"]).at(path));
    }
    match seen.iter().find(|(_, values)| values.flags && values.has_yes && values.has_no) {
        Some((name, _)) => Err(ask(path, name, "which says only yes and no")),
        None => Ok(None),
    }
}

/// Returns whether no role has this column.
fn is_free(name: &str, columns: &Columns) -> bool {
    let is_same = |other: &str| other.trim().eq_ignore_ascii_case(name.trim());
    name.trim() != "-" && !ALL.into_iter().any(|role| columns.names_of(role).any(is_same))
}

fn ask(path: &Path, name: &str, what: &str) -> Error {
    let found = format!("`{name}`, {what}");
    let help = format!(
        "if it says whether a title was clicked, name it as `clicked={name}` in `columns`; if not, `clicked=-` takes every row as \
         a click"
    );
    let error = Error::expected(ErrorKind::Setting, "to know which column says what was clicked", found);
    error.help(help).settings(&["columns"]).at(path)
}

impl Values {
    fn add(&mut self, field: &str) {
        let flag = clicked(field, false);
        self.flags &= flag.is_some();
        let grade = field.strip_suffix(".0").unwrap_or(field).parse::<u64>();
        self.grades &= grade.is_ok_and(|grade| grade <= MOST_GRADE);
        self.has_no |= flag == Some(false);
        self.has_yes |= flag != Some(false);
    }
}
