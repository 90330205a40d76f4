//! The texts of one language, text by text and word by word.

use std::ops::Range;

use clickvec::internals::ragged::Ragged;
use clickvec::internals::text::WordId;
use clickvec_eval::internals::{WORDS, WordLists};
use clickvec_tables::memory::NoRoom;

/// The row of a word that the language does not have.
pub(super) const ABSENT: u32 = u32::MAX;

/// Texts of one language, whose words are renumbered as *rows*.
#[derive(Debug, Clone)]
pub(super) struct Side {
    /// The row of each word of the vocabulary, or [`ABSENT`].
    pub(super) row_of: Vec<u32>,
    /// The rows of each text's words.
    lists: WordLists,
    /// The text of each occurrence of each row.
    occurrences: Ragged<u32>,
}

impl Side {
    /// Numbers rows by first occurrence. Words must be below `vocabulary`.
    ///
    /// # Errors
    ///
    /// [`NoRoom`].
    pub(super) fn new<'a>(texts: impl Iterator<Item = &'a [WordId]>, vocabulary: usize) -> Result<Side, NoRoom> {
        let (mut row_of, mut lists, mut words) = (vec![ABSENT; vocabulary], WordLists::default(), 0);
        let mut rows = Vec::new();
        for text in texts {
            rows.clear();
            for &word in text {
                let row = &mut row_of[word as usize];
                if *row == ABSENT {
                    *row = words;
                    words += 1;
                }
                rows.push(*row);
            }
            lists.try_push(WORDS, rows.iter().copied())?;
        }
        let occurrences = Ragged::sorted("the texts of each word", words as usize, |each| {
            for (number, text) in (0..).zip(lists.iter()) {
                text.iter().for_each(|&row| each(row as usize, number));
            }
        })?;
        Ok(Side { row_of, lists, occurrences })
    }

    /// Returns the number of texts.
    pub(super) fn texts(&self) -> usize {
        self.lists.len()
    }

    /// Returns the number of distinct words.
    pub(super) fn words(&self) -> usize {
        self.occurrences.len()
    }

    /// Returns the rows of a text's words.
    pub(super) fn text(&self, text: usize) -> &[u32] {
        self.lists.get(text)
    }

    /// Returns the range of a text's words among those of all texts.
    pub(super) fn range(&self, text: usize) -> Range<usize> {
        self.lists.range(text)
    }

    /// Returns the texts of a row's word, in order; a text is listed as often as it has the word.
    pub(super) fn occurrences(&self, row: usize) -> &[u32] {
        self.occurrences.get(row)
    }

    /// Returns the number of occurrences of the rows before this one.
    pub(super) fn first_occurrence(&self, row: usize) -> usize {
        if row == 0 { 0 } else { self.occurrences.range(row - 1).end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_lie_both_ways() {
        let texts: [&[WordId]; 3] = [&[4, 1, 4], &[], &[2, 1]];
        let side = Side::new(texts.into_iter(), 5).unwrap();
        assert_eq!(side.row_of, [ABSENT, 1, 2, ABSENT, 0]);
        assert_eq!((side.texts(), side.words()), (3, 3));
        assert_eq!((side.text(0), side.text(1), side.text(2)), (&[0, 1, 0][..], &[][..], &[2, 1][..]));
        assert_eq!(
            (side.occurrences(0), side.occurrences(1), side.occurrences(2)),
            (&[0, 0][..], &[0, 2][..], &[2][..])
        );
        assert_eq!(Side::new(std::iter::empty(), 0).unwrap().words(), 0);
    }
}
