//! Vectors for texts that a file lacks: the sum of a row for each letter trigram and each word, fitted by ridge regression to the
//! vectors that the file has of titles.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use super::super::corpus::Corpus;
use super::super::state::{Numbers, RankerState};
use super::super::system::{Progress, Watch};
use super::super::text_vectors::TextReader;
use super::SYSTEM;
use super::builder::Vectors;
use super::weighted::dot;
use clickvec::internals::math::vector::scale_to_unit;
use clickvec::internals::ragged::Ragged;
use clickvec::internals::ridge::{Design, Item, LANES, MOST_TEXTS, Row, solve};
use clickvec::internals::rng::Permutation;
use clickvec::internals::text::{
    Dictionary, Feature, Trigram, WordBuffer, WordHash, WordId, for_each_trigram, for_each_word,
};
use clickvec_tables::Result;
use clickvec_tables::memory::room_for_numbers;
use clickvec_tables::{Error, ErrorKind};

const TRIGRAMS: &str = "fitted_trigrams";
const WORDS: &str = "fitted_words";
const ROWS: &str = "fitted_rows";

/// A word that fewer of the titles have is known by its trigrams only.
const LEAST_TITLES: u64 = 3;

/// The number of titles that rows are fitted to, at least.
const LEAST_TEXTS: usize = 2;

/// A row of numbers for each letter trigram and each frequent word of the titles.
#[derive(Debug, Clone)]
pub(super) struct Fitted {
    dictionary: Dictionary,
    dimension: usize,
    /// [trigrams and words, dimension]
    rows: Vec<f32>,
}

impl Fitted {
    /// The rows that come closest to the vectors of length 1 that `known` has of the corpus's titles; `ridge` is λ.
    pub(super) fn to(known: &Vectors, corpus: &Corpus, ridge: f32, watch: &mut Watch<'_>) -> Result<Fitted> {
        let (titles, vectors) = known_titles(known, corpus)?;
        if titles.len() < LEAST_TEXTS {
            let of = corpus.titles.len();
            let expected =
                format!("vectors of at least {LEAST_TEXTS} of the {of} titles as whole texts to fit others to");
            let error = Error::expected(ErrorKind::Empty, expected, titles.len().to_string());
            let help = "give the file of these titles' vectors, or leave out `ridge`";
            return Err(error.help(help).within(SYSTEM.name));
        }
        let dictionary = dictionary_of(corpus, &titles);
        let design = design(corpus, &titles, &dictionary)?;
        let (dimension, threads) = (known.dimension, rayon::current_num_threads());
        room_for_numbers::<f32>(
            "vectors for texts without one",
            &[&[2, dictionary.len(), dimension], &design.working(threads)],
        )?;
        let mut rows = vec![0.0f32; dictionary.len() * dimension];
        let blocks: Vec<usize> = (0..dimension).step_by(LANES).collect();
        let of = blocks.len() as u64;
        for (number, blocks) in (0..).zip(blocks.chunks(threads)) {
            watch(Progress { done: (number * threads) as u64, of, objective: None });
            let solve_one = |&first: &usize| {
                let targets: Vec<Row> = vectors.iter().map(|vector| block(vector, first)).collect();
                (first, solve(&design, &targets, ridge).weights)
            };
            for (first, weights) in blocks.par_iter().map(solve_one).collect::<Vec<_>>() {
                for (row, weights) in rows.chunks_exact_mut(dimension).zip(&weights) {
                    row[first..].iter_mut().zip(weights).for_each(|(x, weight)| *x = *weight);
                }
            }
        }
        watch(Progress { done: of, of, objective: None });
        Ok(Fitted { dictionary, dimension, rows })
    }

