//! One row of a log.

use std::io::BufRead;

use crate::columns::{ROLES, Role};
use crate::error::RowFault;

/// The length limit of rows and headers. A longer row is broken and is never held in memory.
pub const MAX_ROW_BYTES: usize = 1 << 20;

/// The lines of a log.
pub(super) type Lines = clickvec::internals::tables::Lines<Box<dyn BufRead + Send>>;

/// A row: the fields of the roles that are needed.
#[derive(Debug, Default)]
pub struct Record {
    pub(super) text: String,
    /// The position of each role's field in `text`.
    pub(super) spans: [Option<(u32, u32)>; ROLES],
    /// Whether the row is a query that clicks in other rows refer to.
    pub is_search: bool,
    /// The line on which the row begins, counted from 1.
    pub line: u64,
}

impl Record {
    /// A role's field; `None` if the row has none. It may be empty.
    #[inline]
    pub fn get(&self, role: Role) -> Option<&str> {
        let (start, end) = self.spans[role as usize]?;
        self.text.get(start as usize..end as usize)
    }

    /// Empties the record.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.spans = [None; ROLES];
        self.is_search = false;
    }

    /// Appends a field.
    pub(super) fn push(&mut self, role: Role, field: &str) {
        let start = self.text.len() as u32;
        self.text.push_str(field);
        self.spans[role as usize] = Some((start, self.text.len() as u32));
    }
}

/// The next row of a table, as [`super::LogTable::next`] finds it.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// A row, which is now in the record.
    Row,
    /// A repeated header, as in concatenated files.
    Header,
    /// An event that the preset does not know.
    Other,
    /// A row to leave out and count; the record has its line.
    Broken(RowFault),
    /// The end.
    End,
}
