//! Errors of starting a service or taking an index.

use std::io;
use std::path::Path;

use clickvec_tables::ErrorKind;
use clickvec_tables::files::Found;

pub use clickvec_tables::{Error, Result};

/// Creates the error of a setting.
pub(crate) fn setting(expected: impl Into<String>, found: impl Into<String>) -> Error {
    Error::expected(ErrorKind::Setting, expected.into(), found.into())
}

/// Creates the error of threads that cannot be started.
pub(crate) fn no_threads(source: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot start threads: {source}")).caused_by(source)
}

/// Refuses a file that can only be read or written once, before opening it could wait for ever.
pub(crate) fn refuse_special(path: &Path) -> Result<()> {
    match Found::at(path) {
        Ok(Found::Special) => {
            let expected = "a plain file, or a path where one can be made";
            Err(setting(expected, "a pipe, a device or the like").at(path))
        }
        _ => Ok(()),
    }
}
