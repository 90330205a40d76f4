//! A teacher's scores for pairs of a query and a title. Only the differences between the titles of a query count.

use std::path::{Path, PathBuf};

use clickvec_tables::{Error, ErrorKind};
use xxhash_rust::xxh3::Xxh3;

use super::hashes::text_hash;
use super::spool::{Spool, Spooled};
use super::{Storage, Teacher, teacher};
use crate::tables::Skipped;
use crate::text::{WordBuffer, WordLimit};
use clickvec_tables::Result;
use clickvec_tables::shown::shown_at;

/// Coverage of a log by a teacher's scores.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ScoreCoverage {
    /// Scores that were read.
    pub scores: u64,
    /// Distinct pairs whose query is learnt and whose title the log has.
    pub known: u64,
    /// Scores of a pair that was scored before; the first score counts.
    pub repeated: u64,
    /// Learnt queries with at least two such titles.
    pub queries: u64,
    /// Pairs that were left out of the log, because it consists of the scored pairs alone and their query has only one.
    pub alone: u64,
    /// The lines of each file that were left out. Serialized, their number.
    #[serde(serialize_with = "count")]
    pub skipped: Vec<Skipped>,
}

fn count<S: serde::Serializer>(skipped: &[Skipped], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(skipped.iter().map(|skipped| skipped.count).sum())
}

/// The scores of a log's pairs, in units of their standard deviation within a query.
#[derive(Debug)]
pub(crate) struct Scored {
    /// By query, then by title.
    lines: Spooled<Line>,
    fingerprint: u64,
}

/// A scored pair.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct Line {
    query: u64,
    /// The hash of the title.
    pub(crate) title: u64,
    /// A pair of the log that has this title.
    pub(crate) pair: u64,
    /// The number of the score, counted from 1. Of a pair that was scored twice, the first counts.
    number: u32,
    pub(crate) score: f32,
}

impl Scored {
    /// Returns the scores of `teachers` for the queries that a log learns. `titles` has the hash of each of its distinct titles with
    /// a pair, in order; `limit` is the log's.
    pub(super) fn read(
        titles: &[[u64; 2]],
        learns: impl Fn(u64) -> bool,
        teachers: Vec<Teacher<'_>>,
        limit: WordLimit,
        storage: Storage<'_>,
    ) -> Result<(Scored, ScoreCoverage)> {
        let mut coverage = ScoreCoverage::default();
        let paths: Vec<Option<PathBuf>> = teachers.iter().map(|teacher| teacher.path().map(Path::to_owned)).collect();
        let (mut lines, mut buffer) = (Spool::new(storage)?, WordBuffer::default());
        for teacher in teachers {
            let (path, before) = (teacher.path().map(Path::to_owned), coverage.scores);
            let skipped = teacher.read_scores(&mut |query, title, score| {
                coverage.scores += 1;
                let query = text_hash(query, limit, &mut buffer);
                let title = text_hash(title, limit, &mut buffer);
                match titles.binary_search_by_key(&title, |title| title[0]) {
                    Ok(index) if learns(query) => {
                        let (pair, number) = (titles[index][1], u32::try_from(coverage.scores).unwrap_or(u32::MAX));
                        lines.push(&Line { query, title, pair, number, score })
                    }
                    _ => Ok(()),
                }
            })?;
            if let (Some(path), Some(first), true) = (path, skipped.first.first(), coverage.scores == before) {
                return Err(first.reason.clone().at_line(&path, first.line));
            }
            coverage.skipped.push(skipped);
        }
        let mut lines = lines.finish()?;
        lines.change(|lines: &mut [Line]| {
            lines.sort_unstable_by_key(|line| (line.query, line.title, line.number));
        })?;
        let known = lines.len();
        let mut lines = lines.dedup_by_key(|line| (line.query, line.title))?;
        coverage.known = lines.len() as u64;
        coverage.repeated = (known - lines.len()) as u64;
        let spread = spread(&lines, &mut coverage.queries);
        if !(spread.is_finite() && spread > 0.0) {
            let broken: u64 = coverage.skipped.iter().map(|skipped| skipped.count).sum();
            let first = paths.into_iter().zip(&coverage.skipped).find_map(|(path, skipped)| {
                let line = skipped.first.first()?;
                Some(format!("{}: {}", shown_at(&path?, line.line), line.reason))
            });
            let (all, known) = (coverage.scores, coverage.known);
            let found = format!("none among {all} scores, {known} of them of a query and a title of the log");
            let expected = "scores of two titles or more of the same query of the log that differ";
            let error = Error::expected(ErrorKind::Empty, expected, found).within(teacher::NAME);
            return Err(match first {
                Some(first) => error.help(format!("broken lines are not among them: {broken}, the first {first}")),
                None => error,
            });
        }
        lines.change(|lines: &mut [Line]| {
            lines.iter_mut().for_each(|line| line.score = (f64::from(line.score) / spread) as f32)
        })?;
        let mut fingerprint = Xxh3::new();
        for Line { query, title, score, .. } in lines.iter() {
            fingerprint.update(bytemuck::bytes_of(&[*query, *title, u64::from(score.to_bits())]));
        }
        let fingerprint = fingerprint.digest();
        Ok((Scored { lines, fingerprint }, coverage))
    }

