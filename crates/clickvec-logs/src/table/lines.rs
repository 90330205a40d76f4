//! Physical lines, bounded.

use std::io::{self, BufRead};

/// The longest row and the longest header that are read. A longer one is broken and is never held in memory.
pub const MAX_ROW_BYTES: usize = 1 << 20;

/// What the next line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A line, without its end.
    Line,
    /// A line over the bound, passed over.
    TooLong,
    /// Nothing more.
    End,
}

/// Lines that end in LF or CRLF; a byte order mark at the start is passed over.
pub(super) struct Lines {
    source: Box<dyn BufRead + Send>,
    /// The line read last, counted from 1.
    pub(super) number: u64,
}

impl Lines {
    pub(super) fn new(source: Box<dyn BufRead + Send>) -> Lines {
        Lines { source, number: 0 }
    }

    /// Reads the next line into `line`, which is emptied first; of one over the bound no more than that is ever kept.
    #[inline]
    pub(super) fn next(&mut self, line: &mut Vec<u8>) -> io::Result<Found> {
        line.clear();
        let mut found = Found::End;
        loop {
            let available = match self.source.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                break;
            }
            let end = memchr::memchr(b'\n', available);
            let part = &available[..end.unwrap_or(available.len())];
            if found != Found::TooLong {
                found = if part.len() > MAX_ROW_BYTES - line.len() { Found::TooLong } else { Found::Line };
            }
            if found == Found::Line {
                line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.source.consume(used);
            if end.is_some() {
                break;
            }
        }
        if found == Found::End {
            return Ok(found);
        }
        self.number += 1;
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if self.number == 1 && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        Ok(found)
    }
}
