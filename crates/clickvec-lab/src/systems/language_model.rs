//! A collection's unigram language model, and Dirichlet smoothing (Zhai and Lafferty, "A study of smoothing methods for
//! language models applied to information retrieval", 2004).

use clickvec::internals::text::WordId;
use clickvec_eval::internals::{UNKNOWN, WordLists};
use clickvec_eval::ranker::Corpus;

/// Word counts of a collection.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CollectionModel {
    /// The count of each word; 0 for words that only clicks or test queries have.
    frequency: Vec<u32>,
    /// The number of words in all titles.
    total: u64,
}

impl CollectionModel {
    pub(super) fn new(corpus: &Corpus) -> CollectionModel {
        CollectionModel::from_texts(&corpus.titles, corpus.vocabulary.len())
    }

    /// Creates the model of `texts`, whose words are below `words`.
    pub(super) fn from_texts(texts: &WordLists, words: usize) -> CollectionModel {
        let mut frequency = vec![0; words];
        for &word in texts.items() {
            frequency[word as usize] += 1;
        }
        CollectionModel::from_frequencies(frequency)
    }

    pub(super) fn from_frequencies(frequency: Vec<u32>) -> CollectionModel {
        let total = frequency.iter().map(|&count| u64::from(count)).sum();
        CollectionModel { frequency, total }
    }

    pub(super) fn frequencies(&self) -> &[u32] {
        &self.frequency
    }

    /// Returns the maximum likelihood estimate of P(w|C); 0 for a word that is not in the collection.
    pub(super) fn probability(&self, word: WordId) -> f64 {
        let count = if word == UNKNOWN { 0 } else { self.frequency[word as usize] };
        f64::from(count) / self.total.max(1) as f64
    }

    /// Returns P(w|D) = (tf(w, D) + μ P(w|C)) / (|D| + μ). `title` may have words that are not in the vocabulary.
    pub(super) fn smoothed(&self, word: WordId, title: &[WordId], mu: f64) -> f64 {
        let tf = title.iter().filter(|&&other| other == word).count();
        let denominator = title.len() as f64 + mu;
        if denominator == 0.0 { 0.0 } else { (tf as f64 + mu * self.probability(word)) / denominator }
    }
}
