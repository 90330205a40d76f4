//! Why a table, or a row of it, cannot be made.

use clickvec_tables::{Error, ErrorKind};
use std::borrow::Cow;

/// Why there are no scores.
#[derive(Debug)]
pub(super) enum Fault {
    /// The row is left out, and the table goes on.
    Row(Error),
    /// The table stops.
    Table(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Table(error)
    }
}

impl Fault {
    /// Classifies an error of training: a fault of the row, if it lies in the row's data, as on any other machine too.
    pub(super) fn from_training(error: Error) -> Fault {
        if error.concerns_data() { Fault::Row(error) } else { Fault::Table(error) }
    }
}

/// Returns the fault of a plan: `expected X, found Y`.
pub(super) fn plan(expected: impl Into<Cow<'static, str>>, found: impl ToString) -> Error {
    Error::expected(ErrorKind::Setting, expected, found.to_string())
}

/// Returns the fault of a setting of a spec.
pub(super) fn setting(message: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Setting, message)
}

/// Returns an error with the row, or the part of it, in which it arose.
pub(super) fn within(position: String, error: Error) -> Error {
    Error::new(error.kind(), error.to_string()).within(position).caused_by(error)
}
