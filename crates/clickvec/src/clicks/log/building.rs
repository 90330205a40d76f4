//! Building a log, pair by pair and title by title.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;

use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use super::{ClickLog, LogConfig, Record};
use crate::clicks::hashes::{mix, pair_fingerprint, text_hash, title_fingerprint};
use crate::clicks::pairs::{Found, SourcePair};
use crate::clicks::spool::{Spool, Storage};
use crate::clicks::word_counts::WordCounts;
use crate::ragged::starts;
use crate::settings::LogStatistics;
use crate::tables::{Skipped, Titles};
use crate::text::{Dictionary, Interner, JOINT, Trigram, WordBuffer, WordHash, WordId, for_each_trigram, trigrams_in};
use clickvec_tables::Result;
use clickvec_tables::memory::{NoRoom, bytes_of};
use clickvec_tables::titles::TitleReader;
use clickvec_tables::{Error, ErrorKind};

/// The help of errors about a table.
const SEE_TABLES: &str = "see docs/reference/tables.md";

/// The number of broken lines shown in the message for a log without pairs or titles.
const SHOWN_BROKEN: usize = 3;

/// The number of words to remember while a log is read. When it is exceeded, all are forgotten and numbered again. A
/// word then has several numbers, which costs a little speed and changes nothing else.
const REMEMBERED_WORDS: usize = 1 << 20;
const REMEMBERED_BYTES: usize = 64 << 20;

/// A log that is being read.
pub(super) struct Building<'a> {
    config: LogConfig<'a>,
    storage: Storage<'a>,
    records: Spool<Record>,
    words: Spool<WordId>,
    clicked: Spool<[u64; 2]>,
    /// The hashes of query and title of pairs that were shown and not clicked.
    shown: Spool<[u64; 2]>,
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
    pub(super) statistics: LogStatistics,
    skipped: Skipped,
    skipped_titles: Vec<Skipped>,
    fingerprint: Xxh3,
    pub(super) is_scored: bool,
    worth: Spool<f32>,
}

