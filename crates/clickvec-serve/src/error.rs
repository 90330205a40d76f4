//! What keeps a service from starting, or an index from being taken.

use std::io;
use std::path::Path;

use clickvec::internals::files::Found;
use clickvec_tables::ErrorKind;

/// The result of starting a service.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A fault that keeps a service from starting, or an index from being taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An index cannot be opened or does not answer.
    #[error(transparent)]
    Index(#[from] clickvec_index::Error),
    /// Anything else: settings, files, addresses.
    #[error(transparent)]
    Shared(#[from] clickvec_tables::Error),
}

impl From<clickvec::Error> for Error {
    fn from(error: clickvec::Error) -> Error {
        clickvec_index::Error::from(error).into()
    }
}

/// Creates the error of a setting.
pub(crate) fn setting(expected: impl Into<String>, found: impl Into<String>) -> clickvec_tables::Error {
    clickvec_tables::Error::expected(ErrorKind::Setting, expected.into(), found.into())
}

/// Creates the error of threads that cannot be started.
pub(crate) fn no_threads(source: io::Error) -> clickvec_tables::Error {
    clickvec_tables::Error::new(ErrorKind::Io, format!("cannot start threads: {source}")).caused_by(source)
}

/// Refuses what can only be read or written once, before opening it could wait for ever.
pub(crate) fn refuse_special(path: &Path) -> Result<()> {
    match Found::at(path) {
        Ok(Found::Special) => {
            let expected = "a plain file, or a path where one can be made";
            Err(setting(expected, "a pipe, a device or the like").at(path).into())
        }
        _ => Ok(()),
    }
}
