//! Counting out of core: what was seen of each query and title, in memory as far as it is allowed, beyond in sorted runs
//! on disk that are merged at the end.
//!
//! A run has its queries in order of their bytes, and each query's titles likewise, so that a merge sees all of a query
//! at once and the output's order depends on nothing but the log.

mod memory;
mod merge;
mod run;
mod texts;
mod users;

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::report::Counts;
use memory::Memory;
use merge::merge;
use run::{Run, RunWriter};

pub use run::RunReader;
pub(crate) use texts::{Names, Waiting};

/// Runs that are merged at once: each needs a buffer and an open file.
const MERGED_AT_ONCE: usize = 64;

/// A query may have titles of so many bytes, however little memory there is.
const LEAST_BYTES: usize = 8 << 20;

/// Which output a row belongs to.
pub const PARTS: usize = 2;

/// One row, cleaned. Its texts are texts, or their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sighting<T> {
    /// What was typed.
    pub query: T,
    /// What was shown.
    pub title: T,
    /// Which output it belongs to, below [`PARTS`].
    pub part: u8,
    /// Where it was shown; 0 if positions are not asked for.
    pub position: u16,
    /// How often it was shown.
    pub shown: u64,
    /// How often it was clicked.
    pub clicks: u64,
    /// A hash of who; `None` if nobody knows.
    pub user: Option<u64>,
}

impl<T> Sighting<T> {
    /// The same with other texts for query and title.
    #[inline]
    pub(crate) fn with<U>(self, texts: impl FnOnce(T, T) -> (U, U)) -> Sighting<U> {
        let Sighting { query, title, part, position, shown, clicks, user } = self;
        let (query, title) = texts(query, title);
        Sighting { query, title, part, position, shown, clicks, user }
    }
}

/// What was seen of a title at one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The output.
    pub part: u8,
    /// The position.
    pub position: u16,
    /// How often it was shown there.
    pub shown: u64,
    /// How often it was clicked there.
    pub clicks: u64,
}

/// What was seen of one title for a query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TitleGroup {
    /// Its text.
    pub title: Vec<u8>,
    /// In order of part and position.
    pub cells: Vec<Cell>,
}

/// What was seen of one query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryGroup {
    /// Its text.
    pub query: Vec<u8>,
    /// Hashes of those who clicked for it, by part: all of them up to the number that is asked for, then no more.
    pub users: [Vec<u64>; PARTS],
    /// In order of their bytes.
    pub titles: Vec<TitleGroup>,
}

/// Which queries [`Gatherer::finish`] hands over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// All.
    All,
    /// Those for which, in some part, as many users clicked as are told apart. Positions must be 0: what is left out is
    /// counted by query, title and part.
    WithUsers,
}

impl QueryGroup {
    /// Whether fewer users than `enough` clicked, in each part.
    fn is_of_few(&self, enough: usize) -> bool {
        self.users.iter().all(|users| users.len() < enough)
    }

    /// Adds what was clicked, in each part by itself.
    fn count(&self, counts: &mut Counts) {
        for part in 0..PARTS {
            let cells = self.titles.iter().flat_map(|title| &title.cells);
            let mut clicked = cells.filter(|cell| usize::from(cell.part) == part && cell.clicks > 0).peekable();
            counts.queries += u64::from(clicked.peek().is_some());
            for cell in clicked {
                counts.pairs += 1;
                counts.clicks = counts.clicks.saturating_add(cell.clicks);
            }
        }
    }
}

/// Counts rows.
pub struct Gatherer {
    memory: Memory,
    /// The most that [`Gatherer::memory`] may take.
    budget: usize,
    /// The most that one query may take where runs are merged.
    most_bytes: usize,
    /// Runs by how often they were merged: never, once …
    levels: Vec<Vec<Run>>,
    spills: usize,
    folder: PathBuf,
}

impl Gatherer {
    /// Counts within `budget` bytes; what does not fit goes into unnamed files in `folder`, which vanish with the
    /// process. Of each query at most `users` users are told apart.
    pub fn new(budget: usize, folder: &Path, users: usize) -> Gatherer {
        let most_bytes = budget.max(LEAST_BYTES);
        Gatherer {
            memory: Memory::new(users),
            budget,
            most_bytes,
            levels: Vec::new(),
            spills: 0,
            folder: folder.to_owned(),
        }
    }

