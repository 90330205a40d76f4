//! The reader of lines. Its limit keeps a file of one endless line from filling memory.

use std::io::{self, BufRead};

/// The result of [`Lines::next`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundLine {
    /// A line, without its line end.
    Whole,
    /// A line over the limit, which was skipped and counts as a line.
    TooLong,
    /// The end.
    End,
}

/// A reader of the lines of a source, which end in LF or CRLF. A UTF-8 byte order mark at the start
/// of a line, as in concatenated files, is skipped.
///
/// All readers of lines from outside use this. However long a line is, no more than the limit is ever in memory, and
/// reading continues after it.
#[derive(Debug)]
pub struct Lines<R> {
    source: R,
    limit: usize,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// A reader of lines of at most `limit` bytes each, without the LF.
    pub fn new(source: R, limit: usize) -> Lines<R> {
        Lines { source, limit, number: 0 }
    }

    /// Sets another limit for the following lines.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// The limit of a line in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The number of the last line read, counted from 1; 0 at the start.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next line, whose contents replace those of `line`, or why there is none.
    ///
    /// # Errors
    ///
    /// The error of the source. The unfinished line is number [`Lines::number`] + 1.
    #[inline]
    pub fn next(&mut self, line: &mut Vec<u8>) -> io::Result<FoundLine> {
        line.clear();
        let mut found = FoundLine::End;
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
            if found != FoundLine::TooLong {
                found = if part.len() > self.limit - line.len() { FoundLine::TooLong } else { FoundLine::Whole };
            }
            if found == FoundLine::Whole {
                line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.source.consume(used);
            if end.is_some() {
                break;
            }
        }
        match found {
            FoundLine::End => return Ok(found),
            FoundLine::TooLong => line.clear(),
            FoundLine::Whole => {}
        }
        self.number += 1;
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All lines, read with a buffer of `buffer` bytes; `None` for a line that is too long.
    fn lines(bytes: &[u8], limit: usize, buffer: usize) -> Vec<Option<String>> {
        let mut lines = Lines::new(io::BufReader::with_capacity(buffer, bytes), limit);
        let (mut line, mut all) = (vec![b'x'], Vec::new());
        loop {
            all.push(match lines.next(&mut line).unwrap() {
                FoundLine::End => return all,
                FoundLine::TooLong => None,
                FoundLine::Whole => Some(String::from_utf8(line.clone()).unwrap()),
            });
            assert_eq!(lines.number(), all.len() as u64);
            assert!(line.capacity() <= 2 * limit.max(8), "{}", line.capacity());
        }
    }

    #[test]
    fn lines_are_the_same_however_they_cross_buffers() {
        let text = b"\xef\xbb\xbfa\r\n\nbc\r\r\n\xef\xbb\xbfd";
        for buffer in 1..10 {
            let expected = ["a", "", "bc\r", "d"].map(|line| Some(line.to_owned()));
            assert_eq!(lines(text, 20, buffer), expected, "a buffer of {buffer}");
        }
        assert!(lines(b"", 20, 1).is_empty());
        assert_eq!(lines(b"\n", 20, 1), [Some(String::new())]);
    }

    #[test]
    fn a_line_over_the_bound_is_passed_over_and_counted() {
        let text = [&b"12345\n123456\n1\n"[..], &[b'x'; 1000]].concat();
        for buffer in [1, 4, 7, 4096] {
            let expected = [Some("12345".to_owned()), None, Some("1".to_owned()), None];
            assert_eq!(lines(&text, 5, buffer), expected, "a buffer of {buffer}");
        }
    }
}
