//! The error type of the crate. Its messages say what was expected, what was found, where, and what to do.

pub mod damaged;
pub(crate) use clickvec_tables::shown;
mod system;

pub use clickvec_tables::{JsonFault, JsonKind, JsonProblem, NotAnObject};
use shown::told;
pub(crate) use shown::{shortened, shown, shown_input};
pub use system::VectorFault;
pub use system::not_finite;

use std::path::Path;

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate, with a variant for each kind of input or output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Vectors, or a query to them, are not valid.
    #[error("vectors: {}", told(.0))]
    Vectors(#[from] VectorFault),
    /// A fault in the form that all crates share.
    #[error(transparent)]
    Shared(#[from] clickvec_tables::Error),
    /// A title contains a tab or a line end, so no table can hold it.
    #[error("expected an id and a title without tab and line end, found `{found}`; leave such characters out")]
    BadTitle {
        /// The id or the title, shortened.
        found: String,
    },
}

impl From<Error> for clickvec_tables::Error {
    fn from(error: Error) -> clickvec_tables::Error {
        match error {
            Error::Shared(error) => error,
            other => {
                clickvec_tables::Error::new(clickvec_tables::ErrorKind::Malformed, other.to_string()).caused_by(other)
            }
        }
    }
}

impl From<clickvec_tables::memory::NoRoom> for Error {
    fn from(fault: clickvec_tables::memory::NoRoom) -> Error {
        Error::Shared(fault.into())
    }
}

impl Error {
    /// Returns the kind of a fault in the form that all crates share; `None` of any other.
    pub fn kind(&self) -> Option<clickvec_tables::ErrorKind> {
        match self {
            Error::Shared(error) => Some(error.kind()),
            _ => None,
        }
    }

    /// Returns whether a ranker cannot learn from the data or the files that it has, while others may.
    pub fn is_of_data(&self) -> bool {
        use clickvec_tables::ErrorKind::{Busy, Interrupted, Io, Memory};
        match self {
            Error::Shared(error) => !matches!(error.kind(), Io | Busy | Memory | Interrupted),
            _ => false,
        }
    }

    /// Creates the error of a call to the operating system.
    pub fn io(path: &Path, action: &'static str, source: std::io::Error) -> Error {
        clickvec_tables::Error::io(path, action, source).into()
    }
}
