//! Advice about options for errors of the library. The library says what is wrong; this module knows which option
//! helps.

use clickvec::Error;
use clickvec_index::looks_like_index;

/// Returns an error, with advice about what to do.
pub(crate) fn told(error: &Error) -> String {
    match advice(error) {
        Some(advice) => format!("{error}; {advice}"),
        None => error.to_string(),
    }
}

/// Adds advice to the error of a table that lacks a column.
pub(crate) fn for_missing_column(error: Error, advice: &str) -> Error {
    if !error.what_was_expected().is_some_and(|expected| expected.starts_with("a column")) {
        return error;
    }
    let help = error.what_helps().map_or_else(|| advice.to_owned(), |help| format!("{help}; {advice}"));
    error.help(help)
}

/// Returns what to do about an error, if an option can help and the message does not say so itself.
fn advice(error: &Error) -> Option<&'static str> {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
    if cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::InvalidFilename) {
        // Files of a run are next to its output and have longer names.
        return Some("choose a shorter name");
    }
    if error.what_was_expected() == Some("a model") && error.what_was_found() == Some("a `fusion`") {
        return Some(
            "this takes its model, which is next to it; `index`, `evaluate` and `explain rank` take the fusion",
        );
    }
    // Only titles have ids.
    if error.what_was_expected().is_some_and(|expected| expected.starts_with("a column `id`")) {
        return Some("`--columns` names the columns of titles");
    }
    // What `--model` is given most often besides a model.
    let is_index = error.what_was_expected() == Some("a file") && error.path().is_some_and(looks_like_index);
    is_index.then_some("in an index the model is the file model.safetensors; `search` and `serve` take the folder")
}
