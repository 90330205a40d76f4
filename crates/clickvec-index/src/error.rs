//! What can go wrong: what was expected, what was found, where, and what to do.

mod form;

use std::fmt;
use std::path::{Path, PathBuf};

use clickvec::internals::error::{shortened, shown};
use clickvec::internals::text::Analysis;
use clickvec_eval::ranker::FusionMethod;

use crate::bm25::Bm25;
use crate::format::VectorFormat;
use crate::request::Mode;
pub use form::{BadPlaces, FormFault};

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

impl From<clickvec_tables::Error> for Error {
    fn from(error: clickvec_tables::Error) -> Error {
        Error::Library(error.into())
    }
}

/// A fault in a part of an index, or in a change to it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineFault {
    /// The lexical part cannot be read.
    #[error("expected a lexical index in `{name}`, found one that cannot be opened: {found}; make the index anew")]
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
    #[error(
        "expected title {position} in `titles.tsv`, an id, a tab and a title, found {}; make the index anew",
        found.as_ref().map_or("no line there".to_owned(), |line| format!("`{line}`"))
    )]
    Title {
        /// The title, counted from 1.
        position: u64,
        /// What is at its place, shortened; `None` if the file does not have it.
        found: Option<String>,
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
    #[error(
        "expected a fusion of one model and `bm25`, with `trigram` and `vectors` or without, found one with {found}"
    )]
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
    /// Indexes to join compare words in different ways.
    #[error(
        "expected words compared by `{expected}`, as in `{}`, found `{found}`; join indexes that compare alike, or say how to",
        shown(other)
    )]
    MixedWords {
        /// What the first index does to words.
        expected: Analysis,
        /// What this one does.
        found: Analysis,
        /// The first index.
        other: PathBuf,
    },
    /// Indexes to join have different fusions.
    #[error(
        "expected the fusion of `{}`, {expected}, found {}; join indexes with one fusion, or give one",
        shown(other),
        found.told_beside(expected)
    )]
    MixedFusions {
        /// The fusion of the first index.
        expected: Box<FusionFound>,
        /// The fusion of this one.
        found: Box<FusionFound>,
        /// The first index.
        other: PathBuf,
    },
    /// The index was replaced by another one while it was read or to be changed.
    #[error(
        "expected the index that was opened, with fingerprint {expected}, found {} in its place; try again",
        found.as_ref().map_or("none".to_owned(), |found| format!("one with {found}"))
    )]
    Replaced {
        /// The fingerprint of the index that was opened.
        expected: String,
        /// The fingerprint of the index that is there; `None` if there is none.
        found: Option<String>,
    },
}

/// A fusion that an index keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct FusionFound {
    /// How scores are made comparable.
    pub method: FusionMethod,
    /// The weight of the vectors.
    pub vectors: f64,
    /// The weight of the words.
    pub words: f64,
    /// The weight of the trigrams, and how many the fusion knows; `None` if they take no part.
    pub trigrams: Option<(f64, usize)>,
    /// The weight of the teacher's vectors, and their numbers; `None` if they take no part.
    pub teacher: Option<(f64, usize)>,
    /// The BM25 of the words.
    pub bm25: Bm25,
    /// What is done to words before they are compared.
    pub analysis: Analysis,
    /// Whether somebody gave it.
    pub is_given: bool,
}

impl FusionFound {
    /// The fusion in a message about this other one.
    fn told_beside(&self, other: &FusionFound) -> String {
        if self == other {
            format!("{self}, with other weights of its trigrams or another teacher")
        } else {
            self.to_string()
        }
    }
}

impl fmt::Display for FusionFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.method {
            FusionMethod::Linear => f.write_str("linear")?,
            FusionMethod::MinMax => f.write_str("min-max")?,
            FusionMethod::ZScore => f.write_str("z-score")?,
            FusionMethod::ReciprocalRank { k } => write!(f, "reciprocal-rank with k {k}")?,
        }
        write!(f, " of vectors ({}) and words ({})", self.vectors, self.words)?;
        if self.bm25 != Bm25::USUAL {
            write!(f, " with k1 {} and b {}", self.bm25.k1, self.bm25.b)?;
        }
        if self.analysis != Analysis::EXACT {
            write!(f, " analysed by `{}`", self.analysis)?;
        }
        if let Some((weight, known)) = self.trigrams {
            write!(f, " and {known} trigrams ({weight})")?;
        }
        if let Some((weight, numbers)) = self.teacher {
            write!(f, " and a teacher's vectors of {numbers} numbers ({weight})")?;
        }
        if self.is_given { Ok(()) } else { f.write_str(", which nobody gave") }
    }
}

