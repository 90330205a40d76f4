//! The errors of files of vectors that other programs wrote, and where in a file they are.

use std::fmt;
use std::path::Path;

use clickvec_tables::{Error, ErrorKind};

use super::MAX_DIMENSION;
use clickvec_tables::shown::{shortened, shown_input};

/// What to do about one line.
pub const MEND: &str = "mend or remove the line";
/// What to do about a file that ends too soon.
const FETCH: &str = "the file was cut short, fetch it again";

/// The place of a fault in a file of vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorPlace {
    /// The file as a whole.
    File,
    /// A line of text, counted from 1.
    Line(u64),
    /// A vector of a binary file, counted from 1.
    Vector(u64),
    /// A row of Parquet, counted from 1.
    Row(u64),
}

impl VectorPlace {
    /// Sets the place of an error of the file at `path`.
    pub fn set(self, error: Error, path: &Path) -> Error {
        match self {
            VectorPlace::File => error.at(path),
            VectorPlace::Line(line) => error.at_line(path, line),
            VectorPlace::Vector(vector) => error.within(format!("{}, vector {vector}", shown_input(path))),
            VectorPlace::Row(row) => error.within(format!("{}, row {row}", shown_input(path))),
        }
    }
}

impl fmt::Display for VectorPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VectorPlace::File => f.write_str("the file"),
            VectorPlace::Line(line) => write!(f, "line {line}"),
            VectorPlace::Vector(vector) => write!(f, "vector {vector}"),
            VectorPlace::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// Creates the error of contents of another form.
pub fn malformed(expected: impl Into<String>, found: impl Into<String>, help: &'static str) -> Error {
    Error::expected(ErrorKind::Malformed, expected.into(), found.into()).help(help)
}

/// Creates the error of a file without any vector.
pub fn empty() -> Error {
    Error::expected(ErrorKind::Empty, "vectors", "an empty file")
}

/// Creates the error of vectors without numbers, or with too many.
pub fn dimension(found: u64) -> Error {
    let expected = format!("vectors of 1 to {MAX_DIMENSION} numbers");
    malformed(expected, found.to_string(), "is this a file of vectors?")
}

/// Creates the error of a vector with more or fewer numbers than the others.
pub fn numbers(expected: usize, found: usize) -> Error {
    malformed(format!("a vector of {expected} numbers, as the others have"), found.to_string(), "mend or remove it")
}

/// Creates the error of a file whose vectors have another dimension than those of the first file.
pub fn other_dimension(first: usize, found: usize) -> Error {
    Error::expected(
        ErrorKind::Mismatch,
        format!("vectors of {first} numbers, as the first file has"),
        found.to_string(),
    )
    .help("make them all with one program")
}

/// Creates the error of a vector with a number that is NaN or infinite as a 32-bit float.
pub fn not_finite(word: &str, found: String) -> Error {
    malformed(format!("finite numbers of 32 bits for `{}`", shortened(word)), found, "remove its vector")
}

/// Creates the error of a line that is too long.
pub fn line_too_long(limit: usize) -> Error {
    malformed(format!("a line of at most {limit} bytes"), "a longer one", "is this a file of vectors?")
}

/// Creates the error of a file that ends in the middle of a vector.
pub fn cut(expected: usize, found: usize) -> Error {
    malformed(format!("{expected} bytes of numbers"), found.to_string(), FETCH)
}

/// Creates the error of a file that ends before all vectors of its header.
pub fn too_few(expected: u64, found: u64) -> Error {
    malformed(format!("{expected} vectors, as its header says"), found.to_string(), FETCH)
}

/// Creates the error of a file that goes on after all vectors of its header.
pub fn too_many(expected: u64) -> Error {
    malformed(format!("{expected} vectors, as its header says"), "more", "correct the header")
}
