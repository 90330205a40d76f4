//! What is read in the place of the title: a column, or several joined.

use super::tsv::{Row, TableReader};
use crate::Result;

/// The character between the names of columns that are joined, as `title+text`.
const JOINS: char = '+';

/// The names that a field is made of.
pub(super) fn names(field: &str) -> impl Iterator<Item = &str> {
    field.split(JOINS).map(str::trim)
}

/// Joins texts as BEIR's own evaluations do: a blank between them, and none next to one that is empty.
pub(super) fn join<'a>(texts: impl Iterator<Item = &'a str>, out: &mut String) {
    out.clear();
    for text in texts.filter(|text| !text.trim().is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(text);
    }
}

/// The columns of a field, found.
pub(crate) struct Field {
    columns: Vec<usize>,
    joined: String,
}

impl Field {
    /// A column that is called like the whole field goes before several that are joined.
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

    /// What a row has there.
    pub(crate) fn of<'a>(&'a mut self, row: &Row<'a>) -> &'a str {
        if let [column] = self.columns[..] {
            return row.required(column);
        }
        join(self.columns.iter().map(|&column| row.required(column)), &mut self.joined);
        &self.joined
    }
}
