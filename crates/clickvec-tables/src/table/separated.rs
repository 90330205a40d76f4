//! Rows of separated values.

use super::format::Width;
use super::record::RowFault;
use super::{Lines, Source};

/// The lines of a table of separated values, and the columns to read from them.
pub(super) struct Rows {
    pub(super) lines: Lines<Source>,
    /// The names in the header, which is told apart if it occurs again.
    pub(super) names: Vec<String>,
    /// The number of columns in the header.
    pub(super) columns: usize,
    /// The columns that were selected, in this order.
    pub(super) selected: Vec<usize>,
    /// The number of columns that a row must have for [`Width::Required`].
    pub(super) required: usize,
    pub(super) width: Width,
}

/// Returns whether a field is the name of a column.
fn is_name(field: &[u8], name: &str) -> bool {
    let field = field.trim_ascii();
    let field = field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")).unwrap_or(field);
    field.trim_ascii().eq_ignore_ascii_case(name.as_bytes())
}

/// Returns a name as [`is_name`] compares it.
pub(super) fn bare_name(name: &str) -> String {
    name.trim().trim_matches('"').trim().to_owned()
}

impl Rows {
    /// Selects a column of the header.
    pub(super) fn select(&mut self, column: usize, required: bool) {
        self.selected.push(column);
        if required {
            self.required = self.required.max(column + 1);
        }
    }

    /// Returns whether the fields of a row are the names of the header once more, in any case and quoted or not; or `Some(false)` if
    /// they are those of another header: names of this one in another order, or most of them. A single name could be a query.
    #[inline]
    pub(super) fn header<'f>(&self, fields: impl ExactSizeIterator<Item = &'f [u8]> + Clone) -> Option<bool> {
        let first = fields.clone().next()?;
        let is_known = |field: &[u8]| self.names.iter().any(|name| is_name(field, name));
        if self.columns < 2 || !is_known(first) {
            return None;
        }
        let is_complete = fields.len() == self.columns;
        let pairs = || fields.clone().zip(&self.names);
        if is_complete && pairs().all(|(field, name)| is_name(field, name)) {
            return Some(true);
        }
        let in_place = pairs().filter(|(field, name)| !name.is_empty() && is_name(field, name)).count();
        let is_most = in_place > 1 && 2 * in_place >= self.columns;
        // Empty names do not tell.
        let is_reordered = || fields.clone().all(|field| !field.trim_ascii().is_empty() && is_known(field));
        (is_most || (is_complete && is_reordered())).then_some(false)
    }

    /// Returns whether a NUL byte breaks a row: in raw logs it is a sign of damage, in titles a character like any other.
    pub(super) fn refuses_nul(&self) -> bool {
        self.width != Width::Required
    }

    /// Returns the fault of a row with `fields` fields; of a longer row than the header, `count` has all of them.
    #[inline]
    pub(super) fn misfit(&self, fields: usize, count: impl FnOnce() -> usize) -> Option<RowFault> {
        let (least, most) = match self.width {
            Width::Required => (self.required, usize::MAX),
            Width::Header => (self.columns, self.columns),
            Width::Padded => (0, self.columns),
        };
        if (least..=most).contains(&fields) {
            return None;
        }
        let kind = "wrong number of columns";
        Some(if self.width == Width::Required {
            let expected = format_args!("at least {least} columns");
            RowFault::expected(kind, expected, format_args!("{fields}; see docs/reference/tables.md"))
        } else {
            RowFault::expected(kind, format_args!("{} columns as in the header", self.columns), count())
        })
    }
}
