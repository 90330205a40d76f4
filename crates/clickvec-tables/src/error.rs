//! The error that all crates share.
//!
//! A message reads `where: expected X, found Y; what helps`. Build one with [`Error::expected`] or [`Error::new`], then add the
//! place and the help:
//!
//! ```
//! use std::path::Path;
//! use clickvec_tables::{Error, ErrorKind};
//!
//! let error = Error::expected(ErrorKind::Malformed, "a count", "`many`")
//!     .help("write a whole number")
//!     .at_line(Path::new("clicks.tsv"), 1042);
//! assert_eq!(error.to_string(), "clicks.tsv:1042: expected a count, found `many`; write a whole number");
//! assert_eq!(error.kind(), ErrorKind::Malformed);
//! ```

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::shown::{cut, shown_at, shown_input};

/// The result of every fallible function.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How many characters of a message are shown. Only messages that quote hostile names are longer.
const MESSAGE_CHARACTERS: usize = 2000;

/// What kind of fault an [`Error`] is, for callers that act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused to open, read, write or rename a file.
    Io,
    /// The input does not have the form that was expected.
    Malformed,
    /// A file is cut short or has changed since it was written.
    Damaged,
    /// A file has a format version that this program does not read.
    Version,
    /// Two inputs do not belong together, such as a model and the index of another model.
    Mismatch,
    /// A setting, an option or a request is out of range, or contradicts another.
    Setting,
    /// Nothing is left to work with, such as a log without a known word.
    Empty,
    /// An output would replace something that it must not replace.
    Occupied,
    /// Another process is using the file or folder.
    Busy,
    /// There is less memory than the input requires.
    Memory,
    /// A number became infinite or NaN.
    NotFinite,
    /// The caller asked to stop.
    Interrupted,
}

impl ErrorKind {
    /// Returns whether the fault is in the contents of a file, which reading it again does not change.
    pub fn concerns_contents(self) -> bool {
        matches!(self, ErrorKind::Malformed | ErrorKind::Damaged | ErrorKind::Version | ErrorKind::Mismatch)
    }
}

/// The number of `EMFILE` on Unix.
const TOO_MANY_OPEN_FILES: i32 = 24;

/// An error: what was expected, what was found, where, and what helps.
///
/// It is one pointer wide, so results stay small.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    what: What,
    location: Option<Location>,
    help: Option<Cow<'static, str>>,
    /// The settings that `help` names, each in backticks.
    settings: &'static [&'static str],
    source: Option<Box<dyn StdError + Send + Sync>>,
}

enum What {
    /// Shown as `expected X, found Y`.
    Found { expected: Cow<'static, str>, found: Cow<'static, str> },
    /// Shown as it is.
    Message(Cow<'static, str>),
}

enum Location {
    Path {
        path: PathBuf,
        line: Option<u64>,
    },
    /// A place that is not in a file: `pair 17`, `ranker bm25`.
    Named(Cow<'static, str>),
}

impl Error {
    /// Creates an error with a message of its own. Prefer [`Error::expected`] wherever something was expected.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Error {
        Error::with(kind, What::Message(message.into()))
    }

    /// Creates the error `expected X, found Y`. Text from outside belongs in backticks, [`shortened`](crate::shown::shortened).
    pub fn expected(
        kind: ErrorKind,
        expected: impl Into<Cow<'static, str>>,
        found: impl Into<Cow<'static, str>>,
    ) -> Error {
        Error::with(kind, What::Found { expected: expected.into(), found: found.into() })
    }

    /// Creates the error of a call to the operating system: `PATH: cannot ACTION: …`. The action is a verb, such as `read`.
    pub fn io(path: &Path, action: &'static str, source: io::Error) -> Error {
        let error = Error::new(ErrorKind::Io, format!("cannot {action}: {source}"));
        let is_output = action == "write" && path == Path::new("-");
        let error = if is_output { error.within("standard output") } else { error.at(path) };
        let error = match source.raw_os_error() {
            // What is written has a temporary file next to it, with a longer name.
            _ if source.kind() == io::ErrorKind::InvalidFilename => error.help("choose a shorter name"),
            Some(TOO_MANY_OPEN_FILES) if cfg!(unix) => error.help("raise the limit with `ulimit -n`"),
            _ => error,
        };
        error.caused_by(source)
    }

