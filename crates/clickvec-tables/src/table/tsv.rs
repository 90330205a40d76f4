//! Tab-separated values, read fast: nothing is quoted, so a field is everything between two tabs.

use std::io;

use super::record::{Next, Record, RowFault};
use super::separated::Rows;
use crate::FoundLine;

pub(super) struct Reader {
    pub(super) rows: Rows,
    /// The start of each field of the current line, and the end of the line plus one.
    starts: Vec<u32>,
}

impl Reader {
    pub(super) fn new(rows: Rows) -> Reader {
        Reader { rows, starts: Vec::new() }
    }

    #[inline]
    pub(super) fn next(&mut self, record: &mut Record) -> io::Result<Next> {
        // Moves the buffer between Vec and String, so that UTF-8 is checked once and nothing is allocated.
        let mut bytes = std::mem::take(&mut record.text).into_bytes();
        let found = loop {
            match self.rows.lines.next(&mut bytes)? {
                FoundLine::Whole if bytes.is_empty() => {}
                found => break found,
            }
        };
        record.clear(self.rows.selected.len());
        record.line = self.rows.lines.number();
        match found {
            FoundLine::End => return Ok(Next::End),
            FoundLine::TooLong => return Ok(Next::Broken(RowFault::too_long(self.rows.lines.limit()))),
            FoundLine::Whole => {}
        }
        if self.rows.refuses_nul() && memchr::memchr(0, &bytes).is_some() {
            return Ok(Next::Broken(RowFault::expected("NUL byte", "text", "a NUL byte")));
        }
        self.starts.clear();
        self.starts.push(0);
        // Limits the work for a line of nothing but tabs. A row is at most `MAX_LINE_BYTES` long, so positions fit.
        self.starts.extend(memchr::memchr_iter(b'\t', &bytes).take(self.rows.columns + 1).map(|tab| tab as u32 + 1));
        let fields = self.starts.len();
        self.starts.push(bytes.len() as u32 + 1);
        let field = |ends: &[u32]| &bytes[ends[0] as usize..ends[1] as usize - 1];
        if fields == self.rows.columns && self.rows.is_header(self.starts.windows(2).map(field)) {
            record.text = String::from_utf8(bytes).unwrap_or_default();
            return Ok(Next::Header);
        }
        let count = || memchr::memchr_iter(b'\t', &bytes).count() + 1;
        if let Some(fault) = self.rows.misfit(fields, count) {
            return Ok(Next::Broken(fault));
        }
        match String::from_utf8(bytes) {
            Ok(text) => record.text = text,
            Err(error) => return Ok(Next::Broken(RowFault::not_utf8(error.utf8_error().valid_up_to() + 1))),
        }
        for (span, &column) in record.spans.iter_mut().zip(&self.rows.selected) {
            if let [start, end] = self.starts[column.min(fields)..(column + 2).min(fields + 1)] {
                *span = Some((start, end - 1));
            }
        }
        Ok(Next::Row)
    }
}

/// The names in a header.
pub(super) fn names(header: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(header).split('\t').map(str::to_owned).collect()
}
