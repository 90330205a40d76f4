//! Tab-separated values, read fast: nothing is quoted, so a field is everything between two tabs.

use std::io;
use std::path::Path;

use super::format::MAX_LINE_BYTES;
use super::record::{Next, Record, RowFault};
use super::separated::Rows;
use crate::{Error, FoundLine, Lines, Result, files};

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
        if let Some(is_same) = self.rows.header(self.starts.windows(2).map(field)) {
            record.text = String::from_utf8(bytes).unwrap_or_default();
            return Ok(if is_same { Next::Header } else { Next::Broken(RowFault::other_header()) });
        }
        let count = || memchr::memchr_iter(b'\t', &bytes).count() + 1;
        if let Some(fault) = self.rows.misfit(fields, count) {
            return Ok(Next::Broken(fault));
        }
        match String::from_utf8(bytes) {
            Ok(text) => record.text = text,
            Err(error) => return Ok(Next::Broken(RowFault::not_utf8(error.as_bytes()))),
        }
        for (span, &column) in record.spans.iter_mut().zip(&self.rows.selected) {
            if let [start, end] = self.starts[column.min(fields)..(column + 2).min(fields + 1)] {
                *span = Some((start, end - 1));
            }
        }
        Ok(Next::Row)
    }
}

/// Returns whether a table was saved between tabs by a spreadsheet: some quoted fields have what it quotes, a comma or a doubled
/// quote, or all names in the header are quoted; and all other fields that begin with a quote are quoted.
///
/// # Errors
///
/// Those of [`files::open`], and [`ErrorKind::Io`](crate::ErrorKind::Io).
pub fn has_quotes(path: &Path) -> Result<bool> {
    let mut lines = Lines::new(files::open(path)?, MAX_LINE_BYTES);
    let (mut line, mut is_sure) = (Vec::new(), false);
    loop {
        match lines.next(&mut line).map_err(|source| Error::io(path, "read", source))? {
            FoundLine::End => return Ok(is_sure),
            FoundLine::TooLong => return Ok(false),
            FoundLine::Whole if lines.number() == 1 && !line.contains(&b'\t') => return Ok(false),
            FoundLine::Whole => {}
        }
        is_sure |= lines.number() == 1 && are_quoted(&line);
        for field in line.split(|&byte| byte == b'\t').filter(|field| field.starts_with(b"\"")) {
            let Some(inner) = field[1..].strip_suffix(b"\"") else { return Ok(false) };
            let runs: Vec<usize> = inner.split(|&byte| byte != b'"').map(<[u8]>::len).filter(|&n| n > 0).collect();
            if runs.iter().any(|run| run % 2 == 1) {
                return Ok(false);
            }
            is_sure |= !runs.is_empty() || inner.contains(&b',');
        }
    }
}

/// Returns whether all names of a header are quoted.
pub(super) fn are_quoted(header: &[u8]) -> bool {
    let header = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header);
    header.contains(&b'\t')
        && header
            .split(|&byte| byte == b'\t')
            .all(|name| name.len() > 2 && name.starts_with(b"\"") && name.ends_with(b"\""))
}

/// The names in a header.
pub(super) fn names(header: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(header).split('\t').map(str::to_owned).collect()
}
