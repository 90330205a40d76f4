//! What an index answers.

use std::collections::BTreeMap;
use std::time::Duration;

use clickvec::explain::Match;
use serde::Serialize;

use crate::part::ByPart;
use crate::title_match::TitleMatch;

/// The answer to a [`crate::Request`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Answer {
    /// The titles found, best first.
    pub hits: Vec<Hit>,
    /// Whether no title of a fused list is likely to be a good match: none reaches [`Confidence::WEAK`](crate::Confidence::WEAK).
    pub weak: bool,
    /// The number of titles on this page or before it that the parts found and that were left out for their low confidence.
    pub unlikely: usize,
    /// The number of titles that were searched: those that meet the conditions of the request.
    pub total: u64,
    /// What the index knows of the query.
    pub query: QueryFacts,
    /// Where the time went.
    pub timings: Timings,
}

/// A title that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Hit {
    /// The rank in the whole list, counted from 1: the first title after an offset of 10 has rank 11.
    pub rank: usize,
    /// The id.
    pub id: String,
    /// The text.
    pub title: String,
    /// The stored fields, by name.
    pub fields: BTreeMap<String, String>,
    /// The score by which the list is sorted: the cosine, BM25, or the fused score.
    pub score: f32,
    /// Its share of each part of the index that finds it, or that was asked for its score.
    pub parts: ByPart<Share>,
    /// The probability that it is a good match, from 0 to 1, in a fused list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f32>,
    /// What the second look at the best titles of a fused list adds; `None` if it got none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title_match: Option<TitleMatch>,
}

/// The share that one part of the index has in a title's score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Share {
    /// The rank in the list of the part, counted from 1; `None` if only others found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// The score: BM25 for words, the cosine for all others.
    pub score: f32,
    /// What it adds to the fused score; `None` if nothing was fused.
    pub adds: Option<f32>,
}

/// The facts that an index knows of a query.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct QueryFacts {
    /// The distinct words of the query, in order. A query without any finds nothing.
    pub words: Vec<QueryWord>,
    /// Whether the query has a vector: whether the model knows at least a part of one of its words.
    pub has_vector: bool,
    /// The query with words that no title has replaced by what they probably are, if a fused search replaced any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrected: Option<String>,
}

/// A word of a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct QueryWord {
    /// The word, normalised.
    pub text: String,
    /// Whether the model knows any of its letter trigrams.
    pub known_to_model: bool,
    /// The number of titles that have the word.
    pub titles: u64,
}

/// The time that each step of a search took. A step that was not needed took none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Timings {
    /// From the query to its vector.
    pub encode: Duration,
    /// Finding the titles that meet the conditions.
    pub filter: Duration,
    /// Search by each part; for the teacher, with the query's vector.
    pub parts: ByPart<Duration>,
    /// Making one list of all.
    pub fuse: Duration,
    /// All of it, with reading the titles.
    pub total: Duration,
}

/// A title with its stored fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Document {
    /// The id.
    pub id: String,
    /// The text.
    pub title: String,
    /// The stored fields, by name.
    pub fields: BTreeMap<String, String>,
}

/// An explanation of a title's scores for a query.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// The title.
    pub document: Document,
    /// The score by each part of the index.
    pub scores: ByPart<f32>,
    /// What the model sees in both texts.
    pub vectors: Match,
    /// What each distinct word of the query adds to BM25.
    pub words: Vec<WordShare>,
}

/// The share of a word in the BM25 of a title.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WordShare {
    /// The word, normalised.
    pub word: String,
    /// How often the query has it.
    pub in_query: u32,
    /// How often the title has it. If it is several terms, as `12in` can be, the most that it has one of them.
    pub in_title: u32,
    /// The number of titles of the index that have it, or the most frequent of its terms.
    pub titles: u64,
    /// What it adds to the score.
    pub share: f32,
}

/// A comparison of two titles for a query: why one is above the other.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// The first title.
    pub a: Explanation,
    /// The second title.
    pub b: Explanation,
    /// The scores of the first title less those of the second, by each part of the index.
    pub scores: ByPart<f64>,
    /// For each unit of the vectors, what it adds to the cosine of the first title less what it adds to that of the
    /// second. They sum to the difference of the vectors' scores.
    pub units: Vec<f64>,
}
