//! The facts of an index.

use clickvec::internals::text::Analysis;
use serde::Serialize;

use crate::fusion_method::FusionMethod;
use crate::part::ByPart;
use crate::parts::vectors::VectorFormat;
use crate::parts::words::Bm25;

/// The facts of an opened index.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Facts {
    /// The number of titles that can be found.
    pub titles: u64,
    /// The number of titles without a vector, because the model knows none of their words. Words find them.
    pub without_vector: u64,
    /// The number of titles that were replaced or deleted and still take space.
    pub deleted: u64,
    /// The number of segments: 1, and one for each update since the index was made or compacted.
    pub segments: usize,
    /// A fingerprint of everything in the index. Indexes with equal fingerprints answer alike.
    pub fingerprint: String,
    /// The version of clickvec that wrote it.
    pub version: String,
    /// When its manifest was written, in seconds since 1970, UTC; `None` if the file system does not say.
    pub made: Option<u64>,
    /// The size of all its files in bytes.
    pub bytes: u64,
    /// The model.
    pub model: ModelFacts,
    /// The facts of each part that finds titles.
    pub parts: ByPart<PartFacts>,
    /// The fusion of the parts.
    pub fusion: FusionFacts,
    /// The stored fields, in the order of the table.
    pub fields: Vec<FieldFacts>,
}

/// The facts of a part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum PartFacts {
    /// The facts of the vectors.
    Vectors(VectorFacts),
    /// The facts of the words.
    Words(WordFacts),
    /// The facts of the trigrams.
    Trigrams(TrigramFacts),
    /// The facts of the teacher.
    Teacher(TeacherFacts),
}

/// The facts of the model in an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ModelFacts {
    /// The fingerprint.
    pub fingerprint: String,
    /// When its file was written into the index, in seconds since 1970, UTC; `None` if the file system does not say.
    pub made: Option<u64>,
    /// The kind of encoder.
    pub encoder: String,
    /// The size of a vector.
    pub dimension: usize,
}

/// The facts of the search by vectors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VectorFacts {
    /// The format of their numbers.
    pub format: VectorFormat,
    /// The way in which vectors are searched.
    pub search: VectorSearch,
    /// Bytes of vectors, and of the data that speeds up their search.
    pub bytes: u64,
}

/// The way in which vectors are searched.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[non_exhaustive]
pub enum VectorSearch {
    /// Every vector is compared, so that the best are always found.
    Exact,
    /// Vectors are in lists of similar ones, and a search compares the nearest lists.
    Lists {
        /// The number of lists.
        lists: usize,
        /// The largest number of lists that a search compares.
        searched: usize,
        /// The share of the ten best titles that was found for queries made from the titles when the index was made.
        recall: f64,
    },
}

/// The facts of the search by words.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WordFacts {
    /// The parameters of BM25.
    #[serde(flatten)]
    pub bm25: Bm25,
    /// The changes to words before they are compared.
    #[serde(flatten)]
    pub analysis: Analysis,
    /// The mean number of words, or of terms, in a title.
    pub mean_length: f64,
    /// The size of its files in bytes; 0 if it was made in memory.
    pub bytes: u64,
}

/// The facts of the trigrams, whose cosine takes part in the fusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TrigramFacts {
    /// The number of trigrams.
    pub trigrams: u64,
    /// The size of their files in bytes.
    pub bytes: u64,
}

/// The facts of a teacher's vectors, whose cosine takes part in the fusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TeacherFacts {
    /// The numbers of a vector.
    pub dimension: usize,
    /// The size of its file in bytes.
    pub bytes: u64,
}

/// The facts of a fusion of lists.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FusionFacts {
    /// The method that makes scores comparable.
    pub method: FusionMethod,
    /// The weight of each part.
    pub weights: ByPart<f64>,
    /// Whether a user chose the fusion, instead of the default.
    pub custom: bool,
    /// The number of titles that each part finds for a fusion, at least.
    pub depth: usize,
}

/// The facts of a stored field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FieldFacts {
    /// The name.
    pub name: String,
    /// The number of different values.
    pub values: u64,
    /// The number of these that are numbers.
    pub numbers: u64,
}
