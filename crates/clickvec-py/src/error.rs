//! Errors of the library as Python exceptions.

use std::any::Any;
use std::io;
use std::path::Path;

use clickvec::Error;
use clickvec_tables::ErrorKind;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The function of `clickvec._errors` that makes an exception.
static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// What kind of exception it is.
#[derive(Debug, Clone, Copy)]
enum ExceptionKind {
    /// Something that was given is not valid.
    Given,
    /// The operating system refused a file.
    File,
    /// There is a fault in clickvec itself.
    Internal,
}

/// An error of the library.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let words = error.to_string();
    if error.kind() != ErrorKind::Io {
        return told(py, &words);
    }
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<io::Error>());
    make(py, ExceptionKind::File, &words, cause.and_then(errno), error.path().and_then(Path::to_str))
}

/// The operating system's number, also where only the kind was kept or an error was wrapped.
fn errno(error: &io::Error) -> Option<i32> {
    error.raw_os_error().or_else(|| match error.kind() {
        io::ErrorKind::NotFound => Some(2),
        io::ErrorKind::PermissionDenied => Some(13),
        _ => None,
    })
}

/// An error with these words about something that was given.
pub(crate) fn told(py: Python<'_>, words: &str) -> PyErr {
    make(py, ExceptionKind::Given, words, None, None)
}

/// [`told`] for words of our own, which name no option.
pub(crate) fn invalid(words: impl AsRef<str>) -> PyErr {
    Python::attach(|py| make(py, ExceptionKind::Given, words.as_ref(), None, None))
}

/// The error for a panic, which is always a fault of ours.
pub(crate) fn panicked(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    let said = match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(said), _) => said.as_str(),
        (None, Some(said)) => said,
        (None, None) => "no more is known",
    };
    make(py, ExceptionKind::Internal, &format!("this is a fault in clickvec, please report it: {said}"), None, None)
}

fn make(py: Python<'_>, kind: ExceptionKind, words: &str, errno: Option<i32>, path: Option<&str>) -> PyErr {
    let kind = match kind {
        ExceptionKind::Given => "given",
        ExceptionKind::File => "file",
        ExceptionKind::Internal => "internal",
    };
    let make = || MAKE.import(py, "clickvec._errors", "make")?.call1((kind, words, errno, path));
    make().map_or_else(|error| error, |exception| PyErr::from_value(exception))
}
