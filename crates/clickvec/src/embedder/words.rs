//! A bounded cache of words with what the input layer makes of them.

use crate::encoder::{Encoder, tables};
use crate::math::Matrix;
use crate::math::prefetch::prefetch;
use crate::math::sparse::sum_rows;
use crate::text::{Dictionary, Feature, Interner, WordId};

/// Beside its rows, what a word takes: its letters, counted as 16, and its place in the interner.
const LETTERS: usize = 16;
const PLACE: usize = 32;

/// Words beyond the bound that there is room for: those of the text that fills the cache.
const SPARE: usize = 64;

/// Words with the sums of their trigrams' rows; to look a word up hashes no trigram.
pub(super) struct ProjectedWords<'m> {
    dictionary: &'m Dictionary,
    tables: Vec<&'m Matrix>,
    interner: Interner,
    /// For each table, [words, W].
    rows: Vec<Vec<f32>>,
    most: usize,
    /// Of one word.
    features: Vec<Feature>,
}

impl<'m> ProjectedWords<'m> {
    /// Room for `bytes`. All of it is asked for at once, which costs nothing until it is used, so that
    /// no later word waits for an allocation.
    pub(super) fn new(encoder: &'m dyn Encoder, dictionary: &'m Dictionary, bytes: usize) -> ProjectedWords<'m> {
        let tables: Vec<&Matrix> = tables(encoder.tensors()).collect();
        let width: usize = tables.iter().map(|table| table.columns()).sum();
        let most = (bytes / (width * size_of::<f32>() + LETTERS + PLACE)).max(1);
        let capacity = most + SPARE;
        ProjectedWords {
            dictionary,
            interner: Interner::with_capacity(capacity, capacity * LETTERS),
            rows: tables.iter().map(|table| Vec::with_capacity(capacity * table.columns())).collect(),
            tables,
            most,
            features: Vec::new(),
        }
    }

    /// The word's number: its row in each of [`ProjectedWords::rows`].
    pub(super) fn number(&mut self, word: &str) -> WordId {
        let (number, _, new) = self.interner.intern(word);
        if new {
            self.dictionary.hash_word(word, &mut self.features);
            for (table, rows) in self.tables.iter().zip(&mut self.rows) {
                let start = rows.len();
                rows.resize(start + table.columns(), 0.0);
                sum_rows(table.data(), &self.features, &mut rows[start..]);
            }
        } else {
            // Most words are rare, their rows in no near cache, and the encoder reads them soon.
            for (table, rows) in self.tables.iter().zip(&self.rows) {
                prefetch(&rows[number as usize * table.columns()..][..table.columns()]);
            }
        }
        number
    }

    /// For each input table, the rows of all words.
    pub(super) fn rows(&self) -> &[Vec<f32>] {
        &self.rows
    }

    pub(super) fn is_full(&self) -> bool {
        self.interner.len() >= self.most || self.interner.bytes() >= self.most * LETTERS
    }

    pub(super) fn clear(&mut self) {
        self.interner.clear();
        self.rows.iter_mut().for_each(Vec::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::{EncoderConfig, LstmConfig};
    use crate::text::for_each_trigram;

    #[test]
    fn the_cache_is_bounded_and_forgets_nothing_that_matters() {
        let mut trigrams = Vec::new();
        for_each_trigram("banana", |trigram| trigrams.push((trigram, 1)));
        let dictionary = Dictionary::from_counts(trigrams, 99);
        let mut encoder = EncoderConfig::Bilstm(LstmConfig::default()).build(dictionary.len());
        for (i, tensor) in encoder.tensors_mut().iter_mut().enumerate() {
            tensor.value.data_mut().fill(i as f32 + 1.0);
        }
        let mut words = ProjectedWords::new(&*encoder, &dictionary, 10_000);
        let bytes = |words: &ProjectedWords<'_>| -> usize { words.rows.iter().map(|rows| 4 * rows.capacity()).sum() };
        let before = bytes(&words);
        assert_eq!(words.most, 4);
        for round in 0..3 {
            assert_eq!((words.number("banana"), words.number("x"), words.number("banana")), (0, 1, 0), "{round}");
            // #ba ban ana nan ana na# in two tables, the first tensor and the fourth.
            assert_eq!(words.rows()[0], [[6.0; 288], [0.0; 288]].concat());
            assert_eq!(words.rows()[1], [[24.0; 288], [0.0; 288]].concat());
            assert!(!words.is_full());
            words.number("y");
            words.number("z");
            assert!(words.is_full());
            words.clear();
        }
        assert_eq!(bytes(&words), before);
        words.number(&"long".repeat(100));
        assert!(words.is_full());
    }
}
