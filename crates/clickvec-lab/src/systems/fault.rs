//! Why a system cannot be trained on a corpus.

use clickvec_tables::{Error, ErrorKind};

/// Returns the error of a system that has no clicked pair to learn from.
pub(super) fn no_clicks(system: &'static str) -> Error {
    Error::expected(ErrorKind::Empty, "clicked pairs to learn from", "none with a word on both sides")
        .help("give a click log")
        .within(system)
}

/// Returns the error of a collection with too few titles.
pub(super) fn too_few_titles(system: &'static str, least: usize, found: usize) -> Error {
    Error::expected(ErrorKind::Empty, format!("at least {least} titles with a word"), found.to_string())
        .help("the whole collection has more")
        .within(system)
}

/// Returns the error of more topics or dimensions than words or titles.
pub(super) fn too_many(system: &'static str, what: &str, of: &str, most: usize, found: usize) -> Error {
    Error::expected(ErrorKind::Setting, format!("at most {most} {what}, the number of {of}"), found.to_string())
        .help("ask for fewer")
        .within(system)
}

/// Returns the error of training that diverged in a step, counted from 1.
pub(super) fn diverged(system: &'static str, step: u64, remedy: &str) -> Error {
    Error::new(ErrorKind::NotFinite, format!("the objective became NaN or infinite in step {step}"))
        .help(format!("take {remedy}"))
        .within(system)
}
