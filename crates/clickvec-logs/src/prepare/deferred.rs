//! Rows that are judged later, because robots are known only after all rows were read.
//!
//! Each row's essentials wait in an unnamed file, with texts as numbers. The texts stay in memory as long as it suffices. Beyond
//! that they go into a file as well, and are numbered again.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::seen::{Fate, Reason, Seen};
use super::user_query::UserQuery;
use crate::error::{READ_TEMPORARY, WRITE_TEMPORARY};
use crate::gather::{AT_ONCE, Gatherer, Names, Sighting, Waiting};
use crate::privacy::Removed;
use crate::{Error, Result};

const BUFFER_BYTES: usize = 256 * 1024;
/// The bytes of texts that may wait to be numbered, since rows may be long.
const WAITING_BYTES: usize = 256 * 1024;

/// A row that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    /// The user and query; `None` if the user is not known.
    pub(super) user_query: Option<UserQuery>,
    /// The row's contribution to the counts; `None` if the row is broken.
    pub(super) seen: Option<Seen<u32>>,
}

/// Rows that wait.
pub(super) struct Deferred {
    file: BufWriter<File>,
    /// Rows whose texts have places in `queries` and `titles` but no numbers yet.
    waiting: Vec<Row>,
    queries: Waiting,
    titles: Waiting,
    /// The number of rows in the file.
    rows: u64,
    names: Names,
    /// For each set of texts that filled the memory, the number of the first row that does not refer to it.
    closed: Vec<u64>,
    closed_names: BufWriter<File>,
    budget: usize,
    folder: PathBuf,
}

impl Deferred {
    /// Creates an empty collection that keeps up to `budget` bytes of texts in memory.
    pub(super) fn new(budget: usize, folder: &Path) -> Result<Deferred> {
        let file = || -> Result<BufWriter<File>> {
            let file = tempfile::tempfile_in(folder).map_err(|source| Error::io(folder, WRITE_TEMPORARY, source))?;
            Ok(BufWriter::with_capacity(BUFFER_BYTES, file))
        };
        Ok(Deferred {
            file: file()?,
            waiting: Vec::with_capacity(AT_ONCE),
            queries: Waiting::default(),
            titles: Waiting::default(),
            rows: 0,
            names: Names::default(),
            closed: Vec::new(),
            closed_names: file()?,
            budget,
            folder: folder.to_owned(),
        })
    }

    /// Adds a row.
    pub(super) fn add(&mut self, user_query: Option<UserQuery>, seen: Option<Seen<&str>>) -> Result<()> {
        let seen = seen.map(|seen| seen.with(|query, title| (self.queries.push(query), self.titles.push(title))));
        self.waiting.push(Row { user_query, seen });
        let is_full = self.waiting.len() == AT_ONCE || self.queries.bytes() + self.titles.bytes() >= WAITING_BYTES;
        if is_full { self.number() } else { Ok(()) }
    }

    /// Numbers the texts of waiting rows, and writes the rows.
    fn number(&mut self) -> Result<()> {
        self.names.number_all(&mut self.queries, &mut self.titles);
        self.rows += self.waiting.len() as u64;
        for Row { user_query, seen } in self.waiting.drain(..) {
            let seen =
                seen.map(|seen| seen.with(|query, title| (self.queries.number(query), self.titles.number(title))));
            put(&mut self.file, &Row { user_query, seen })
                .map_err(|source| Error::io(&self.folder, WRITE_TEMPORARY, source))?;
        }
        self.queries.clear();
        self.titles.clear();
        if self.names.bytes() >= self.budget { self.close() } else { Ok(()) }
    }

    /// Writes the texts. The rows that follow do not refer to them.
    fn close(&mut self) -> Result<()> {
        let names = std::mem::take(&mut self.names);
        names.write(&mut self.closed_names).map_err(|source| Error::io(&self.folder, WRITE_TEMPORARY, source))?;
        self.closed.push(self.rows);
        Ok(())
    }

