//! Faults that keep a service from starting or an index from being taken.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clickvec::internals::files::Found;

/// The result of starting a service.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A fault that keeps a service from starting, or an index from being taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An index cannot be opened.
    #[error(transparent)]
    Index(#[from] clickvec_index::Error),

    /// The file of judgments cannot be claimed.
    #[error(transparent)]
    Claim(clickvec_tables::Error),

    /// A limit that lets nothing through, or contradicts another.
    #[error("{fault}")]
    Limits {
        /// The name of the limit that could be changed.
        limit: &'static str,
        /// What is wrong.
        fault: LimitFault,
    },

    /// An address that others can reach.
    #[error(
        "{address}: expected a loopback address such as 127.0.0.1, found one that others can reach, where tokens and \
             queries would go unencrypted"
    )]
    Public {
        /// The address.
        address: SocketAddr,
    },

    /// An address that cannot be listened on.
    #[error("{address}: cannot listen: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },

    /// A name of an index that a request could not give.
    #[error("`{name}`: expected a name of letters, digits, `-`, `_` and `.`, at most 64, found {fault}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        fault: NameFault,
    },

    /// An invalid name of the service.
    #[error("expected a name without scheme, port or path, as `search.example`, found `{found}`")]
    Host {
        /// What was found.
        found: String,
    },

    /// No index.
    #[error("expected an index to serve, found none")]
    NoIndex,

    /// A file of tokens that is not one.
    #[error(
        "{}: expected a token of {SHORTEST} characters or more without spaces, or `sha256:` and 64 hexadecimal digits, \
         found {fault}",
        at_line(path, *line)
    )]
    Token {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1; `None` is the whole file.
        line: Option<usize>,
        /// What is wrong.
        fault: TokenFault,
    },

    /// A canary that a new index does not find.
    #[error("`{query}`: expected `{id}` among the first {top} titles, found {}", first(found))]
    Canary {
        /// The query.
        query: String,
        /// The title that should be found.
        id: String,
        /// How many titles are looked at.
        top: usize,
        /// The first title that was found, if there was one.
        found: Option<String>,
    },

    /// An index that opens and answers nothing.
    #[error("{}: expected an index that answers queries, found {fault}", path.display())]
    SelfTest {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        fault: SelfTestFault,
    },

    /// An index that no earlier generation is kept of.
    #[error("`{name}`: expected an earlier generation to go back to, found none")]
    NoPrevious {
        /// The index.
        name: String,
    },

    /// An index whose earlier generation has a damaged file.
    #[error("`{name}`: expected an earlier generation as it was written, found {found}")]
    DamagedPrevious {
        /// The index.
        name: String,
        /// The fault of the damaged file, as clients are told.
        found: String,
    },

    /// A file that cannot be read or written.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The reason.
        source: io::Error,
    },

    /// A pipe or a device in place of a file that the service keeps.
    #[error("{}: expected a plain file, or a path where one can be made, found a pipe, a device or the like", path.display())]
    NotPlain {
        /// The pipe, device or the like.
        path: PathBuf,
    },

    /// A file of judgments that is not one.
    #[error("{}:{line}: {fault}", path.display())]
    Judgments {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong.
        fault: JudgmentsFault,
    },

    /// Threads that cannot be started.
    #[error("cannot start threads: {0}")]
    Threads(io::Error),
}

/// The smallest number of characters of a token. A shorter one could be guessed.
pub(crate) const SHORTEST: usize = 16;

