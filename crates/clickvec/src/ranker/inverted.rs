//! Inverted lists of a collection: which titles have a word.

use super::corpus::WordLists;
use crate::text::WordId;

/// For each word the titles that have it, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct InvertedLists {
    /// Where the list of each word ends.
    ends: Vec<usize>,
    titles: Vec<u32>,
    /// How often each word stands in one title at most.
    most: Vec<u32>,
}

impl InvertedLists {
    /// Of titles whose words are below `words`.
    pub(super) fn new(titles: &WordLists, words: usize) -> InvertedLists {
        let mut lengths = vec![0; words];
        for_each_distinct(titles, words, |_, word| lengths[word] += 1);
        let ends: Vec<usize> = lengths
            .iter()
            .scan(0, |end, length: &usize| {
                *end += length;
                Some(*end)
            })
            .collect();
        // From here on: where the next title of each word goes.
        let mut next: Vec<usize> = ends.iter().zip(&lengths).map(|(end, length)| end - length).collect();
        let mut lists =
            InvertedLists { titles: vec![0; ends.last().copied().unwrap_or(0)], ends, most: vec![0; words] };
        for_each_distinct(titles, words, |title, word| {
            lists.titles[next[word]] = title;
            next[word] += 1;
        });
        let mut counts = vec![0u32; words];
        for title in titles.iter() {
            for &word in title {
                counts[word as usize] += 1;
                lists.most[word as usize] = lists.most[word as usize].max(counts[word as usize]);
            }
            title.iter().for_each(|&word| counts[word as usize] = 0);
        }
        lists
    }

    /// The titles that have the word, in their order.
    pub(super) fn get(&self, word: WordId) -> &[u32] {
        let start = if word == 0 { 0 } else { self.ends[word as usize - 1] };
        &self.titles[start..self.ends[word as usize]]
    }

    /// How often the word stands in one title at most.
    pub(super) fn most(&self, word: WordId) -> u32 {
        self.most[word as usize]
    }
}

/// Calls `found` with each title and each distinct word of it.
fn for_each_distinct(titles: &WordLists, words: usize, mut found: impl FnMut(u32, usize)) {
    // The last title, counted from 1, in which a word was found.
    let mut last = vec![0u32; words];
    for (number, title) in (0..).zip(titles.iter()) {
        for &word in title {
            let word = word as usize;
            if last[word] != number + 1 {
                last[word] = number + 1;
                found(number, word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_knows_its_titles_and_how_often_it_stands_in_one() {
        let mut titles = WordLists::default();
        let texts: [&[WordId]; 5] = [&[2, 0, 2], &[], &[0], &[4, 2, 4, 4], &[2]];
        texts.iter().for_each(|text| titles.push(text));
        let lists = InvertedLists::new(&titles, 6);
        let found: Vec<(&[u32], u32)> = (0..6).map(|word| (lists.get(word), lists.most(word))).collect();
        let expected: [(&[u32], u32); 6] = [(&[0, 2], 1), (&[], 0), (&[0, 3, 4], 2), (&[], 0), (&[3], 3), (&[], 0)];
        assert_eq!(found, expected);
        assert_eq!(InvertedLists::new(&WordLists::default(), 0), InvertedLists::default());
    }
}
