//! Output: results go to standard output, everything else to standard error.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::Path;

use anyhow::Result;
pub(crate) use clickvec_tables::shown::printable;
pub(crate) use clickvec_tables::shown::{agreeing, count, counted};
use serde::Serialize;

use crate::answer::Answer;
use crate::ranks;

/// Returns standard output, buffered. The caller must flush, so that a full disk is noticed.
pub(crate) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::new(io::stdout().lock())
}

/// Prints a complete text.
pub(crate) fn print(text: impl Display) -> Result<()> {
    let mut out = stdout();
    written(write!(out, "{text}").and_then(|()| out.flush()))
}

/// Writes a value as one line of JSON.
pub(crate) fn json_line(target: &mut impl Write, value: &impl Serialize) -> Result<()> {
    written(serde_json::to_writer(&mut *target, value).map_err(io::Error::from))?;
    written(target.write_all(b"\n"))
}

/// Prints values as JSON, one a line. Of several ranks, only the first does.
pub(crate) fn json_lines(values: impl IntoIterator<Item: Serialize>) -> Result<()> {
    if ranks::follower().is_some() {
        return Ok(());
    }
    let mut out = stdout();
    values.into_iter().try_for_each(|value| json_line(&mut out, &value))?;
    written(out.flush())
}

/// Adds the name of standard output to the error of a write.
pub(crate) fn written<T>(result: io::Result<T>) -> Result<T> {
    result.map_err(|source| clickvec::Error::io(Path::new("standard output"), "write", source).into())
}

/// Prints a note on standard error, each line made [`printable`]. If that fails, nothing happens. Of several ranks, only the first does.
pub(crate) fn note(text: impl Display) {
    if ranks::follower().is_none() {
        tell(text);
    }
}

/// Prints a note, whichever rank this is.
pub(crate) fn tell(text: impl Display) {
    let text = text.to_string();
    let lines: Vec<_> = text.split('\n').map(printable).collect();
    let _ = writeln!(io::stderr().lock(), "{}", lines.join("\n"));
}

/// Prints the help or the version that was asked for, or what is wrong with the command line.
pub(crate) fn usage(usage: &clap::Error) -> Result<Answer> {
    if !usage.use_stderr() {
        // The flush makes a full disk an error; `print` alone would not notice.
        written(usage.print().and_then(|()| io::stdout().flush()))?;
        return Ok(Answer::Done);
    }
    // The message repeats arguments as they are.
    if std::env::args_os().any(|argument| !is_printable(&argument.to_string_lossy())) {
        note(usage.render().to_string().trim_end());
    } else {
        let _ = usage.print();
    }
    Ok(Answer::Misused)
}

fn is_printable(text: &str) -> bool {
    matches!(printable(text), Cow::Borrowed(_))
}

/// Says why a command could not be done.
pub(crate) fn complain(error: &anyhow::Error) {
    let reason = reason(error);
    match ranks::get() {
        Some(ranks) => tell(format_args!("error: rank {} of {}: {reason}", ranks.rank(), ranks.size())),
        None => tell(format_args!("error: {reason}")),
    }
}

/// Returns why a command could not be done: the error and those causes that it does not already repeat.
pub(crate) fn reason(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        // The text may already contain the cause.
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Returns whether the reader of the output has gone, as `head` does when it has enough.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io_errors = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    io_errors.into_iter().any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// A path, made [`printable`].
pub(crate) use clickvec_tables::shown::shown as path;
/// A path that is read, made [`printable`]; `-` is named.
pub(crate) use clickvec_tables::shown::shown_input as input;

/// Writes a path as JSON. Bytes that are not UTF-8 become U+FFFD, since JSON cannot express them.
pub(crate) fn json_path<S: serde::Serializer>(path: impl AsRef<Path>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.as_ref().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_not_printed() {
        assert_eq!(printable("a\u{1b}[2Jb"), "a\u{fffd}[2Jb");
        assert_eq!(printable("grün"), "grün");
    }

    #[test]
    fn a_broken_pipe_is_found_below_other_errors() {
        let broken = written::<()>(Err(io::ErrorKind::BrokenPipe.into())).unwrap_err();
        assert!(is_broken_pipe(&broken.context("in search")));
        assert!(!is_broken_pipe(&written::<()>(Err(io::ErrorKind::StorageFull.into())).unwrap_err()));
    }
}
