//! Errors of the library as Python exceptions, with the words of the program.

use std::any::Any;
use std::io;
use std::path::Path;

use clickvec::Error;
use clickvec_cli::embedded;
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
    let words = words(error);
    match error {
        Error::Shared(shared) if shared.kind() == ErrorKind::Io => {
            let cause = std::error::Error::source(shared).and_then(|cause| cause.downcast_ref::<io::Error>());
            make(py, ExceptionKind::File, &words, cause.and_then(errno), shared.path().and_then(Path::to_str))
        }
        _ => make(py, ExceptionKind::Given, &words, None, None),
    }
}

/// An error of an index.
pub(crate) fn of_index(py: Python<'_>, error: &clickvec_index::Error) -> PyErr {
    match error {
        clickvec_index::Error::Library(error) => raise(py, error),
        other => told(py, &other.to_string()),
    }
}

/// What the program says about an error, with its options called as in Python.
pub(crate) fn words(error: &Error) -> String {
    by_name(&embedded::told(error))
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
    make(py, ExceptionKind::Given, &by_name(words), None, None)
}

/// [`told`] for words of our own, which name no option.
pub(crate) fn given(words: impl AsRef<str>) -> PyErr {
    Python::attach(|py| make(py, ExceptionKind::Given, words.as_ref(), None, None))
}

/// A fault of what the program does too.
pub(crate) fn fault(py: Python<'_>, fault: &embedded::Fault) -> PyErr {
    match fault {
        embedded::Fault::Error(error) => raise(py, error),
        embedded::Fault::Told(words) => told(py, words),
    }
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

/// A message in which an option of the program, such as `--clip-norm <NORM>`, has the name that it has in Python, `clip_norm`.
fn by_name(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    let mut rest = words;
    while let Some(start) = rest.find("--") {
        let (before, after) = rest.split_at(start);
        let after_dashes = &after[2..];
        let end = after_dashes.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(after_dashes.len());
        let begins_here = !before.ends_with(|c: char| c.is_alphanumeric() || c == '-');
        text.push_str(before);
        if end == 0 || !begins_here {
            text.push_str("--");
            rest = after_dashes;
            continue;
        }
        text.push_str(&after_dashes[..end].replace('-', "_"));
        rest = &after_dashes[end..];
        // The name of the value: `<NORM>` in clap's messages, `FILE` in ours.
        if let Some(value) = rest.strip_prefix(" <")
            && let Some((_, after)) = value.split_once('>')
        {
            rest = after;
        } else if let Some(value) = rest.strip_prefix(' ')
            && let after = value.trim_start_matches(|c: char| c.is_ascii_uppercase())
            && after.len() < value.len()
            && after.starts_with('`')
        {
            rest = after;
        }
    }
    text.push_str(rest);
    text
}
