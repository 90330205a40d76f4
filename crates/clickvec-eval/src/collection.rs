//! A whole collection to search, in which only a few titles have judgments for each query.

use std::collections::HashMap;

use super::{Ids, Judgments};
use crate::ranker::Candidates;
use clickvec::Result;
use clickvec::index::Hit;
use clickvec::tables::Title;
use clickvec_tables::Stop;
use clickvec_tables::memory::{NoRoom, bytes_of, room_for_numbers};

/// The number of queries that are searched for at once.
const QUERIES_AT_ONCE: usize = 256;

/// A collection and the queries that search it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// The titles of the collection, by position.
    pub titles: Vec<Title>,
    /// The queries.
    pub queries: Vec<SearchQuery>,
    /// Whether each title was clicked or shown for any query. Such a title has been judged for all queries, in the sense of
    /// [`Metric::Judged`](crate::Metric::Judged); without any of these, only those of the query are.
    pub known: Vec<bool>,
    /// The number of titles left out because they have the same text as another and judgments are matched by text.
    pub repeated: u64,
    /// Judged titles that are not in the collection. No system can find them.
    pub missing: Ids,
    /// The number of judgments.
    pub judged: u64,
}

/// A query that searches a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    /// The query's id.
    pub id: String,
    /// The query's text.
    pub text: String,
    /// Position and grade of each judged title that the collection has, by position.
    judged: Vec<(u32, u8)>,
    /// The grades of all judged titles.
    pub grades: Vec<u8>,
}

impl SearchQuery {
    /// The grade of the title at a position, if it has one.
    pub fn grade(&self, position: u32) -> Option<u8> {
        let position = self.judged.binary_search_by_key(&position, |&(position, _)| position).ok()?;
        Some(self.judged[position].1)
    }

    /// Position and grade of each judged title that the collection has, by position.
    pub fn judged(&self) -> &[(u32, u8)] {
        &self.judged
    }
}

impl Collection {
    /// A collection whose titles are matched with the judged ones, by id or by text. By text, titles with the same text
    /// count as one title.
    ///
    /// # Errors
    ///
    /// `ErrorKind::Memory`.
    pub fn new(judgments: &Judgments, by_id: bool, mut titles: Vec<Title>) -> Result<Collection> {
        let before = titles.len();
        if !by_id {
            let mut seen = room_for_positions(before)?;
            let is_new: Vec<bool> = titles.iter().map(|title| seen.insert(&title.title, 0).is_none()).collect();
            let mut is_new = is_new.into_iter();
            titles.retain(|_| is_new.next() == Some(true));
        }
        let repeated = (before - titles.len()) as u64;
        let mut set =
            Collection { titles, queries: Vec::new(), known: Vec::new(), repeated, missing: Ids::default(), judged: 0 };
        set.queries = set.others(judgments, by_id)?;
        Ok(set)
    }

    /// Other queries that search the same collection. Judged titles that it lacks are added to the count.
    ///
    /// # Errors
    ///
    /// `ErrorKind::Memory`.
    pub fn others(&mut self, judgments: &Judgments, by_id: bool) -> Result<Vec<SearchQuery>> {
        let mut positions = room_for_positions(self.titles.len())?;
        for (position, title) in (0..).zip(&self.titles) {
            positions.insert(if by_id { title.id.as_str() } else { &title.title }, position);
        }
        let mut queries = Vec::with_capacity(judgments.queries.len());
        for query in &judgments.queries {
            let mut judged = Vec::with_capacity(query.titles.len());
            for title in &query.titles {
                self.judged += 1;
                let key = if by_id { &title.id } else { &title.text };
                match positions.get(key.as_str()) {
                    Some(&position) => judged.push((position, title.grade)),
                    None => self.missing.add(key),
                }
            }
            judged.sort_unstable();
            let grades = query.titles.iter().map(|title| title.grade).collect();
            queries.push(SearchQuery { id: query.id.clone(), text: query.text.clone(), judged, grades });
        }
        Ok(queries)
    }

    /// The texts of the collection.
    pub fn texts(&self) -> Vec<&str> {
        self.titles.iter().map(|title| title.title.as_str()).collect()
    }
}

/// Returns an empty map for the positions of this many titles.
fn room_for_positions<'t>(titles: usize) -> Result<HashMap<&'t str, u32>> {
    let mut positions = HashMap::new();
    let bytes = bytes_of::<(&str, u32)>(titles);
    let what = "the positions of titles in the collection";
    positions.try_reserve(titles).map_err(|_| NoRoom { what, bytes })?;
    Ok(positions)
}

/// Searches with `candidates` for every query, a few hundred at a time, and returns what it finds, at most `depth` titles for each
/// query. Calls `done` with the number of queries answered so far.
///
/// # Errors
///
/// Those of [`Candidates::search_batch`], `ErrorKind::Memory` for lists that do not fit, and `ErrorKind::Interrupted` if the work of
/// this thread should [stop](Stop).
pub fn search_all(
    candidates: &dyn Candidates,
    queries: &[SearchQuery],
    depth: usize,
    done: &mut dyn FnMut(usize),
) -> Result<Vec<Vec<Hit>>> {
    room_for_lists(queries.len(), depth.min(candidates.titles()))?;
    let mut lists = Vec::with_capacity(queries.len());
    for some in queries.chunks(QUERIES_AT_ONCE) {
        Stop::of_thread().check()?;
        let batch: Vec<&str> = some.iter().map(|query| query.text.as_str()).collect();
        lists.extend(candidates.search_batch(&batch, depth)?);
        done(lists.len());
    }
    Ok(lists)
}

/// Checks that there is memory for what this many queries find, of at most `depth` titles each.
fn room_for_lists(queries: usize, depth: usize) -> Result<()> {
    Ok(room_for_numbers::<Hit>("the titles that are found", &[&[queries, depth]])?)
}

#[cfg(test)]
mod tests;
