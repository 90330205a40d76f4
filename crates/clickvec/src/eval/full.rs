//! Evaluating a search of a whole collection, in which only a few titles have judgments for each query.

use std::collections::HashMap;

use rayon::prelude::*;

use super::measure::{JudgedList, Measure};
use super::significance::{correct, paired_t_test};
use super::{Comparison, EvaluateOptions, Ids, Judgments};
use crate::Result;
use crate::error::PairingFault;
use crate::index::{Candidates, Hit, Query};
use crate::memory::{NoRoom, bytes_of, room_for, room_for_numbers};
use crate::tables::Title;

/// The number of queries that are searched for at once. Only their lists are in memory.
const QUERIES_AT_ONCE: usize = 256;

/// A collection and the queries that search it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullTestSet {
    /// The titles of the collection, by position.
    pub titles: Vec<Title>,
    /// The queries.
    pub queries: Vec<FullQuery>,
    /// The number of titles left out because they have the same text as another and judgments are matched by text.
    pub repeated: u64,
    /// Judged titles that are not in the collection. No system can find them.
    pub missing: Ids,
    /// The number of judgments.
    pub judged: u64,
}

/// A query that searches a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullQuery {
    /// The query's id.
    pub id: String,
    /// The query's text.
    pub text: String,
    /// Position and grade of each judged title that the collection has, by position.
    judged: Vec<(u32, u8)>,
    /// The grades of all judged titles.
    pub(super) grades: Vec<u8>,
}

impl FullQuery {
    /// The grade of the title at a position, if it has one.
    pub fn grade(&self, position: u32) -> Option<u8> {
        let place = self.judged.binary_search_by_key(&position, |&(position, _)| position).ok()?;
        Some(self.judged[place].1)
    }

    /// Position and grade of each judged title that the collection has, by position.
    pub fn judged(&self) -> &[(u32, u8)] {
        &self.judged
    }
}

impl FullTestSet {
    /// A collection whose titles are matched with the judged ones, by id or by text. By text, titles with the same text
    /// count as one title.
    ///
    /// # Errors
    ///
    /// [`Error::NoMemory`](crate::Error::NoMemory).
    pub fn new(judgments: &Judgments, by_id: bool, mut titles: Vec<Title>) -> Result<FullTestSet> {
        let before = titles.len();
        let mut positions = room_for_places(&titles, by_id)?;
        if by_id {
            positions.extend((0..).zip(&titles).map(|(position, title)| (title.id.clone(), position)));
        } else {
            titles.retain(|title| {
                let next = positions.len() as u32;
                let is_new = !positions.contains_key(&title.title);
                if is_new {
                    positions.insert(title.title.clone(), next);
                }
                is_new
            });
        }
        let repeated = (before - titles.len()) as u64;
        let mut set = FullTestSet { titles, queries: Vec::new(), repeated, missing: Ids::default(), judged: 0 };
        set.queries = set.queries_of(judgments, |title| positions.get(title).copied(), by_id);
        Ok(set)
    }

    /// Other queries that search the same collection. Judged titles that it lacks are added to the count.
    ///
    /// # Errors
    ///
    /// [`Error::NoMemory`](crate::Error::NoMemory).
    pub fn others(&mut self, judgments: &Judgments, by_id: bool) -> Result<Vec<FullQuery>> {
        let mut positions = room_for_places(&self.titles, by_id)?;
        positions.extend((0..).zip(&self.titles).map(|(at, title)| (key(title, by_id).to_owned(), at)));
        Ok(self.queries_of(judgments, |title| positions.get(title).copied(), by_id))
    }

    fn queries_of(
        &mut self,
        judgments: &Judgments,
        position: impl Fn(&str) -> Option<u32>,
        by_id: bool,
    ) -> Vec<FullQuery> {
        let mut queries = Vec::with_capacity(judgments.queries.len());
        for query in &judgments.queries {
            let mut judged = Vec::with_capacity(query.titles.len());
            for title in &query.titles {
                self.judged += 1;
                match position(if by_id { &title.id } else { &title.text }) {
                    Some(position) => judged.push((position, title.grade)),
                    None => self.missing.add(if by_id { &title.id } else { &title.text }),
                }
            }
            judged.sort_unstable();
            let grades = query.titles.iter().map(|title| title.grade).collect();
            queries.push(FullQuery { id: query.id.clone(), text: query.text.clone(), judged, grades });
        }
        queries
    }

    /// The texts of the collection.
    pub fn texts(&self) -> Vec<&str> {
        self.titles.iter().map(|title| title.title.as_str()).collect()
    }
}

/// What judged titles are matched by.
fn key(title: &Title, by_id: bool) -> &str {
    if by_id { &title.id } else { &title.title }
}

