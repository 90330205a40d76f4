//! Comma-separated values according to RFC 4180, with the quoting rules of the `csv-core` crate.

use std::collections::VecDeque;
use std::io;

use csv_core::ReadRecordResult;

use super::record::{Next, Record, RowFault};
use super::separated::Rows;
use crate::FoundLine;

pub(super) struct Reader {
    pub(super) rows: Rows,
    rules: csv_core::Reader,
    /// The current line.
    line: Vec<u8>,
    /// Lines that were read in search of a closing quote that never came, with their numbers; none if a line was too long.
    /// They are read again on their own.
    reread: VecDeque<(u64, Option<Vec<u8>>)>,
    /// So many of these, of so many bytes with their ends, close no quote that is open before them. Without it, every row with an
    /// open quote would look through them again.
    open: (usize, usize),
    fields: Fields,
    /// Of a line that may close a quote.
    tried: Fields,
}

/// A record without its quotes, and the ends of its fields.
struct Fields {
    text: Vec<u8>,
    length: usize,
    ends: Vec<usize>,
    count: usize,
}

/// The separator of fields, unless one was given: a comma, or a semicolon if the header has only those.
pub(super) fn delimiter(header: &[u8], requested: Option<u8>) -> u8 {
    let only_semicolons = header.contains(&b';') && !header.contains(&b',');
    requested.unwrap_or(if only_semicolons { b';' } else { b',' })
}

/// The names in a header.
pub(super) fn names(header: &[u8], delimiter: u8) -> Vec<String> {
    let (mut rules, mut fields) = (rules(delimiter), Fields::new());
    fields.feed_line(&mut rules, header);
    (0..fields.count).map(|index| String::from_utf8_lossy(fields.get(index)).into_owned()).collect()
}

fn rules(delimiter: u8) -> csv_core::Reader {
    csv_core::ReaderBuilder::new().delimiter(delimiter).terminator(csv_core::Terminator::Any(b'\n')).build()
}

impl Reader {
    pub(super) fn new(rows: Rows, delimiter: u8) -> Reader {
        let (line, reread, open) = (Vec::new(), VecDeque::new(), (0, 0));
        Reader { rows, rules: rules(delimiter), line, reread, open, fields: Fields::new(), tried: Fields::new() }
    }

    pub(super) fn next(&mut self, record: &mut Record) -> io::Result<Next> {
        record.clear(self.rows.selected.len());
        let found = loop {
            match self.next_line(&mut record.line)? {
                FoundLine::Whole if self.line.is_empty() => {}
                found => break found,
            }
        };
        match found {
            FoundLine::End => return Ok(Next::End),
            FoundLine::TooLong => return Ok(Next::Broken(RowFault::too_long(self.rows.lines.limit()))),
            FoundLine::Whole => {}
        }
        if let Some(fault) = self.read_record()? {
            return Ok(Next::Broken(fault));
        }
        let (fields, text) = (&self.fields, &self.fields.text[..self.fields.length]);
        if let Some(is_same) = self.rows.header((0..fields.count).map(|index| fields.get(index))) {
            return Ok(if is_same { Next::Header } else { Next::Broken(RowFault::other_header()) });
        }
        if self.rows.refuses_nul() && memchr::memchr(0, text).is_some() {
            return Ok(Next::Broken(RowFault::expected("NUL byte", "text", "a NUL byte")));
        }
        if let Some(fault) = self.rows.misfit(fields.count, || fields.count) {
            return Ok(Next::Broken(fault));
        }
        match std::str::from_utf8(text) {
            Ok(text) => record.text.push_str(text),
            Err(_) => return Ok(Next::Broken(RowFault::not_utf8(text))),
        }
        for (span, &column) in record.spans.iter_mut().zip(&self.rows.selected) {
            if column < fields.count {
                let start = if column == 0 { 0 } else { fields.ends[column - 1] };
                *span = Some((start as u32, fields.ends[column] as u32));
            }
        }
        Ok(Next::Row)
    }

    /// Reads the next line and its number.
    fn next_line(&mut self, number: &mut u64) -> io::Result<FoundLine> {
        if let Some((reread, line)) = self.reread.pop_front() {
            *number = reread;
            let Some(line) = line else { return Ok(FoundLine::TooLong) };
            let (lines, bytes) = self.open;
            self.open = if lines > 0 { (lines - 1, bytes - line.len() - 1) } else { (0, 0) };
            self.line = line;
            return Ok(FoundLine::Whole);
        }
        let found = self.rows.lines.next(&mut self.line)?;
        *number = self.rows.lines.number();
        Ok(found)
    }

    /// Reads the record that begins in the current line, including the lines that its quotes span.
    fn read_record(&mut self) -> io::Result<Option<RowFault>> {
        self.rules.reset();
        self.fields.clear();
        if self.fields.feed_line(&mut self.rules, &self.line) {
            return Ok(None);
        }
        let limit = self.rows.lines.limit();
        let expected = format!("a closing quote within {limit} bytes");
        let found = "none; the lines after it are read on their own";
        let fault = Ok(Some(RowFault::expected("quote not closed", expected, found)));
        loop {
            let (lines, bytes) = self.open;
            if lines == self.reread.len() {
                let mut line = Vec::new();
                match self.rows.lines.next(&mut line)? {
                    FoundLine::End => return fault,
                    FoundLine::TooLong => self.reread.push_back((self.rows.lines.number(), None)),
                    FoundLine::Whole => self.reread.push_back((self.rows.lines.number(), Some(line))),
                }
            }
            let Some((_, Some(line))) = self.reread.get(lines) else { return fault };
            if self.line.len() + bytes + line.len() + 1 > limit {
                return fault;
            }
            self.rules.reset();
            self.tried.clear();
            self.tried.feed(&mut self.rules, b"\"");
            if self.tried.feed_line(&mut self.rules, line) {
                break;
            }
            self.open = (lines + 1, bytes + line.len() + 1);
        }
        self.rules.reset();
        self.fields.clear();
        self.fields.feed_line(&mut self.rules, &self.line);
        for (_, line) in self.reread.drain(..=self.open.0) {
            self.fields.feed_line(&mut self.rules, &line.unwrap_or_default());
        }
        self.open = (0, 0);
        Ok(None)
    }
}

impl Fields {
    fn new() -> Fields {
        Fields { text: vec![0; 256], length: 0, ends: vec![0; 16], count: 0 }
    }

    fn clear(&mut self) {
        (self.length, self.count) = (0, 0);
    }

    fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
    }

    /// Adds a line and its end to the record; returns whether it has ended.
    fn feed_line(&mut self, rules: &mut csv_core::Reader, line: &[u8]) -> bool {
        let has_ended = self.feed(rules, line);
        has_ended | self.feed(rules, b"\n")
    }

    /// Adds bytes to the record; returns whether it has ended.
    fn feed(&mut self, rules: &mut csv_core::Reader, mut input: &[u8]) -> bool {
        while !input.is_empty() {
            let (text, ends) = (&mut self.text[self.length..], &mut self.ends[self.count..]);
            let (result, read, written, ended) = rules.read_record(input, text, ends);
            input = &input[read..];
            self.length += written;
            self.count += ended;
            match result {
                ReadRecordResult::InputEmpty => return false,
                ReadRecordResult::OutputFull => self.text.resize(self.text.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record => return true,
                ReadRecordResult::End => return false,
            }
        }
        false
    }
}
