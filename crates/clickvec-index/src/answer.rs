//! The answers of an index.

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
    /// The counted values of the fields that the request names, among the titles of all pages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facets: Vec<Facet>,
    /// The facts that the index knows of the query.
    pub query: QueryFacts,
    /// The time that each step took.
    pub timings: Timings,
}

/// The values of a stored field among the titles of a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Facet {
    /// The field.
    pub field: String,
    /// The most frequent values, at most 20, the most frequent first. Values that differ in case and accents alone are one.
    pub values: Vec<FacetValue>,
    /// The number of distinct values.
    pub distinct: usize,
    /// The smallest and the largest number; `None` if no value is a number.
    pub range: Option<(f64, f64)>,
}

/// A value of a stored field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FacetValue {
    /// The value in its most frequent spelling.
    pub value: String,
    /// The number of titles that have it.
    pub titles: u64,
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
    /// Its share of each part of the index that finds it, or that scored it for the fusion.
    pub parts: ByPart<Share>,
    /// The probability that it is a good match, from 0 to 1, in a fused list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f32>,
    /// The addition by the boosts of the request, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boost: Option<f32>,
    /// Whether a pin put it here. Then nothing scored it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// The additions from re-ranking the best titles of a fused list; `None` if the title was not re-ranked.
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
    /// The addition to the fused score; `None` if nothing was fused.
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
    /// The query with each word that no title has replaced by the likely one, if a fused search replaced any.
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
    /// Encoding of the query.
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
    /// The match of both texts in the model.
    pub vectors: Match,
    /// The contribution of each distinct word of the query to BM25.
    pub words: Vec<WordShare>,
}

/// The share of a word in the BM25 of a title.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WordShare {
    /// The word, normalised.
    pub word: String,
    /// The number of its occurrences in the query.
    pub in_query: u32,
    /// The number of its occurrences in the title. For a word of several terms, as `12in` can be, the largest of their numbers.
    pub in_title: u32,
    /// The number of titles of the index that have it, or the most frequent of its terms.
    pub titles: u64,
    /// The contribution to the score.
    pub share: f32,
}

/// The differences between two titles for a query: why one is above the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Gap<'a> {
    /// The scores of the first title less those of the second, by each part of the index.
    pub scores: ByPart<f64>,
    /// The same for each distinct word of the query. A word that the model does not read has no vector.
    pub by_word: Vec<WordGap<'a>>,
}

/// The contribution of a word of the query to the scores of a title, less that to the scores of another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WordGap<'a> {
    /// The word.
    pub word: &'a str,
    /// To the cosine of the vectors, along the sequence.
    pub vectors: f64,
    /// To BM25.
    pub words: f64,
}

impl Explanation {
    /// Returns the differences to another title for the same query.
    pub fn gap(&self, other: &Explanation) -> Gap<'_> {
        let (above, below) = (&self.vectors, &other.vectors);
        let mut by_word: Vec<WordGap<'_>> = Vec::new();
        let along = above.query_words.along.iter().zip(&below.query_words.along);
        for (word, (above, below)) in above.query.words.iter().zip(along) {
            let vectors = above - below;
            match by_word.iter_mut().find(|gap| gap.word == word.text) {
                Some(gap) => gap.vectors += vectors,
                None => by_word.push(WordGap { word: &word.text, vectors, words: 0.0 }),
            }
        }
        for WordShare { word, share, .. } in &self.words {
            let other = other.words.iter().find(|other| other.word == *word);
            let words = f64::from(*share) - other.map_or(0.0, |other| f64::from(other.share));
            match by_word.iter_mut().find(|gap| gap.word == word) {
                Some(gap) => gap.words += words,
                None => by_word.push(WordGap { word, vectors: 0.0, words }),
            }
        }
        let score = |part| other.scores.get(part).copied().map_or(0.0, f64::from);
        Gap { scores: self.scores.map(|part, &own| f64::from(own) - score(part)), by_word }
    }
}
