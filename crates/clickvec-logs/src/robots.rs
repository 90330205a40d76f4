//! Finding users with too many queries to be people.
//!
//! Consecutive rows of a user with the same query count as one, since the rows of a list of results have the same
//! query and time (or visit). Counts are by user and day, in memory as far as it suffices, then in unnamed files.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::hash::BuildHasherDefault;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use clickvec_tables::IdentityHasher;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{READ_TEMPORARY, WRITE_TEMPORARY};
use crate::{Error, Result};

/// The number of files that counts are divided into when memory is full.
const PARTITIONS: usize = 64;
/// The bytes that an entry takes, with its share of free slots.
const ENTRY_BYTES: usize = 64;
/// The number of rows that are counted at once, so that their cache misses overlap.
const AT_ONCE: usize = 512;
/// The bytes of a count in a file.
const RECORD_BYTES: u64 = 48;
/// The day of a count that covers the whole log.
const WHOLE_LOG: i64 = i64::MIN;
/// The day of rows without a time, if other rows have one: leaving the time out must not avoid the limit.
const UNDATED: i64 = i64::MAX;

/// The most queries that a person makes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// The limit for a day; `None` if there is none.
    pub day: Option<u64>,
    /// The limit for the whole log; `None` if there is none.
    pub log: Option<u64>,
}

/// The number of queries of each user.
pub(crate) struct UserCounts {
    limits: Limits,
    counts: Map,
    /// Rows that are not counted yet: user, day, query.
    rows: Vec<(u64, Option<i64>, u64)>,
    saw_a_day: bool,
    budget: usize,
    folder: PathBuf,
    partitions: Vec<BufWriter<File>>,
}

type Map = HashMap<u64, Entry, BuildHasherDefault<IdentityHasher>>;

/// Users by hash.
pub(crate) type Robots = HashSet<u64, BuildHasherDefault<IdentityHasher>>;

#[derive(Clone, Copy)]
struct Entry {
    user: u64,
    first: u64,
    last: u64,
    queries: u32,
    is_day: bool,
}

impl UserCounts {
    /// Creates empty counts of at most `budget` bytes.
    pub(crate) fn new(limits: Limits, budget: usize, folder: &Path) -> UserCounts {
        let (rows, folder) = (Vec::with_capacity(AT_ONCE), folder.to_owned());
        UserCounts { limits, counts: Map::default(), rows, saw_a_day: false, budget, folder, partitions: Vec::new() }
    }

    /// Counts a row. `query` is a hash of the query and its time or visit. All rows of a user without a day count as
    /// one day.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Io`] if memory is full and the disk is too.
    #[inline]
    pub(crate) fn add(&mut self, user: u64, day: Option<i64>, query: u64) -> Result<()> {
        self.rows.push((user, day, query));
        self.saw_a_day |= day.is_some();
        if self.rows.len() < AT_ONCE { Ok(()) } else { self.count_rows() }
    }

    fn count_rows(&mut self) -> Result<()> {
        for (user, day, query) in std::mem::take(&mut self.rows) {
            if self.limits.day.is_some() {
                self.count(user, day.unwrap_or(UNDATED), query);
            }
            if self.limits.log.is_some() {
                self.count(user, WHOLE_LOG, query);
            }
        }
        self.rows.reserve(AT_ONCE);
        if self.counts.len() * ENTRY_BYTES > self.budget {
            self.spill().map_err(|source| Error::io(&self.folder, WRITE_TEMPORARY, source))?;
        }
        Ok(())
    }

    fn count(&mut self, user: u64, day: i64, query: u64) {
        let key = mixed(user, day as u64);
        let new = Entry { user, first: query, last: query, queries: 1, is_day: day != WHOLE_LOG };
        let entry = self.counts.entry(key).or_insert(new);
        if entry.last != query {
            entry.last = query;
            entry.queries = entry.queries.saturating_add(1);
        }
    }

    /// Returns whether any row had a day. Without one, the daily limit has no effect.
    pub(crate) fn saw_a_day(&self) -> bool {
        self.saw_a_day
    }

    /// Drops the daily limit, so that only the limit of the whole log counts.
    pub(crate) fn without_days(mut self) -> UserCounts {
        self.limits.day = None;
        self
    }

