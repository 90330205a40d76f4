//! A click log, ready for training. It is read once, hashed, and stored in temporary mapped files, so that memory does
//! not grow with the log; or in memory.
//!
//! The files have no name: they vanish with the process, however it ends.

use super::source::{Found, SourcePair};
use super::spool::{Spool, Spooled, Storage};
use super::statistics::LogStatistics;
use super::taught::{Taught, TeacherCoverage};
use super::word_counts::WordCounts;
use super::{ClickSource, ScoreCoverage, Scored, Teacher, Weighting};
use crate::error::{Error, LogFault, Result};
use crate::math::prefetch::prefetch_line;
use crate::memory::bytes_of;
use crate::tables::{self, Skipped, each_title, open_titles};
use crate::text::batch::WordFeatures;
use crate::text::{
    Dictionary, Feature, Interner, JOINT, Tail, Trigram, WordBuffer, WordHash, WordId, WordLimit, for_each_trigram,
    trigrams_in,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// The number of words to remember while a log is read. When it is exceeded, all are forgotten and numbered again. A
/// word then has several numbers, which costs a little speed and changes nothing else.
const REMEMBERED_WORDS: usize = 1 << 20;
const REMEMBERED_BYTES: usize = 64 << 20;

/// Settings for reading a log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogConfig<'a> {
    /// The column with the texts that were clicked.
    pub field: &'a str,
    /// How the `count` column weights a pair.
    pub weighting: Weighting,
    /// The number of words to read of a text.
    pub max_words: usize,
    /// What becomes of a text's other words.
    pub tail: Tail,
    /// The largest number of trigrams in the dictionary; the most frequent are kept.
    pub max_trigrams: usize,
    /// Whole words that occur at least this often become features too, as many as `max_trigrams` at most, the most
    /// frequent ones; `None` for no words.
    pub word_count: Option<u64>,
    /// Files of titles, clicked or not, to learn from as well.
    pub titles: &'a [std::path::PathBuf],
    /// An initial dictionary. New trigrams of the log follow its own trigrams, and new words its own words.
    pub dictionary: Option<&'a Dictionary>,
}

impl LogConfig<'_> {
    /// How much of a text is read.
    pub(super) fn limit(&self) -> WordLimit {
        WordLimit { words: self.max_words, tail: self.tail }
    }
}

impl Default for LogConfig<'_> {
    /// Settings for a click log, with the limits of the default training.
    fn default() -> Self {
        LogConfig {
            field: tables::TITLE,
            weighting: Weighting::Log,
            max_words: 64,
            tail: Tail::Cut,
            max_trigrams: 200_000,
            word_count: None,
            titles: &[],
            dictionary: None,
        }
    }
}

