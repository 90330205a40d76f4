//! A click log, ready for training. It is read once, hashed, and stored in temporary mapped files, so that memory does
//! not grow with the log; or in memory.
//!
//! The files have no name: they vanish with the process, however it ends.

mod building;

use building::Building;

use super::spool::{Spool, Spooled, Storage};
use super::taught::{Taught, TeacherCoverage};
use super::{ClickSource, ScoreCoverage, Scored, Teacher};
use crate::math::prefetch::prefetch_line;
use crate::settings::{LogStatistics, Section, TrainConfig};
use crate::tables::Skipped;
use crate::text::batch::WordFeatures;
use crate::text::{Dictionary, Feature, WordId, WordLimit};
use clickvec_tables::Result;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

/// What a log is read with.
#[derive(Debug, Clone, Copy)]
pub struct LogConfig<'a> {
    /// The settings of the training.
    pub settings: &'a TrainConfig,
    /// Files of titles, clicked or not, to learn from as well.
    pub titles: &'a [crate::tables::Titles],
    /// An initial dictionary. New trigrams of the log follow its own trigrams, and new words its own words.
    pub dictionary: Option<&'a Dictionary>,
}

impl<'a> From<&'a TrainConfig> for LogConfig<'a> {
    /// Clicks alone, and a new dictionary.
    fn from(settings: &'a TrainConfig) -> LogConfig<'a> {
        LogConfig { settings, titles: &[], dictionary: None }
    }
}

/// A click log, ready for training.
#[derive(Debug)]
pub struct ClickLog {
    pub(super) records: Spooled<Record>,
    words: Spooled<WordId>,
    /// The letters of all words, and the start of each word.
    letters: Spooled<u8>,
    letter_start: Spooled<u64>,
    feature_start: Spooled<u64>,
    features: Spooled<Feature>,
    /// The hashes (query, title) of all pairs, ascending and distinct.
    pub(super) clicked: Spooled<[u64; 2]>,
    /// The hashes (query, title) of pairs that were shown and not clicked.
    pub(super) shown: Spooled<[u64; 2]>,
    dictionary: Dictionary,
    pub(super) statistics: LogStatistics,
    skipped: Skipped,
    skipped_titles: Vec<Skipped>,
    fingerprint: u64,
    taught: Option<Taught>,
    scored: Option<Scored>,
    /// Whether the pairs are those that a teacher scored, not clicks.
    is_scored: bool,
    /// The total weight of each pair's clicks, whatever the weighting; empty if clicks differ only in number. Pairs are numbered
    /// as before any were held out.
    pub(super) worth: Spooled<f32>,
    /// The queries that are held out.
    pub(super) held_out: HashSet<u64>,
}

#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Record {
    /// The start of the query's words. The title's words follow, unless they are the same.
    start: u64,
    pub(super) query: u64,
    title: u64,
    query_words: u32,
    title_words: u32,
    weight: f32,
    /// 1 for a title that is its own query, otherwise 0.
    pub(super) is_title: u32,
    /// The start of the query's pairs in `clicked`.
    clicked: u64,
}

/// A pair of a log.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// The query's words.
    pub query_words: &'a [WordId],
    /// The title's words.
    pub title_words: &'a [WordId],
    /// The factor of the pair's loss.
    pub weight: f32,
    /// A hash of the query's words.
    pub query: u64,
    /// A hash of the title's words.
    pub title: u64,
}

