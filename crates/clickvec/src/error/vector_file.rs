//! What can be wrong with a file of vectors that another program wrote.

use std::fmt;
use std::path::Path;

use super::shown;

/// Where in a file of vectors something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorPlace {
    /// Nowhere in particular.
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

/// What can be wrong with a file of vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VectorFileFault {
    /// There is nothing in it.
    #[error("expected vectors, found an empty file")]
    Empty,
    /// It is something else.
    #[error(
        "expected vectors as word2vec, fastText or NumPy (.npy) write them, or JSON lines, found `{found}`; see docs/reference/formats.md"
    )]
    UnknownForm {
        /// How it begins, shortened.
        found: String,
    },
    /// A vector of no numbers, or of too many.
    #[error("expected vectors of 1 to {most} numbers, found {found}; is this a file of vectors?")]
    Dimension {
        /// The largest allowed dimension.
        most: usize,
        /// What the file says.
        found: u64,
    },
    /// A line has more or fewer numbers than the others.
    #[error("expected a word and {expected} numbers, found {found} numbers; mend or remove the line")]
    FieldCount {
        /// How many there should be.
        expected: usize,
        /// How many there are.
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
    #[error("expected JSON with `text` and `vector`, a list of numbers, found another: {found}")]
    NotJson {
        /// What the parser says, shortened.
        found: String,
    },
    /// A vector that has no direction.
    #[error("expected a number other than 0 in the vector of `{word}`, found none; remove its vector")]
    Zero {
        /// The text, shortened.
        word: String,
    },
    /// A number is none.
    #[error("expected a number, found `{found}`; mend or remove the line")]
    NotNumber {
        /// The field, shortened.
        found: String,
    },
    /// A number is NaN or infinite.
    #[error("expected finite numbers of 32 bits for `{word}`, found another; remove its vector")]
    NotFinite {
        /// The word or text, shortened.
        word: String,
    },
    /// A line is longer than so many numbers can be.
    #[error("expected a line of at most {limit} bytes, found a longer one; is this a file of vectors?")]
    LineTooLong {
        /// The bound.
        limit: usize,
    },
    /// A binary file has no space where one should be.
    #[error("expected a word of at most {limit} bytes and a space, found none; is the file in word2vec's binary form?")]
    WordTooLong {
        /// The bound.
        limit: usize,
    },
    /// A text is none.
    #[error("expected UTF-8, found other bytes; save the texts as UTF-8")]
    NotUtf8,
    /// The file ends within a vector.
    #[error("expected {expected} bytes of numbers, found {found}; the file was cut short, fetch it again")]
    Cut {
        /// How many bytes a vector has.
        expected: usize,
        /// How many are left.
        found: usize,
    },
    /// The file ends before all vectors came.
    #[error("expected {expected} vectors, as its header says, found {found}; the file was cut short, fetch it again")]
    TooFew {
        /// How many its header promises.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// The file goes on after all vectors came.
    #[error("expected {expected} vectors, as its header says, found more; correct the header")]
    TooMany {
        /// How many its header promises.
        expected: u64,
    },
    /// One word has two vectors.
    #[error("expected one vector for `{word}`, found another than in {first}; remove one of them")]
    Repeated {
        /// The word or text, shortened.
        word: String,
        /// Where the first one stands.
        first: VectorPlace,
    },
    /// No entry is a word that a text can have.
    #[error("expected vectors of words, found none among {found} entries that a text can have")]
    NoWords {
        /// How many entries there are.
        found: u64,
    },
    /// The header of a `.npy` file is none.
    #[error("expected the header of a .npy file, found {found}; write it with numpy.save")]
    NpyHeader {
        /// What is there.
        found: String,
    },
    /// Numbers of another type.
    #[error("expected numbers of the type <f4 or <f8, found `{found}`; convert them with .astype('<f4')")]
    NpyType {
        /// NumPy's name of the type, shortened.
        found: String,
    },
    /// Columns lie one after the other.
    #[error("expected rows one after the other, found Fortran order; save numpy.ascontiguousarray of it")]
    NpyOrder,
    /// No table.
    #[error("expected a shape of two sizes, texts and numbers, found `{found}`; save a matrix")]
    NpyShape {
        /// The shape, shortened.
        found: String,
    },
    /// There are not as many texts as vectors.
    #[error("expected {expected} texts, one a line, as there are vectors beside them, found {found}")]
    Texts {
        /// How many vectors there are.
        expected: u64,
        /// How many texts there are, at least.
        found: u64,
    },
}

pub(super) fn at(path: &Path, place: VectorPlace) -> String {
    match place {
        VectorPlace::File => shown(path),
        VectorPlace::Line(line) => format!("{}:{line}", shown(path)),
        VectorPlace::Vector(vector) => format!("{}, vector {vector}", shown(path)),
    }
}
