//! Tab-separated values, read fast: nothing is quoted, so a field is everything between two tabs. What a spreadsheet saved is
//! recognised, and read as CSV with tabs.

use std::io::{self, BufRead as _};
use std::path::Path;

use super::format::MAX_LINE_BYTES;
use super::record::{Next, Record, RowFault};
use super::separated::Rows;
use crate::{FoundLine, Lines, Result, files};

pub(super) struct Reader {
    pub(super) rows: Rows,
    /// The start of each field of the current line, and the end of the line plus one.
    starts: Vec<u32>,
    /// Whether a field that only a spreadsheet writes so breaks a row: nobody looked for such.
    refuses_quoted: bool,
}

impl Reader {
    pub(super) fn new(rows: Rows, refuses_quoted: bool) -> Reader {
        Reader { rows, starts: Vec::new(), refuses_quoted }
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
        if self.refuses_quoted && memchr::memmem::find(&bytes, b"\"\"").is_some() {
            let is_doubled = |field: &[u8]| quoted(field).is_some_and(|inside| inside.contains(&b'"'));
            if self.starts.windows(2).any(|ends| is_doubled(field(ends))) {
                let found = "one that a spreadsheet quoted; name the file in place of a pipe, or write it as CSV";
                return Ok(Next::Broken(RowFault::expected("quoted", "fields as they are", found)));
            }
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

/// So many bytes tell what a longer table is.
const MOST_BYTES: usize = 16 << 20;

/// Returns whether a table was saved between tabs by a spreadsheet: some quoted fields have what it quotes, a comma or a doubled
/// quote, and all other fields that begin with a quote are quoted.
///
/// # Errors
///
/// Those of [`files::open`].
pub(super) fn has_quotes(path: &Path) -> Result<bool> {
    // Most tables have none, and looking for one byte is faster than reading lines.
    if !has_a_quote(path)? {
        return Ok(false);
    }
    let mut lines = Lines::new(files::open(path)?, MAX_LINE_BYTES);
    let (mut line, mut is_sure, mut bytes) = (Vec::new(), false, 0);
    while bytes < MOST_BYTES {
        match lines.next(&mut line) {
            Ok(FoundLine::Whole) => bytes += line.len(),
            Ok(FoundLine::TooLong) => return Ok(false),
            // What cannot be read is told when its rows are.
            Ok(FoundLine::End) | Err(_) => break,
        }
        if memchr::memchr(b'"', &line).is_none() {
            continue;
        }
        for field in line.split(|&byte| byte == b'\t').filter(|field| field.starts_with(b"\"")) {
            let Some(inside) = quoted(field) else { return Ok(false) };
            is_sure |= inside.contains(&b'"') || inside.contains(&b',');
        }
    }
    Ok(is_sure)
}

fn has_a_quote(path: &Path) -> Result<bool> {
    let (mut source, mut bytes) = (files::open(path)?, 0);
    while bytes < MOST_BYTES {
        let found = match source.fill_buf() {
            Ok([]) | Err(_) => return Ok(false),
            Ok(piece) if memchr::memchr(b'"', piece).is_some() => return Ok(true),
            Ok(piece) => piece.len(),
        };
        source.consume(found);
        bytes += found;
    }
    Ok(false)
}

/// Returns what is between the quotes of a field, if it begins and ends with one and those inside are doubled.
fn quoted(field: &[u8]) -> Option<&[u8]> {
    let inside = field.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let mut runs = inside.split(|&byte| byte != b'"').map(<[u8]>::len);
    runs.all(|run| run % 2 == 0).then_some(inside)
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