/// A section of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    /// Titles without a click, each paired with itself.
    Titles,
    /// Clicked pairs.
    Clicks,
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
    dictionary: Dictionary,
    pub(super) statistics: LogStatistics,
    skipped: Skipped,
    skipped_titles: Vec<Skipped>,
    fingerprint: u64,
    taught: Option<Taught>,
    scored: Option<Scored>,
    /// Whether the pairs are those that a teacher scored, and no clicks.
    of_scores: bool,
    /// What the clicks of each pair weigh together, whatever the weighting; empty if clicks differ in nothing but their
    /// number. Its pairs are numbered as before any were held out.
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
    /// Reads the pairs of `clicks` and keeps them in `storage`.
    ///
    /// # Errors
    /// What [`crate::clicks::ClickReader`] reports; [`Error::PairSource`] and [`Error::BadWeight`] of an iterator;
    /// [`Error::Io`] if the temporary files cannot be written (a full disk); [`Error::NoMemory`]; [`Error::Log`] if no
    /// pair is left.
    pub fn read(clicks: ClickSource<'_>, storage: Storage<'_>, config: LogConfig<'_>) -> Result<ClickLog> {
        match ClickLog::read_watched(clicks, storage, config, &mut |_| ControlFlow::Continue(()))? {
            ControlFlow::Continue(log) => Ok(log),
            ControlFlow::Break(()) => unreachable!("the callback never breaks"),
        }
    }

    /// [`ClickLog::read`] with progress: `progress` gets the number of pairs read now and then, and may break.
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
        building.of_scores = clicks.is_of_scores();
        if let Some(name) = clicks.name() {
            let found = clicks.read(config.field, config.weighting, &mut |pair| {
                building.add(pair)?;
                Ok(match building.statistics.pairs.is_multiple_of(1 << 16) {
                    true => progress(building.statistics.pairs),
                    false => ControlFlow::Continue(()),
                })
            })?;
            let ControlFlow::Continue(found) = found else { return Ok(ControlFlow::Break(())) };
            if progress(building.statistics.pairs).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            building.end_clicks(&name, found)?;
        }
        for path in config.titles {
            if building.read_titles(path, progress)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        building.finish().map(ControlFlow::Continue)
    }

    /// The numbers of a section's pairs.
    pub fn section(&self, section: Section) -> std::ops::Range<u64> {
        let (clicks, all) = (self.statistics.pairs, self.records.len() as u64);
        match section {
            Section::Clicks => 0..clicks,
            Section::Titles => clicks..all,
        }
    }

    /// The number of clicked pairs. Numbers after them are titles.
    pub fn len(&self) -> usize {
        self.statistics.pairs as usize
    }

    /// Whether there are no clicked pairs. There are titles then.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of words; a word that was forgotten and read again counts twice.
    pub(crate) fn words(&self) -> usize {
        self.letter_start.len() - 1
    }

    /// The letters of a word.
    pub(crate) fn word(&self, word: WordId) -> &str {
        let (start, end) = (self.letter_start[word as usize], self.letter_start[word as usize + 1]);
        std::str::from_utf8(&self.letters[start as usize..end as usize]).expect("written from a str")
    }

    /// The words of a text, with spaces between them.
    pub(crate) fn text(&self, words: &[WordId]) -> String {
        words.iter().map(|&word| self.word(word)).collect::<Vec<_>>().join(" ")
    }

    /// A pair by its number.
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

    /// Prefetches what [`ClickLog::pair`] and [`ClickLog::clicked`] will read for these numbers.
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

    /// The hashes (query, title) of all titles that were clicked for the query of a pair, ascending.
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

    /// One pair for each distinct title, ordered by the titles' hashes, stored in `storage`.
    ///
    /// # Errors
    /// [`Error::Io`] if the temporary file cannot be written; [`Error::NoMemory`].
    pub(crate) fn distinct_titles(&self, storage: Storage<'_>) -> Result<Spooled<[u64; 2]>> {
        let mut spool = Spool::new(storage)?;
        for (number, record) in self.records.iter().enumerate() {
            spool.push(&[record.title, number as u64])?;
        }
        let mut titles = spool.finish()?;
        titles.change(|titles| titles.par_sort_unstable())?;
        titles.dedup_by_key(|title| title[0])
    }

    /// The letter trigrams that encoders read.
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// The figures of the log.
    pub fn statistics(&self) -> &LogStatistics {
        &self.statistics
    }

    /// The lines of the clicks that were left out.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// The lines of each file of titles that were left out.
    pub fn skipped_titles(&self) -> &[Skipped] {
        &self.skipped_titles
    }

    /// Reads the vectors of the log's texts from `teachers` and keeps them in `storage`. `limit` is the log's.
    ///
    /// # Errors
    /// [`Error::Learn`] if a vector is not what it should be, or if they know no text of the log; [`Error::Io`];
    /// [`Error::VectorSource`] of an iterator; [`Error::NoMemory`].
    pub fn teach(
        &mut self,
        teachers: Vec<Teacher<'_>>,
        limit: WordLimit,
        storage: Storage<'_>,
    ) -> Result<TeacherCoverage> {
        let (taught, coverage) = Taught::read(self, teachers, limit, storage)?;
        self.taught = Some(taught);
        Ok(coverage)
    }

    /// Reads the scores of the log's pairs from `teachers` and keeps them in `storage`. `limit` is the log's. If the pairs
    /// are those that were scored, the ones whose query has a single title are left out: they teach nothing. Queries must
    /// have been held out before.
    ///
    /// # Errors
    /// [`Error::Learn`] if no query has two titles with different scores; [`Error::Table`]; [`Error::Io`];
    /// [`Error::NoMemory`].
    pub fn teach_scores(
        &mut self,
        teachers: Vec<Teacher<'_>>,
        limit: WordLimit,
        storage: Storage<'_>,
    ) -> Result<ScoreCoverage> {
        let (mut scored, mut coverage) = Scored::read(self, teachers, limit, storage)?;
        if self.of_scores {
            let before = self.records.len();
            self.records.retain(|record| record.is_title == 1 || !scored.of(record.query).is_empty())?;
            coverage.alone = (before - self.records.len()) as u64;
            self.statistics.pairs -= coverage.alone;
            self.statistics.alone = coverage.alone;
            scored.find_titles(&self.distinct_titles(storage)?)?;
        }
        self.scored = Some(scored);
        Ok(coverage)
    }

    /// Whether training learns from a query with this hash.
    pub(super) fn learns(&self, query: u64) -> bool {
        let place = self.clicked.partition_point(|pair| pair[0] < query);
        self.clicked.get(place).is_some_and(|pair| pair[0] == query) && !self.held_out.contains(&query)
    }

    /// The scores of its teacher, if it has any.
    pub(crate) fn scored(&self) -> Option<&Scored> {
        self.scored.as_ref()
    }

    /// The vectors of the log's teacher, if it has one.
    pub(crate) fn taught(&self) -> Option<&Taught> {
        self.taught.as_ref()
    }

    /// The fingerprint of everything in the log that affects training, except for its teacher.
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