    /// Returns the users over a limit.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Io`].
    pub(crate) fn robots(mut self) -> Result<Robots> {
        self.count_rows()?;
        let mut robots = Robots::default();
        if self.partitions.is_empty() {
            self.counts.values().for_each(|entry| self.limits.judge(entry, &mut robots));
            return Ok(robots);
        }
        let folder = self.folder.clone();
        self.finish(&mut robots).map_err(|source| Error::io(&folder, READ_TEMPORARY, source))?;
        Ok(robots)
    }

    fn finish(&mut self, robots: &mut Robots) -> io::Result<()> {
        self.spill()?;
        for partition in std::mem::take(&mut self.partitions) {
            let mut file = partition.into_inner().map_err(io::IntoInnerError::into_error)?;
            let mut left = file.stream_position()? / RECORD_BYTES;
            file.seek(SeekFrom::Start(0))?;
            let mut file = BufReader::new(file);
            let mut counts = Map::default();
            while left > 0 {
                left -= 1;
                let mut bytes = [[0; 8]; RECORD_BYTES as usize / 8];
                file.read_exact(bytes.as_flattened_mut())?;
                let [key, user, first, last, queries, is_day] = bytes.map(u64::from_le_bytes);
                let next = Entry { user, first, last, queries: queries as u32, is_day: is_day != 0 };
                // Counts of the same user and day are in the order of the log.
                let joined = |entry: &mut Entry| {
                    let repeated = u32::from(entry.last == next.first);
                    entry.queries = entry.queries.saturating_add(next.queries - repeated);
                    entry.last = next.last;
                };
                counts.entry(key).and_modify(joined).or_insert(next);
            }
            counts.values().for_each(|entry| self.limits.judge(entry, robots));
        }
        Ok(())
    }

    /// Writes all counts.
    fn spill(&mut self) -> io::Result<()> {
        while self.partitions.len() < PARTITIONS {
            self.partitions.push(BufWriter::new(tempfile::tempfile_in(&self.folder)?));
        }
        for (key, entry) in self.counts.drain() {
            let Entry { user, first, last, queries, is_day } = entry;
            let file = &mut self.partitions[(key >> 58) as usize];
            let record = [key, user, first, last, u64::from(queries), u64::from(is_day)].map(u64::to_le_bytes);
            file.write_all(record.as_flattened())?;
        }
        Ok(())
    }
}

/// Counters that users share, to find all users who may exceed a limit.
pub(crate) struct SharedCounts {
    /// The last user and query in the upper bits, the number of queries in the lower bits.
    counts: Vec<u64>,
    /// Rows that are not counted yet: user, query.
    rows: Vec<(u64, u64)>,
}

/// Users who may exceed a limit. The more users there are, the more of them are suspected wrongly.
pub(crate) struct Suspects {
    /// One bit for each counter.
    bits: Vec<u64>,
}

/// The bits of a counter's number of queries, which stops at its largest value.
const COUNT_BITS: u32 = 24;
const MOST_QUERIES: u64 = (1 << COUNT_BITS) - 1;
/// The largest number of counters, if memory allows. It leaves room in the processor's caches.
const MOST_SHARED: usize = 1 << 20;

impl SharedCounts {
    /// Counters of at most `budget` bytes, but no fewer than 64.
    pub(crate) fn new(budget: usize) -> SharedCounts {
        let counts = (budget / size_of::<u64>() + 1).next_power_of_two() / 2;
        SharedCounts { counts: vec![0; counts.clamp(64, MOST_SHARED)], rows: Vec::with_capacity(AT_ONCE) }
    }

    /// Counts a row like [`UserCounts::add`].
    #[inline]
    pub(crate) fn add(&mut self, user: u64, query: u64) {
        self.rows.push((user, query));
        if self.rows.len() == AT_ONCE {
            self.count_rows();
        }
    }

    fn count_rows(&mut self) {
        let mask = self.counts.len() - 1;
        for (user, query) in self.rows.drain(..) {
            let last = mixed(user, query) >> COUNT_BITS;
            let count = &mut self.counts[user as usize & mask];
            if *count >> COUNT_BITS != last || *count == 0 {
                *count = last << COUNT_BITS | ((*count & MOST_QUERIES) + 1).min(MOST_QUERIES);
            }
        }
    }

