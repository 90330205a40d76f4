//! Reading files of vectors: the text and binary formats of word2vec (fastText's `.vec` is the former), the text
//! format without a header (as in GloVe), and `.npy` with a file of texts. Nothing in a file is trusted: memory grows
//! with what was read and not with what a header announces.

use std::collections::HashMap;
use std::io::{self, BufRead, Cursor, Read};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::super::text_table::{TextReader, TextTable};
use super::SYSTEM;
use super::npy;
use crate::error::{Error, LearnFault, Result, VectorFileFault, VectorPlace, shortened};
use crate::files;
use crate::tables::{FoundLine, Lines};
use crate::text::{Interner, WordBuffer, for_each_word};

/// The largest dimension that is read.
pub(super) const MAX_DIMENSION: usize = 1 << 16;
/// The number of bytes by which a file's format is recognised.
const PREFIX: usize = 1 << 16;
/// The longest word of a binary file, and of a text file apart from its numbers.
const MAX_WORD: usize = 1 << 16;
/// The longest number of a text file, including the space before it.
const MAX_NUMBER: usize = 64;

/// The contents of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Vectors {
    pub(super) dimension: usize,
    /// The words, as [`for_each_word`] produces them.
    pub(super) vocabulary: Interner,
    /// [words, dimension]
    pub(super) words: Vec<f32>,
    /// Texts of several words, only in `.npy` files.
    pub(super) texts: TextTable,
}

/// Why a file could not be read.
pub(super) enum Stop {
    Fault(VectorPlace, VectorFileFault),
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Io(error)
    }
}

pub(super) fn at_line<T>(line: u64, fault: VectorFileFault) -> Result<T, Stop> {
    Err(Stop::Fault(VectorPlace::Line(line), fault))
}

fn in_file<T>(fault: VectorFileFault) -> Result<T, Stop> {
    Err(Stop::Fault(VectorPlace::File, fault))
}

/// Reads a file, whose format is recognised by its contents; `-` is standard input.
pub(super) fn read(path: &Path) -> Result<Vectors> {
    let mut source = files::open(path)?;
    let mut prefix = Vec::new();
    let found = read_up_to(&mut source, PREFIX, &mut prefix).map_err(Stop::from);
    let mut builder = Builder::default();
    let read = found.and_then(|()| {
        let whole = Cursor::new(prefix.clone()).chain(source);
        match Form::of(&prefix)? {
            Form::Npy => npy::read(whole, &mut builder),
            Form::Text { header } => read_text(whole, header, &mut builder).map(|()| None),
            Form::Binary(header) => read_binary(whole, header, &mut builder).map(|()| None),
        }
    });
    let read = read.map_err(|stop| error(path, stop))?;
    if let Some(rows) = read {
        let texts = texts_path(path);
        npy::read_texts(files::open(&texts)?, &rows, &mut builder).map_err(|stop| error(&texts, stop))?;
    }
    builder.finish().or_else(in_file).map_err(|stop| error(path, stop))
}

fn error(path: &Path, stop: Stop) -> Error {
    match stop {
        Stop::Io(source) => Error::io(path, "read", source),
        Stop::Fault(place, fault) => {
            Error::Learn { ranker: SYSTEM.name, fault: LearnFault::Vectors { path: path.to_owned(), place, fault } }
        }
    }
}

/// `titles.txt` for `titles.npy`, compressed or not.
fn texts_path(path: &Path) -> PathBuf {
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
    Text { header: Result<Header, usize> },
    Binary(Header),
}

impl Form {
    /// Recognises the format by the beginning of the file.
    fn of(prefix: &[u8]) -> Result<Form, Stop> {
        if prefix.is_empty() {
            return in_file(VectorFileFault::Empty);
        }
        if prefix.starts_with(crate::npy::MAGIC) {
            return Ok(Form::Npy);
        }
        let end = prefix.iter().position(|&byte| byte == b'\n').unwrap_or(prefix.len());
        let line = String::from_utf8_lossy(&prefix[..end]);
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let checked = |dimension: u64| match dimension {
            1.. if dimension <= MAX_DIMENSION as u64 => Ok(dimension as usize),
            _ => at_line(1, VectorFileFault::Dimension { most: MAX_DIMENSION, found: dimension }),
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
            _ => at_line(1, VectorFileFault::UnknownForm { found: shortened(&line) }),
        }
    }
}

/// Whether digits follow the first word. Bytes of 32-bit numbers soon contain one that is not text.
fn is_text(rest: &[u8], dimension: usize) -> bool {
    let word = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
    let numbers = &rest[word..rest.len().min(word + 1 + 4 * dimension)];
    numbers.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n'))
}

fn read_text(source: impl BufRead, header: Result<Header, usize>, builder: &mut Builder) -> Result<(), Stop> {
    let dimension = header.map_or_else(|dimension| dimension, |header| header.dimension);
    builder.begin(dimension);
    let limit = MAX_WORD + MAX_NUMBER * dimension;
    let (mut bytes, mut numbers, mut found) = (Vec::new(), Vec::with_capacity(dimension), 0);
    let mut lines = Lines::new(source, limit);
    for line in 1.. {
        match lines.next(&mut bytes)? {
            FoundLine::End => break,
            FoundLine::TooLong => return at_line(line, VectorFileFault::LineTooLong { limit }),
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
            return at_line(line, VectorFileFault::TooMany { expected: vectors });
        }
        let word = parse(&text, dimension, &mut numbers).or_else(|fault| at_line(line, fault))?;
        builder.add(&word, &numbers, VectorPlace::Line(line), false)?;
    }
    match header {
        Ok(Header { vectors, .. }) if found < vectors => in_file(VectorFileFault::TooFew { expected: vectors, found }),
        _ => Ok(()),
    }
}

