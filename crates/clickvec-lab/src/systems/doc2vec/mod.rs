//! Doc2Vec: paragraph vectors (Le and Mikolov, "Distributed representations of sentences and documents", 2014), with
//! negative sampling (Mikolov et al., "Distributed representations of words and phrases and their compositionality",
//! 2013).

mod network;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use self::network::{Access, Loss, Network, Options, Scratch, learn_text, random_coordinate, random_rows};
use crate::systems::fault::diverged;
use crate::systems::text_vectors::{TextReader, TextVectors};
use clickvec::internals::math::score::score;
use clickvec::internals::math::vector::normalize;
use clickvec::internals::rng::{Permutation, stream};
use clickvec::internals::text::{Interner, WordId};
use clickvec_eval::internals::{Numbers, RankerState, check_range};
use clickvec_eval::internals::{WORDS, WordLists};
use clickvec_eval::ranker::Corpus;
use clickvec_eval::ranker::{InnerWords, Ranker, SystemRanker};
use clickvec_eval::ranker::{Parameter, Progress, Resources, System, Values, Watch};
use clickvec_tables::memory::{NoRoom, room_for_numbers};
use clickvec_tables::{Error, ErrorKind};
use clickvec_tables::{Result, damaged};

/// The system before training: name, parameters, how to train and restore it.
pub(super) const SYSTEM: System = System {
    name: "doc2vec",
    about: "paragraph vectors, DM and DBOW (Le, Mikolov 2014)",
    parameters: &[
        Parameter::count("dm", 1, 0, 1, "1: distributed memory, the mean of text and context; 0: bag of words"),
        Parameter::count("size", 100, 1, 10_000, "numbers in a vector"),
        Parameter::count("window", 5, 1, 1000, "words of context on each side, at most"),
        Parameter::count("min-count", 1, 1, u32::MAX, "words rarer than this are left out"),
        Parameter::training(
            "sample",
            1e-4,
            0.0,
            1.0,
            "words more frequent than this are dropped at random; 0 drops none",
        ),
        Parameter::count("negative", 5, 1, 1000, "negative samples for each prediction"),
        Parameter::count("epochs", 30, 1, 100_000, "passes over the texts"),
        Parameter::training("alpha", 0.025, 1e-6, 1.0, "the learning rate at the start; it falls linearly to 1e-4"),
        Parameter::count("dbow-words", 0, 0, 1, "1: with dm=0, word vectors are learnt too (skip-gram)"),
        Parameter::SEED,
    ],
    files: &[],
    one_above_zero: &[],
    train: |values, resources, watch| Ok(Box::new(Doc2Vec::train(values, resources, watch)?)),
    restore: |values, state| Ok(Box::new(Doc2Vec::restore(values, state)?)),
};

/// The array of the context vectors of words.
const INPUTS: &str = "word_inputs";

/// The cosine of the vectors of two texts, which were learnt to predict the texts' words.
///
/// A training text retains the vector that training gave it. The vector of another text is learnt with all shared parameters
/// fixed, starting from a random vector that depends only on the text. A text without known words has the zero vector, whose
/// cosine with anything is 0.
#[derive(Debug, Clone)]
pub(super) struct Doc2Vec {
    options: Options,
    vocabulary: Interner,
    network: Network,
    /// Vectors of length 1.
    texts: TextVectors,
}

impl Options {
    fn new(values: &Values) -> Options {
        let memory = values.count("dm") == 1;
        Options {
            memory,
            words: !memory && values.count("dbow-words") == 1,
            size: values.count("size"),
            window: values.count("window"),
            sample: values.get("sample"),
            negative: values.count("negative"),
            epochs: values.count("epochs"),
            rate: values.get("alpha"),
            seed: values.count("seed") as u64,
        }
    }
}

/// The distinct training texts, as numbers of the words that are frequent enough.
struct Texts {
    vocabulary: Interner,
    frequencies: Vec<u32>,
    keys: Vec<u64>,
    words: WordLists,
}

