//! Files of vectors that another program wrote: the text and binary forms of word2vec (fastText's `.vec` is the former), the
//! same text without a header (as GloVe writes it), JSON lines, Parquet, and `.npy` with texts next to it. Nothing in a file is
//! trusted: memory grows with what was read, not with what a header promises.

pub mod fault;
mod npy;
mod table;

use std::io::{self, BufRead, Cursor, Read};
use std::path::{Path, PathBuf};

use clickvec_tables::files;
use clickvec_tables::memory::NoRoom;
use clickvec_tables::shown::shortened;
use clickvec_tables::table::{Format, Options, Table, is_parquet};
use clickvec_tables::{Error, Result};
use clickvec_tables::{FoundLine, Lines};
use fault::{MEND, VectorPlace, malformed};

/// The largest dimension that is read.
pub const MAX_DIMENSION: usize = 1 << 16;
/// By how much of a file its form is recognised.
const PREFIX: usize = 1 << 16;
/// The longest word of a binary file, and of a text file apart from its numbers.
const MAX_WORD: usize = 1 << 16;
/// The longest number of a text file, including the space before it.
const MAX_NUMBER: usize = 64;
/// The longest line of JSON.
const MAX_JSON_LINE: usize = MAX_TEXT + MAX_NUMBER * MAX_DIMENSION;
/// The longest text, in bytes.
const MAX_TEXT: usize = 1 << 20;

/// A receiver of what a file has, entry by entry.
pub trait Entries {
    /// Every vector that follows has `dimension` numbers.
    fn begin(&mut self, dimension: usize);

    /// Takes a word or, where the form knows `texts`, a text.
    fn add(&mut self, entry: &str, numbers: &[f32], position: VectorPlace, texts: bool) -> Result<(), Stop>;

    /// Takes no more.
    fn end(&mut self) -> clickvec_tables::Result<()>;
}

/// Why a file could not be read.
pub enum Stop {
    /// A fault of the file.
    Fault(VectorPlace, clickvec_tables::Error),
    /// Reading failed.
    Io(io::Error),
    /// Memory is short.
    NoRoom(NoRoom),
    /// A table could not be read.
    Table(Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Io(error)
    }
}

impl From<NoRoom> for Stop {
    fn from(fault: NoRoom) -> Stop {
        Stop::NoRoom(fault)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Table(error)
    }
}

fn at_line<T>(line: u64, fault: clickvec_tables::Error) -> Result<T, Stop> {
    Err(Stop::Fault(VectorPlace::Line(line), fault))
}

fn in_file<T>(fault: clickvec_tables::Error) -> Result<T, Stop> {
    Err(Stop::Fault(VectorPlace::File, fault))
}

/// Hands over what a file has, whose form is told by its content; `-` is standard input.
pub fn read(path: &Path, entries: &mut impl Entries) -> Result<()> {
    let failed = |path: &Path, stop| match stop {
        Stop::Io(source) => Error::io(path, "read", source),
        Stop::NoRoom(fault) => fault.into(),
        Stop::Table(error) => error,
        Stop::Fault(position, fault) => position.set(fault, path),
    };
    // Parquet is read from its end, which a pipe does not allow.
    if files::first_bytes::<4>(path).is_ok_and(|head| is_parquet(&head)) {
        let table = Table::open(path, &Options::default())?;
        table::read(table, VectorPlace::Row, entries).map_err(|stop| failed(path, stop))?;
        return entries.end().or_else(in_file).map_err(|stop| failed(path, stop));
    }
    let mut source = files::open(path)?;
    let mut prefix = Vec::new();
    read_up_to(&mut source, PREFIX, &mut prefix).map_err(|error| failed(path, error.into()))?;
    let source = Cursor::new(prefix.clone()).chain(source);
    match Form::detect(&prefix).map_err(|stop| failed(path, stop))? {
        Form::Npy => {
            let texts = texts_path(path);
            let mut rows = npy::Rows::open(source).map_err(|stop| failed(path, stop))?;
            rows.read(files::open(&texts)?, entries)
                .map_err(|(in_texts, stop)| if in_texts { failed(&texts, stop) } else { failed(path, stop) })?;
        }
        Form::Json => {
            let options = Options { format: Some(Format::Json), max_row_bytes: MAX_JSON_LINE, ..Options::default() };
            let table = Table::read(path, Box::new(source), &options)?;
            table::read(table, VectorPlace::Line, entries).map_err(|stop| failed(path, stop))?;
        }
        Form::Text { header } => read_text(source, header, entries).map_err(|stop| failed(path, stop))?,
        Form::Binary(header) => read_binary(source, header, entries).map_err(|stop| failed(path, stop))?,
    }
    entries.end().or_else(in_file).map_err(|stop| failed(path, stop))
}

