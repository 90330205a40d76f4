//! Errors of an index: those that all crates share, and what helps against them.

use std::borrow::Cow;
use std::path::Path;

pub use clickvec_tables::{Error, ErrorKind, Result};

/// The help against damage.
const REBUILD: &str = "rebuild the index";

/// Creates the error of a file or folder of an index that does not have the form that it should.
pub(crate) fn malformed(
    path: &Path,
    expected: impl Into<Cow<'static, str>>,
    found: impl Into<Cow<'static, str>>,
) -> Error {
    Error::expected(ErrorKind::Malformed, expected, found).help(REBUILD).at(path)
}

/// Creates the error of a file of an index that is not as it was written.
pub(crate) fn damaged(
    path: &Path,
    expected: impl Into<Cow<'static, str>>,
    found: impl Into<Cow<'static, str>>,
) -> Error {
    Error::expected(ErrorKind::Damaged, expected, found).help(REBUILD).at(path)
}

/// Creates the error of parts of an index, or of indexes, that do not belong together.
pub(crate) fn mismatch(
    path: &Path,
    expected: impl Into<Cow<'static, str>>,
    found: impl Into<Cow<'static, str>>,
) -> Error {
    Error::expected(ErrorKind::Mismatch, expected, found).at(path)
}

/// Creates the error of a request that cannot be answered, because of one of its fields.
pub(crate) fn bad_request(
    field: &'static str,
    expected: impl Into<Cow<'static, str>>,
    found: impl Into<Cow<'static, str>>,
) -> Error {
    Error::expected(ErrorKind::Setting, expected, found).within(field)
}

/// Creates the error of more titles than positions.
pub(crate) fn too_many(found: usize) -> Error {
    Error::expected(ErrorKind::Memory, format!("at most {} titles", u32::MAX), found.to_string())
}