impl Building<'_> {
    pub(super) fn new<'a>(storage: Storage<'a>, config: LogConfig<'a>) -> Result<Building<'a>> {
        Ok(Building {
            config,
            storage,
            records: Spool::new(storage)?,
            words: Spool::new(storage)?,
            clicked: Spool::new(storage)?,
            shown: Spool::new(storage)?,
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
            is_scored: false,
            worth: Spool::new(storage)?,
        })
    }

    pub(super) fn add(&mut self, pair: SourcePair<'_>) -> Result<()> {
        let SourcePair { query, title, weight, worth, rare, clicked } = pair;
        if !clicked {
            return self.add_shown(query, title);
        }
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

    /// Adds a title that was shown for a query and not clicked.
    fn add_shown(&mut self, query: &str, title: &str) -> Result<()> {
        let limit = self.config.settings.limit();
        let [query, title] = [query, title].map(|text| text_hash(text, limit, &mut self.buffer));
        self.shown.push(&[query, title])
    }

    /// Adds the titles of a file. Fails if none has a word.
    pub(super) fn read_titles(
        &mut self,
        titles: &Titles,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let mut reader = TitleReader::open(titles, &self.config.settings.field, &[])?;
        let path = reader.path().to_owned();
        let before = self.statistics.titles.titles;
        let (mut skipped, mut flow) = (Skipped::new(&path), ControlFlow::Continue(()));
        while let Some(found) = reader.next()? {
            match found.title {
                Ok((_, text)) => {
                    self.add_title(text)?;
                    let read = self.statistics.pairs + self.statistics.titles.titles;
                    if read.is_multiple_of(1 << 16) {
                        flow = progress(read);
                    }
                }
                Err(fault) => skipped.add(found.line, fault),
            }
            if flow.is_break() {
                break;
            }
        }
        if flow.is_continue() && self.statistics.titles.titles == before {
            let first: String = skipped.shown().take(SHOWN_BROKEN).map(|line| format!("; {line}")).collect();
            let found = format!("none ({} broken{first})", skipped.count);
            let error = Error::expected(ErrorKind::Empty, "titles with words", found);
            return Err(error.help(SEE_TABLES).at(&path));
        }
        self.statistics.titles.skipped += skipped.count;
        self.skipped_titles.push(skipped);
        Ok(flow)
    }

    fn add_title(&mut self, title_text: &str) -> Result<()> {
        if self.interner.len() > REMEMBERED_WORDS || self.interner.bytes() > REMEMBERED_BYTES {
            self.forget_words()?;
        }
        let (hash, trigrams) = self.read_text(1, title_text)?;
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
        let all = self.config.settings.limit().for_each_word(text, buffer, |word| {
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
                    let fault = |_| NoRoom { what: "the click log", bytes: bytes_of::<(Trigram, u64)>(more) };
                    trigrams.try_reserve(more).map_err(fault)?;
                }
                for_each_trigram(word, |trigram| *trigrams.entry(trigram).or_default() += count);
                if config.settings.word_count.is_some() {
                    word.split(JOINT).try_for_each(|part| word_counts.add(WordHash::new(part), count))?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn forget_words(&mut self) -> Result<()> {
        self.count_trigrams()?;
        self.first_word += self.interner.len() as u32;
        self.interner.clear();
        self.occurrences.clear();
        self.trigrams_of.clear();
        Ok(())
    }

    /// Ends the clicks. Fails if there is nothing to learn from in `path`.
    pub(super) fn end_clicks(&mut self, path: &Path, Found { skipped, not_clicked }: Found) -> Result<()> {
        self.statistics.skipped = skipped.count;
        self.statistics.not_clicked = not_clicked;
        let (expected, found) = if self.statistics.pairs == 0 {
            let line = if skipped.in_memory { "row" } else { "line" };
            let broken = match skipped.count {
                1 => format!("1 {line} was"),
                count => format!("{count} {line}s were"),
            };
            let shown = match not_clicked {
                0 => String::new(),
                1 => ", 1 was shown and not clicked".to_owned(),
                count => format!(", {count} were shown and not clicked"),
            };
            let without_words = self.statistics.without_words;
            let first: String = skipped.shown().take(SHOWN_BROKEN).map(|line| format!("; {line}")).collect();
            let found = format!("none ({broken} broken, {without_words} had a side without words{shown}{first})");
            ("pairs of a query and a title", found)
        } else if !self.weighs {
            ("pairs to learn from", format!("{} whose weights or counts are all 0", self.statistics.pairs))
        } else {
            self.skipped = skipped;
            return Ok(());
        };
        Err(Error::expected(ErrorKind::Empty, expected, found).help(SEE_TABLES).at(path))
    }

    pub(super) fn finish(mut self) -> Result<ClickLog> {
        self.count_trigrams()?;
        self.statistics.distinct_trigrams = self.trigrams.len() as u64;
        let counts = std::mem::take(&mut self.trigrams);
        let dictionary = match self.config.dictionary {
            None => Dictionary::from_counts(counts, self.config.settings.max_trigrams),
            Some(dictionary) => dictionary.grown(counts, self.config.settings.max_trigrams),
        };
        let dictionary = match self.config.settings.word_count {
            None => dictionary,
            Some(least) => {
                let frequent = self.word_counts.at_least(least);
                dictionary.with_words(frequent, self.config.settings.max_trigrams)
            }
        };

        let (mut feature_start, mut features) = (Spool::new(self.storage)?, Spool::new(self.storage)?);
        let (letters, lengths) = (self.letters.finish()?, self.lengths.finish()?);
        let mut word_features = Vec::new();
        let mut end = 0;
        let mut letter_start = Spool::new(self.storage)?;
        letter_start.push(&0)?;
        feature_start.push(&0)?;
        for &length in lengths.iter() {
            let word = std::str::from_utf8(&letters[end..end + length as usize]).expect("written from a str");
            end += length as usize;
            letter_start.push(&(end as u64))?;
            dictionary.hash_word(word, &mut word_features);
            features.extend(&word_features)?;
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
            shown: self.shown.finish()?,
            dictionary,
            statistics: self.statistics,
            skipped: self.skipped,
            skipped_titles: self.skipped_titles,
            fingerprint: self.fingerprint.digest(),
            taught: None,
            scored: None,
            is_scored: self.is_scored,
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

/// Returns the start of each bucket of sorted pairs, and the end of the last one.
fn bucket_starts(clicked: &[[u64; 2]]) -> Vec<usize> {
    starts(1 << BUCKET_BITS, clicked.iter().map(|pair| bucket_of(pair[0])))
}