/// Parses the word of a line, which may have spaces in it, and its numbers.
fn parse(line: &str, dimension: usize, numbers: &mut Vec<f32>) -> Result<String, VectorFileFault> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let is_number = |field: &&str| field.parse::<f32>().is_ok();
    if fields.len() <= dimension || (fields.len() > dimension + 1 && is_number(&fields[1])) {
        return Err(VectorFileFault::FieldCount { expected: dimension, found: fields.len().saturating_sub(1) });
    }
    let (word, fields) = fields.split_at(fields.len() - dimension);
    numbers.clear();
    for field in fields {
        let number = field.parse().map_err(|_| VectorFileFault::NotNumber { found: shortened(field) })?;
        numbers.push(number);
    }
    Ok(word.join(" "))
}

fn read_binary(mut source: impl BufRead, header: Header, builder: &mut Builder) -> Result<(), Stop> {
    let Header { vectors, dimension } = header;
    builder.begin(dimension);
    let (mut word, mut bytes, mut numbers) = (Vec::new(), Vec::new(), Vec::with_capacity(dimension));
    read_up_to_line_end(&mut source)?;
    for vector in 1..=vectors {
        let fail = |fault| Err(Stop::Fault(VectorPlace::Vector(vector), fault));
        // Some programs end each vector with a line end, and others do not.
        skip_line_ends(&mut source)?;
        word.clear();
        source.by_ref().take(MAX_WORD as u64 + 1).read_until(b' ', &mut word)?;
        if word.is_empty() {
            return in_file(VectorFileFault::TooFew { expected: vectors, found: vector - 1 });
        }
        if word.pop() != Some(b' ') {
            return fail(VectorFileFault::WordTooLong { limit: MAX_WORD });
        }
        bytes.clear();
        read_up_to(&mut source, 4 * dimension, &mut bytes)?;
        if bytes.len() < 4 * dimension {
            return fail(VectorFileFault::Cut { expected: 4 * dimension, found: bytes.len() });
        }
        numbers.clear();
        numbers.extend(bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)));
        builder.add(&String::from_utf8_lossy(&word), &numbers, VectorPlace::Vector(vector), false)?;
    }
    skip_line_ends(&mut source)?;
    match source.fill_buf()?.is_empty() {
        true => Ok(()),
        false => in_file(VectorFileFault::TooMany { expected: vectors }),
    }
}

/// Appends the next bytes, fewer than `most` only at the end.
pub(super) fn read_up_to(source: &mut impl Read, most: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
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

/// A collection of entries.
#[derive(Default)]
pub(super) struct Builder {
    vectors: Vectors,
    /// For each word, whether an entry was spelt exactly like it.
    spelt: Vec<bool>,
    /// For each hash of an entry, the place where it first occurs and the hash of its numbers.
    seen: HashMap<u64, (VectorPlace, u64)>,
    entries: u64,
    buffer: WordBuffer,
    reader: TextReader,
}

impl Builder {
    pub(super) fn begin(&mut self, dimension: usize) {
        self.vectors.dimension = dimension;
        self.vectors.texts = TextTable::new(dimension);
    }

    /// Adds an entry: a word or, with `texts`, a text.
    ///
    /// An entry counts as the word that it becomes in a text: `Don't` as `dont`. An entry spelt exactly like the word
    /// takes precedence, then the first in the file. An entry that becomes no word or several words, like `<s>` and
    /// similar marks, is left out unless texts are wanted.
    pub(super) fn add(&mut self, entry: &str, numbers: &[f32], place: VectorPlace, texts: bool) -> Result<(), Stop> {
        self.entries += 1;
        if !numbers.iter().all(|number| number.is_finite()) {
            return Err(Stop::Fault(place, VectorFileFault::NotFinite { word: shortened(entry) }));
        }
        let hash = xxh3_64(bytemuck::cast_slice(numbers));
        let (first, first_hash) = *self.seen.entry(xxh3_64(entry.as_bytes())).or_insert((place, hash));
        let broken = entry.contains(char::REPLACEMENT_CHARACTER);
        if first_hash != hash && !broken {
            return Err(Stop::Fault(place, VectorFileFault::Repeated { word: shortened(entry), first }));
        }
        let is_mark = !texts && entry.starts_with('<') && entry.ends_with('>');
        if first != place || broken || is_mark {
            return Ok(());
        }
        let Vectors { vocabulary, words, texts: table, .. } = &mut self.vectors;
        let (mut count, mut last) = (0u64, String::new());
        for_each_word(entry, &mut self.buffer, |word| {
            count += 1;
            if count == 1 {
                last.push_str(word);
            }
        });
        if count == 1 {
            let (word, _, new) = vocabulary.intern(&last);
            let spelt = entry == last;
            if new {
                words.extend_from_slice(numbers);
                self.spelt.push(spelt);
            } else if spelt && !self.spelt[word as usize] {
                words[word as usize * numbers.len()..][..numbers.len()].copy_from_slice(numbers);
                self.spelt[word as usize] = true;
            }
        } else if count > 1 && texts {
            table.insert(self.reader.read(vocabulary, entry).0, numbers);
        }
        Ok(())
    }

    fn finish(self) -> Result<Vectors, VectorFileFault> {
        match self.vectors.vocabulary.is_empty() && self.vectors.texts.len() == 0 {
            true => Err(VectorFileFault::NoWords { found: self.entries }),
            false => Ok(self.vectors),
        }
    }
}
