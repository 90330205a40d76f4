//! The errors of damaged files and of files of another kind: models, checkpoints, trained rankers and fusions.

use std::fmt::Display;

use crate::{Error, ErrorKind};

/// What to conclude from contents that no version of the program writes.
const DAMAGED: &str = "the file is damaged";

/// Creates the error of contents that were refused for a reason of their own.
pub fn contents(reason: impl Display) -> Error {
    Error::new(ErrorKind::Damaged, reason.to_string()).help(DAMAGED)
}

/// Creates the error of contents that differ from what the rest of the file requires.
pub fn file(expected: impl Display, found: impl Display) -> Error {
    Error::expected(ErrorKind::Damaged, expected.to_string(), found.to_string()).help(DAMAGED)
}

/// Creates the error of contents of the tensor or setting `name`.
pub fn content(name: impl Display, expected: impl Display, found: impl Display) -> Error {
    contents(format_args!("`{name}`: expected {expected}, found {found}"))
}

/// Creates the error of a number that is too small or too large; infinity as `most` is no limit, but not allowed.
pub fn range(name: impl Display, least: f64, most: f64, found: f64, index: usize) -> Error {
    let expected = if most.is_finite() {
        format!("numbers from {least} to {most}")
    } else {
        format!("finite numbers of {least} or more")
    };
    content(name, expected, format_args!("{found} at place {index}"))
}

/// Creates the error of a number of a row or word that does not exist.
pub fn not_below(name: impl Display, bound: usize, found: u32, index: usize) -> Error {
    content(name, format_args!("numbers below {bound}"), format_args!("{found} at place {index}"))
}

/// Creates the error of a count that is not whole, or smaller than what it counts.
pub fn count(name: impl Display, least: u32, found: f64) -> Error {
    content(name, format_args!("a whole number of at least {least}"), found)
}

/// Creates the error of vectors without numbers, or with too many.
pub fn dimension(name: impl Display, most: usize, found: usize) -> Error {
    content(name, format_args!("vectors of 1 to {most} numbers"), found)
}

/// Creates the error of two rows with the key of one text.
pub fn repeated_text(name: impl Display, first: usize, row: usize) -> Error {
    content(name, "each text once", format_args!("that of row {first} again in row {row}"))
}

/// Creates the error of a tensor that is missing.
pub fn missing_tensor(name: impl Display) -> Error {
    file(format_args!("a tensor `{name}`"), "none")
}

/// Creates the error of a tensor of another type or shape.
pub fn wrong_tensor(name: impl Display, expected: impl Display, found: impl Display) -> Error {
    file(format_args!("`{name}` to be {expected}"), found)
}

/// Creates the error of a number that is NaN or infinite; rows are counted from 0.
pub fn not_finite(name: impl Display, row: usize, found: impl Display) -> Error {
    file(format_args!("finite numbers in `{name}`"), format_args!("{found} in row {row}"))
}

/// Creates the error of a trigram that is not text; rows are counted from 0.
pub fn bad_trigram(row: usize, found: [u32; 3]) -> Error {
    file(format_args!("three Unicode scalar values in row {row} of `trigrams`"), format_args!("{found:?}"))
}

/// Creates the error of contents that do not match the fingerprint in the file.
pub fn fingerprint(expected: &str, found: &str) -> Error {
    Error::expected(ErrorKind::Damaged, format!("the fingerprint {expected}"), found.to_owned())
        .help("the file was changed or damaged")
}

/// Creates the error of a file of another kind, such as a model where a checkpoint should be.
pub fn other_kind(expected: &str, found: &str) -> Error {
    Error::expected(ErrorKind::Mismatch, format!("a {expected}"), format!("a `{found}`"))
}
