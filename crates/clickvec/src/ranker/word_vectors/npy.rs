//! Vectors in NumPy's format, and the texts that belong to them.

use std::io::BufRead;

use super::reader::{Builder, MAX_DIMENSION, Stop, at_line};
use crate::error::{VectorFileFault, VectorPlace, shortened};
use crate::npy::{Fault, Reader};
use crate::tables::{FoundLine, Lines};

/// The longest text, in bytes.
const MAX_TEXT: usize = 1 << 20;

/// The rows of a file.
pub(super) struct Rows {
    dimension: usize,
    numbers: Vec<f32>,
}

fn fault<T>(fault: VectorFileFault) -> Result<T, Stop> {
    Err(Stop::Fault(VectorPlace::File, fault))
}

/// Reads the rows of a whole file. [`read_texts`] reads the texts that belong to them.
pub(super) fn read(source: impl BufRead, builder: &mut Builder) -> Result<Option<Rows>, Stop> {
    let mut array = Reader::open(source).or_else(|error| match error {
        Fault::Io(error) => Err(Stop::Io(error)),
        Fault::Type(found) => fault(VectorFileFault::NpyType { found }),
        Fault::NotNpy => fault(VectorFileFault::NpyHeader { found: "none".to_owned() }),
        Fault::Version(version) => fault(VectorFileFault::NpyHeader { found: format!("one of version {version}") }),
        Fault::HeaderLength(length) => fault(VectorFileFault::NpyHeader { found: format!("one of {length} bytes") }),
        Fault::Header(text) => fault(VectorFileFault::NpyHeader { found: format!("`{text}`") }),
        Fault::Cut => fault(VectorFileFault::NpyHeader { found: "one that ends too soon".to_owned() }),
    })?;
    if !array.is_by_rows() {
        return fault(VectorFileFault::NpyOrder);
    }
    let (rows, dimension) = match *array.shape() {
        [rows, dimension] if (1..=MAX_DIMENSION).contains(&dimension) => (rows as u64, dimension),
        [_, found] => return fault(VectorFileFault::Dimension { most: MAX_DIMENSION, found: found as u64 }),
        ref shape => {
            let found: Vec<String> = shape.iter().map(usize::to_string).collect();
            let comma = if shape.len() == 1 { "," } else { "" };
            return fault(VectorFileFault::NpyShape { found: shortened(&(found.join(", ") + comma)) });
        }
    };
    builder.begin(dimension);
    let (mut numbers, mut vector) = (Vec::new(), vec![0.0; dimension]);
    for row in 1..=rows {
        match array.read(&mut vector)? {
            found if found == dimension * array.width() => numbers.extend_from_slice(&vector),
            0 => return fault(VectorFileFault::TooFew { expected: rows, found: row - 1 }),
            found => {
                let cut = VectorFileFault::Cut { expected: dimension * array.width(), found };
                return Err(Stop::Fault(VectorPlace::Vector(row), cut));
            }
        }
    }
    if !array.source().fill_buf()?.is_empty() {
        return fault(VectorFileFault::TooMany { expected: rows });
    }
    Ok(Some(Rows { dimension, numbers }))
}

/// Reads the texts of the rows, one a line.
pub(super) fn read_texts(source: impl BufRead, rows: &Rows, builder: &mut Builder) -> Result<(), Stop> {
    let Rows { dimension, numbers } = rows;
    let expected = (numbers.len() / dimension) as u64;
    let mut bytes = Vec::new();
    let mut lines = Lines::new(source, MAX_TEXT);
    for (line, vector) in (1..).zip(numbers.chunks_exact(*dimension)) {
        match lines.next(&mut bytes)? {
            FoundLine::End => return fault(VectorFileFault::Texts { expected, found: line - 1 }),
            FoundLine::TooLong => return at_line(line, VectorFileFault::LineTooLong { limit: MAX_TEXT }),
            FoundLine::Whole => {}
        }
        let Ok(text) = std::str::from_utf8(&bytes) else { return at_line(line, VectorFileFault::NotUtf8) };
        builder.add(text.trim(), vector, VectorPlace::Line(line), true)?;
    }
    match lines.next(&mut bytes)? {
        FoundLine::End => Ok(()),
        _ => fault(VectorFileFault::Texts { expected, found: expected + 1 }),
    }
}
