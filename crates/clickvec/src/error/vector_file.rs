//! Faults of a file of vectors from another program.

use std::fmt;
use std::path::Path;

use super::{JsonKind, NotAnObject, shown_input};

/// The place of a fault in a file of vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorPlace {
    /// The file as a whole.
    File,
    /// A line of text, counted from 1.
    Line(u64),
    /// A vector of a binary file, counted from 1.
    Vector(u64),
}

impl fmt::Display for VectorPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VectorPlace::File => f.write_str("the file"),
            VectorPlace::Line(line) => write!(f, "line {line}"),
            VectorPlace::Vector(vector) => write!(f, "vector {vector}"),
        }
    }
}

/// A fault of a file of vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VectorFileFault {
    /// The file is empty.
    #[error("expected vectors, found an empty file")]
    Empty,
    /// The format is unknown.
    #[error(
        "expected vectors as word2vec, fastText or NumPy (.npy) write them, or JSON lines, found `{found}`; see docs/reference/formats.md"
    )]
    UnknownForm {
        /// The beginning of the file, shortened.
        found: String,
    },
    /// The vectors have no numbers, or too many.
    #[error("expected vectors of 1 to {most} numbers, found {found}; is this a file of vectors?")]
    Dimension {
        /// The largest allowed dimension.
        most: usize,
        /// The dimension that the file gives.
        found: u64,
    },
    /// A line has too few or too many numbers.
    #[error("expected a word and {expected} numbers, found {found} numbers; mend or remove the line")]
    FieldCount {
        /// The expected number of values.
        expected: usize,
        /// The number of values found.
        found: usize,
    },
    /// A vector has more or fewer numbers than the others.
    #[error("expected a vector of {expected} numbers, as the others have, found {found}; mend or remove it")]
    Numbers {
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A line is not the JSON that the first one was.
    #[error("expected JSON with `text` and `vector`, a list of numbers, found {found}; mend or remove the line")]
    NotJson {
        /// What it is.
        found: NotAVector,
    },
    /// A vector that has no direction.
    #[error("expected a number other than 0 in the vector of `{word}`, found none; remove its vector")]
    Zero {
        /// The text, shortened.
        word: String,
    },
    /// A field is not a number.
    #[error("expected a number, found `{found}`; mend or remove the line")]
    NotNumber {
        /// The field, shortened.
        found: String,
    },
    /// A number is NaN or infinite.
    #[error("expected finite numbers of 32 bits for `{word}`, found {found}; remove its vector")]
    NotFinite {
        /// The word or text, shortened.
        word: String,
        /// The number, after rounding to 32 bits.
        found: String,
    },
    /// A line is too long for its number of values.
    #[error("expected a line of at most {limit} bytes, found a longer one; is this a file of vectors?")]
    LineTooLong {
        /// The limit.
        limit: usize,
    },
    /// A word in a binary file does not end with a space.
    #[error("expected a word of at most {limit} bytes and a space, found none; is the file in word2vec's binary form?")]
    WordTooLong {
        /// The limit.
        limit: usize,
    },
    /// A text is not UTF-8.
    #[error("expected UTF-8, found another byte at position {byte} of the line; save the texts as UTF-8")]
    NotUtf8 {
        /// The position of the first invalid byte in the line, counted from 1.
        byte: usize,
    },
    /// The file ends in the middle of a vector.
    #[error("expected {expected} bytes of numbers, found {found}; the file was cut short, fetch it again")]
    Cut {
        /// The bytes in a vector.
        expected: usize,
        /// The bytes left.
        found: usize,
    },
    /// The file ends before all vectors.
    #[error("expected {expected} vectors, as its header says, found {found}; the file was cut short, fetch it again")]
    TooFew {
        /// The number that the header gives.
        expected: u64,
        /// The number found.
        found: u64,
    },
    /// The file continues after all vectors.
    #[error("expected {expected} vectors, as its header says, found more; correct the header")]
    TooMany {
        /// The number that the header gives.
        expected: u64,
    },
    /// A word occurs twice.
    #[error("expected one vector for `{word}`, found a second that differs from that of {first}; remove one of them")]
    Repeated {
        /// The word or text, shortened.
        word: String,
        /// The place of its first vector.
        first: VectorPlace,
    },
    /// No entry is a word that can occur in a text.
    #[error("expected vectors of words, found none among {found} entries that a text can have")]
    NoWords {
        /// The number of entries.
        found: u64,
    },
    /// The header of a `.npy` file is not valid.
    #[error("expected the header of a .npy file, found {found}; write it with numpy.save")]
    NpyHeader {
        /// What was found.
        found: NpyFound,
    },
    /// The numbers have an unsupported type.
    #[error("expected numbers of type <f4 or <f8, found `{found}`; convert them with .astype('<f4')")]
    NpyType {
        /// NumPy's name of the type, shortened.
        found: String,
    },
    /// The matrix is stored column by column.
    #[error("expected the matrix row by row (C order), found Fortran order; save numpy.ascontiguousarray of it")]
    NpyOrder,
    /// The array is not a matrix.
    #[error("expected a shape of two sizes, texts and numbers, found `{found}`; save a matrix")]
    NpyShape {
        /// The shape, shortened.
        found: String,
    },
    /// The number of texts differs from the number of vectors.
    #[error("expected {expected} texts, one a line and one for each vector, found {found}")]
    Texts {
        /// The number of vectors.
        expected: u64,
        /// The number of texts, at least.
        found: u64,
    },
}

/// What a line has where a JSON object with a text and its vector should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAVector {
    /// Something that is no object.
    #[error("{0}")]
    Json(#[from] NotAnObject),
    /// An object without a member of this name.
    #[error("no `{0}`")]
    Missing(&'static str),
    /// A member whose value is of another kind.
    #[error("{found} as `{member}`")]
    Kind {
        /// Its name.
        member: &'static str,
        /// The kind of its value.
        found: JsonKind,
    },
    /// A value in the list that is not a number.
    #[error("{found} as item {place} of `vector`")]
    Item {
        /// Its place, counted from 1.
        place: usize,
        /// Its kind.
        found: JsonKind,
    },
    /// A number in the list that is infinite as a 32-bit float.
    #[error("item {place} of `vector` too large for a 32-bit float")]
    TooLarge {
        /// Its place, counted from 1.
        place: usize,
    },
}

/// What was found where the header of a `.npy` file should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NpyFound {
    /// A file that begins with other bytes.
    #[error("a file that begins with {0}")]
    Other(String),
    /// A version of the format that does not exist.
    #[error("one of version {0}")]
    Version(u8),
    /// A header of this many bytes, which are too many.
    #[error("one of {0} bytes")]
    Length(usize),
    /// A header that is not valid, shortened.
    #[error("`{0}`")]
    Text(String),
    /// The end of the file.
    #[error("one that ends too soon")]
    Cut,
}

pub(super) fn at(path: &Path, place: VectorPlace) -> String {
    match place {
        VectorPlace::File => shown_input(path),
        VectorPlace::Line(line) => format!("{}:{line}", shown_input(path)),
        VectorPlace::Vector(vector) => format!("{}, vector {vector}", shown_input(path)),
    }
}
