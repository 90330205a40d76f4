//! What can go wrong: what was expected, what was found, where, and what to do.

use std::fmt;
use std::path::{Path, PathBuf};

use clickvec::error::JsonFault;
use clickvec::internals::error::{shortened, shown};
use clickvec::ranker::FusionMethod;

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
    /// An update has another number of values than the index stores.
    #[error("expected a value for each stored field ({}), found {found}", listed(expected))]
    Values {
        /// The stored fields.
        expected: Vec<String>,
        /// The number of values.
        found: usize,
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
    /// k₁ and b of the BM25 with which the weights were fitted, if they are not those of the index.
    pub fitted_at: Option<(f64, f64)>,
    /// Whether somebody gave it.
    pub is_given: bool,
}

impl FusionFound {
    /// The fusion in a message about this other one.
    fn told_beside(&self, other: &FusionFound) -> String {
        match self == other {
            true => format!("{self}, with other weights of its trigrams"),
            false => self.to_string(),
        }
    }
}

impl fmt::Display for FusionFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.method {
            FusionMethod::MinMax => f.write_str("min-max")?,
            FusionMethod::ZScore => f.write_str("z-score")?,
            FusionMethod::ReciprocalRank { k } => write!(f, "reciprocal-rank with k {k}")?,
        }
        write!(f, " of vectors ({}) and words ({})", self.vectors, self.words)?;
        if let Some((weight, known)) = self.trigrams {
            write!(f, " and {known} trigrams ({weight})")?;
        }
        if let Some((k1, b)) = self.fitted_at {
            write!(f, ", fitted with k1 {k1} and b {b}")?;
        }
        if self.is_given { Ok(()) } else { f.write_str(", which nobody gave") }
    }
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
    #[error("expected {titles} vectors of {dimension} numbers or their codes, found {found} bytes that are neither")]
    Vectors {
        /// The number of titles.
        titles: u64,
        /// The numbers of a vector.
        dimension: usize,
        /// The bytes of the file.
        found: usize,
    },
    /// The blocks of the lists, or of their copies, are not in order.
    #[error("expected ascending blocks, found {found} after {before}")]
    Blocks {
        /// A block.
        before: u32,
        /// The block after it.
        found: u32,
    },
    /// The copies are of another number of lists.
    #[error("expected copies of {lists} lists or of none, found those of {found}")]
    Copies {
        /// The number of lists.
        lists: usize,
        /// The number of lists with copies.
        found: usize,
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
    /// The lists of trigrams do not follow each other from the first entry to the last one.
    #[error("expected ascending places of the trigrams' lists, from 0 to {entries}, found {found}")]
    TrigramLists {
        /// The number of entries in all lists.
        entries: usize,
        /// What is wrong with them.
        found: BadPlaces,
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
        "expected {values} values of the field `{field}` and one for each of {titles} titles, found {codes} bytes for the titles, \
         {texts} for the values and {numbers} for their numbers"
    )]
    Field {
        /// The field, shortened.
        field: String,
        /// The number of different values.
        values: u64,
        /// The number of titles.
        titles: usize,
        /// The bytes of the file that says which value each title has.
        codes: usize,
        /// The bytes of the file of values.
        texts: usize,
        /// The bytes of the file of values as numbers.
        numbers: usize,
    },
}

/// Places that lists cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadPlaces {
    /// There are none.
    #[error("none")]
    None,
    /// The first list begins elsewhere.
    #[error("{0} as the first")]
    First(u64),
    /// The last list ends elsewhere.
    #[error("{0} as the last")]
    Last(u64),
    /// A list ends before it begins.
    #[error("{found} after {before}")]
    Descent {
        /// Where it begins.
        before: u64,
        /// Where it ends.
        found: u64,
    },
}

impl BadPlaces {
    /// What is wrong with the places of lists that have so many entries in all.
    pub(crate) fn of(starts: &[u64], entries: usize) -> Option<BadPlaces> {
        let (Some(&first), Some(&last)) = (starts.first(), starts.last()) else { return Some(BadPlaces::None) };
        let descent = starts.windows(2).find(|pair| pair[0] > pair[1]);
        match descent {
            Some(pair) => Some(BadPlaces::Descent { before: pair[0], found: pair[1] }),
            None if first != 0 => Some(BadPlaces::First(first)),
            None if last != entries as u64 => Some(BadPlaces::Last(last)),
            None => None,
        }
    }
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