    /// The vector of a text before normalisation, and its length.
    pub(super) fn vector(&self, text: &str) -> (Vec<f64>, f64) {
        let mut sum = vec![0.0; self.dimension];
        let mut features = Vec::new();
        for_each_word(text, &mut WordBuffer::default(), |word| {
            self.dictionary.hash_word(word, &mut features);
            for &Feature { id, count } in &features {
                let row = &self.rows[id as usize * self.dimension..][..self.dimension];
                sum.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(count) * f64::from(x));
            }
        });
        let length = dot(&sum, &sum).sqrt();
        (sum, length)
    }

    /// The contents of a file with the rows added.
    pub(super) fn write(&self, state: RankerState) -> RankerState {
        let words = self.dictionary.words();
        let halves = words.iter().flat_map(|&WordHash(hash)| [hash as u32, (hash >> 32) as u32]).collect();
        state
            .with_trigrams(TRIGRAMS, self.dictionary.trigrams())
            .with(WORDS, &[words.len(), 2], Numbers::U32(halves))
            .with(ROWS, &[self.dictionary.len(), self.dimension], Numbers::F32(self.rows.clone()))
    }

    /// The rows that [`Fitted::write`] added.
    pub(super) fn restore(state: &RankerState, dimension: usize) -> Result<Fitted, clickvec_tables::Error> {
        let trigrams = Dictionary::from_trigrams(state.trigrams(TRIGRAMS)?)?;
        let halves = state.u32s(WORDS, &[None, Some(2)])?.as_chunks::<2>().0.iter();
        let words = halves.map(|&[low, high]| WordHash(u64::from(low) | u64::from(high) << 32)).collect();
        let dictionary = trigrams.followed_by(words)?;
        let rows = state.f32s(ROWS, &[Some(dictionary.len()), Some(dimension)])?.to_vec();
        Ok(Fitted { dictionary, dimension, rows })
    }
}

/// Distinct titles of the corpus that `known` has a vector of, by their numbers, and these vectors with length 1. Of more than
/// [`MOST_TEXTS`], so many as if drawn by chance.
fn known_titles(known: &Vectors, corpus: &Corpus) -> Result<(Vec<usize>, Vec<Vec<f32>>)> {
    room_for_numbers::<f32>("vectors of titles", &[&[corpus.titles.len().min(MOST_TEXTS), known.dimension]])?;
    let (mut titles, mut vectors) = (Vec::new(), Vec::new());
    let (mut reader, mut seen) = (TextReader::default(), HashSet::new());
    let order = Permutation::new(corpus.titles.len() as u64, 0, "titles to fit vectors to", 0);
    for position in 0..corpus.titles.len() as u64 {
        let number = order.at(position) as usize;
        let Some(key) = reader.key(&corpus.vocabulary, corpus.titles.get(number)) else { continue };
        let vector = match corpus.titles.get(number) {
            &[word] => known.word(corpus.vocabulary.word(word)),
            _ => known.texts.get(key),
        };
        let Some(vector) = vector.filter(|_| seen.insert(key)) else { continue };
        let mut unit = vector.to_vec();
        scale_to_unit(&mut unit);
        if unit.iter().any(|&x| x != 0.0) {
            titles.push(number);
            vectors.push(unit);
        }
        if titles.len() == MOST_TEXTS {
            break;
        }
    }
    Ok((titles, vectors))
}

/// All trigrams of these titles, and the words that several of them have.
fn dictionary_of(corpus: &Corpus, titles: &[usize]) -> Dictionary {
    let (mut trigrams, mut words) = (HashMap::<Trigram, u64>::new(), HashMap::<WordId, u64>::new());
    let mut distinct = HashSet::new();
    for &title in titles {
        distinct.clear();
        distinct.extend(corpus.titles.get(title).iter().copied());
        distinct.iter().for_each(|&word| *words.entry(word).or_default() += 1);
    }
    for (&word, &count) in &words {
        for_each_trigram(corpus.vocabulary.word(word), |trigram| *trigrams.entry(trigram).or_default() += count);
    }
    let all = trigrams.len();
    let frequent = words.into_iter().filter(|&(_, count)| count >= LEAST_TITLES);
    let hashed = frequent.map(|(word, count)| (WordHash::new(corpus.vocabulary.word(word)), count));
    Dictionary::from_counts(trigrams, all).with_words(hashed, usize::MAX)
}

fn design(corpus: &Corpus, titles: &[usize], dictionary: &Dictionary) -> Result<Design> {
    let mut positions = HashMap::new();
    let (mut words, mut features, mut trigrams) = (Ragged::default(), Ragged::default(), Vec::new());
    for &title in titles {
        let mut item = |&word: &WordId| {
            let number = *positions.entry(word).or_insert_with(|| {
                dictionary.hash_word(corpus.vocabulary.word(word), &mut trigrams);
                features.push(trigrams.iter().map(|&feature| Item::from(feature)));
                features.len() as u32 - 1
            });
            Item { number, count: 1 }
        };
        let distinct: Vec<Item> = corpus.titles.get(title).iter().map(&mut item).collect();
        words.push(distinct);
    }
    Ok(Design::new(words, features, dictionary.len())?)
}

/// The numbers of a vector from `first` on, and zeros after its last.
fn block(vector: &[f32], first: usize) -> Row {
    std::array::from_fn(|lane| vector.get(first + lane).copied().unwrap_or_default())
}
