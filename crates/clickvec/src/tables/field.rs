//! The field that is read instead of the title: a column, or several joined.

use super::tsv::{Row, TableReader};
use crate::error::{Result, TableFault};

/// The character between the names of joined columns, as in `title+text`.
const JOINS: char = '+';

/// The names in a field.
pub(super) fn names(field: &str) -> impl Iterator<Item = &str> {
    field.split(JOINS).map(str::trim)
}

/// The fault of a field that names a column twice, which would count its words twice; `None` if it does not. A column whose
/// name is the whole field is one column, whatever its name is.
pub fn repeated(field: &str) -> Option<TableFault> {
    let names: Vec<&str> = names(field).collect();
    let mut places = names.iter().enumerate();
    let again = places.find(|&(place, name)| names[..place].iter().any(|before| before.eq_ignore_ascii_case(name)));
    again.map(|(_, name)| TableFault::RepeatedInField { column: (*name).to_owned() })
}

/// Joins texts like BEIR's own evaluations: with a blank between two texts that are not empty.
pub(super) fn join<'a>(texts: impl Iterator<Item = &'a str>, out: &mut String) {
    out.clear();
    for text in texts.filter(|text| !text.trim().is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(text);
    }
}

/// The columns of a field in a table.
pub(crate) struct Field {
    columns: Vec<usize>,
    joined: String,
}

impl Field {
    /// The columns that `field` names. A column whose name is the whole field takes precedence over joined columns.
    ///
    /// # Errors
    ///
    /// Those of [`TableReader::require`], and [`TableFault::RepeatedInField`].
    pub(crate) fn require(table: &mut TableReader, field: &str) -> Result<Field> {
        let columns = match table.column(field) {
            Some(_) => vec![table.require(field)?],
            None => {
                if let Some(fault) = repeated(field) {
                    return Err(table.fault(None, fault));
                }
                names(field).map(|name| table.require(name)).collect::<Result<_>>()?
            }
        };
        Ok(Field { columns, joined: String::new() })
    }

    /// The text of the field in a row.
    pub(crate) fn of<'a>(&'a mut self, row: &Row<'a>) -> &'a str {
        if let [column] = self.columns[..] {
            return row.required(column);
        }
        join(self.columns.iter().map(|&column| row.required(column)), &mut self.joined);
        &self.joined
    }
}
