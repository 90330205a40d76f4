//! A TREC run of another program as a system. For each query, the titles of the run come first, in its order, and the
//! judged titles that it lacks come last.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::trec::read_run;
use super::{FullQuery, JudgedQuery, Judgments, Scores};
use crate::error::{Error, Result, RunIds, TestSetFault, shortened};
use crate::files;
use crate::index::Hit;
use crate::tables::Title;

/// The scores of a run, by query and title.
#[derive(Debug, Clone)]
pub struct Run {
    path: PathBuf,
    queries: HashMap<String, HashMap<String, f64>>,
}

/// The lists of titles that a run found in a collection.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLists {
    /// For each judged query its titles, best first.
    pub lists: Vec<Vec<Hit>>,
    /// Judged queries that are not in the run.
    pub lacking_queries: usize,
    /// Queries of the run that are not judged.
    pub other_queries: usize,
    /// Titles of the run for judged queries.
    pub titles: usize,
    /// Those of these titles that are judged for their query. If all are, the run is likely to rank them anew instead of
    /// searching a collection.
    pub judged_titles: usize,
}

/// The judged queries and titles that a run lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunCoverage {
    /// Judged queries that are not in the run.
    pub lacking_queries: usize,
    /// Judged titles that are not in the run for their query.
    pub lacking_titles: usize,
    /// All judged titles.
    pub titles: usize,
}

impl Run {
    /// The run in a file.
    ///
    /// # Errors
    ///
    /// Those of [`read_run`].
    pub fn read(path: &Path) -> Result<Run> {
        let mut queries: HashMap<String, HashMap<String, f64>> = HashMap::new();
        for line in read_run(files::open(path)?, path)? {
            queries.entry(line.query_id).or_default().insert(line.title_id, line.score);
        }
        Ok(Run { path: path.to_owned(), queries })
    }

    /// The scores of the judged titles, found by their ids; −∞ for those that the run lacks.
    pub fn scores(&self, judgments: &Judgments) -> Scores {
        let of_query = |query: &JudgedQuery| {
            let run = self.queries.get(&query.id);
            let score = |id: &String| run.and_then(|run| run.get(id)).copied().unwrap_or(f64::NEG_INFINITY);
            query.titles.iter().map(|title| score(&title.id)).collect()
        };
        judgments.queries.iter().map(of_query).collect()
    }

    /// The judged queries and titles that the run lacks.
    ///
    /// # Errors
    ///
    /// [`Error::TestSet`] if it has no judged title at all: its scores would be those of a random order.
    pub fn coverage(&self, judgments: &Judgments) -> Result<RunCoverage> {
        let scores = self.scores(judgments);
        let lacking_titles = scores.iter().flatten().filter(|&&score| score == f64::NEG_INFINITY).count();
        let titles = scores.iter().map(Vec::len).sum();
        if lacking_titles == titles {
            let first = judgments.queries.iter().find_map(|query| Some((&query.id, &query.titles.first()?.id)));
            return Err(self.other_run(first.map(|(query, title)| (query.as_str(), Some(title.as_str())))));
        }
        let is_there = |query: &&JudgedQuery| self.queries.contains_key(&query.id);
        let lacking_queries = judgments.queries.len() - judgments.queries.iter().filter(is_there).count();
        Ok(RunCoverage { lacking_queries, lacking_titles, titles })
    }

    /// The titles that the run has for each query, best first and at most `depth`; ties are in the order of `titles`.
    ///
    /// # Errors
    ///
    /// [`Error::TestSet`] if the run has a title that is not in `titles`, or none of the queries.
    pub fn lists(&self, queries: &[FullQuery], titles: &[Title], depth: usize) -> Result<RunLists> {
        let positions: HashMap<&str, u32> = (0..).zip(titles).map(|(at, title)| (title.id.as_str(), at)).collect();
        let (mut lacking_queries, mut found, mut judged_titles) = (0, 0, 0);
        let mut of_query = |query: &FullQuery| {
            let Some(run) = self.queries.get(&query.id) else {
                lacking_queries += 1;
                return Ok(Vec::new());
            };
            let scored = |(id, &score): (&String, &f64)| match positions.get(id.as_str()) {
                Some(&position) => Ok((score, position)),
                None => Err(self.fault(TestSetFault::OtherTitle { title: shortened(id), query: shortened(&query.id) })),
            };
            let mut hits = rounded(run.iter().map(scored).collect::<Result<_>>()?);
            found += hits.len();
            judged_titles += hits.iter().filter(|hit| query.grade(hit.position).is_some()).count();
            hits.truncate(depth);
            Ok(hits)
        };
        let lists = queries.iter().map(&mut of_query).collect::<Result<Vec<_>>>()?;
        if lacking_queries == queries.len() {
            return Err(self.other_run(queries.first().map(|query| (query.id.as_str(), None))));
        }
        let other_queries = self.queries.len() - (queries.len() - lacking_queries);
        Ok(RunLists { lists, lacking_queries, other_queries, titles: found, judged_titles })
    }

    /// The fault of a run that has none of the judged ids, of which these are the first. The run's own are those of this query
    /// or, if it has none, of its first one.
    fn other_run(&self, judged: Option<(&str, Option<&str>)>) -> Error {
        let ids = |query: &str, title: Option<&str>| RunIds { query: shortened(query), title: title.map(shortened) };
        let (query, title) = judged.unwrap_or_default();
        let own = self.queries.get_key_value(query).or_else(|| self.queries.iter().min_by_key(|(id, _)| *id));
        let found = own.map(|(id, titles)| ids(id, title.and(titles.keys().min()).map(String::as_str)));
        self.fault(TestSetFault::OtherRun { expected: ids(query, title), found })
    }

    fn fault(&self, fault: TestSetFault) -> Error {
        Error::TestSet { path: self.path.clone(), fault }
    }
}

/// Titles with their scores, best first. Scores are rounded to 32 bits, but those that differ stay in their order and do not become
/// ties.
fn rounded(mut scored: Vec<(f64, u32)>) -> Vec<Hit> {
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut hits: Vec<Hit> = Vec::with_capacity(scored.len());
    let mut before = f64::NAN;
    for (exact, position) in scored {
        let score = match hits.last() {
            Some(last) if exact == before => last.score,
            Some(last) => (exact as f32).min(last.score.next_down()),
            None => exact as f32,
        };
        hits.push(Hit { position, score });
        before = exact;
    }
    hits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_that_differ_beyond_32_bits_are_no_ties() {
        let hits = rounded(vec![(12_345_678.1, 0), (12_345_678.2, 1), (0.5, 3), (12_345_678.2, 2), (12_345_678.0, 4)]);
        let positions: Vec<u32> = hits.iter().map(|hit| hit.position).collect();
        assert_eq!(positions, [1, 2, 0, 4, 3]);
        let is_tied: Vec<bool> = hits.windows(2).map(|pair| pair[0].score == pair[1].score).collect();
        assert_eq!(is_tied, [true, false, false, false]);
        assert_eq!((hits[0].score, hits[4].score), (12_345_678.0, 0.5));
    }
}
