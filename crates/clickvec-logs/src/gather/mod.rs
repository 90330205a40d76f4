//! Counting out of core: what was seen of each query and title, in memory as far as it is allowed, beyond in sorted runs
//! on disk that are merged at the end.
//!
//! A run has its queries in order of their bytes, and each query's titles likewise, so that a merge sees all of a query
//! at once and the output's order depends on nothing but the log.

mod memory;
mod merge;
mod run;
mod texts;

use std::path::{Path, PathBuf};

use crate::error::Result;
use memory::Memory;
use merge::merge;
use run::{Run, RunWriter};

pub use run::RunReader;
pub(crate) use texts::Names;

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

    /// Counts a row that has the numbers of the texts that [`Gatherer::take`] took.
    ///
    /// # Errors
    ///
    /// [`crate::Error::File`] if memory is full and the disk is too.
    #[inline]
    pub(crate) fn add_numbered(&mut self, sighting: Sighting<u32>) -> Result<()> {
        self.memory.count(sighting);
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
    pub fn finish(mut self) -> Result<Gathered> {
        if !self.memory.is_empty() || self.levels.is_empty() {
            self.spill()?;
        }
        let users = self.memory.users();
        drop(self.memory);
        let mut runs: Vec<Run> = self.levels.into_iter().flatten().collect();
        while runs.len() > 1 {
            let rest = runs.split_off(runs.len().min(MERGED_AT_ONCE));
            let merged = merged(runs, users, self.most_bytes, &self.folder)?;
            runs = rest;
            runs.push(merged);
        }
        match runs.pop() {
            Some(run) => Ok(Gathered { run }),
            None => Ok(Gathered { run: RunWriter::new(&self.folder)?.finish()? }),
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

/// Adds `user` unless it is there or there are `most` already.
fn add_user(users: &mut Vec<u64>, user: u64, most: usize) {
    if users.len() < most && !users.contains(&user) {
        users.push(user);
    }
}

#[cfg(test)]
mod tests;