impl Texts {
    /// Collects the texts of the collection, the clicks and the test set. A text without any frequent word is left out.
    ///
    /// # Errors
    ///
    /// [`NoRoom`].
    fn new(corpus: &Corpus, least: usize) -> Result<Texts, NoRoom> {
        let lists = [&corpus.titles, &corpus.clicks.queries, &corpus.clicks.titles, &corpus.test_queries];
        let mut reader = TextReader::default();
        let mut distinct: Vec<(u64, &[WordId])> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for text in lists.into_iter().flat_map(WordLists::iter) {
            distinct
                .extend(reader.key(&corpus.vocabulary, text).filter(|&key| seen.insert(key)).map(|key| (key, text)));
        }
        let mut counts = vec![0u32; corpus.vocabulary.len()];
        distinct.iter().flat_map(|(_, text)| *text).for_each(|&word| counts[word as usize] += 1);
        let mut texts = Texts {
            vocabulary: Interner::default(),
            frequencies: Vec::new(),
            keys: Vec::new(),
            words: WordLists::default(),
        };
        let mut numbers = vec![None; counts.len()];
        for (word, &count) in (0..).zip(&counts) {
            if count > 0 && count as usize >= least {
                numbers[word as usize] = Some(texts.vocabulary.try_intern(corpus.vocabulary.word(word))?.0);
                texts.frequencies.push(count);
            }
        }
        let mut known: Vec<WordId> = Vec::new();
        for (key, text) in distinct {
            known.clear();
            known.extend(text.iter().filter_map(|&word| numbers[word as usize]));
            if !known.is_empty() {
                texts.keys.push(key);
                texts.words.try_push(WORDS, known.iter().copied())?;
            }
        }
        Ok(texts)
    }
}

impl Doc2Vec {
    fn train(values: &Values, resources: &Resources<'_>, watch: &mut Watch<'_>) -> Result<Doc2Vec> {
        let options = Options::new(values);
        let texts = Texts::new(resources.corpus, values.count("min-count"))?;
        if texts.keys.len() < 2 {
            let expected = "at least 2 different texts with a frequent word";
            let error = Error::expected(ErrorKind::Empty, expected, texts.keys.len().to_string());
            return Err(error.help("lower min-count, or give the whole collection").within(SYSTEM.name));
        }
        // Two tables of words; the texts' vectors, and those that are stored.
        let (words, size) = (texts.frequencies.len(), options.size);
        room_for_numbers::<f32>("vectors of words and texts", &[&[2, words, size], &[2, texts.keys.len(), size]])?;
        let mut network = Network::new(texts.frequencies, &options);
        let mut vectors = random_rows(texts.keys.len(), options.size, options.seed, "doc2vec texts");
        let mut scratch = Scratch::default();
        for epoch in 0..options.epochs {
            let number = texts.keys.len();
            let order = Permutation::new(number as u64, options.seed, "doc2vec order", epoch as u64);
            let mut random = stream(options.seed, "doc2vec epoch", epoch as u64);
            let mut loss = Loss::default();
            for position in 0..number {
                let text = order.at(position as u64) as usize;
                let vector = &mut vectors[text * options.size..][..options.size];
                let rate = options.rate_at((epoch * number + position) as f64 / (options.epochs * number) as f64);
                let access = &mut Access::Learning(&mut network);
                let words = texts.words.get(text);
                loss.add(learn_text(access, &options, words, vector, rate, &mut random, &mut scratch));
            }
            let mean = loss.sum / loss.predictions.max(1) as f64;
            let (done, of) = (epoch as u64 + 1, options.epochs as u64);
            if !mean.is_finite() {
                return Err(diverged(SYSTEM.name, done, "a smaller alpha"));
            }
            watch(Progress { done, of, objective: Some(mean) });
        }
        let mut text_vectors = TextVectors::new(options.size);
        for (&key, vector) in texts.keys.iter().zip(vectors.chunks_exact_mut(options.size)) {
            to_unit(vector);
            text_vectors.insert(key, vector)?;
        }
        Ok(Doc2Vec { options, vocabulary: texts.vocabulary, network, texts: text_vectors })
    }