    /// Creates the error of reading that stopped in the middle of a table, as when a compressed file was cut short.
    pub fn read_at(path: &Path, line: u64, source: io::Error) -> Error {
        let message = format!("cannot read this line: {source}");
        Error::new(ErrorKind::Io, message)
            .help("is the file whole, and nothing behind its end?")
            .at_line(path, line)
            .caused_by(source)
    }

    /// Creates the error of a caller that asked to stop.
    pub fn interrupted() -> Error {
        Error::new(ErrorKind::Interrupted, "interrupted")
    }

    fn with(kind: ErrorKind, what: What) -> Error {
        Error(Box::new(Inner { kind, what, location: None, help: None, settings: &[], source: None }))
    }

    /// Sets what the reader of the message can do.
    pub fn help(mut self, help: impl Into<Cow<'static, str>>) -> Error {
        self.0.help = Some(help.into());
        self
    }

    /// Says which words in backticks in the help are settings, so that [`Error::name_settings`] finds them.
    pub fn settings(mut self, names: &'static [&'static str]) -> Error {
        self.0.settings = names;
        self
    }

    /// Gives the settings in the help the names that a program has for them, such as those of its options. Without one, a setting keeps
    /// the name of the library.
    pub fn name_settings(&mut self, named: impl Fn(&str) -> Option<String>) {
        let Inner { help: Some(help), settings, .. } = &mut *self.0 else { return };
        for setting in std::mem::take(settings) {
            if let Some(name) = named(setting) {
                *help = help.replace(&format!("`{setting}`"), &format!("`{name}`")).into();
            }
        }
    }

    /// Sets the file or folder. A place that is already set stays, because the inner one is more precise.
    pub fn at(self, path: &Path) -> Error {
        self.at_location(|| Location::Path { path: path.to_owned(), line: None })
    }

    /// Sets the file and the line, counted from 1. A place that is already set stays.
    pub fn at_line(self, path: &Path, line: u64) -> Error {
        self.at_location(|| Location::Path { path: path.to_owned(), line: Some(line) })
    }

    /// Sets a place that is not in a file, such as `pair 17`. A place that is already set stays.
    pub fn within(self, location: impl Into<Cow<'static, str>>) -> Error {
        self.at_location(|| Location::Named(location.into()))
    }

    fn at_location(mut self, location: impl FnOnce() -> Location) -> Error {
        self.0.location.get_or_insert_with(location);
        self
    }