    /// Looks up the pairs of the titles again, after pairs were left out. `titles` has the hash of each distinct title with a
    /// pair, in order.
    pub(super) fn find_titles(&mut self, titles: &[[u64; 2]]) -> Result<()> {
        let pair_of = |title: u64| titles.binary_search_by_key(&title, |title| title[0]).map(|index| titles[index][1]);
        self.lines.retain(|line| pair_of(line.title).is_ok())?;
        self.lines
            .change(|lines| lines.iter_mut().for_each(|line| line.pair = pair_of(line.title).unwrap_or(line.pair)))
    }

    /// Returns a fingerprint of all scores.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns the scores of the titles of the query with this hash, by title; none if there are fewer than two.
    pub(crate) fn lines(&self, query: u64) -> &[Line] {
        let from = &self.lines[self.lines.partition_point(|line| line.query < query)..];
        let group = &from[..from.iter().take_while(|line| line.query == query).count()];
        if group.len() > 1 { group } else { &[] }
    }
}

/// Returns the standard deviation of scores within their queries. Counts the queries with several.
fn spread(lines: &[Line], queries: &mut u64) -> f64 {
    let (mut squares, mut free) = (0.0, 0);
    for group in lines.chunk_by(|a, b| a.query == b.query).filter(|group| group.len() > 1) {
        *queries += 1;
        let mean = group.iter().map(|line| f64::from(line.score)).sum::<f64>() / group.len() as f64;
        squares += group.iter().map(|line| (f64::from(line.score) - mean).powi(2)).sum::<f64>();
        free += group.len() - 1;
    }
    (squares / free as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clicks::{ClickLog, ClickSource};
    use crate::settings::TrainConfig;

    fn log() -> ClickLog {
        let pairs = [("red shoe", "shoe a", 1.0), ("red shoe", "shoe b", 1.0), ("lamp", "lamp c", 1.0)];
        ClickLog::read(ClickSource::pairs(pairs), Storage::Memory, &TrainConfig::default()).expect("a log")
    }

    fn read(scores: &[(&str, &str, f32)]) -> Result<(Scored, ScoreCoverage)> {
        let teacher = Teacher::scores(scores.iter().copied());
        let log = log();
        let titles = log.distinct_titles(Storage::Memory)?;
        Scored::read(&titles, |query| log.learns(query), vec![teacher], TrainConfig::default().limit(), Storage::Memory)
    }

    #[test]
    fn what_the_log_lacks_is_counted_and_a_score_has_the_unit_of_a_query() {
        let scores = [
            ("Red Shoe", "shoe a", 7.0),
            ("red shoe", "lamp c", 3.0),
            ("red shoe", "shoe a", 99.0),
            ("red shoe", "unknown", 1.0),
            ("unknown", "shoe a", 1.0),
            ("lamp", "lamp c", 5.0),
        ];
        let (scored, coverage) = read(&scores).expect("scores");
        assert_eq!((coverage.scores, coverage.known, coverage.queries), (6, 3, 1));
        let log = log();
        let lines = scored.lines(log.pair(0).query);
        let of = |title: u64| lines.iter().find(|line| line.title == title).expect("a score").score;
        // The first of two scores counts. Two scores 4 apart have a standard deviation of 4/√2.
        let difference = of(log.pair(0).title) - of(log.pair(2).title);
        assert!((difference - 2f32.sqrt()).abs() < 1e-6, "{difference}");
        assert!(lines.iter().all(|line| log.pair(line.pair as usize).title == line.title));
        assert!(scored.lines(log.pair(2).query).is_empty(), "one score has no difference");
    }

    #[test]
    fn scores_without_a_difference_are_refused() {
        for scores in [&[("red shoe", "shoe a", 1.0), ("red shoe", "shoe b", 1.0)][..], &[("lamp", "lamp c", 1.0)], &[]]
        {
            let found = read(scores).map(drop).map_err(|error| error.to_string());
            assert!(found.is_err_and(|error| error.contains("expected scores of two titles or more")));
        }
        let found = read(&[("red shoe", "shoe a", f32::NAN)]).map(drop).map_err(|error| error.to_string());
        assert!(found.is_err_and(|error| error.contains("score 1")));
    }
}