    fn restore(values: &Values, state: &RankerState) -> Result<Doc2Vec, clickvec_tables::Error> {
        let options = Options::new(values);
        let vocabulary = state.words()?;
        let (words, size) = (vocabulary.len(), options.size);
        let frequencies = state.u32s("frequency", &[Some(words)])?.to_vec();
        if words == 0 {
            return Err(damaged::content("words", "at least one word", "none"));
        }
        check_range("frequency", &frequencies, 1.0, f64::from(u32::MAX))?;
        // A bag of words needs them for nothing but nearest words, and files of older versions lack them.
        let inputs = if options.memory || options.words && state.has(INPUTS) {
            state.f32s(INPUTS, &[Some(words), Some(size)])?.to_vec()
        } else {
            Vec::new()
        };
        let outputs = state.f32s("word_outputs", &[Some(words), Some(size)])?.to_vec();
        let texts = TextVectors::restore(state, "", size)?;
        // A longer vector would give cosines above 1, or no number at all.
        let square = |vector: &[f32]| score(vector, vector);
        if let Some((row, vector)) = texts.iter().enumerate().find(|(_, vector)| square(vector) > 1.001) {
            return Err(damaged::content(
                "text_vectors",
                "vectors of length 1 or 0",
                format!("length {} in row {row}", square(vector).sqrt()),
            ));
        }
        let network = Network::from_parts(frequencies, inputs, outputs, &options);
        Ok(Doc2Vec { options, vocabulary, network, texts })
    }

    /// Returns the vector of a text, of length 1 or 0.
    fn vector(&self, reader: &mut TextReader, scratch: &mut Scratch, text: &str) -> Cow<'_, [f32]> {
        let (key, words) = reader.read(&self.vocabulary, text);
        match self.texts.get(key) {
            Some(vector) => Cow::Borrowed(vector),
            None => Cow::Owned(self.infer(key, words, scratch)),
        }
    }

    fn infer(&self, key: u64, words: &[WordId], scratch: &mut Scratch) -> Vec<f32> {
        let options = &self.options;
        if words.is_empty() {
            return vec![0.0; options.size];
        }
        let mut random = stream(options.seed, "doc2vec infer", key);
        let mut vector: Vec<f32> = (0..options.size).map(|_| random_coordinate(&mut random, options.size)).collect();
        for epoch in 0..options.epochs {
            let rate = options.rate_at(epoch as f64 / options.epochs as f64);
            learn_text(&mut Access::Fixed(&self.network), options, words, &mut vector, rate, &mut random, scratch);
        }
        to_unit(&mut vector);
        vector
    }
}

/// Divides a vector by its length. It becomes zero if the length is not a number, as after learning from the numbers
/// of a hostile file.
fn to_unit(vector: &mut [f32]) {
    let length = normalize(vector);
    let finite = length.is_finite() && vector.iter().all(|x| x.is_finite());
    if !finite {
        vector.fill(0.0);
    }
}

impl Ranker for Doc2Vec {
    fn name(&self) -> &str {
        SYSTEM.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let (mut reader, mut scratch) = (TextReader::default(), Scratch::default());
        let query = self.vector(&mut reader, &mut scratch, query);
        let cosine = |title: &&str| f64::from(score(&query, &self.vector(&mut reader, &mut scratch, title)));
        titles.iter().map(cosine).collect()
    }

    /// Returns the context vectors of words; a bag of words (`dm=0`) has none unless it learns words too.
    fn word_vectors(&self) -> Option<InnerWords<'_>> {
        let inputs = self.network.inputs.as_slice();
        let inner = InnerWords { words: &self.vocabulary, vectors: inputs.into(), dimension: self.options.size };
        (!inputs.is_empty()).then_some(inner)
    }
}

impl SystemRanker for Doc2Vec {
    fn tune(&mut self, _: &Values) {}

    fn state(&self) -> RankerState {
        let shape = [self.vocabulary.len(), self.options.size];
        let mut state = RankerState::default()
            .with_words(&self.vocabulary)
            .with_u32s("frequency", &self.network.frequencies)
            .with("word_outputs", &shape, Numbers::F32(self.network.outputs.clone()));
        if !self.network.inputs.is_empty() {
            state = state.with(INPUTS, &shape, Numbers::F32(self.network.inputs.clone()));
        }
        self.texts.write(state, "")
    }
}
