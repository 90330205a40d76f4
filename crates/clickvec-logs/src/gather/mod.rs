//! Counting out of core: the counts of each query and title are in memory as far as it suffices, then in sorted runs
//! on disk that are merged at the end.
//!
//! A run has its queries ordered by their bytes, and the titles of each query likewise. So a merge sees all of a query
//! at once, and the order of the output depends on nothing but the log.

mod group;
mod memory;
mod merge;
mod run;
mod texts;
mod users;

use std::path::{Path, PathBuf};

use crate::Result;
use crate::report::Counts;
use memory::Memory;
use merge::merge;
use run::{Run, RunWriter};

pub(crate) use group::AT_ONCE;
pub use group::{Cell, QueryGroup, Sighting, TitleGroup};
pub use run::RunReader;
pub(crate) use texts::{Names, Waiting};

/// The number of runs to merge at once. Each needs a buffer and an open file.
const MERGED_AT_ONCE: usize = 64;

/// The bytes that the titles of one query may take, however little memory there is.
const LEAST_BYTES: usize = 8 << 20;

/// The queries that [`Gatherer::finish`] returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// All queries.
    All,
    /// Queries for which as many users clicked as are counted. Positions must be 0, because what is
    /// left out is counted by query, title and part.
    WithUsers,
}

/// A counter of rows.
pub struct Gatherer {
    memory: Memory,
    /// The limit of [`Gatherer::memory`].
    budget: usize,
    /// The most that one query may take in a merge.
    most_bytes: usize,
    /// Runs by the number of times they were merged: never, once, and so on.
    levels: Vec<Vec<Run>>,
    spills: usize,
    folder: PathBuf,
}

impl Gatherer {
    /// Creates a counter that uses up to `budget` bytes. The rest goes into unnamed files in `folder`, which vanish with the
    /// process. At most `users` users are counted for each query.
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
    /// [`crate::ErrorKind::Io`] if memory is full and the disk is too.
    #[inline]
    pub fn add(&mut self, sighting: Sighting<&str>) -> Result<()> {
        self.memory.add(sighting);
        if self.memory.bytes() >= self.budget {
            self.spill()?;
            self.memory.take(Names::default());
        }
        Ok(())
    }

    /// Uses texts that were numbered before, and forgets those of earlier rows.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Io`].
    pub(crate) fn take(&mut self, names: Names) -> Result<()> {
        if !self.memory.is_empty() {
            self.spill()?;
        }
        self.memory.take(names);
        Ok(())
    }

    /// Counts rows that refer to the texts of [`Gatherer::take`] by number.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Io`] if memory is full and the disk is too.
    pub(crate) fn add_numbered(&mut self, sightings: &[Sighting<u32>]) -> Result<()> {
        self.memory.count_all(sightings);
        // However much memory the texts take, a run should have more than a few rows.
        let texts = self.memory.bytes() - self.memory.bytes_of_counts();
        if self.memory.bytes_of_counts() >= self.budget.saturating_sub(texts).max(self.budget / 4) {
            self.spill()?;
        }
        Ok(())
    }

    /// Returns the number of times memory was full.
    pub fn spills(&self) -> usize {
        self.spills
    }

    /// Returns all counts, in order.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Io`].
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
                if rest.is_empty() && stay == Stay::WithUsers && group.has_fewer_users(users) {
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
        // A process may open only so many files, so full levels are merged at once.
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

/// Merges several runs into one.
fn merged(runs: Vec<Run>, users: usize, most_bytes: usize, folder: &Path) -> Result<Run> {
    let mut writer = RunWriter::new(folder)?;
    merge(runs, users, most_bytes, |group| writer.write(group))?;
    writer.finish()
}

/// All counts, in one run that can be read as often as needed.
pub struct Gathered {
    run: Run,
    /// The counts that [`Stay::WithUsers`] left out.
    pub few: Counts,
}

impl Gathered {
    /// Returns a reader that starts at the first query.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Io`].
    pub fn read(&self) -> Result<RunReader> {
        self.run.read()
    }
}

#[cfg(test)]
mod tests;