    /// Sets the cause, which [`source`](StdError::source) returns. The message does not repeat it.
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        self.0.source = Some(source.into());
        self
    }

    /// Returns the kind of fault.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns whether the fault lies in the data or the settings: another attempt, on any machine, meets it again.
    pub fn concerns_data(&self) -> bool {
        !matches!(self.0.kind, ErrorKind::Io | ErrorKind::Busy | ErrorKind::Memory | ErrorKind::Interrupted)
    }

    /// Returns what was expected, if the error was made by [`Error::expected`].
    pub fn what_was_expected(&self) -> Option<&str> {
        match &self.0.what {
            What::Found { expected, .. } => Some(expected),
            What::Message(_) => None,
        }
    }

    /// Returns what was found, if the error was made by [`Error::expected`].
    pub fn what_was_found(&self) -> Option<&str> {
        match &self.0.what {
            What::Found { found, .. } => Some(found),
            What::Message(_) => None,
        }
    }

    /// Returns the file or folder.
    pub fn path(&self) -> Option<&Path> {
        match &self.0.location {
            Some(Location::Path { path, .. }) => Some(path),
            _ => None,
        }
    }

    /// Returns the line in [`Error::path`], counted from 1.
    pub fn line(&self) -> Option<u64> {
        match &self.0.location {
            Some(Location::Path { line, .. }) => *line,
            _ => None,
        }
    }

    /// Returns the place if it is not in a file, such as the field of a request.
    pub fn named_place(&self) -> Option<&str> {
        match &self.0.location {
            Some(Location::Named(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns what helps.
    pub fn what_helps(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Returns the message without the place, for callers that show the place themselves.
    pub fn message(&self) -> String {
        let what = match &self.0.what {
            What::Found { expected, found } => format!("expected {expected}, found {found}"),
            What::Message(message) => message.to_string(),
        };
        let message = match &self.0.help {
            Some(help) => format!("{what}; {help}"),
            None => what,
        };
        cut(&message, MESSAGE_CHARACTERS)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.location {
            Some(Location::Path { path, line: Some(line) }) => write!(f, "{}: ", shown_at(path, *line))?,
            Some(Location::Path { path, line: None }) => write!(f, "{}: ", shown_input(path))?,
            Some(Location::Named(name)) => write!(f, "{name}: ")?,
            None => {}
        }
        f.write_str(&self.message())
    }
}

/// Shows the message, so that `unwrap` in a test reads like the program.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_its_place_first_and_its_help_last() {
        let error = Error::expected(ErrorKind::Setting, "1 or more", "0");
        assert_eq!(error.to_string(), "expected 1 or more, found 0");
        assert_eq!((error.what_was_expected(), error.what_was_found()), (Some("1 or more"), Some("0")));
        let error = error.help("train longer").within("epochs");
        assert_eq!(error.to_string(), "epochs: expected 1 or more, found 0; train longer");
        let error = Error::new(ErrorKind::Damaged, "the checksum differs").at(Path::new("-"));
        assert_eq!(error.to_string(), "standard input: the checksum differs");
    }

    #[test]
    fn a_program_has_its_own_names_for_settings() {
        let help = "allow more as `max_bad`, or change `format`, not `column`";
        let mut error = Error::new(ErrorKind::Setting, "`max_bad` rows").help(help).settings(&["max_bad", "format"]);
        error.name_settings(|setting| (setting != "format").then(|| format!("--{setting}")));
        assert_eq!(error.to_string(), "`max_bad` rows; allow more as `--max_bad`, or change `format`, not `column`");
    }

    #[test]
    fn the_inner_place_stays() {
        let error = Error::expected(ErrorKind::Malformed, "a number", "`x`").at_line(Path::new("a.tsv"), 3);
        let error = error.at(Path::new("b.tsv")).within("pair 1");
        assert_eq!((error.path(), error.line()), (Some(Path::new("a.tsv")), Some(3)));
        assert_eq!(error.to_string(), "a.tsv:3: expected a number, found `x`");
    }

    #[test]
    fn a_call_to_the_system_keeps_its_cause() {
        let error = Error::io(Path::new("a\u{1b}"), "read", io::Error::from(io::ErrorKind::NotFound));
        assert_eq!(error.to_string(), "a\u{fffd}: cannot read: entity not found");
        assert!(error.source().is_some_and(|source| source.is::<io::Error>()));
        assert_eq!(error.kind(), ErrorKind::Io);
        let [full, read] = ["write", "read"]
            .map(|action| Error::io(Path::new("-"), action, io::ErrorKind::StorageFull.into()).to_string());
        assert!(full.starts_with("standard output: cannot write") && read.starts_with("standard input"), "{full}");
    }

    #[test]
    fn a_hostile_message_is_cut() {
        let error = Error::expected(ErrorKind::Malformed, "a name", "\u{1b}".repeat(10_000));
        assert!(error.to_string().chars().count() < 2100 && !error.to_string().contains('\u{1b}'));
    }

    #[test]
    fn a_result_is_small() {
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }
}
