//! The number of occurrences of a log's words.

use crate::text::WordHash;
use clickvec_tables::Result;
use clickvec_tables::memory::{NoRoom, bytes_of};
use std::collections::HashMap;

/// The number of words to count. If there are more, the rarest are forgotten.
const COUNTED_WORDS: usize = 1 << 22;

/// A counter of words. Its memory does not grow with the log: a word that is rarer than so many others may be counted too low, or
/// not at all.
#[derive(Debug)]
pub(super) struct WordCounts {
    counts: HashMap<WordHash, u64>,
    most: usize,
    /// Words that are no more frequent than this are forgotten next.
    rare: u64,
}

impl WordCounts {
    fn new(most: usize) -> WordCounts {
        WordCounts { counts: HashMap::new(), most, rare: 0 }
    }

    /// Adds `count` occurrences of a word.
    pub(super) fn add(&mut self, word: WordHash, count: u64) -> Result<()> {
        if self.counts.len() == self.counts.capacity() {
            let more = self.counts.len().max(1024);
            let fault = |_| NoRoom { what: "the counts of words", bytes: bytes_of::<(WordHash, u64)>(more) };
            self.counts.try_reserve(more).map_err(fault)?;
        }
        *self.counts.entry(word).or_default() += count;
        while self.counts.len() > self.most {
            self.rare += 1;
            let rare = self.rare;
            self.counts.retain(|_, count| *count > rare);
        }
        Ok(())
    }

    /// Returns the words that occur at least `least` times, each with its count.
    pub(super) fn at_least(self, least: u64) -> impl Iterator<Item = (WordHash, u64)> {
        self.counts.into_iter().filter(move |&(_, count)| count >= least)
    }
}

impl Default for WordCounts {
    fn default() -> WordCounts {
        WordCounts::new(COUNTED_WORDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rarest_of_too_many_words_are_forgotten() {
        let mut counts = WordCounts::new(3);
        for (word, count) in [("a", 5), ("b", 1), ("c", 2), ("d", 1), ("e", 2), ("a", 1)] {
            counts.add(WordHash::new(word), count).expect("room");
        }
        let mut left: Vec<u64> = counts.counts.values().copied().collect();
        left.sort_unstable();
        assert_eq!((left, counts.counts[&WordHash::new("a")]), (vec![2, 2, 6], 6));
    }
}
