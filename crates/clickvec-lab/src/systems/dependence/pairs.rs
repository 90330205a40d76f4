//! Counts of how often two words in a collection are next to or near each other.

use rayon::slice::ParallelSliceMut as _;

use clickvec::internals::ragged::Ragged;
use clickvec::internals::text::WordId;
use clickvec_eval::internals::WordLists;
use clickvec_tables::memory::{NoRoom, room_for_numbers};

/// A window contains two words if their positions differ by at most this. With both words it is 8 words wide, as in
/// Metzler and Croft (2005).
pub(super) const REACH: usize = 7;

/// The default number of keys that are sorted at a time: 512 MiB.
const CHUNK: usize = 1 << 26;

/// A number for each pair of words that occurs: a list for each first word, in it the second words in their order, each
/// with its number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PairCounts(Ragged<(WordId, u32)>);

impl PairCounts {
    /// Counts of neighbouring words, with the left one first.
    pub(super) fn ordered(titles: &WordLists, words: usize) -> Result<PairCounts, NoRoom> {
        PairCounts::count(titles, words, CHUNK, |title, found| {
            title.windows(2).for_each(|pair| found(pair[0], pair[1]));
        })
    }

    /// Counts of words in a window, with the smaller number first.
    pub(super) fn unordered(titles: &WordLists, words: usize) -> Result<PairCounts, NoRoom> {
        PairCounts::count(titles, words, CHUNK, for_each_in_a_window)
    }

    /// Counts the pairs that `pairs` reports for each title. They are sorted in ranges of first words, so that about
    /// `chunk` of them are in memory at once.
    fn count(
        titles: &WordLists,
        words: usize,
        chunk: usize,
        pairs: impl Fn(&[WordId], &mut dyn FnMut(WordId, WordId)),
    ) -> Result<PairCounts, NoRoom> {
        let mut by_first = vec![0usize; words];
        titles.iter().for_each(|title| pairs(title, &mut |first, _| by_first[first as usize] += 1));
        let mut lists = Ragged::default();
        let mut keys: Vec<u64> = Vec::new();
        while lists.len() < words {
            let start = lists.len();
            let mut end = start;
            let mut size = 0;
            while end < words && (end == start || size + by_first[end] <= chunk) {
                size += by_first[end];
                end += 1;
            }
            // Each pair may be one of its own, and then it has an entry.
            room_for_numbers::<u64>("pairs of words", &[&[2, size]])?;
            keys.clear();
            keys.reserve(size);
            for title in titles.iter() {
                pairs(title, &mut |first, second| {
                    if (start..end).contains(&(first as usize)) {
                        keys.push(u64::from(first) << 32 | u64::from(second));
                    }
                });
            }
            keys.par_sort_unstable();
            let mut rest = &keys[..];
            for first in start..end {
                let (same_first, others) = rest.split_at(rest.partition_point(|key| key >> 32 == first as u64));
                let counted = same_first.chunk_by(|a, b| a == b);
                lists.push(counted.map(|run| (run[0] as u32, u32::try_from(run.len()).unwrap_or(u32::MAX))));
                rest = others;
            }
        }
        Ok(PairCounts(lists))
    }

    /// Returns the count of a pair.
    pub(super) fn get(&self, first: WordId, second: WordId) -> u32 {
        let by_first = self.0.get(first as usize);
        by_first.binary_search_by_key(&second, |&(other, _)| other).map_or(0, |position| by_first[position].1)
    }
}

/// Reports windows of two words. Each word of a title completes a window with each distinct word among the [`REACH`]
/// words before it. So a title has at most as many windows of two words as it has these words.
fn for_each_in_a_window(title: &[WordId], found: &mut dyn FnMut(WordId, WordId)) {
    for (position, &word) in title.iter().enumerate() {
        let before = &title[position.saturating_sub(REACH)..position];
        for (i, &other) in before.iter().enumerate() {
            if !before[..i].contains(&other) {
                found(word.min(other), word.max(other));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(texts: &[&[WordId]]) -> WordLists {
        let mut lists = WordLists::default();
        texts.iter().for_each(|text| lists.push(text.iter().copied()));
        lists
    }

    #[test]
    fn neighbours_are_counted_in_their_order() {
        let table = PairCounts::ordered(&lists(&[&[0, 1, 0, 1], &[1, 1], &[], &[3], &[1, 0]]), 5).unwrap();
        let expected = [((0, 1), 2), ((1, 0), 2), ((1, 1), 1), ((0, 0), 0), ((3, 3), 0), ((4, 0), 0), ((0, 3), 0)];
        for ((first, second), count) in expected {
            assert_eq!(table.get(first, second), count, "{first} {second}");
        }
        assert_eq!(table.0.items().len(), 3);
    }

    #[test]
    fn a_window_is_eight_words_wide_and_each_word_completes_it_once() {
        let table = PairCounts::unordered(&lists(&[&[1, 2, 2, 2, 2, 2, 2, 0, 1]]), 3).unwrap();
        // 0 is 7 positions after the first 1, and the second 1 is 1 position after 0.
        assert_eq!(table.get(0, 1), 2);
        // Each of the six 2s completes a window with the first 1, and the second 1 completes one with all of them.
        assert_eq!(table.get(1, 2), 7);
        // The second 1 is 8 positions after the first.
        assert_eq!(table.get(1, 1), 0);
        // The first 2 completes no window.
        assert_eq!(table.get(2, 2), 5);
        assert_eq!(table.get(0, 2), 1);
    }

    #[test]
    fn any_size_of_a_chunk_counts_alike() {
        let texts = lists(&[&[4, 1, 0, 1, 3, 2, 2, 5], &[1, 1, 5, 0], &[], &[3], &[1, 0, 6, 2]]);
        let whole = PairCounts::unordered(&texts, 8).unwrap();
        for chunk in [0, 1, 3, 7, 20] {
            assert_eq!(PairCounts::count(&texts, 8, chunk, for_each_in_a_window).unwrap(), whole, "{chunk}");
        }
        assert_eq!(PairCounts::ordered(&lists(&[]), 0).unwrap(), PairCounts::default());
    }
}