/// A fault of the limits.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitFault {
    /// A count of 0.
    #[error("expected a limit of 1 or more for `{0}`, found 0")]
    Zero(&'static str),
    /// No time.
    #[error("expected a time above 0 for `{0}`, found 0 s")]
    NoTime(&'static str),
    /// A queue that no batch fits in.
    #[error(
        "expected a queue of at least `batch` texts, which is {batch}, found {queue}: such a batch could never wait"
    )]
    Queue {
        /// The limit `batch`.
        batch: usize,
        /// The limit `queue`.
        queue: usize,
    },
    /// A body that no text fits in.
    #[error(
        "expected a body of at least `text` characters, which is {text}, found {body}: such a text could never arrive"
    )]
    Body {
        /// The limit `text`.
        text: usize,
        /// The limit `body`.
        body: usize,
    },
    /// A depth that no answer fits in.
    #[error(
        "expected a depth of at least `results`, which is {results}, found {depth}: such an answer could never be given"
    )]
    Depth {
        /// The limit `results`.
        results: usize,
        /// The limit `depth`.
        depth: usize,
    },
    /// Fewer results for a batch than for one of its queries.
    #[error("expected at least `results`, which is {results}, found {batch_results}: one answer may have more")]
    BatchResults {
        /// The limit `results`.
        results: usize,
        /// The limit `batch_results`.
        batch_results: usize,
    },
    /// A wait that is longer than a request may take.
    #[error(
        "expected a wait of at most `request`, which is {request:?}, found {wait:?}: such a request would never start in time"
    )]
    Wait {
        /// The limit `request`.
        request: Duration,
        /// The limit `wait`.
        wait: Duration,
    },
    /// A rate that is negative or not a number.
    #[error("expected a rate of 0 or more texts a second for `client_rate`, found {0}")]
    ClientRate(f64),
}

/// A fault in the name of an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameFault {
    /// It is empty.
    #[error("none")]
    Empty,
    /// It is too long.
    #[error("{bytes} bytes")]
    Long {
        /// Its length.
        bytes: usize,
    },
    /// It has a character that a request could not give.
    #[error("{found:?}")]
    Character {
        /// The first such character.
        found: char,
    },
    /// Another index has it.
    #[error("it twice")]
    Repeated,
}

/// A fault in a file of tokens. It tells nothing of what may be most of a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenFault {
    /// What follows `sha256:` is no hash.
    #[error("`sha256:` and {characters} characters{}", if *characters == 64 { ", some of them no hexadecimal digits" } else { "" })]
    Hash {
        /// The number of characters after the colon.
        characters: usize,
    },
    /// A token has a space in it.
    #[error("a space in it")]
    Space,
    /// A token is too short.
    #[error("one of {characters} characters")]
    Short {
        /// Its length.
        characters: usize,
    },
    /// The file has no token.
    #[error("no token")]
    None,
}

/// A fault of an index that opens and answers wrongly, or not at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelfTestFault {
    /// It has no title.
    #[error("no title")]
    NoTitle,
    /// Its model did not make its vectors.
    #[error("another model ({found}) than the one of its vectors ({expected})")]
    OtherModel {
        /// The fingerprint of the model that made the vectors.
        expected: String,
        /// The fingerprint of the model in the index.
        found: String,
    },
    /// One of its parts finds nothing for one of its own titles.
    #[error("nothing by {by} for one of its own titles")]
    NothingFound {
        /// The part: `vectors`, `words`, `trigrams` or `teacher`.
        by: &'static str,
    },
    /// A score is NaN or infinite.
    #[error("the score {found}, which is no number")]
    NotFinite {
        /// The score.
        found: String,
    },
}

/// A fault in a file of judgments. What was found is shortened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JudgmentsFault {
    /// The first line is another header.
    #[error("expected the columns query, title_id, title, grade and no other, found {found}")]
    Header {
        /// The line.
        found: String,
    },
    /// A line has more or fewer fields.
    #[error("expected four fields, found {count}: {found}")]
    Fields {
        /// The number of fields.
        count: usize,
        /// The line.
        found: String,
    },
    /// A grade is none.
    #[error("expected a grade from 0 to 4, found {found}")]
    Grade {
        /// The field.
        found: String,
    },
    /// A line is longer than any that is written.
    #[error("expected a line of at most {most} bytes, found a longer one")]
    TooLong {
        /// The limit.
        most: usize,
    },
    /// A line is not UTF-8.
    #[error("expected UTF-8, found another byte at position {byte} of the line")]
    NotUtf8 {
        /// The position of the first byte that is wrong, counted from 1.
        byte: usize,
    },
}

fn first(found: &Option<String>) -> String {
    found.as_ref().map_or_else(|| "no title".to_owned(), |id| format!("`{id}` first"))
}

fn at_line(path: &Path, line: Option<usize>) -> String {
    match line {
        Some(line) => format!("{}:{line}", path.display()),
        None => path.display().to_string(),
    }
}

/// Refuses what can only be read or written once, before opening it could wait for ever.
pub(crate) fn refuse_special(path: &Path) -> Result<()> {
    match Found::at(path) {
        Ok(Found::Special) => Err(Error::NotPlain { path: path.to_owned() }),
        _ => Ok(()),
    }
}
