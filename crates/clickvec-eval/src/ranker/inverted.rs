//! Inverted lists of a collection: the titles of each word.

use std::ops::Range;

use super::corpus::WordLists;
use clickvec::internals::ragged::Ragged;
use clickvec::internals::text::WordId;
use clickvec_tables::memory::{NoRoom, room_for_numbers};

/// The titles of each word, in order, with the number of occurrences and the length of each title.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InvertedLists {
    titles: Ragged<u32>,
    /// The number of occurrences of the word in each title.
    counts: Vec<u32>,
    /// The number of words in each title.
    lengths: Vec<u32>,
    /// The most occurrences of each word in a title.
    most: Vec<u32>,
}

impl InvertedLists {
    /// The lists of titles whose words are below `words`.
    ///
    /// # Errors
    ///
    /// [`NoRoom`].
    pub fn new(titles: &WordLists, words: usize) -> Result<InvertedLists, NoRoom> {
        let what = "the titles of each word";
        let title_lists =
            Ragged::sorted(what, words, |each| for_each_distinct(titles, |title, word, _| each(word, title)))?;
        room_for_numbers::<u32>(what, &[&[2, title_lists.items().len()], &[3, words]])?;
        // The place of the next title of each word.
        let mut next: Vec<usize> = (0..words).map(|word| title_lists.range(word).start).collect();
        let [counts, lengths] = [(); 2].map(|()| vec![0; title_lists.items().len()]);
        let mut lists = InvertedLists { titles: title_lists, counts, lengths, most: vec![0; words] };
        for_each_distinct(titles, |title, word, count| {
            lists.counts[next[word]] = count;
            lists.lengths[next[word]] = titles.get(title as usize).len() as u32;
            lists.most[word] = lists.most[word].max(count);
            next[word] += 1;
        });
        Ok(lists)
    }

    fn range(&self, word: WordId) -> Range<usize> {
        self.titles.range(word as usize)
    }

    /// The titles that have the word, in order.
    pub fn get(&self, word: WordId) -> &[u32] {
        self.titles.get(word as usize)
    }

    /// The number of occurrences in each of these titles.
    pub fn counts(&self, word: WordId) -> &[u32] {
        &self.counts[self.range(word)]
    }

    /// The number of words in each of these titles.
    pub fn lengths(&self, word: WordId) -> &[u32] {
        &self.lengths[self.range(word)]
    }

    /// The most occurrences of the word in a title.
    pub fn most(&self, word: WordId) -> u32 {
        self.most[word as usize]
    }
}

/// Calls `found` with each title, each distinct word in it, and its number of occurrences.
fn for_each_distinct(titles: &WordLists, mut found: impl FnMut(u32, usize, u32)) {
    let mut sorted: Vec<WordId> = Vec::new();
    for (number, title) in (0..).zip(titles.iter()) {
        sorted.clear();
        sorted.extend_from_slice(title);
        sorted.sort_unstable();
        sorted.chunk_by(|a, b| a == b).for_each(|run| found(number, run[0] as usize, run.len() as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_knows_its_titles_and_how_often_it_stands_in_one() {
        let mut titles = WordLists::default();
        let texts: [&[WordId]; 5] = [&[2, 0, 2], &[], &[0], &[4, 2, 4, 4], &[2]];
        texts.iter().for_each(|text| titles.push(text.iter().copied()));
        let lists = InvertedLists::new(&titles, 6).unwrap();
        let found: Vec<([&[u32]; 3], u32)> =
            (0..6).map(|word| ([lists.get(word), lists.counts(word), lists.lengths(word)], lists.most(word))).collect();
        let none: ([&[u32]; 3], u32) = ([&[]; 3], 0);
        let expected: [([&[u32]; 3], u32); 6] = [
            ([&[0, 2], &[1, 1], &[3, 1]], 1),
            none,
            ([&[0, 3, 4], &[2, 1, 1], &[3, 4, 1]], 2),
            none,
            ([&[3], &[3], &[4]], 3),
            none,
        ];
        assert_eq!(found, expected);
        assert_eq!(InvertedLists::new(&WordLists::default(), 0).unwrap(), InvertedLists::default());
    }
}
