//! Pretrained vectors: averaged word vectors, or vectors of whole texts from another program.

mod builder;
#[cfg(test)]
mod tests;

use self::builder::Vectors;
use super::corpus::Corpus;
use super::file::{Numbers, State};
use super::system::{Parameter, Progress, Resources, System, Values, Watch};
use super::text_table::{TextReader, TextTable};
use super::{Ranker, SystemRanker, WordTable};
use crate::error::{Error, FileFault, LearnFault, Result};
use crate::text::Interner;
use crate::vector_file::MAX_DIMENSION;

/// The system before training: name, parameters, how to train and restore it.
pub(super) const SYSTEM: System = System {
    name: "vectors",
    about: "vectors of words, averaged, or of texts, from word2vec, fastText, GloVe or NumPy",
    parameters: &[Parameter::of_scoring(
        "idf",
        0.0,
        0.0,
        4.0,
        "the power of a word's idf in the mean; 0 weighs all words alike",
    )],
    one_above_zero: &[],
    train: |values, resources, watch| Ok(Box::new(WordVectors::train(values, resources, watch)?)),
    restore: |values, state| Ok(Box::new(WordVectors::restore(values, state)?)),
};

/// The cosine of the vectors of two texts.
///
/// A text that the file contains as a whole has that vector. Any other text has the sum of its words' vectors, each
/// times idfᵉ of the word, where e is the parameter `idf`. (A cosine does not change if the sum is divided, so this is
/// also the cosine of the mean.) idf = ln(1 + (N − df + ½) / (df + ½)) for the collection's N titles, as in BM25. A
/// word that is not in the file is left out. A text without known words has the zero vector, whose cosine with
/// anything is 0.
#[derive(Debug, Clone)]
pub(super) struct WordVectors {
    vectors: Vectors,
    /// The number of titles in the collection that have each word of the file.
    document_frequency: Vec<u32>,
    documents: u64,
    /// idfᵉ of each word.
    weights: Vec<f64>,
}

impl WordVectors {
    fn train(values: &Values, resources: &Resources<'_>, watch: &mut Watch<'_>) -> Result<WordVectors> {
        let Some(path) = resources.vectors else {
            let what = "a file of vectors that another program trained";
            let fault = LearnFault::NoFile { what };
            return Err(Error::Learn { ranker: SYSTEM.name, fault });
        };
        let vectors = builder::read(path)?;
        watch(Progress { done: 1, of: 1, objective: None });
        let document_frequency = document_frequency(resources.corpus, &vectors.vocabulary);
        Ok(WordVectors::new(vectors, document_frequency, resources.corpus.titles.len() as u64, values))
    }

    fn new(vectors: Vectors, document_frequency: Vec<u32>, documents: u64, values: &Values) -> WordVectors {
        let mut ranker = WordVectors { vectors, document_frequency, documents, weights: Vec::new() };
        ranker.tune(values);
        ranker
    }

    fn restore(values: &Values, state: &State) -> Result<WordVectors, FileFault> {
        let vocabulary = state.words()?;
        let rows = state.array("word_vectors", &[Some(vocabulary.len()), None])?;
        let dimension = rows.shape[1];
        let words = state.f32s("word_vectors", &[Some(vocabulary.len()), Some(dimension)])?.to_vec();
        if dimension == 0 || dimension > MAX_DIMENSION {
            return Err(FileFault::content(
                "word_vectors",
                format!("vectors of 1 to {MAX_DIMENSION} numbers"),
                dimension,
            ));
        }
        let texts = TextTable::restore(state, dimension)?;
        let document_frequency = state.u32s("document_frequency", &[Some(vocabulary.len())])?.to_vec();
        let documents = state.f64s("documents", &[Some(1)])?[0];
        let most = document_frequency.iter().copied().max().unwrap_or(0);
        if documents < f64::from(most) || documents.fract() != 0.0 {
            return Err(FileFault::content("documents", format!("a whole number of at least {most}"), documents));
        }
        let vectors = Vectors { dimension, vocabulary, words, texts };
        Ok(WordVectors::new(vectors, document_frequency, documents as u64, values))
    }

    /// The vector of a text before normalisation, and its length.
    fn vector(&self, reader: &mut TextReader, text: &str) -> (Vec<f64>, f64) {
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

fn dot(a: &[f64], b: &[f64]) -> f64 {
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

impl Ranker for WordVectors {
    fn name(&self) -> &str {
        SYSTEM.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let mut reader = TextReader::default();
        let (query, query_length) = self.vector(&mut reader, query);
        let cosine = |title: &&str| {
            let (title, length) = self.vector(&mut reader, title);
            let product = query_length * length;
            if product > 0.0 { dot(&query, &title) / product } else { 0.0 }
        };
        titles.iter().map(cosine).collect()
    }

    fn word_vectors(&self) -> Option<WordTable<'_>> {
        let Vectors { dimension, vocabulary, words, .. } = &self.vectors;
        Some(WordTable { words: vocabulary, vectors: words.as_slice().into(), dimension: *dimension })
    }
}

impl SystemRanker for WordVectors {
    fn tune(&mut self, values: &Values) {
        let exponent = values.get("idf");
        let idf = |&titles: &u32| {
            let others = self.documents.saturating_sub(u64::from(titles));
            (1.0 + (others as f64 + 0.5) / (f64::from(titles) + 0.5)).ln()
        };
        self.weights = self.document_frequency.iter().map(|titles| idf(titles).powf(exponent)).collect();
    }

    fn state(&self) -> State {
        let Vectors { dimension, vocabulary, words, texts } = &self.vectors;
        let state = State::default()
            .with_words(vocabulary)
            .with("word_vectors", &[vocabulary.len(), *dimension], Numbers::F32(words.clone()))
            .with_u32s("document_frequency", &self.document_frequency)
            .with_f64s("documents", &[self.documents as f64]);
        texts.write(state)
    }
}