/// `titles.txt` for `titles.npy`, compressed or not.
pub fn texts_path(path: &Path) -> PathBuf {
    let compressed = path.extension().is_some_and(|extension| extension == "gz" || extension == "zst");
    if compressed { path.with_extension("").with_extension("txt") } else { path.with_extension("txt") }
}

/// The first line of a word2vec file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    vectors: u64,
    dimension: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum Form {
    Npy,
    Json,
    Text { header: Result<Header, usize> },
    Binary(Header),
}

impl Form {
    /// Recognises the format by the beginning of the file.
    fn detect(prefix: &[u8]) -> Result<Form, Stop> {
        if prefix.is_empty() {
            return in_file(fault::empty());
        }
        if prefix.starts_with(crate::npy::MAGIC) {
            return Ok(Form::Npy);
        }
        if prefix.trim_ascii_start().starts_with(b"{\"") {
            return Ok(Form::Json);
        }
        let end = prefix.iter().position(|&byte| byte == b'\n').unwrap_or(prefix.len());
        let line = String::from_utf8_lossy(&prefix[..end]);
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let checked = |dimension: u64| match dimension {
            1.. if dimension <= MAX_DIMENSION as u64 => Ok(dimension as usize),
            _ => at_line(1, fault::dimension(dimension)),
        };
        if let [vectors, dimension] = fields[..]
            && let (Ok(vectors), Ok(dimension)) = (vectors.parse(), dimension.parse())
        {
            let header = Header { vectors, dimension: checked(dimension)? };
            let rest = prefix.get(end + 1..).unwrap_or_default();
            return Ok(if is_text(rest, header.dimension) {
                Form::Text { header: Ok(header) }
            } else {
                Form::Binary(header)
            });
        }
        // Without a header, the first line determines the dimension.
        match fields.split_first() {
            Some((_, numbers)) if !numbers.is_empty() && numbers.iter().all(|field| field.parse::<f32>().is_ok()) => {
                Ok(Form::Text { header: Err(checked(numbers.len() as u64)?) })
            }
            _ => at_line(
                1,
                malformed(
                    "vectors as word2vec, fastText or NumPy (.npy) write them, or JSON lines",
                    format!("`{}`", shortened(&line)),
                    "see docs/reference/formats.md",
                ),
            ),
        }
    }
}

/// Returns whether digits follow the first word. Bytes of 32-bit numbers soon contain one that is not text.
fn is_text(rest: &[u8], dimension: usize) -> bool {
    let word = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
    let numbers = &rest[word..rest.len().min(word + 1 + 4 * dimension)];
    numbers.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n'))
}