impl ClickLog {
    /// Reads the pairs of `clicks` into a log in `storage`.
    ///
    /// # Errors
    /// Those of [`crate::clicks::ClickReader`]; `ErrorKind::Malformed` of an iterator; `ErrorKind::Io` if the temporary files
    /// cannot be written (a full disk); `ErrorKind::Memory`; `ErrorKind::Empty` if no pair is left.
    pub fn read<'a>(
        clicks: ClickSource<'_>,
        storage: Storage<'_>,
        config: impl Into<LogConfig<'a>>,
    ) -> Result<ClickLog> {
        match ClickLog::read_watched(clicks, storage, config.into(), &mut |_| ControlFlow::Continue(()))? {
            ControlFlow::Continue(log) => Ok(log),
            ControlFlow::Break(()) => unreachable!("the callback never breaks"),
        }
    }

    /// Reads a log like [`ClickLog::read`], passing the number of pairs read to `progress` now and then, which may break.
    ///
    /// # Errors
    /// Those of [`ClickLog::read`].
    pub(crate) fn read_watched(
        clicks: ClickSource<'_>,
        storage: Storage<'_>,
        config: LogConfig<'_>,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<(), ClickLog>> {
        let mut building = Building::new(storage, config)?;
        building.is_scored = clicks.is_scored();
        if let Some(name) = clicks.name() {
            let found = clicks.read(&config.settings.field, config.settings.weighting, &mut |pair| {
                building.add(pair)?;
                Ok(if building.statistics.pairs.is_multiple_of(1 << 16) {
                    progress(building.statistics.pairs)
                } else {
                    ControlFlow::Continue(())
                })
            })?;
            let ControlFlow::Continue(found) = found else { return Ok(ControlFlow::Break(())) };
            if progress(building.statistics.pairs).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            building.end_clicks(&name, found)?;
        }
        for titles in config.titles {
            if building.read_titles(titles, progress)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        building.finish().map(ControlFlow::Continue)
    }

    /// Returns the numbers of a section's pairs.
    pub fn section(&self, section: Section) -> std::ops::Range<u64> {
        let (clicks, all) = (self.statistics.pairs, self.records.len() as u64);
        match section {
            Section::Clicks => 0..clicks,
            Section::Titles => clicks..all,
        }
    }

    /// Returns the number of clicked pairs. Numbers after them are titles.
    pub fn len(&self) -> usize {
        self.statistics.pairs as usize
    }

    /// Returns whether there are no clicked pairs. There are titles then.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of words; a word that was forgotten and read again counts twice.
    pub(crate) fn words(&self) -> usize {
        self.letter_start.len() - 1
    }

    /// Returns the letters of a word.
    pub(crate) fn word(&self, word: WordId) -> &str {
        let (start, end) = (self.letter_start[word as usize], self.letter_start[word as usize + 1]);
        std::str::from_utf8(&self.letters[start as usize..end as usize]).expect("written from a str")
    }

    /// Returns the words of a text, with spaces between them.
    pub(crate) fn text(&self, words: &[WordId]) -> String {
        words.iter().map(|&word| self.word(word)).collect::<Vec<_>>().join(" ")
    }

    /// Returns a pair by its number.
    pub fn pair(&self, number: usize) -> Pair<'_> {
        let record = &self.records[number];
        let texts = &self.words[record.start as usize..];
        let query_words = &texts[..record.query_words as usize];
        let title_words = match record.is_title {
            0 => &texts[query_words.len()..][..record.title_words as usize],
            _ => query_words,
        };
        Pair { query_words, title_words, weight: record.weight, query: record.query, title: record.title }
    }

    /// Prefetches the data that [`ClickLog::pair`] and [`ClickLog::clicked`] will read for these numbers.
    pub(crate) fn prefetch(&self, numbers: &[u64]) {
        for &number in numbers {
            prefetch_line(&raw const self.records[number as usize]);
        }
        for &number in numbers {
            let record = &self.records[number as usize];
            prefetch_line(&raw const self.words[record.start as usize]);
            prefetch_line(&raw const self.clicked[record.clicked as usize]);
        }
    }

    /// Returns the hashes (query, title) of all titles that were clicked for the query of a pair, ascending.
    pub fn clicked(&self, number: usize) -> &[[u64; 2]] {
        let record = &self.records[number];
        let from = &self.clicked[record.clicked as usize..];
        // Most queries have few titles, so the end is near.
        let mut end = 8;
        while end < from.len() && from[end][0] == record.query {
            end *= 2;
        }
        let near = &from[..end.min(from.len())];
        &near[..near.partition_point(|pair| pair[0] == record.query)]
    }

    /// Returns one pair for each distinct title, ordered by the titles' hashes, stored in `storage`.
    ///
    /// # Errors
    /// [`clickvec_tables::ErrorKind::Io`] if the temporary file cannot be written; [`clickvec_tables::ErrorKind::Memory`].
    pub(crate) fn distinct_titles(&self, storage: Storage<'_>) -> Result<Spooled<[u64; 2]>> {
        self.distinct_titles_in(0..self.records.len() as u64, storage)
    }

    /// Returns [`ClickLog::distinct_titles`] of the pairs with these numbers.
    ///
    /// # Errors
    /// Those of [`ClickLog::distinct_titles`].
    pub(crate) fn distinct_titles_in(
        &self,
        numbers: std::ops::Range<u64>,
        storage: Storage<'_>,
    ) -> Result<Spooled<[u64; 2]>> {
        let mut spool = Spool::new(storage)?;
        for number in numbers {
            spool.push(&[self.records[number as usize].title, number])?;
        }
        let mut titles = spool.finish()?;
        titles.change(|titles| titles.par_sort_unstable())?;
        titles.dedup_by_key(|title| title[0])
    }

    /// Returns the letter trigrams that encoders read.
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// Returns the figures of the log.
    pub fn statistics(&self) -> &LogStatistics {
        &self.statistics
    }

    /// Returns the lines of the clicks that were left out.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Returns the lines of each file of titles that were left out.
    pub fn skipped_titles(&self) -> &[Skipped] {
        &self.skipped_titles
    }

    /// Stores the vectors of `teachers` in `storage`, and returns how much of the log they cover. `limit` is the log's.
    ///
    /// # Errors
    /// `ErrorKind::Malformed` for an invalid vector; `ErrorKind::Mismatch` if they know no text of the log; `ErrorKind::Io` and
    /// `ErrorKind::Memory`.
    pub fn teach(
        &mut self,
        teachers: Vec<Teacher<'_>>,
        limit: WordLimit,
        storage: Storage<'_>,
    ) -> Result<TeacherCoverage> {
        let all = 0..self.records.len();
        let texts = all.map(|number| self.pair(number)).flat_map(|pair| [pair.query, pair.title]);
        let (taught, coverage) = Taught::read(texts, teachers, limit, storage)?;
        let coverage = self.covered(&taught, coverage);
        self.taught = Some(taught);
        Ok(coverage)
    }

    /// Adds to a coverage the texts of the log, and those of them that the teacher has a vector for.
    fn covered(&self, taught: &Taught, coverage: TeacherCoverage) -> TeacherCoverage {
        let mut seen: [HashMap<u64, bool>; 2] = Default::default();
        let mut see = |side: usize, text: u64| {
            seen[side].entry(text).or_insert_with(|| taught.vector(text).is_some());
        };
        for number in self.section(Section::Clicks) {
            let pair = self.pair(number as usize);
            see(0, pair.query);
            see(1, pair.title);
        }
        self.section(Section::Titles).for_each(|number| see(1, self.pair(number as usize).title));
        let known = |texts: &HashMap<u64, bool>| texts.values().filter(|known| **known).count() as u64;
        TeacherCoverage {
            queries: seen[0].len() as u64,
            known_queries: known(&seen[0]),
            titles: seen[1].len() as u64,
            known_titles: known(&seen[1]),
            ..coverage
        }
    }

    /// Stores the scores of `teachers` in `storage`, and returns how much of the log they cover. `limit` is the log's. If the log
    /// consists of scored pairs, those whose query has a single title are left out: they teach nothing. Queries must have been
    /// held out before.
    ///
    /// # Errors
    /// `ErrorKind::Empty` if no query has two titles with different scores; `ErrorKind::Malformed`; `ErrorKind::Io`;
    /// `ErrorKind::Memory`.
    pub fn teach_scores(
        &mut self,
        teachers: Vec<Teacher<'_>>,
        limit: WordLimit,
        storage: Storage<'_>,
    ) -> Result<ScoreCoverage> {
        let titles = self.distinct_titles(storage)?;
        let (mut scored, mut coverage) = Scored::read(&titles, |query| self.learns(query), teachers, limit, storage)?;
        if self.is_scored {
            let before = self.records.len();
            self.records.retain(|record| record.is_title == 1 || !scored.lines(record.query).is_empty())?;
            coverage.alone = (before - self.records.len()) as u64;
            self.statistics.pairs -= coverage.alone;
            self.statistics.alone = coverage.alone;
            scored.find_titles(&self.distinct_titles(storage)?)?;
        }
        self.scored = Some(scored);
        Ok(coverage)
    }

    /// Returns whether training learns from a query with this hash.
    pub(super) fn learns(&self, query: u64) -> bool {
        let first = self.clicked.partition_point(|pair| pair[0] < query);
        self.clicked.get(first).is_some_and(|pair| pair[0] == query) && !self.held_out.contains(&query)
    }

    /// Returns the scores of its teacher, if it has any.
    pub(crate) fn scored(&self) -> Option<&Scored> {
        self.scored.as_ref()
    }

    /// Returns the vectors of the log's teacher, if it has one.
    pub(crate) fn taught(&self) -> Option<&Taught> {
        self.taught.as_ref()
    }

    /// Returns the fingerprint of everything in the log that affects training, except for its teacher.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

impl WordFeatures for ClickLog {
    fn features(&self, word: WordId) -> &[Feature] {
        let word = word as usize;
        &self.features[self.feature_start[word] as usize..self.feature_start[word + 1] as usize]
    }
}

#[cfg(test)]
mod tests;
