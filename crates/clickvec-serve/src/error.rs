//! Faults that keep a service from starting or an index from being taken.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The result of starting a service.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A fault that keeps a service from starting, or an index from being taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An index cannot be opened.
    #[error(transparent)]
    Index(#[from] clickvec_engine::Error),

    /// Two limits that contradict each other.
    #[error("expected {expected}, found {found}")]
    Limits {
        /// The name of the limit that could be changed.
        limit: &'static str,
        /// What it should be, and which other limit says so.
        expected: String,
        /// What it is.
        found: String,
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
    #[error("`sha256:` and other characters or another number of them, {characters}")]
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
        /// The part: `vectors`, `words` or `trigrams`.
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
