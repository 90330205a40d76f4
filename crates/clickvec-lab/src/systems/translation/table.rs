//! A sparse table of translation probabilities.

use clickvec::internals::ragged::starts;
use clickvec::internals::text::WordId;
use clickvec_eval::internals::{RankerState, check_range};
use clickvec_tables::damaged;
use clickvec_tables::{Error, Result};

/// P(q|w) of query words q and title words w, or of phrases by number; 0 where it has no entry. Its three arrays are those
/// of the file, which is why it is not [`clickvec::internals::ragged::Ragged`].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TranslationTable {
    /// The start of each q's entries.
    starts: Vec<u32>,
    /// The title word of each entry, ascending within a row.
    sources: Vec<WordId>,
    probabilities: Vec<f64>,
}

impl TranslationTable {
    /// Creates a table of entries (q, w, P(q|w)), each pair once, ascending in w. q is below `targets`.
    pub(super) fn new(targets: usize, entries: &[(WordId, WordId, f64)]) -> TranslationTable {
        let starts: Vec<u32> = starts(targets, entries.iter().map(|&(target, ..)| target as usize));
        let mut next = starts.clone();
        let (mut sources, mut probabilities) = (vec![0; entries.len()], vec![0.0; entries.len()]);
        for &(target, source, probability) in entries {
            let position = next[target as usize] as usize;
            (sources[position], probabilities[position]) = (source, probability);
            next[target as usize] += 1;
        }
        TranslationTable { starts, sources, probabilities }
    }

    /// Returns P(q|w) for one q.
    pub(super) fn row(&self, target: WordId) -> Row<'_> {
        let row = self.starts[target as usize] as usize..self.starts[target as usize + 1] as usize;
        Row { sources: &self.sources[row.clone()], probabilities: &self.probabilities[row] }
    }

    /// Returns the number of entries.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.sources.len()
    }

    /// Stores the arrays of the table, with names that begin with `name`.
    pub(super) fn state(&self, name: &str, state: RankerState) -> RankerState {
        state
            .with_u32s(&format!("{name}_starts"), &self.starts)
            .with_u32s(&format!("{name}_columns"), &self.sources)
            .with_f64s(&format!("{name}_probabilities"), &self.probabilities)
    }

    /// Restores a table of `targets` rows whose sources are below `sources`.
    pub(super) fn restore(name: &str, targets: usize, sources: usize, state: &RankerState) -> Result<TranslationTable> {
        let starts = state.u32s(&format!("{name}_starts"), &[Some(targets + 1)])?;
        let columns = state.u32s(&format!("{name}_columns"), &[None])?;
        let probabilities = state.f64s(&format!("{name}_probabilities"), &[Some(columns.len())])?;
        check_starts(&format!("{name}_starts"), starts, columns.len())?;
        check_rows(&format!("{name}_columns"), starts, columns, sources)?;
        check_range(&format!("{name}_probabilities"), probabilities, 0.0, 1.0)?;
        let (starts, sources, probabilities) = (starts.to_vec(), columns.to_vec(), probabilities.to_vec());
        Ok(TranslationTable { starts, sources, probabilities })
    }
}

/// Checks that `starts`, of which there is at least one, cuts a list of `length` numbers into rows.
fn check_starts(name: &str, starts: &[u32], length: usize) -> Result<()> {
    if let Some(position) = starts.windows(2).position(|two| two[0] > two[1]) {
        let (before, found) = (starts[position], starts[position + 1]);
        return Err(descent(name, before, found, position + 1));
    }
    let (first, last) = (starts[0], starts[starts.len() - 1]);
    if first != 0 || last as usize != length {
        let (expected, found) = (format!("rows from 0 to {length}"), format!("rows from {first} to {last}"));
        return Err(damaged::content(name, expected, found));
    }
    Ok(())
}

fn descent(name: &str, before: u32, found: u32, position: usize) -> Error {
    damaged::content(name, "ascending numbers", format_args!("{found} after {before} at place {position}"))
}

/// Checks that each row is ascending and below `bound`. The rows cover `columns`.
fn check_rows(name: &str, starts: &[u32], columns: &[u32], bound: usize) -> Result<()> {
    for row in starts.windows(2).map(|two| two[0] as usize..two[1] as usize) {
        for position in row.clone() {
            let found = columns[position];
            if found as usize >= bound {
                return Err(damaged::not_below(name, bound, found, position));
            }
            if position > row.start && columns[position - 1] >= found {
                return Err(descent(name, columns[position - 1], found, position));
            }
        }
    }
    Ok(())
}

/// The entries of one q.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    sources: &'a [WordId],
    probabilities: &'a [f64],
}

impl Row<'_> {
    /// Returns P(q|w).
    pub(super) fn get(self, source: WordId) -> f64 {
        self.sources.binary_search(&source).map_or(0.0, |position| self.probabilities[position])
    }
}