    /// Returns the users who may be over a limit; `None` if no user is.
    pub(crate) fn over(mut self, limit: u64) -> Option<Suspects> {
        self.count_rows();
        let limit = limit.min(MOST_QUERIES - 1);
        let bit = |count: &u64| u64::from(count & MOST_QUERIES > limit);
        let word = |counts: &[u64]| counts.iter().rev().fold(0, |word, count| word << 1 | bit(count));
        let bits: Vec<u64> = self.counts.chunks(64).map(word).collect();
        bits.iter().any(|&word| word > 0).then_some(Suspects { bits })
    }
}

impl Suspects {
    /// Returns whether a user is suspected.
    #[inline]
    pub(crate) fn contains(&self, user: u64) -> bool {
        let bit = user as usize & (64 * self.bits.len() - 1);
        self.bits[bit / 64] >> (bit % 64) & 1 > 0
    }
}

impl Limits {
    fn judge(&self, entry: &Entry, robots: &mut Robots) {
        let limit = if entry.is_day { self.day } else { self.log };
        if limit.is_some_and(|limit| u64::from(entry.queries) > limit) {
            robots.insert(entry.user);
        }
    }
}

fn mixed(user: u64, other: u64) -> u64 {
    xxh3_64([user.to_le_bytes(), other.to_le_bytes()].as_flattened())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn robots(limits: Limits, budget: usize) -> Vec<u64> {
        let folder = tempfile::tempdir().unwrap();
        let mut users = UserCounts::new(limits, budget, folder.path());
        for round in 0..200 {
            for user in 0..50 {
                // User u asks a new query in every round below 4 u, alternating between two days. Each query has two
                // rows, with rows of other users between them.
                let rounds = |user: u64| round < 4 * user;
                for user in [user, user ^ 1].into_iter().filter(|&user| rounds(user)) {
                    users.add(user, Some(round as i64 % 2), round).unwrap();
                }
            }
        }
        let mut robots: Vec<u64> = users.robots().unwrap().into_iter().collect();
        robots.sort_unstable();
        robots
    }

    #[test]
    fn whoever_is_over_a_limit_is_suspected() {
        for budget in [8, 4_096, 1 << 20] {
            assert!(SharedCounts::new(budget).over(0).is_none());
            let mut counts = SharedCounts::new(budget);
            // User u asks u queries in two consecutive rows each.
            for round in 0..40 {
                for user in (0..40).filter(|&user| round < u64::from(user)) {
                    (0..2).for_each(|_| counts.add(xxh3_64(&[user]), round));
                }
            }
            let suspects = counts.over(20).unwrap();
            let found: Vec<u8> = (0..40).filter(|&user| suspects.contains(xxh3_64(&[user]))).collect();
            assert!((21..40).all(|user| found.contains(&user)), "{found:?}");
            // With this many counters, no two of the forty users share one.
            assert_eq!(found.len() == 19, budget == 1 << 20, "{found:?}");
        }
    }

    #[test]
    fn who_leaves_the_time_out_is_limited_too() {
        let folder = tempfile::tempdir().unwrap();
        for (budget, limits) in [usize::MAX, 2 * ENTRY_BYTES].into_iter().flat_map(|budget| {
            [(budget, Limits { day: Some(9), log: None }), (budget, Limits { day: Some(9), log: Some(1_000) })]
        }) {
            let mut users = UserCounts::new(limits, budget, folder.path());
            for query in 0..10 {
                users.add(1, None, query).unwrap();
                users.add(2, (query > 0).then_some(7), query).unwrap();
                users.add(3, Some(query as i64), query).unwrap();
            }
            assert_eq!(users.robots().unwrap().into_iter().collect::<Vec<_>>(), [1]);
        }
    }

    #[test]
    fn without_any_time_there_is_no_day() {
        let folder = tempfile::tempdir().unwrap();
        let mut users = UserCounts::new(Limits { day: Some(9), log: None }, usize::MAX, folder.path());
        (0..100).for_each(|query| users.add(1, None, query).unwrap());
        assert!(!users.saw_a_day());
        assert!(users.without_days().robots().unwrap().is_empty());
    }

    #[test]
    fn those_over_a_limit_whatever_the_memory() {
        for budget in [usize::MAX, 20 * ENTRY_BYTES] {
            let none = Limits { day: None, log: None };
            assert!(robots(none, budget).is_empty());
            assert_eq!(robots(Limits { day: Some(90), ..none }, budget), [46, 47, 48, 49]);
            assert_eq!(robots(Limits { log: Some(191), ..none }, budget), [48, 49]);
        }
    }
}