    /// Counts a row.
    ///
    /// # Errors
    ///
    /// [`crate::Error::File`] if memory is full and the disk is too.
    #[inline]
    pub fn add(&mut self, sighting: Sighting<&str>) -> Result<()> {
        self.memory.add(sighting);
        if self.memory.bytes() >= self.budget {
            self.spill()?;
            self.memory.take(Names::default());
        }
        Ok(())
    }

    /// Takes texts that were numbered before; those of what was counted until now are forgotten.
    ///
    /// # Errors
    ///
    /// [`crate::Error::File`].
    pub(crate) fn take(&mut self, names: Names) -> Result<()> {
        if !self.memory.is_empty() {
            self.spill()?;
        }
        self.memory.take(names);
        Ok(())
    }

    /// Counts rows that have the numbers of the texts that [`Gatherer::take`] took.
    ///
    /// # Errors
    ///
    /// [`crate::Error::File`] if memory is full and the disk is too.
    pub(crate) fn add_numbered(&mut self, sightings: &[Sighting<u32>]) -> Result<()> {
        self.memory.count_all(sightings);
        // However much the texts take, a run is not to have a few rows only.
        let texts = self.memory.bytes() - self.memory.bytes_of_counts();
        if self.memory.bytes_of_counts() >= self.budget.saturating_sub(texts).max(self.budget / 4) {
            self.spill()?;
        }
        Ok(())
    }

    /// How often memory was full.
    pub fn spills(&self) -> usize {
        self.spills
    }

    /// All that was counted, in order.
    ///
    /// # Errors
    ///
    /// [`crate::Error::File`].
    pub fn finish(mut self, stay: Stay) -> Result<Gathered> {
        let mut few = Counts::default();
        if self.levels.is_empty() && stay == Stay::WithUsers {
            few = self.memory.leave_out_few();
        }
        if !self.memory.is_empty() || self.levels.is_empty() {
            self.spill()?;
        }
        let users = self.memory.users();
        drop(self.memory);
        let mut runs: Vec<Run> = self.levels.into_iter().flatten().collect();
        while runs.len() > 1 {
            let rest = runs.split_off(runs.len().min(MERGED_AT_ONCE));
            let mut writer = RunWriter::new(&self.folder)?;
            merge(runs, users, self.most_bytes, |group| {
                if rest.is_empty() && stay == Stay::WithUsers && group.is_of_few(users) {
                    group.count(&mut few);
                    return Ok(());
                }
                writer.write(group)
            })?;
            runs = rest;
            runs.push(writer.finish()?);
        }
        match runs.pop() {
            Some(run) => Ok(Gathered { run, few }),
            None => Ok(Gathered { run: RunWriter::new(&self.folder)?.finish()?, few }),
        }
    }

    fn spill(&mut self) -> Result<()> {
        let mut writer = RunWriter::new(&self.folder)?;
        self.memory.drain(|group| writer.write(group))?;
        let mut run = writer.finish()?;
        self.spills += 1;
        // As many open files as a process may have: full levels are merged at once.
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            self.levels[level].push(run);
            if self.levels[level].len() < MERGED_AT_ONCE {
                break;
            }
            let full = std::mem::take(&mut self.levels[level]);
            run = merged(full, self.memory.users(), self.most_bytes, &self.folder)?;
        }
        Ok(())
    }
}

/// One run of many.
fn merged(runs: Vec<Run>, users: usize, most_bytes: usize, folder: &Path) -> Result<Run> {
    let mut writer = RunWriter::new(folder)?;
    merge(runs, users, most_bytes, |group| writer.write(group))?;
    writer.finish()
}

/// All that was counted: one run, which can be read as often as needed.
pub struct Gathered {
    run: Run,
    /// What [`Stay::WithUsers`] left out.
    pub few: Counts,
}

impl Gathered {
    /// Its queries from the first on.
    ///
    /// # Errors
    ///
    /// [`crate::Error::File`].
    pub fn read(&self) -> Result<RunReader> {
        self.run.read()
    }
}

/// Rows and texts that are looked up at once: their places in memory are fetched side by side then, not one after the
/// other.
pub(crate) const AT_ONCE: usize = 256;

/// Adds `user` unless it is there or there are `most` already.
fn add_user(users: &mut Vec<u64>, user: u64, most: usize) {
    if users.len() < most && !users.contains(&user) {
        users.push(user);
    }
}

#[cfg(test)]
mod tests;
