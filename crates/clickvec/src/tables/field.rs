//! The field that is read instead of the title: a column, or several joined.

use super::tsv::{Row, TableReader};
use crate::Result;

/// The character between the names of joined columns, as in `title+text`.
const JOINS: char = '+';

/// The names in a field.
pub(super) fn names(field: &str) -> impl Iterator<Item = &str> {
    field.split(JOINS).map(str::trim)
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
    /// Finds the columns. A column whose name is the whole field takes precedence over joined columns.
    ///
    /// # Errors
    ///
    /// Those of [`TableReader::require`].
    pub(crate) fn require(table: &mut TableReader, field: &str) -> Result<Field> {
        let columns = match table.column(field) {
            Some(_) => vec![table.require(field)?],
            None => names(field).map(|name| table.require(name)).collect::<Result<_>>()?,
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
