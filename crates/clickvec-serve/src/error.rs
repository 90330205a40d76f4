//! Why a service cannot start or an index cannot be taken.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The result of starting a service.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a service does not start, or refuses an index.
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
    #[error("`{name}`: expected a name of letters, digits, `-`, `_` and `.`, at most 64, found {found}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong.
        found: &'static str,
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
    #[error("{}:{line}: expected {expected}, found {found}", path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1; 0 is the whole file.
        line: usize,
        /// What a token is.
        expected: &'static str,
        /// What was there.
        found: String,
    },

    /// A canary that a new index does not find.
    #[error("`{query}`: expected `{id}` among the first {top} titles, found {found}")]
    Canary {
        /// The query.
        query: String,
        /// The title that should be found.
        id: String,
        /// How many titles are looked at.
        top: usize,
        /// What was there.
        found: String,
    },

    /// An index that opens and answers nothing.
    #[error("{}: expected an index that answers queries, found {found}", path.display())]
    SelfTest {
        /// The folder.
        path: PathBuf,
        /// What was wrong.
        found: String,
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
        /// What is damaged.
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
    #[error("{}:{line}: expected {expected}, found {found}", path.display())]
    Judgments {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What a line is.
        expected: &'static str,
        /// What was there.
        found: String,
    },

    /// Threads that cannot be started.
    #[error("cannot start threads: {0}")]
    Threads(io::Error),
}
