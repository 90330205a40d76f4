//! Tab-separated values, the quick way: nothing is quoted, so a field is what stands between two tabs.

use std::io;
use std::path::Path;

use super::lines::{Found, Lines};
use super::{Columned, MAX_ROW_BYTES, Next, Options, Record, find_columns};
use crate::columns::Role;
use crate::error::{Result, RowFault};

pub(super) struct Reader {
    lines: Lines,
    header: Vec<u8>,
    columns: usize,
    wanted: Vec<(usize, Role)>,
    short_rows: bool,
    /// Where the fields of the current line begin, and one past its end.
    starts: Vec<u32>,
}

impl Reader {
    pub(super) fn new(
        path: &Path,
        lines: Lines,
        header: Vec<u8>,
        mut names: Vec<String>,
        options: &Options,
    ) -> Result<(Reader, Columned)> {
        if options.header.is_none() {
            names = String::from_utf8_lossy(&header).split('\t').map(str::to_owned).collect();
        }
        let columns = names.len();
        let found = find_columns(path, names, &options.columns)?;
        let wanted = found.wanted.clone();
        let reader = Reader { lines, header, columns, wanted, short_rows: options.short_rows, starts: Vec::new() };
        Ok((reader, found))
    }

    #[inline]
    pub(super) fn next(&mut self, record: &mut Record) -> io::Result<Next> {
        let mut bytes = std::mem::take(&mut record.text).into_bytes();
        let found = loop {
            match self.lines.next(&mut bytes)? {
                Found::Line if bytes.is_empty() => {}
                found => break found,
            }
        };
        record.clear();
        record.line = self.lines.number;
        match found {
            Found::End => return Ok(Next::End),
            Found::TooLong => return Ok(Next::Broken(RowFault::TooLong { limit: MAX_ROW_BYTES })),
            Found::Line => {}
        }
        if bytes == self.header {
            return Ok(Next::Header);
        }
        if memchr::memchr(0, &bytes).is_some() {
            return Ok(Next::Broken(RowFault::Nul));
        }
        self.starts.clear();
        self.starts.push(0);
        // A line of nothing but tabs stays cheap; a row is at most a MiB, so places fit.
        self.starts.extend(memchr::memchr_iter(b'\t', &bytes).take(self.columns + 1).map(|tab| tab as u32 + 1));
        let fields = self.starts.len();
        self.starts.push(bytes.len() as u32 + 1);
        if fields > self.columns || (fields < self.columns && !self.short_rows) {
            let found = memchr::memchr_iter(b'\t', &bytes).count() + 1;
            return Ok(Next::Broken(RowFault::ColumnCount { expected: self.columns, found }));
        }
        match String::from_utf8(bytes) {
            Ok(text) => record.text = text,
            Err(error) => {
                return Ok(Next::Broken(RowFault::NotUtf8 { byte: error.utf8_error().valid_up_to() + 1 }));
            }
        }
        for &(column, role) in &self.wanted {
            if let [start, end] = self.starts[column.min(fields)..(column + 2).min(fields + 1)] {
                record.spans[role as usize] = Some((start, end - 1));
            }
        }
        Ok(Next::Row)
    }
}