/// A log that is being read.
struct Building<'a> {
    config: LogConfig<'a>,
    storage: Storage<'a>,
    records: Spool<Record>,
    words: Spool<WordId>,
    clicked: Spool<[u64; 2]>,
    /// The letters of all numbered words, and the number of letters of each.
    letters: Spool<u8>,
    lengths: Spool<u32>,
    interner: Interner,
    /// The number of the interner's first word.
    first_word: u32,
    /// For each word of the interner, its number of occurrences and of trigrams.
    occurrences: Vec<u64>,
    trigrams_of: Vec<u32>,
    trigrams: HashMap<Trigram, u64>,
    word_counts: WordCounts,
    buffer: WordBuffer,
    texts: [Vec<WordId>; 2],
    /// Whether any pair has a weight above 0.
    weighs: bool,
    statistics: LogStatistics,
    skipped: Skipped,
    skipped_titles: Vec<Skipped>,
    fingerprint: Xxh3,
    of_scores: bool,
    worth: Spool<f32>,
}

impl Building<'_> {
    fn new<'a>(storage: Storage<'a>, config: LogConfig<'a>) -> Result<Building<'a>> {
        Ok(Building {
            config,
            storage,
            records: Spool::new(storage)?,
            words: Spool::new(storage)?,
            clicked: Spool::new(storage)?,
            letters: Spool::new(storage)?,
            lengths: Spool::new(storage)?,
            interner: Interner::default(),
            first_word: 0,
            occurrences: Vec::new(),
            trigrams_of: Vec::new(),
            trigrams: HashMap::new(),
            word_counts: WordCounts::default(),
            buffer: WordBuffer::default(),
            texts: [Vec::new(), Vec::new()],
            weighs: false,
            statistics: LogStatistics::default(),
            skipped: Skipped::default(),
            skipped_titles: Vec::new(),
            fingerprint: Xxh3::new(),
            of_scores: false,
            worth: Spool::new(storage)?,
        })
    }

    fn add(&mut self, pair: SourcePair<'_>) -> Result<()> {
        let SourcePair { query, title, weight, worth, rare } = pair;
        if self.interner.len() > REMEMBERED_WORDS || self.interner.bytes() > REMEMBERED_BYTES {
            self.forget_words()?;
        }
        let (query_hash, query_trigrams) = self.read_text(0, query)?;
        let (title_hash, title_trigrams) = self.read_text(1, title)?;
        let [query, title] = &self.texts;
        if query.is_empty() || title.is_empty() {
            self.statistics.without_words += 1;
            return Ok(());
        }
        self.weighs |= weight > 0.0;
        self.statistics.pairs += 1;
        self.statistics.rare += u64::from(rare);
        self.statistics.query_words += query.len() as u64;
        self.statistics.title_words += title.len() as u64;
        self.statistics.query_trigrams += query_trigrams;
        self.statistics.title_trigrams += title_trigrams;
        let record = Record {
            start: self.words.len(),
            query: query_hash,
            title: title_hash,
            query_words: query.len() as u32,
            title_words: title.len() as u32,
            weight,
            is_title: 0,
            clicked: 0,
        };
        // What only rare queries have is as if it did not occur, so that no trigram of it gets into the dictionary.
        let counted: &[WordId] = if rare { &[] } else { query };
        for &word in counted.iter().chain(title) {
            self.occurrences[(word - self.first_word) as usize] += 1;
        }
        self.words.extend(query)?;
        self.words.extend(title)?;
        self.fingerprint.update(&pair_fingerprint(query_hash, title_hash, weight));
        self.records.push(&record)?;
        if let Some(worth) = worth {
            self.worth.push(&worth)?;
        }
        self.clicked.push(&[query_hash, title_hash])
    }

    /// Adds the titles of a file. Fails if none has a word.
    fn read_titles(
        &mut self,
        path: &Path,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let (path, reader) = open_titles(path)?;
        let before = self.statistics.titles.titles;
        let (mut skipped, mut flow) = (Skipped::default(), ControlFlow::Continue(()));
        each_title(&path, reader, self.config.field, |title| match title.document {
            _ if flow.is_break() => Ok(()),
            Ok((_, text)) => {
                self.add_title(text)?;
                let read = self.statistics.pairs + self.statistics.titles.titles;
                if read.is_multiple_of(1 << 16) {
                    flow = progress(read);
                }
                Ok(())
            }
            Err(fault) => {
                skipped.add(title.line, fault);
                Ok(())
            }
        })?;
        if flow.is_continue() && self.statistics.titles.titles == before {
            return Err(Error::Log { path, fault: LogFault::NoTitles });
        }
        self.statistics.titles.skipped += skipped.count;
        self.skipped_titles.push(skipped);
        Ok(flow)
    }

    fn add_title(&mut self, title: &str) -> Result<()> {
        if self.interner.len() > REMEMBERED_WORDS || self.interner.bytes() > REMEMBERED_BYTES {
            self.forget_words()?;
        }
        let (hash, trigrams) = self.read_text(1, title)?;
        let title = &self.texts[1];
        let words = title.len() as u32;
        if words == 0 {
            self.statistics.titles.without_words += 1;
            return Ok(());
        }
        self.statistics.titles.titles += 1;
        self.statistics.titles.words += u64::from(words);
        self.statistics.titles.trigrams += trigrams;
        for &word in title {
            self.occurrences[(word - self.first_word) as usize] += 1;
        }
        let record = Record {
            start: self.words.len(),
            query: hash,
            title: hash,
            query_words: words,
            title_words: words,
            weight: 1.0,
            is_title: 1,
            clicked: 0,
        };
        self.words.extend(title)?;
        self.fingerprint.update(&title_fingerprint(hash));
        self.records.push(&record)?;
        self.clicked.push(&[hash, hash])
    }

    /// Fills `texts[side]`. Returns the text's hash and its number of trigrams.
    fn read_text(&mut self, side: usize, text: &str) -> Result<(u64, u64)> {
        let Building { interner, texts, buffer, trigrams_of, occurrences, letters, lengths, .. } = self;
        let words = &mut texts[side];
        words.clear();
        let (mut hash, mut trigrams, mut failed) = (0u64, 0u64, Ok(()));
        let all = self.config.limit().for_each_word(text, buffer, |word| {
            let (id, word_hash, new) = interner.intern(word);
            if new {
                occurrences.push(0);
                trigrams_of.push(trigrams_in(word) as u32);
                let written = letters.extend(word.as_bytes()).and_then(|()| lengths.push(&(word.len() as u32)));
                if let (Err(error), Ok(())) = (written, &failed) {
                    failed = Err(error);
                }
            }
            trigrams += u64::from(trigrams_of[id as usize]);
            words.push(self.first_word + id);
            hash = mix(hash ^ word_hash);
        });
        failed?;
        self.statistics.cut += u64::from(all > words.len());
        Ok((hash, trigrams))
    }

    fn count_trigrams(&mut self) -> Result<()> {
        let Building { config, occurrences, interner, trigrams, word_counts, .. } = self;
        for (id, &count) in occurrences.iter().enumerate() {
            if count > 0 {
                let word = interner.word(id as u32);
                // A word has at most one trigram for each byte. Reserving that much keeps the table from growing,
                // which could abort the process.
                if trigrams.capacity() - trigrams.len() <= word.len() {
                    let more = word.len() + 1;
                    let fault = |_| Error::NoMemory { what: "the click log", bytes: bytes_of::<(Trigram, u64)>(more) };
                    trigrams.try_reserve(more).map_err(fault)?;
                }
                for_each_trigram(word, |trigram| *trigrams.entry(trigram).or_default() += count);
                if config.word_count.is_some() {
                    word.split(JOINT).try_for_each(|part| word_counts.add(WordHash::of(part), count))?;
                }
            }
        }
        Ok(())
    }

    fn forget_words(&mut self) -> Result<()> {
        self.count_trigrams()?;
        self.first_word += self.interner.len() as u32;
        self.interner.clear();
        self.occurrences.clear();
        self.trigrams_of.clear();
        Ok(())
    }

    /// Ends the clicks. Fails if there is nothing to learn from in `path`.
    fn end_clicks(&mut self, path: &Path, Found { skipped, not_clicked }: Found) -> Result<()> {
        self.statistics.skipped = skipped.count;
        self.statistics.not_clicked = not_clicked;
        let fault = if self.statistics.pairs == 0 {
            LogFault::NoPairs { skipped: skipped.count, not_clicked, without_words: self.statistics.without_words }
        } else if !self.weighs {
            LogFault::NoWeight { pairs: self.statistics.pairs }
        } else {
            self.skipped = skipped;
            return Ok(());
        };
        Err(Error::Log { path: path.to_owned(), fault })
    }

    fn finish(mut self) -> Result<ClickLog> {
        self.count_trigrams()?;
        self.statistics.distinct_trigrams = self.trigrams.len() as u64;
        let counts = std::mem::take(&mut self.trigrams);
        let dictionary = match self.config.dictionary {
            None => Dictionary::from_counts(counts, self.config.max_trigrams),
            Some(dictionary) => dictionary.grown(counts, self.config.max_trigrams),
        };
        let dictionary = match self.config.word_count {
            None => dictionary,
            Some(least) => {
                let frequent = self.word_counts.at_least(least);
                dictionary.with_words(frequent, self.config.max_trigrams)
            }
        };

        let (mut feature_start, mut features) = (Spool::new(self.storage)?, Spool::new(self.storage)?);
        let (letters, lengths) = (self.letters.finish()?, self.lengths.finish()?);
        let mut of_word = Vec::new();
        let mut end = 0;
        let mut letter_start = Spool::new(self.storage)?;
        letter_start.push(&0)?;
        feature_start.push(&0)?;
        for &length in lengths.iter() {
            let word = std::str::from_utf8(&letters[end..end + length as usize]).expect("written from a str");
            end += length as usize;
            letter_start.push(&(end as u64))?;
            dictionary.hash_word(word, &mut of_word);
            features.extend(&of_word)?;
            feature_start.push(&features.len())?;
        }

        let mut clicked = self.clicked.finish()?;
        clicked.change(|clicked| clicked.par_sort_unstable())?;
        let clicked = clicked.dedup_by_key(|&pair| pair)?;
        let starts = bucket_starts(&clicked);
        let mut records = self.records.finish()?;
        records.change(|records: &mut [Record]| {
            records.par_iter_mut().for_each(|record| {
                let bucket = bucket_of(record.query);
                let near = &clicked[starts[bucket]..starts[bucket + 1]];
                record.clicked = (starts[bucket] + near.partition_point(|pair| pair[0] < record.query)) as u64;
            });
        })?;
        Ok(ClickLog {
            records,
            words: self.words.finish()?,
            letters,
            letter_start: letter_start.finish()?,
            feature_start: feature_start.finish()?,
            features: features.finish()?,
            clicked,
            dictionary,
            statistics: self.statistics,
            skipped: self.skipped,
            skipped_titles: self.skipped_titles,
            fingerprint: self.fingerprint.digest(),
            taught: None,
            scored: None,
            of_scores: self.of_scores,
            worth: self.worth.finish()?,
            held_out: HashSet::new(),
        })
    }
}

