//! The text of a row: one column, or several joined as in `title+text`.

use super::{Record, Table};
use crate::shown::shortened;
use crate::{Error, ErrorKind, Result, null_text};

/// The character between the names of joined columns.
const JOINS: char = '+';

/// Returns the names in a field.
pub fn field_names(field: &str) -> impl Iterator<Item = &str> {
    field.split(JOINS).map(str::trim)
}

/// Returns a decimal number without zeros at its end, so that 2.00 is a whole number.
pub fn plain_decimal(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// Returns the error of a field that names a column twice, which would count its words twice; `None` if it does not.
pub fn repeated_in_field(field: &str) -> Option<Error> {
    let names: Vec<&str> = field_names(field).collect();
    let mut positions = names.iter().enumerate();
    let is_repeated =
        |position: usize, name: &str| names[..position].iter().any(|before| before.eq_ignore_ascii_case(name));
    let (_, name) = positions.find(|&(position, name)| is_repeated(position, name))?;
    let found = format!("`{}` twice", shortened(name));
    Some(Error::expected(ErrorKind::Setting, "each column once in the field to read", found).help("name it once"))
}

/// The columns of a field.
#[derive(Debug, Clone)]
pub struct Field {
    columns: Vec<usize>,
}

impl Field {
    /// Selects the columns that `field` names. A column whose name is the whole field takes precedence over joined columns.
    ///
    /// # Errors
    ///
    /// Those of [`Table::require`], and [`ErrorKind::Setting`] if the field names a column twice.
    pub fn require(table: &mut Table, field: &str) -> Result<Field> {
        if table.has(field) || field_names(field).count() == 1 {
            return Ok(Field { columns: vec![table.require(field)?] });
        }
        if let Some(error) = repeated_in_field(field) {
            return Err(error.at(table.path()));
        }
        Ok(Field { columns: field_names(field).map(|name| table.require(name)).collect::<Result<_>>()? })
    }

    /// Selects one column that may be absent from JSON lines altogether.
    ///
    /// # Errors
    ///
    /// Those of [`Table::maybe`].
    pub fn maybe(table: &mut Table, name: &str) -> Result<Field> {
        Ok(Field { columns: vec![table.maybe(name)?] })
    }

    /// Returns whether a row has any of the columns.
    pub fn is_in(&self, record: &Record) -> bool {
        self.columns.iter().any(|&column| record.get(column).is_some())
    }

    /// Returns the text in a row, if the field is one column.
    pub fn only<'a>(&self, record: &'a Record) -> Option<&'a str> {
        if let [column] = self.columns[..] { record.get(column) } else { None }
    }

    /// Returns the text in a row: the columns that have a text, with a blank between two. `joined` is working memory.
    #[inline]
    pub fn text<'a>(&self, record: &'a Record, joined: &'a mut String) -> &'a str {
        if let [column] = self.columns[..] {
            return record.get(column).unwrap_or_default();
        }
        joined.clear();
        for text in self.columns.iter().filter_map(|&column| record.get(column)) {
            if !text.trim().is_empty() && null_text(text).is_none() {
                if !joined.is_empty() {
                    joined.push(' ');
                }
                joined.push_str(text);
            }
        }
        joined
    }
}
