//! Comma-separated values according to RFC 4180, with the quoting rules of the `csv-core` crate.

use std::collections::VecDeque;
use std::io;

use clickvec::internals::tables::FoundLine;
use csv_core::ReadRecordResult;

use super::header::Rows;
use super::record::MAX_ROW_BYTES;
use super::record::{Next, Record};
use crate::error::RowFault;

pub(super) struct Reader {
    rows: Rows,
    rules: csv_core::Reader,
    /// The current line.
    line: Vec<u8>,
    /// Lines that were read in search of a closing quote that never came. They are read again on their own.
    again: VecDeque<(u64, Vec<u8>)>,
    fields: Fields,
}

/// A record without its quotes, and the ends of its fields.
struct Fields {
    text: Vec<u8>,
    length: usize,
    ends: Vec<usize>,
    count: usize,
}

/// The separator of fields, unless one was given: a comma, or a semicolon if the header has only those.
pub(super) fn delimiter(header: &[u8], asked: Option<u8>) -> u8 {
    let only_semicolons = header.contains(&b';') && !header.contains(&b',');
    asked.unwrap_or(if only_semicolons { b';' } else { b',' })
}

/// The names in a header.
pub(super) fn names(header: &[u8], delimiter: u8) -> Vec<String> {
    let (mut rules, mut fields) = (rules(delimiter), Fields::new());
    fields.feed(&mut rules, header);
    fields.feed(&mut rules, b"\n");
    (0..fields.count).map(|place| String::from_utf8_lossy(fields.get(place)).into_owned()).collect()
}

fn rules(delimiter: u8) -> csv_core::Reader {
    csv_core::ReaderBuilder::new().delimiter(delimiter).terminator(csv_core::Terminator::Any(b'\n')).build()
}

impl Reader {
    pub(super) fn new(rows: Rows, delimiter: u8) -> Reader {
        let (line, again, fields) = (Vec::new(), VecDeque::new(), Fields::new());
        Reader { rows, rules: rules(delimiter), line, again, fields }
    }

    pub(super) fn next(&mut self, record: &mut Record) -> io::Result<Next> {
        record.clear();
        let found = loop {
            match self.next_line(&mut record.line)? {
                FoundLine::Whole if self.line.is_empty() => {}
                found => break found,
            }
        };
        match found {
            FoundLine::End => return Ok(Next::End),
            FoundLine::TooLong => return Ok(Next::Broken(RowFault::TooLong { limit: MAX_ROW_BYTES })),
            FoundLine::Whole => {}
        }
        if self.line == self.rows.header {
            return Ok(Next::Header);
        }
        if let Some(fault) = self.read_record()? {
            return Ok(Next::Broken(fault));
        }
        let (fields, text) = (&self.fields, &self.fields.text[..self.fields.length]);
        if memchr::memchr(0, text).is_some() {
            return Ok(Next::Broken(RowFault::Nul));
        }
        if fields.count > self.rows.columns || (fields.count < self.rows.columns && !self.rows.short_rows) {
            return Ok(Next::Broken(RowFault::ColumnCount { expected: self.rows.columns, found: fields.count }));
        }
        match std::str::from_utf8(text) {
            Ok(text) => record.text.push_str(text),
            Err(error) => return Ok(Next::Broken(RowFault::NotUtf8 { byte: error.valid_up_to() + 1 })),
        }
        for &(column, role) in &self.rows.wanted {
            if column < fields.count {
                let start = if column == 0 { 0 } else { fields.ends[column - 1] };
                record.spans[role as usize] = Some((start as u32, fields.ends[column] as u32));
            }
        }
        Ok(Next::Row)
    }

    /// Reads the next line and its number.
    fn next_line(&mut self, number: &mut u64) -> io::Result<FoundLine> {
        if let Some((again, line)) = self.again.pop_front() {
            (*number, self.line) = (again, line);
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
        let mut whole = self.fields.feed(&mut self.rules, &self.line);
        whole |= self.fields.feed(&mut self.rules, b"\n");
        if whole {
            return Ok(None);
        }
        // Lines read so far, in case they turn out to be rows of their own.
        let mut read: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut length = self.line.len();
        loop {
            let mut number = 0;
            let found = self.next_line(&mut number)?;
            length += self.line.len() + 1;
            if found != FoundLine::Whole || length > MAX_ROW_BYTES {
                if found == FoundLine::Whole {
                    read.push((number, std::mem::take(&mut self.line)));
                }
                read.into_iter().rev().for_each(|line| self.again.push_front(line));
                return Ok(Some(RowFault::OpenQuote { limit: MAX_ROW_BYTES }));
            }
            let mut whole = self.fields.feed(&mut self.rules, &self.line);
            whole |= self.fields.feed(&mut self.rules, b"\n");
            if whole {
                return Ok(None);
            }
            read.push((number, std::mem::take(&mut self.line)));
        }
    }
}

impl Fields {
    fn new() -> Fields {
        Fields { text: vec![0; 256], length: 0, ends: vec![0; 16], count: 0 }
    }

    fn clear(&mut self) {
        (self.length, self.count) = (0, 0);
    }

    fn get(&self, place: usize) -> &[u8] {
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.text[start..self.ends[place]]
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