/// The bits of a query's hash that give its place in the sorted pairs. A binary search over all pairs would wait for
/// memory at every step. The number is fixed, so that memory does not grow with the log.
const BUCKET_BITS: u32 = 16;

fn bucket_of(query: u64) -> usize {
    (query >> (u64::BITS - BUCKET_BITS)) as usize
}

/// The start of each bucket of sorted pairs, and the end of the last one.
fn bucket_starts(clicked: &[[u64; 2]]) -> Vec<usize> {
    let mut starts = vec![0; (1 << BUCKET_BITS) + 1];
    for pair in clicked {
        starts[bucket_of(pair[0]) + 1] += 1;
    }
    for bucket in 0..1 << BUCKET_BITS {
        starts[bucket + 1] += starts[bucket];
    }
    starts
}

/// What a pair adds to a log's fingerprint.
pub(crate) fn pair_fingerprint(query: u64, title: u64, weight: f32) -> [u8; 24] {
    bytemuck::cast([query, title, u64::from(weight.to_bits())])
}

/// What a title adds to it.
pub(crate) fn title_fingerprint(title: u64) -> [u8; 16] {
    bytemuck::cast([title, u64::MAX])
}

/// The hash by which a log knows a text, of which `limit` counts.
pub(crate) fn text_hash(text: &str, limit: WordLimit, buffer: &mut WordBuffer) -> u64 {
    let mut hash = 0;
    limit.for_each_word(text, buffer, |word| hash = mix(hash ^ xxh3_64(word.as_bytes())));
    hash
}

/// A 64-bit mixing function in which every bit depends on every bit.
fn mix(x: u64) -> u64 {
    let product = u128::from(x ^ 0xA076_1D64_78BD_642F) * 0xE703_7ED1_A0B4_28DB;
    let x = product as u64 ^ (product >> 64) as u64;
    x.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (x >> 29)
}

#[cfg(test)]
mod tests;
