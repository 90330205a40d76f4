//! Tab-separated values, read fast: nothing is quoted, so a field is everything between two tabs.

use std::io;

use clickvec::internals::tables::FoundLine;

use super::header::Rows;
use super::record::MAX_ROW_BYTES;
use super::record::{Next, Record};
use crate::error::RowFault;

pub(super) struct Reader {
    rows: Rows,
    /// The start of each field of the current line, and the end of the line plus one.
    starts: Vec<u32>,
}

impl Reader {
    pub(super) fn new(rows: Rows) -> Reader {
        Reader { rows, starts: Vec::new() }
    }

    #[inline]
    pub(super) fn next(&mut self, record: &mut Record) -> io::Result<Next> {
        let mut bytes = std::mem::take(&mut record.text).into_bytes();
        let found = loop {
            match self.rows.lines.next(&mut bytes)? {
                FoundLine::Whole if bytes.is_empty() => {}
                found => break found,
            }
        };
        record.clear();
        record.line = self.rows.lines.number();
        match found {
            FoundLine::End => return Ok(Next::End),
            FoundLine::TooLong => return Ok(Next::Broken(RowFault::TooLong { limit: MAX_ROW_BYTES })),
            FoundLine::Whole => {}
        }
        if bytes == self.rows.header {
            return Ok(Next::Header);
        }
        if memchr::memchr(0, &bytes).is_some() {
            return Ok(Next::Broken(RowFault::Nul));
        }
        self.starts.clear();
        self.starts.push(0);
        // Limits the work for a line of nothing but tabs. A row has at most 1 MiB, so positions fit.
        self.starts.extend(memchr::memchr_iter(b'\t', &bytes).take(self.rows.columns + 1).map(|tab| tab as u32 + 1));
        let fields = self.starts.len();
        self.starts.push(bytes.len() as u32 + 1);
        if fields > self.rows.columns || (fields < self.rows.columns && !self.rows.short_rows) {
            let found = memchr::memchr_iter(b'\t', &bytes).count() + 1;
            return Ok(Next::Broken(RowFault::ColumnCount { expected: self.rows.columns, found }));
        }
        match String::from_utf8(bytes) {
            Ok(text) => record.text = text,
            Err(error) => {
                return Ok(Next::Broken(RowFault::NotUtf8 { byte: error.utf8_error().valid_up_to() + 1 }));
            }
        }
        for &(column, role) in &self.rows.wanted {
            if let [start, end] = self.starts[column.min(fields)..(column + 2).min(fields + 1)] {
                record.spans[role as usize] = Some((start, end - 1));
            }
        }
        Ok(Next::Row)
    }
}