/// A fault in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestFault {
    /// A mode that does not exist.
    Mode {
        /// What was found.
        found: String,
    },
    /// A mode of a part that the index does not have.
    NoSuchMode {
        /// What was found.
        found: String,
        /// The modes of the index.
        known: Vec<String>,
    },
    /// A condition that cannot be read.
    Filter {
        /// What was found.
        found: String,
    },
    /// A range whose first number is above its last, in which no number is.
    Range {
        /// What was found.
        found: String,
    },
    /// A condition on a field that the index does not store.
    Field {
        /// What was found.
        found: String,
        /// The fields that the index stores.
        known: Vec<String>,
    },
    /// A request without a title to return.
    NoTitles,
    /// A title that the index does not have.
    Id {
        /// What was found.
        found: String,
    },
    /// The time for the answer was over before there was one.
    Deadline,
}

impl RequestFault {
    /// What was expected, as the message says it.
    pub fn expected(&self) -> String {
        match self {
            RequestFault::Mode { .. } => {
                format!("a mode ({})", listed(&Mode::all().map(|mode| mode.name().to_owned()).collect::<Vec<_>>()))
            }
            RequestFault::NoSuchMode { known, .. } => format!("a mode that the index has ({})", listed(known)),
            RequestFault::Filter { .. } => {
                "a condition, as `field=value`, `field=value|value` or `field:from..to` with numbers".to_owned()
            }
            RequestFault::Range { .. } => "a range whose first number is not above its last".to_owned(),
            RequestFault::Field { known, .. } => {
                format!("a condition on a stored field of the index ({})", listed(known))
            }
            RequestFault::NoTitles => "at least 1 title to return".to_owned(),
            RequestFault::Id { .. } => "the id of a title in the index".to_owned(),
            RequestFault::Deadline => "to answer before the deadline".to_owned(),
        }
    }

    /// What was found instead, as the message says it.
    pub fn found(&self) -> String {
        match self {
            RequestFault::Mode { found }
            | RequestFault::NoSuchMode { found, .. }
            | RequestFault::Filter { found }
            | RequestFault::Range { found }
            | RequestFault::Id { found } => format!("`{}`", shortened(found)),
            RequestFault::Field { found, .. } => format!("one on `{}`", shortened(found)),
            RequestFault::NoTitles => "0".to_owned(),
            RequestFault::Deadline => "that it is over; allow more time".to_owned(),
        }
    }
}

impl fmt::Display for RequestFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found {}", self.expected(), self.found())
    }
}

impl std::error::Error for RequestFault {}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fusions_that_differ_are_told_apart() {
        let one = FusionFound {
            method: FusionMethod::MinMax,
            vectors: 0.25,
            words: 0.5,
            trigrams: Some((0.25, 900)),
            teacher: Some((0.5, 384)),
            bm25: Bm25::USUAL,
            analysis: Analysis::EXACT,
            is_given: true,
        };
        let fault = |found: &FusionFound| {
            let (expected, found) = (Box::new(one.clone()), Box::new(found.clone()));
            EngineFault::MixedFusions { expected, found, other: PathBuf::from("a") }.to_string()
        };
        let of_one = "min-max of vectors (0.25) and words (0.5) and 900 trigrams (0.25) and a teacher's vectors of 384 numbers \
                      (0.5)";
        let advice = "; join indexes with one fusion, or give one";
        let alike = format!(
            "expected the fusion of `a`, {of_one}, found {of_one}, with other weights of its trigrams or \
                     another teacher{advice}"
        );
        assert_eq!(fault(&one), alike);
        let method = FusionMethod::ReciprocalRank { k: 60.0 };
        let usual = FusionFound { method, trigrams: None, teacher: None, is_given: false, ..one.clone() };
        let found = "reciprocal-rank with k 60 of vectors (0.25) and words (0.5), which nobody gave";
        assert_eq!(fault(&usual), format!("expected the fusion of `a`, {of_one}, found {found}{advice}"));
    }
}
