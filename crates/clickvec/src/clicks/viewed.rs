//! Changed queries of a minibatch. Words that a typing error makes are not in the log, so they are stored here.

use super::ClickLog;
use crate::text::batch::{Lists, WordFeatures};
use crate::text::{Feature, JOINT, WordId};
use crate::views::{Views, misspell};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The changed queries of a minibatch. Their memory is reused each time it is filled.
#[derive(Debug, Default)]
pub(super) struct ViewedQueries {
    /// The words of each pair's query. Numbers from [`ClickLog::words`] on are in `misspelt`.
    texts: Lists<WordId>,
    /// The trigrams of each misspelt word.
    misspelt: Lists<Feature>,
    chosen: Vec<usize>,
    word: String,
    features: Vec<Feature>,
}

impl ViewedQueries {
    pub(super) fn clear(&mut self) {
        self.texts.clear();
        self.misspelt.clear();
    }

    /// Adds a changed version of the next pair's query. A merged tail is left out, moved and kept like a word, but never
    /// misspelt.
    pub(super) fn push(&mut self, log: &ClickLog, query: &[WordId], views: &Views, rng: &mut Xoshiro256PlusPlus) {
        views.choose(query.len(), rng, &mut self.chosen);
        for &index in &self.chosen {
            let mut word = query[index];
            let is_word = |word| !log.word(word).contains(JOINT);
            if views.misspells(rng) && is_word(word) && misspell(log.word(word), rng, &mut self.word) {
                log.dictionary().hash_word(&self.word, &mut self.features);
                word = (log.words() + self.misspelt.len()) as WordId;
                self.misspelt.push(self.features.iter().copied());
            }
            self.texts.items.push(word);
        }
        self.texts.end_list();
    }

    /// Returns the words of each changed query.
    pub(super) fn texts(&self) -> impl Iterator<Item = &[WordId]> {
        (0..self.texts.len()).map(|pair| self.texts.get(pair))
    }

    /// Returns the trigrams of the log's words and of the misspelt ones.
    pub(super) fn words<'a>(&'a self, log: &'a ClickLog) -> ViewedWords<'a> {
        ViewedWords { log, misspelt: &self.misspelt, first_misspelt: log.words() as WordId }
    }
}

/// The words of a log, followed by the misspelt words of a minibatch.
pub(super) struct ViewedWords<'a> {
    log: &'a ClickLog,
    misspelt: &'a Lists<Feature>,
    first_misspelt: WordId,
}

impl WordFeatures for ViewedWords<'_> {
    fn features(&self, word: WordId) -> &[Feature] {
        match word.checked_sub(self.first_misspelt) {
            None => self.log.features(word),
            Some(misspelt) => self.misspelt.get(misspelt as usize),
        }
    }
}
