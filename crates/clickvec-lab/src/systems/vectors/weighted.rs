//! The vectors of one file, ready to give a text its vector.

use std::path::Path;

use super::super::text_vectors::{TextReader, TextVectors};
use super::builder::{self, Vectors};
use clickvec::internals::text::Interner;
use clickvec::internals::vector_file::MAX_DIMENSION;
use clickvec_eval::internals::{Numbers, RankerState};
use clickvec_eval::ranker::Corpus;
use clickvec_tables::{Result, damaged};

const VOCABULARY: &str = "words";
const WORDS: &str = "word_vectors";
const DOCUMENT_FREQUENCY: &str = "document_frequency";

/// Vectors of words and texts, with what weighs the words.
#[derive(Debug, Clone)]
pub(super) struct WeightedVectors {
    pub(super) vectors: Vectors,
    /// The number of titles in the collection that have each word of the file.
    pub(super) document_frequency: Vec<u32>,
    /// idfᵉ of each word.
    weights: Vec<f64>,
}

impl WeightedVectors {
    /// The vectors in a file, with the counts of its words in the titles of `corpus`.
    pub(super) fn read(path: &Path, corpus: &Corpus) -> Result<WeightedVectors> {
        let vectors = builder::read(path)?;
        let document_frequency = document_frequency(corpus, &vectors.vocabulary);
        Ok(WeightedVectors { vectors, document_frequency, weights: Vec::new() })
    }

    /// The vectors that [`WeightedVectors::write`] added.
    pub(super) fn restore(state: &RankerState, prefix: &str) -> Result<WeightedVectors, clickvec_tables::Error> {
        let [names, numbers, counts] = [VOCABULARY, WORDS, DOCUMENT_FREQUENCY].map(|name| format!("{prefix}{name}"));
        let vocabulary = state.words_as(&names)?;
        let rows = state.array(&numbers, &[Some(vocabulary.len()), None])?;
        let dimension = rows.shape[1];
        let words = state.f32s(&numbers, &[Some(vocabulary.len()), Some(dimension)])?.to_vec();
        if dimension == 0 || dimension > MAX_DIMENSION {
            return Err(damaged::dimension(numbers, MAX_DIMENSION, dimension));
        }
        let texts = TextVectors::restore(state, prefix, dimension)?;
        let document_frequency = state.u32s(&counts, &[Some(vocabulary.len())])?.to_vec();
        let vectors = Vectors { dimension, vocabulary, words, texts };
        Ok(WeightedVectors { vectors, document_frequency, weights: Vec::new() })
    }

    /// The contents of a file with the vectors added. The names of its tensors begin with `prefix`.
    pub(super) fn write(&self, state: RankerState, prefix: &str) -> RankerState {
        let Vectors { dimension, vocabulary, words, texts } = &self.vectors;
        let [names, numbers, counts] = [VOCABULARY, WORDS, DOCUMENT_FREQUENCY].map(|name| format!("{prefix}{name}"));
        let state = state
            .with_words_as(&names, vocabulary)
            .with(&numbers, &[vocabulary.len(), *dimension], Numbers::F32(words.clone()))
            .with_u32s(&counts, &self.document_frequency);
        texts.write(state, prefix)
    }

    /// Sets the power of idf, in a collection of this many titles.
    pub(super) fn tune(&mut self, exponent: f64, documents: u64) {
        let idf = |&titles: &u32| {
            let others = documents.saturating_sub(u64::from(titles));
            (1.0 + (others as f64 + 0.5) / (f64::from(titles) + 0.5)).ln()
        };
        self.weights = self.document_frequency.iter().map(|titles| idf(titles).powf(exponent)).collect();
    }

    /// Whether it has the text or one of its words.
    pub(super) fn has(&self, text: &str) -> bool {
        let mut reader = TextReader::default();
        let (key, found) = reader.read(&self.vectors.vocabulary, text);
        !found.is_empty() || self.vectors.texts.get(key).is_some()
    }

    /// The vector of a text before normalisation, and its length.
    pub(super) fn vector(&self, reader: &mut TextReader, text: &str) -> (Vec<f64>, f64) {
        let Vectors { dimension, vocabulary, words, texts } = &self.vectors;
        let (key, found) = reader.read(vocabulary, text);
        let mut sum = vec![0.0; *dimension];
        let mut add = |weight: f64, vector: &[f32]| {
            sum.iter_mut().zip(vector).for_each(|(sum, &number)| *sum += weight * f64::from(number));
        };
        match texts.get(key) {
            Some(vector) => add(1.0, vector),
            None => found.iter().for_each(|&word| {
                add(self.weights[word as usize], &words[word as usize * dimension..][..*dimension]);
            }),
        }
        // Far from overflow: a few thousand 32-bit numbers.
        let length = dot(&sum, &sum).sqrt();
        (sum, length)
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Eight partial sums, which the compiler can keep in vector registers.
    let ((a_blocks, a_rest), (b_blocks, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}

/// The number of titles that have each word of `vocabulary`.
fn document_frequency(corpus: &Corpus, vocabulary: &Interner) -> Vec<u32> {
    let mut frequency = vec![0; vocabulary.len()];
    let mut last = vec![0; vocabulary.len()];
    let known: Vec<Option<u32>> =
        (0..corpus.vocabulary.len() as u32).map(|word| vocabulary.get(corpus.vocabulary.word(word))).collect();
    for (number, title) in (1u64..).zip(corpus.titles.iter()) {
        for word in title.iter().filter_map(|&word| known[word as usize]) {
            let word = word as usize;
            frequency[word] += u32::from(last[word] != number);
            last[word] = number;
        }
    }
    frequency
}