/// A map for the place of each of these titles, and memory for their keys.
fn room_for_places(titles: &[Title], by_id: bool) -> Result<HashMap<String, u32>> {
    const WHAT: &str = "the places of titles in the collection";
    room_for(WHAT, Some(titles.iter().map(|title| key(title, by_id).len() as u64).sum()))?;
    let mut places = HashMap::new();
    places
        .try_reserve(titles.len())
        .map_err(|_| NoRoom { what: WHAT, bytes: bytes_of::<(String, u32)>(titles.len()) })?;
    Ok(places)
}

/// The evaluation of a system that searched a collection.
#[derive(Debug, Clone, PartialEq)]
pub struct FullEvaluation {
    /// The system's name.
    pub name: String,
    /// For each query, in order, a value for each measure.
    pub queries: Vec<Vec<f64>>,
    /// The mean of each measure over all queries, including those for which nothing was found.
    pub mean: Vec<f64>,
    /// The number of queries for which nothing was found.
    pub without_titles: usize,
}

/// Searches with `candidates` for every query, a few hundred at a time, and passes the results to `each` in order, with at
/// most `depth` titles per query.
///
/// # Errors
///
/// Those of [`Candidates::search_batch`], [`Error::NoMemory`](crate::Error::NoMemory) before lists that do not fit, and what
/// `each` returns.
pub fn search_all<E: From<crate::Error>>(
    candidates: &dyn Candidates,
    queries: &[FullQuery],
    depth: usize,
    mut each: impl FnMut(&[FullQuery], Vec<Vec<Hit>>) -> Result<(), E>,
) -> Result<(), E> {
    for some in queries.chunks(QUERIES_AT_ONCE) {
        room_for_lists(some.len(), depth.min(candidates.len()))?;
        let asked: Vec<Query<'_>> = some.iter().map(|query| Query::new(&query.text, None)).collect();
        each(some, candidates.search_batch(&asked, depth)?)?;
    }
    Ok(())
}

/// Checks that there is memory for what this many queries find, of at most `depth` titles each.
///
/// # Errors
///
/// [`Error::NoMemory`](crate::Error::NoMemory).
pub fn room_for_lists(queries: usize, depth: usize) -> Result<()> {
    Ok(room_for_numbers::<Hit>("the titles that are found", &[&[queries, depth]])?)
}

/// A judge of what a system found, query by query.
#[derive(Debug)]
pub struct FullJudge<'a> {
    titles: &'a [Title],
    measures: &'a [Measure],
    options: &'a EvaluateOptions,
    queries: Vec<Vec<f64>>,
    without_titles: usize,
}

impl<'a> FullJudge<'a> {
    /// A judge of a system that searches these titles.
    pub fn new(titles: &'a [Title], measures: &'a [Measure], options: &'a EvaluateOptions) -> FullJudge<'a> {
        FullJudge { titles, measures, options, queries: Vec::new(), without_titles: 0 }
    }

    /// Judges what was found for the next queries.
    ///
    /// # Panics
    ///
    /// If the position of a hit is beyond the last title.
    pub fn add(&mut self, queries: &[FullQuery], lists: &[Vec<Hit>]) {
        let values = |(query, hits): (&FullQuery, &Vec<Hit>)| -> Vec<f64> {
            let list = JudgedList::new(query, hits, self.titles, self.options);
            self.measures.iter().map(|&measure| list.value(measure, self.options)).collect()
        };
        self.queries.par_extend(queries.par_iter().zip(lists).map(values));
        self.without_titles += lists.iter().filter(|list| list.is_empty()).count();
    }

    /// The evaluation of the system called `name`.
    pub fn finish(self, name: &str) -> FullEvaluation {
        let FullJudge { measures, queries, without_titles, .. } = self;
        let mean =
            |measure: usize| queries.iter().map(|values| values[measure]).sum::<f64>() / queries.len().max(1) as f64;
        let mean = (0..measures.len()).map(mean).collect();
        FullEvaluation { name: name.to_owned(), queries, mean, without_titles }
    }
}

/// The paired t-tests between all pairs of systems for each measure of quality, corrected for the number of tests of the
/// measure. `a` comes before `b` in `evaluations`.
///
/// # Errors
///
/// [`PairingFault`] if the systems did not search for the same number of queries.
pub fn compare_full(
    evaluations: &[FullEvaluation],
    measures: &[Measure],
) -> Result<Vec<Comparison<Measure>>, PairingFault> {
    let mut comparisons = Vec::new();
    let values = |system: &FullEvaluation, place: usize| -> Vec<f64> {
        system.queries.iter().map(|values| values[place]).collect()
    };
    for (i, a) in evaluations.iter().enumerate() {
        for b in &evaluations[i + 1..] {
            for (place, &metric) in measures.iter().enumerate().filter(|(_, measure)| measure.is_quality()) {
                let test = paired_t_test(&values(a, place), &values(b, place))?;
                let (a, b) = (a.name.clone(), b.name.clone());
                comparisons.push(Comparison { a, b, metric, test, holm: test.evidence() });
            }
        }
    }
    for &measure in measures {
        correct(comparisons.iter_mut().filter(|test| test.metric == measure));
    }
    Ok(comparisons)
}

#[cfg(test)]
mod tests;