fn read_text(source: impl BufRead, header: Result<Header, usize>, entries: &mut impl Entries) -> Result<(), Stop> {
    let dimension = header.map_or_else(|dimension| dimension, |header| header.dimension);
    entries.begin(dimension);
    let limit = MAX_WORD + MAX_NUMBER * dimension;
    let (mut bytes, mut numbers, mut found) = (Vec::new(), Vec::with_capacity(dimension), 0);
    let mut lines = Lines::new(source, limit);
    for line in 1.. {
        match lines.next(&mut bytes)? {
            FoundLine::End => break,
            FoundLine::TooLong => return at_line(line, fault::line_too_long(limit)),
            FoundLine::Whole => {}
        }
        // Some programs cut words in the middle of a letter. Such a word is in no text.
        let text = String::from_utf8_lossy(&bytes);
        if (line == 1 && header.is_ok()) || text.trim_ascii().is_empty() {
            continue;
        }
        found += 1;
        if let Ok(Header { vectors, .. }) = header
            && found > vectors
        {
            return at_line(line, fault::too_many(vectors));
        }
        let word = parse(&text, dimension, &mut numbers).or_else(|fault| at_line(line, fault))?;
        entries.add(&word, &numbers, VectorPlace::Line(line), false)?;
    }
    match header {
        Ok(Header { vectors, .. }) if found < vectors => in_file(fault::too_few(vectors, found)),
        _ => Ok(()),
    }
}

/// Parses the word of a line, which may have spaces in it, and its numbers.
fn parse(line: &str, dimension: usize, numbers: &mut Vec<f32>) -> clickvec_tables::Result<String> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let is_number = |field: &&str| field.parse::<f32>().is_ok();
    if fields.len() <= dimension || (fields.len() > dimension + 1 && is_number(&fields[1])) {
        let found = format!("{} numbers", fields.len().saturating_sub(1));
        return Err(malformed(format!("a word and {dimension} numbers"), found, MEND));
    }
    let (word, fields) = fields.split_at(fields.len() - dimension);
    numbers.clear();
    for field in fields {
        let number = field.parse().map_err(|_| malformed("a number", format!("`{}`", shortened(field)), MEND))?;
        numbers.push(number);
    }
    Ok(word.join(" "))
}

fn read_binary(mut source: impl BufRead, header: Header, entries: &mut impl Entries) -> Result<(), Stop> {
    let Header { vectors, dimension } = header;
    entries.begin(dimension);
    let (mut word, mut bytes, mut numbers) = (Vec::new(), Vec::new(), Vec::with_capacity(dimension));
    read_up_to_line_end(&mut source)?;
    for vector in 1..=vectors {
        let fail = |fault| Err(Stop::Fault(VectorPlace::Vector(vector), fault));
        // Some programs end each vector with a line end, and others do not.
        skip_line_ends(&mut source)?;
        word.clear();
        source.by_ref().take(MAX_WORD as u64 + 1).read_until(b' ', &mut word)?;
        if word.is_empty() {
            return in_file(fault::too_few(vectors, vector - 1));
        }
        if word.pop() != Some(b' ') {
            return fail(malformed(
                format!("a word of at most {MAX_WORD} bytes and a space"),
                "none",
                "is the file in word2vec's binary form?",
            ));
        }
        bytes.clear();
        read_up_to(&mut source, 4 * dimension, &mut bytes)?;
        if bytes.len() < 4 * dimension {
            return fail(fault::cut(4 * dimension, bytes.len()));
        }
        numbers.clear();
        numbers.extend(bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)));
        entries.add(&String::from_utf8_lossy(&word), &numbers, VectorPlace::Vector(vector), false)?;
    }
    skip_line_ends(&mut source)?;
    if source.fill_buf()?.is_empty() { Ok(()) } else { in_file(fault::too_many(vectors)) }
}

/// Appends the next bytes, fewer than `most` only at the end.
fn read_up_to(source: &mut impl Read, most: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
    source.by_ref().take(most as u64).read_to_end(bytes).map(drop)
}

/// Skips the header, which was parsed before.
fn read_up_to_line_end(source: &mut impl BufRead) -> io::Result<()> {
    source.by_ref().take(PREFIX as u64).read_until(b'\n', &mut Vec::new()).map(drop)
}

fn skip_line_ends(source: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = source.fill_buf()?;
        let line_ends = buffer.iter().take_while(|&&byte| byte == b'\n').count();
        let done = line_ends == 0 || line_ends < buffer.len();
        source.consume(line_ends);
        if done {
            return Ok(());
        }
    }
}