    /// Passes on the user and query of each row, in order.
    pub(super) fn each_user_query(&mut self, mut each: impl FnMut(UserQuery) -> Result<()>) -> Result<()> {
        self.number()?;
        let mut rows = self.rows()?;
        for _ in 0..self.rows {
            let row = get(&mut rows).map_err(|source| Error::io(&self.folder, READ_TEMPORARY, source))?;
            row.user_query.map_or(Ok(()), &mut each)?;
        }
        Ok(())
    }

    /// Counts the rows. `judge` decides what to count of each.
    pub(super) fn count(
        mut self,
        gatherer: &mut Gatherer,
        mut judge: impl FnMut(Row) -> Option<Sighting<u32>>,
    ) -> Result<()> {
        self.number()?;
        // The last texts would take room in memory while the first ones are counted.
        if !self.closed.is_empty() && self.closed.last() != Some(&self.rows) {
            self.close()?;
        }
        let mut rows = self.rows()?;
        let mut sightings = Vec::with_capacity(AT_ONCE);
        let failed = |source| Error::io(&self.folder, READ_TEMPORARY, source);
        let mut names = reader(self.closed_names).map_err(failed)?;
        self.names.freeze();
        let mut last = Some(self.names);
        let mut closed = self.closed.into_iter();
        let mut next = 0;
        for row in 0..self.rows {
            if row == next {
                let texts = match closed.next() {
                    Some(end) => {
                        next = end;
                        Some(Names::read(&mut names).map_err(failed)?)
                    }
                    None => last.take(),
                };
                gatherer.add_numbered(&sightings)?;
                sightings.clear();
                gatherer.take(texts.unwrap_or_default())?;
            }
            sightings.extend(judge(get(&mut rows).map_err(failed)?));
            if sightings.len() == AT_ONCE {
                gatherer.add_numbered(&sightings)?;
                sightings.clear();
            }
        }
        gatherer.add_numbered(&sightings)
    }

    /// Returns a reader from the first row.
    fn rows(&mut self) -> Result<BufReader<File>> {
        let mut rewound = || -> io::Result<BufReader<File>> {
            self.file.flush()?;
            reader(BufWriter::new(self.file.get_ref().try_clone()?))
        };
        rewound().map_err(|source| Error::io(&self.folder, READ_TEMPORARY, source))
    }
}

fn reader(written: BufWriter<File>) -> io::Result<BufReader<File>> {
    let mut file = written.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(BufReader::with_capacity(BUFFER_BYTES, file))
}

// The flags of a row in addition to its fate.
const USER: u8 = 1;
const DAY: u8 = 2;
const ITEM: u8 = 4;
const REMOVED: u8 = 8;
/// The row is counted, and is not just a single click in the first part without a position.
const TALLY: u8 = 16;

/// Writes two bytes, the row's fate and its flags, and then numbers of fixed size.
fn put(file: &mut impl Write, row: &Row) -> io::Result<()> {
    let mut bytes = [0; 96];
    let mut length = 2;
    let mut push = |number: &[u8]| {
        bytes[length..length + number.len()].copy_from_slice(number);
        length += number.len();
    };
    let mut has = 0;
    if let Some(UserQuery { user, day, query }) = row.user_query {
        has |= USER;
        push(&user.to_le_bytes());
        push(&query.to_le_bytes());
        if let Some(day) = day {
            has |= DAY;
            push(&day.to_le_bytes());
        }
    }
    let fate = row.seen.map_or(BROKEN, |seen| {
        if let Some(item) = seen.item {
            has |= ITEM;
            push(&item.to_le_bytes());
        }
        if seen.removed != Removed::default() {
            has |= REMOVED;
            let Removed { emails, phones, cards } = seen.removed;
            [emails, phones, cards].iter().for_each(|count| push(&count.to_le_bytes()));
        }
        let Sighting { query, title, position, shown, clicks, .. } = match seen.fate {
            Fate::LeftOut(reason) => return reason as u8,
            Fate::Counted(sighting) => sighting,
        };
        push(&query.to_le_bytes());
        push(&title.to_le_bytes());
        if (position, shown, clicks) != (0, 1, 1) {
            has |= TALLY;
            push(&position.to_le_bytes());
            push(&shown.to_le_bytes());
            push(&clicks.to_le_bytes());
        }
        COUNTED
    });
    (bytes[0], bytes[1]) = (fate, has);
    file.write_all(&bytes[..length])
}

