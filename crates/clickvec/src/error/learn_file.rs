//! Faults of files that a ranker learns from or takes its weights from.

use std::path::Path;

use super::shown_input;

/// The place of a fault in such a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LearnPlace {
    /// The file as a whole.
    File,
    /// A line, counted from 1.
    Line(u64),
    /// An array of an archive, by name.
    Array(String),
}

/// A fault of a file that a ranker learns from or takes its weights from.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LearnFileFault {
    /// A line is too long.
    #[error("expected a line of at most {most} bytes, found a longer one")]
    LineTooLong {
        /// The limit.
        most: usize,
    },
    /// A line is not UTF-8.
    #[error("expected UTF-8, found another byte at position {byte} of the line; save the file as UTF-8")]
    NotUtf8 {
        /// The position of the first invalid byte in the line, counted from 1.
        byte: usize,
    },
    /// No sentence has a neighbour to learn from.
    #[error(
        "expected sentences that follow each other, one per line, found {sentences} sentences, no two of them in succession"
    )]
    NoNeighbours {
        /// The number of sentences with a word.
        sentences: usize,
    },
    /// The dictionary has no line for unknown words.
    #[error("expected a line `{expected}` for unknown words, found {lines} other lines")]
    NoUnknownWord {
        /// The line.
        expected: &'static str,
        /// The number of lines.
        lines: usize,
    },
    /// The file is not a ZIP archive that can be read, or is damaged.
    #[error("expected a .npz file, found {found}; {}", found.advice())]
    NotNpz {
        /// What it is.
        found: NpzFound,
    },
    /// An array of an archive is missing.
    #[error("expected this array, found none of that name")]
    NoArray,
    /// The file does not begin like an array.
    #[error("expected an array in NumPy's .npy format, found a file that begins with {found}")]
    NotNpy {
        /// Its first bytes, as text.
        found: String,
    },
    /// The version of the .npy format is unknown.
    #[error("expected version 1, 2 or 3 of the .npy format, found {found}")]
    NpyVersion {
        /// The version.
        found: u8,
    },
    /// The header of an array is too long.
    #[error("expected a short .npy header, found one of {found} bytes")]
    NpyHeaderLength {
        /// The length of the header.
        found: usize,
    },
    /// The header of an array is not valid.
    #[error("expected a valid .npy header, found {found}")]
    NpyHeader {
        /// The header, shortened.
        found: String,
    },
    /// The numbers of an array have an unsupported type.
    #[error("expected numbers of type <f4 or <f8, found {}", npy_type(found))]
    NpyType {
        /// NumPy's name of the type, shortened.
        found: String,
    },
    /// An array is stored column by column.
    #[error("expected the array row by row (C order), found Fortran order")]
    NpyOrder,
    /// An array has another shape than expected.
    #[error("expected an array of shape {}, found {found:?}", shape(expected))]
    NpyShape {
        /// The expected sizes; `None` allows any size but 0.
        expected: Vec<Option<usize>>,
        /// The sizes found.
        found: Vec<usize>,
    },
    /// An array of word vectors has no row for each line of the dictionary.
    #[error("expected {lines} rows, one for each line of dictionary.txt, found an array of shape {found:?}")]
    Rows {
        /// The number of lines.
        lines: usize,
        /// The sizes found.
        found: Vec<usize>,
    },
    /// An array takes more or fewer bytes than its shape needs.
    #[error("expected the bytes of an array of shape {shape:?}, found {found} bytes")]
    NpyBytes {
        /// The shape.
        shape: Vec<usize>,
        /// The number of bytes, header included.
        found: u64,
    },
    /// An array ends too soon.
    #[error("expected the rest of the array, found the end of the file; it was cut short, fetch it again")]
    Cut,
    /// An array is damaged.
    #[error("expected an array that is whole, found other bytes than were stored; fetch it again")]
    Damaged,
    /// A number is NaN or so large that sums of it may overflow.
    #[error("expected numbers between −{most:e} and {most:e}, found {found:e}")]
    Number {
        /// The largest absolute value.
        most: f32,
        /// The number.
        found: f32,
    },
}

/// What was found where a `.npz` file, a ZIP archive of arrays, should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NpzFound {
    /// A file that begins with other bytes.
    #[error("{}", begins(.0))]
    Other(String),
    /// A ZIP archive whose list of contents is not where it should be.
    #[error("a ZIP archive that was cut short or damaged")]
    Damaged,
    /// An array that is encrypted.
    #[error("an array with a password")]
    Password,
    /// An array that is compressed in a way that NumPy does not use, by its number in the ZIP format.
    #[error("an array that is compressed by method {0}")]
    Method(u16),
    /// A ZIP archive in several parts, or with other things that NumPy does not write.
    #[error("a ZIP archive of another form")]
    Form,
}

impl NpzFound {
    fn advice(&self) -> &'static str {
        match self {
            NpzFound::Other(_) | NpzFound::Damaged => "fetch it again",
            NpzFound::Password | NpzFound::Method(_) | NpzFound::Form => "write it with numpy.savez",
        }
    }
}

fn begins(found: &str) -> String {
    if found.is_empty() { "an empty file".to_owned() } else { format!("a file that begins with `{found}`") }
}

fn npy_type(found: &str) -> String {
    if found == "|O" { "Python objects".to_owned() } else { format!("`{found}`") }
}

fn shape(sizes: &[Option<usize>]) -> String {
    let size = |size: &Option<usize>| size.map_or("any".to_owned(), |size| size.to_string());
    format!("[{}]", sizes.iter().map(size).collect::<Vec<_>>().join(", "))
}

/// Returns the place in a file, for the beginning of a message.
pub(super) fn at(path: &Path, place: &LearnPlace) -> String {
    match place {
        LearnPlace::File => shown_input(path),
        LearnPlace::Line(line) => format!("{}:{line}", shown_input(path)),
        LearnPlace::Array(name) => format!("{}, array `{name}`", shown_input(path)),
    }
}
