//! What can go wrong: what was expected, what was found, where, and what to do.

use std::path::{Path, PathBuf};

use clickvec::internals::error::{shortened, shown};

use crate::format::VectorFormat;

/// What every fallible function of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A fault that the library finds: of the model, of the manifest, of files, of the system.
    #[error(transparent)]
    Library(#[from] clickvec::Error),
    /// A part of the index that only this crate reads is not valid.
    #[error("{}: {fault}", shown(path))]
    Index {
        /// The folder of the index.
        path: PathBuf,
        /// What is wrong.
        fault: EngineFault,
    },
    /// A request cannot be answered as it is.
    #[error(transparent)]
    Request(#[from] RequestFault),
}

/// What can be wrong with a part of an index, or with a change to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineFault {
    /// The lexical part cannot be read.
    #[error("expected a lexical index in `{name}`, found another or a damaged one: {found}; make the index anew")]
    Words {
        /// The file or folder.
        name: String,
        /// What tantivy said.
        found: String,
    },
    /// A file has another form than the manifest says.
    #[error("expected {expected} in `{name}`, found something else; make the index anew")]
    Form {
        /// The file.
        name: String,
        /// What should be in it.
        expected: &'static str,
    },
    /// A part has a kind that this version does not know.
    #[error(
        "expected a part `{name}` of kind `{expected}`, found `{}`; use a newer clickvec, or make the index anew",
        shortened(found)
    )]
    Kind {
        /// The part.
        name: &'static str,
        /// The kind that this version knows.
        expected: &'static str,
        /// The kind that the manifest gives.
        found: String,
    },
    /// A title cannot be read.
    #[error("expected title {position} in `titles.tsv`, found another line there; make the index anew")]
    Title {
        /// The title, counted from 1.
        position: u64,
    },
    /// The answer to a query that was kept is another now.
    #[error(
        "expected the answer that was kept for the query `{}`, found another; this program and the index do not fit",
        shortened(query)
    )]
    Canary {
        /// The query.
        query: String,
    },
    /// A fusion was fitted with another model.
    #[error("expected a fusion with the model {expected}, which made the vectors, found one with {found}")]
    FusedModel {
        /// The fingerprint of the model of the index.
        expected: String,
        /// The fingerprint of the model of the fusion.
        found: String,
    },
    /// A fusion has a member that an index cannot ask.
    #[error("expected a fusion of one model and `bm25`, with `trigram` or without, found one with {found}")]
    FusedSystem {
        /// The member.
        found: String,
    },
    /// Indexes to join keep their vectors in different forms.
    #[error(
        "expected vectors as {expected}, as in `{}`, found {found}; join indexes of one form, or say which to make",
        shown(other)
    )]
    MixedFormats {
        /// The form in the first index.
        expected: VectorFormat,
        /// The form in this one.
        found: VectorFormat,
        /// The first index.
        other: PathBuf,
    },
    /// Indexes to join have different fusions.
    #[error("expected the fusion of `{}`, found another; join indexes with one fusion, or give one", shown(other))]
    MixedFusions {
        /// The first index.
        other: PathBuf,
    },
    /// The index was replaced by one with another model or other fields while it was to be changed.
    #[error("expected the index that was opened, found another in its place; try again")]
    Replaced,
    /// An update has another number of values than the index stores.
    #[error("expected a value for each stored field ({}), found {found}", listed(expected))]
    Values {
        /// The stored fields.
        expected: Vec<String>,
        /// The number of values.
        found: usize,
    },
}

/// What can be wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestFault {
    /// A mode that does not exist.
    #[error("expected a mode, `vectors`, `words` or `both`, found `{}`", shortened(found))]
    Mode {
        /// What was found.
        found: String,
    },
    /// A condition that cannot be read.
    #[error(
        "expected a condition, as `field=value`, `field=value|value` or `field:from..to` with numbers, found `{}`",
        shortened(found)
    )]
    Filter {
        /// What was found.
        found: String,
    },
    /// A condition on a field that the index does not store.
    #[error(
        "expected a condition on a stored field of the index ({}), found one on `{}`",
        listed(known),
        shortened(found)
    )]
    Field {
        /// What was found.
        found: String,
        /// The fields that the index stores.
        known: Vec<String>,
    },
    /// A request without a title to return.
    #[error("expected at least 1 title to return, found 0")]
    NoTitles,
    /// A title that the index does not have.
    #[error("expected the id of a title in the index, found `{}`", shortened(found))]
    Id {
        /// What was found.
        found: String,
    },
    /// The time for the answer was over before there was one.
    #[error("expected to answer before the deadline, which is over; allow more time")]
    Deadline,
}

impl Error {
    /// An [`Error::Index`] about the index at `path`.
    pub(crate) fn index(path: &Path, fault: EngineFault) -> Error {
        Error::Index { path: path.to_owned(), fault }
    }

    /// Whether the request is to blame, and not the index.
    pub fn is_of_request(&self) -> bool {
        matches!(self, Error::Request(_))
    }
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "it has none".to_owned(),
        names => names.iter().map(|name| format!("`{}`", shortened(name))).collect::<Vec<_>>().join(", "),
    }
}
