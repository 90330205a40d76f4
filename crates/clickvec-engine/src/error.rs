//! What can go wrong: what was expected, what was found, where, and what to do.

use std::path::{Path, PathBuf};

use clickvec::error::JsonFault;
use clickvec::internals::error::{shortened, shown};

use crate::format::VectorFormat;

/// The result of every fallible function of this crate.
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

/// A fault in a part of an index, or in a change to it.
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
    #[error("`{name}`: {fault}; make the index anew")]
    Form {
        /// The file.
        name: String,
        /// What is wrong with it.
        fault: FormFault,
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
        "expected the score {expected}, which was kept for hit {rank} of the query `{}`, found {found}; this program and the \
         index do not fit",
        shortened(query)
    )]
    Canary {
        /// The query.
        query: String,
        /// The rank of the first hit with another score, counted from 1.
        rank: usize,
        /// The score that was kept, or `none`.
        expected: String,
        /// The score now, or `none`.
        found: String,
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

/// A fault in the form of one of an index's files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormFault {
    /// The file's numbers have another width.
    #[error("expected numbers of {width} bytes, found {found} bytes in all")]
    Width {
        /// The bytes of a number.
        width: usize,
        /// The bytes of the file.
        found: usize,
    },
    /// The file is not a table of titles.
    #[error("expected a table with the columns `id` and `title` first, found the line `{found}`")]
    NotTitles {
        /// The first line, shortened.
        found: String,
    },
    /// There are more or fewer titles than the manifest says.
    #[error("expected {expected} titles, as the manifest says, found {found}")]
    Titles {
        /// The number of the manifest.
        expected: u64,
        /// The number in this part.
        found: u64,
    },
    /// The file has not one entry for each title.
    #[error("expected an entry for each of {titles} titles, found {found} bytes")]
    Entries {
        /// The number of titles.
        titles: usize,
        /// The bytes of the file.
        found: usize,
    },
    /// A small file is not the JSON of its part.
    #[error("expected the JSON of this part, found {0}")]
    Json(JsonFault),
    /// The file has not one vector, or the codes of one, for each title.
    #[error(
        "expected {titles} vectors of {dimension} numbers or their codes, found another header or size, {found} bytes in all"
    )]
    Vectors {
        /// The number of titles.
        titles: u64,
        /// The numbers of a vector.
        dimension: usize,
        /// The bytes of the file.
        found: usize,
    },
    /// The blocks of the lists are not in order, or those of the copies are of another number of lists.
    #[error(
        "expected ascending blocks of {lists} lists, and of their copies if there are any, found {copies} of copies or others out of order"
    )]
    Blocks {
        /// The number of lists.
        lists: usize,
        /// The number of lists of copies.
        copies: usize,
    },
    /// The file has not one centre for each list.
    #[error("expected {lists} centres of {dimension} numbers, found {found} bytes")]
    Centres {
        /// The number of lists.
        lists: usize,
        /// The numbers of a centre.
        dimension: usize,
        /// The bytes of the file.
        found: usize,
    },
    /// The fusion weighs trigrams that the index does not have, or does not weigh those that it has.
    #[error("expected a weight for trigrams in an index with trigrams only, found {}", if *has_weight { "one without them" } else { "trigrams without a weight" })]
    TrigramWeight {
        /// Whether the fusion has the weight.
        has_weight: bool,
    },
    /// The lists of trigrams do not fit each other or the titles.
    #[error("expected ascending places of the trigrams' lists, for {titles} titles, found others")]
    TrigramLists {
        /// The number of titles.
        titles: usize,
    },
    /// A segment has lists for other trigrams than the index.
    #[error("expected lists for {} trigrams, as in the first segment, found {}", or_none(*expected), or_none(*found))]
    TrigramCount {
        /// The number of trigrams of the index, if it has any.
        expected: Option<usize>,
        /// The number of lists of the segment, if it has any.
        found: Option<usize>,
    },
    /// The files of a stored field have other sizes.
    #[error(
        "expected {values} values of the field `{field}` and one for each of {titles} titles, found files of other sizes"
    )]
    Field {
        /// The field, shortened.
        field: String,
        /// The number of different values.
        values: u64,
        /// The number of titles.
        titles: usize,
    },
}

/// A fault in a request.
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

fn or_none(count: Option<usize>) -> String {
    count.map_or_else(|| "no".to_owned(), |count| count.to_string())
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "it has none".to_owned(),
        names => names.iter().map(|name| format!("`{}`", shortened(name))).collect::<Vec<_>>().join(", "),
    }
}