fn get(file: &mut impl Read) -> io::Result<Row> {
    fn take<const N: usize>(file: &mut impl Read) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
    let [fate, has] = take(file)?;
    let mut user_query = None;
    if has & USER > 0 {
        let (user, query) = (u64::from_le_bytes(take(file)?), u64::from_le_bytes(take(file)?));
        let day = if has & DAY > 0 { Some(i32::from_le_bytes(take(file)?)) } else { None };
        user_query = Some(UserQuery { user, day, query });
    }
    if fate == BROKEN {
        return Ok(Row { user_query, seen: None });
    }
    let item = if has & ITEM > 0 { Some(u64::from_le_bytes(take(file)?)) } else { None };
    let mut removed = Removed::default();
    if has & REMOVED > 0 {
        for count in [&mut removed.emails, &mut removed.phones, &mut removed.cards] {
            *count = u64::from_le_bytes(take(file)?);
        }
    }
    let fate = match Reason::ALL.get(usize::from(fate)) {
        Some(&reason) => Fate::LeftOut(reason),
        None => {
            let (query, title) = (u32::from_le_bytes(take(file)?), u32::from_le_bytes(take(file)?));
            let user = user_query.map(|user_query| user_query.user);
            let mut sighting = Sighting { query, title, position: 0, shown: 1, clicks: 1, user };
            if has & TALLY > 0 {
                sighting.position = u16::from_le_bytes(take(file)?);
                sighting.shown = u64::from_le_bytes(take(file)?);
                sighting.clicks = u64::from_le_bytes(take(file)?);
            }
            Fate::Counted(sighting)
        }
    };
    Ok(Row { user_query, seen: Some(Seen { item, removed, fate }) })
}

/// The number of a row that is counted. One that is left out has the number of its reason.
const COUNTED: u8 = Reason::ALL.len() as u8;
const BROKEN: u8 = u8::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        let removed = Removed { emails: 1, phones: 0, cards: 2 };
        let counted = |clicks| {
            let (query, title) = (7, u32::MAX);
            Fate::Counted(Sighting { query, title, position: 9, shown: 1, clicks, user: Some(5) })
        };
        let once = Sighting { query: 0, title: 1, position: 0, shown: 1, clicks: 1, user: None };
        let user_query = |day| Some(UserQuery { user: 5, day, query: u64::MAX });
        let mut rows = vec![
            Row { user_query: user_query(Some(-3)), seen: None },
            Row { user_query: user_query(None), seen: Some(Seen { item: Some(3), removed, fate: counted(u64::MAX) }) },
            Row { user_query: user_query(Some(9)), seen: Some(Seen { item: None, removed, fate: counted(1) }) },
            Row {
                user_query: None,
                seen: Some(Seen { fate: Fate::Counted(once), item: None, removed: Removed::default() }),
            },
        ];
        rows.extend(Reason::ALL.map(|reason| {
            let seen = Seen { fate: Fate::LeftOut(reason), item: Some(1), removed };
            Row { user_query: None, seen: Some(seen) }
        }));
        rows
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let mut bytes = Vec::new();
        rows().iter().for_each(|row| put(&mut bytes, row).unwrap());
        let mut left = bytes.as_slice();
        for row in rows() {
            assert_eq!(get(&mut left).unwrap(), row);
        }
        assert!(left.is_empty());
    }

    #[test]
    fn long_texts_do_not_wait() {
        let folder = tempfile::tempdir().unwrap();
        let mut deferred = Deferred::new(usize::MAX, folder.path()).unwrap();
        for number in 0..9 {
            let title = number.to_string().repeat(100_000);
            let sighting = Sighting { query: "q", title: title.as_str(), position: 0, shown: 1, clicks: 1, user: None };
            let seen = Seen { item: None, removed: Removed::default(), fate: Fate::Counted(sighting) };
            deferred.add(None, Some(seen)).unwrap();
            assert!(deferred.titles.bytes() < WAITING_BYTES);
        }
        assert_eq!((deferred.rows, deferred.waiting.len()), (9, 0));
    }
}
