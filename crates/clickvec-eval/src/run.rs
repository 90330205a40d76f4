//! A TREC run of another program as a system. For each query, the titles of the run come first, in its order, and the
//! judged titles that it lacks come last.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::trec::read_run;
use super::{Answers, JudgedQuery, Judgments, Scores, SearchQuery, Task};
use clickvec::index::Hit;
use clickvec::tables::Title;
use clickvec_tables::Result;
use clickvec_tables::files;
use clickvec_tables::shown::shortened;
use clickvec_tables::{Error, ErrorKind};

/// The scores of a run, by query and title.
#[derive(Debug, Clone)]
pub struct Run {
    path: PathBuf,
    queries: HashMap<String, HashMap<String, f64>>,
}

/// What a run has of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunCoverage {
    /// Judged queries that are not in the run.
    pub lacking_queries: usize,
    /// Queries of the run that are not judged.
    pub other_queries: usize,
    /// All judged titles.
    pub titles: usize,
    /// Judged titles that are not in the run for their query.
    pub lacking_titles: usize,
    /// Titles of the run for judged queries.
    pub found: usize,
    /// Those of these titles that are judged for their query. If all are, the run is likely to rank them anew instead of
    /// searching a collection.
    pub judged: usize,
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

    /// Iterates over the ids of all titles, some of them several times.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        self.queries.values().flat_map(HashMap::keys).map(String::as_str)
    }

    /// Returns the run's answers to a task, and what it has of it. Judged titles that it lacks have the score −∞. Of a collection it
    /// has at most `depth` titles for each query, with ties in the order of the collection.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mismatch`] if the run has no judged title, since its scores would be those of a random order; and if it has a
    /// title that is not in the collection, or none of the queries.
    pub fn answers(&self, task: Task<'_>, depth: usize) -> Result<(Answers, RunCoverage)> {
        let lacking_queries = task.queries().filter(|(id, _)| !self.queries.contains_key(*id)).count();
        let other_queries = self.queries.len() - (task.len() - lacking_queries);
        let mut coverage = RunCoverage { lacking_queries, other_queries, ..RunCoverage::default() };
        let answers = match task {
            Task::Judged(judgments) => Answers::Scores(self.scores(judgments, &mut coverage)?),
            Task::Search { titles, queries, .. } => {
                Answers::Lists(self.lists(titles, queries, depth, &mut coverage)?)
            }
        };
        coverage.lacking_titles = coverage.titles - coverage.judged;
        Ok((answers, coverage))
    }

    fn scores(&self, judgments: &Judgments, coverage: &mut RunCoverage) -> Result<Scores> {
        let mut answer = |query: &JudgedQuery| {
            let run = self.queries.get(&query.id);
            let score = |id: &String| run.and_then(|run| run.get(id)).copied();
            let scores: Vec<Option<f64>> = query.titles.iter().map(|title| score(&title.id)).collect();
            coverage.found += run.map_or(0, HashMap::len);
            coverage.judged += scores.iter().flatten().count();
            coverage.titles += scores.len();
            scores.into_iter().map(|score| score.unwrap_or(f64::NEG_INFINITY)).collect()
        };
        let scores = judgments.queries.iter().map(&mut answer).collect();
        if coverage.judged == 0 {
            let first = judgments.queries.iter().find_map(|query| Some((&query.id, &query.titles.first()?.id)));
            return Err(self.other_run(first.map(|(query, title)| (query.as_str(), Some(title.as_str())))));
        }
        Ok(scores)
    }

    fn lists(
        &self,
        titles: &[Title],
        queries: &[SearchQuery],
        depth: usize,
        coverage: &mut RunCoverage,
    ) -> Result<Vec<Vec<Hit>>> {
        let positions: HashMap<&str, u32> = (0..).zip(titles).map(|(at, title)| (title.id.as_str(), at)).collect();
        let mut answer = |query: &SearchQuery| {
            coverage.titles += query.grades.len();
            let Some(run) = self.queries.get(&query.id) else { return Ok(Vec::new()) };
            let scored = |(id, &score): (&String, &f64)| match positions.get(id.as_str()) {
                Some(&position) => Ok((score, position)),
                None => {
                    let found = format!("`{}` for query `{}`", shortened(id), shortened(&query.id));
                    let error = Error::expected(ErrorKind::Mismatch, "titles of the collection", found);
                    Err(error.help("name the collection that was searched").at(&self.path))
                }
            };
            let mut hits = rounded(run.iter().map(scored).collect::<clickvec_tables::Result<_>>()?);
            coverage.found += hits.len();
            coverage.judged += hits.iter().filter(|hit| query.grade(hit.position).is_some()).count();
            hits.truncate(depth);
            Ok(hits)
        };
        let lists = queries.iter().map(&mut answer).collect::<Result<Vec<_>>>()?;
        if coverage.lacking_queries == queries.len() {
            return Err(self.other_run(queries.first().map(|query| (query.id.as_str(), None))));
        }
        Ok(lists)
    }

    /// The fault of a run that has none of the judged ids, of which these are the first. The run's own are those of this query
    /// or, if it has none, of its first one.
    fn other_run(&self, judged: Option<(&str, Option<&str>)>) -> Error {
        let ids = |query: &str, title: Option<&str>| match title {
            Some(title) => format!("title `{}` of query `{}`", shortened(title), shortened(query)),
            None => format!("query `{}`", shortened(query)),
        };
        let (query, title) = judged.unwrap_or_default();
        let own = self.queries.get_key_value(query).or_else(|| self.queries.iter().min_by_key(|(id, _)| *id));
        let found = own.map(|(id, titles)| ids(id, title.and(titles.keys().min()).map(String::as_str)));
        let what = if title.is_some() { "queries and titles" } else { "queries" };
        let expected = format!("a run with ids of the judged {what}, such as {}", ids(query, title));
        let found = format!("none of them, but {}", found.as_deref().unwrap_or("an empty run"));
        Error::expected(ErrorKind::Mismatch, expected, found).at(&self.path)
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
