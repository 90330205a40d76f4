//! LSA: latent semantic analysis (Deerwester, Dumais, Furnas, Landauer and Harshman, "Indexing by latent semantic
//! analysis", 1990), as the CLSM paper compares with it.

mod svd;

use self::svd::{Singular, Sparse, singular_vectors};
use crate::systems::fault::{too_few_titles, too_many};
use clickvec::internals::math::vector::{add_scaled, dot, normalize, sum_of_squares};
use clickvec::internals::text::{Interner, WordId};
use clickvec_eval::internals::{Numbers, RankerState, check_range};
use clickvec_eval::internals::{UNKNOWN, WORDS, WordLists, WordReader};
use clickvec_eval::ranker::Corpus;
use clickvec_eval::ranker::{InnerWords, Ranker, SystemRanker};
use clickvec_eval::ranker::{Parameter, Progress, System, Values, Watch};
use clickvec_tables::memory::NoRoom;
use clickvec_tables::{Result, damaged};

const DIMENSIONS: Parameter = Parameter::count("dimensions", 300, 1, 10_000, "singular values that are kept");
const WEIGHTING: Parameter = Parameter::count("weighting", 2, 0, 2, "0 counts words, 1 is log-entropy, 2 tf-idf");
const WHITENING: Parameter =
    Parameter::scoring("whitening", 1.0, 0.0, 1.0, "1 folds in by the inverse singular values, 0 without them");

/// A text is outside the span of U_k if no more than this part of it is inside, since that much is rounding error.
const OUTSIDE: f64 = 1e-7;

/// The system before training: name, parameters, how to train and restore it.
pub(super) const SYSTEM: System = System {
    name: "lsa",
    about: "latent semantic analysis (Deerwester et al. 1990)",
    parameters: &[DIMENSIONS, WEIGHTING, WHITENING],
    files: &[],
    one_above_zero: &[],
    train: |values, resources, watch| Ok(Box::new(Lsa::train(values, resources.corpus, watch)?)),
    restore: |values, state| Ok(Box::new(Lsa::restore(values, state)?)),
};

/// The form of the entries of the term-document matrix: a function of the count, times a weight of the word (Dumais, "Improving
/// the retrieval of information from external sources", 1991).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weighting {
    /// tf.
    Count,
    /// ln(1 + tf) · (1 + Σ_D p ln p / ln N), with p = tf(w, D) / cf(w).
    LogEntropy,
    /// tf · (1 + ln((1 + N) / (1 + df))).
    TfIdf,
}

impl Weighting {
    fn new(values: &Values) -> Weighting {
        match values.count(WEIGHTING.name) {
            0 => Weighting::Count,
            1 => Weighting::LogEntropy,
            _ => Weighting::TfIdf,
        }
    }

    fn local(self, tf: u32) -> f64 {
        match self {
            Weighting::Count | Weighting::TfIdf => f64::from(tf),
            Weighting::LogEntropy => f64::from(tf).ln_1p(),
        }
    }

    /// Returns the weight of each of `words` words; 0 for a word that no title has.
    fn global(self, titles: &WordLists, words: usize) -> Vec<f64> {
        let all = titles.len() as f64;
        let mut documents = vec![0u32; words];
        let mut frequency = vec![0u32; words];
        // Σ_D tf ln tf.
        let mut sums = vec![0.0; words];
        let mut counts = Counts::default();
        for title in titles.iter() {
            for &(word, tf) in counts.count(title) {
                let (word, tf) = (word as usize, f64::from(tf));
                documents[word] += 1;
                frequency[word] += tf as u32;
                sums[word] += tf * tf.ln();
            }
        }
        let weight = |word: usize| {
            if documents[word] == 0 {
                return 0.0;
            }
            match self {
                Weighting::Count => 1.0,
                // Σ p ln p = Σ tf ln tf / cf − ln cf. A single title says nothing about a word.
                Weighting::LogEntropy if titles.len() < 2 => 1.0,
                Weighting::LogEntropy => {
                    let cf = f64::from(frequency[word]);
                    (1.0 + (sums[word] / cf - cf.ln()) / all.ln()).max(0.0)
                }
                Weighting::TfIdf => 1.0 + ((1.0 + all) / (1.0 + f64::from(documents[word]))).ln(),
            }
        };
        (0..words).map(weight).collect()
    }
}

/// Counts of the words in a text.
#[derive(Debug, Default)]
struct Counts {
    sorted: Vec<WordId>,
    counts: Vec<(WordId, u32)>,
}

impl Counts {
    /// Returns the distinct known words of a text, in order, with their counts.
    fn count(&mut self, text: &[WordId]) -> &[(WordId, u32)] {
        self.sorted.clear();
        self.sorted.extend(text.iter().filter(|&&word| word != UNKNOWN));
        self.sorted.sort_unstable();
        self.counts.clear();
        self.counts.extend(self.sorted.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)));
        &self.counts
    }
}

/// The cosine of Σ_k⁻ʷ U_kᵀ d of both texts. C = U Σ Vᵀ is the matrix of the collection, with a row for each word and
/// a column for each title, and d is a text in the form of a column.
///
/// With w = 1 this is the projection matrix of the CLSM paper (section 2.2). With w = 0 the cosines of titles are
/// those of the best approximation of C of rank k. If no part of a text is in the span of U_k, the cosine is 0.
#[derive(Debug, Clone)]
pub(super) struct Lsa {
    /// The words of the titles.
    vocabulary: Interner,
    weighting: Weighting,
    /// The weight of each word.
    weights: Vec<f64>,
    /// The singular values, largest first.
    singular_values: Vec<f64>,
    /// U_k, with a row for each word.
    left: Vec<f32>,
    /// σ⁻ʷ.
    scales: Vec<f32>,
}

impl Lsa {
    fn train(values: &Values, corpus: &Corpus, watch: &mut Watch<'_>) -> Result<Lsa> {
        let (vocabulary, titles) = read_titles(corpus)?;
        let dimensions = values.count(DIMENSIONS.name);
        if titles.len() < 2 {
            return Err(too_few_titles(SYSTEM.name, 2, titles.len()));
        }
        let (of, most) =
            if vocabulary.len() < titles.len() { ("words", vocabulary.len()) } else { ("titles", titles.len()) };
        if dimensions > most {
            return Err(too_many(SYSTEM.name, "dimensions", of, most, dimensions));
        }
        svd::room(vocabulary.len(), dimensions)?;
        let weighting = Weighting::new(values);
        let weights = weighting.global(&titles, vocabulary.len());
        let mut counts = Counts::default();
        let column = |title: &[WordId]| {
            let entries =
                counts.count(title).iter().map(|&(word, tf)| (word, weighting.local(tf) * weights[word as usize]));
            entries.collect::<Vec<_>>()
        };
        let matrix = Sparse::from_columns(vocabulary.len(), titles.iter().map(column))?;
        let singular = singular_vectors(&matrix, dimensions, &mut |done, share| {
            let (done, of) = (done as u64, done.max(2 * dimensions) as u64);
            watch(Progress { done, of, objective: Some(share) });
        });
        let Singular { values: singular_values, left } = singular;
        let left = left.into_iter().map(|x| x as f32).collect();
        Ok(Lsa::new(values, vocabulary, weights, singular_values, left))
    }

    fn new(values: &Values, vocabulary: Interner, weights: Vec<f64>, singular_values: Vec<f64>, left: Vec<f32>) -> Lsa {
        let weighting = Weighting::new(values);
        let mut lsa = Lsa { vocabulary, weighting, weights, singular_values, left, scales: Vec::new() };
        lsa.tune(values);
        lsa
    }

    fn restore(values: &Values, state: &RankerState) -> Result<Lsa, clickvec_tables::Error> {
        let vocabulary = state.words()?;
        let weights = state.f64s("word_weights", &[Some(vocabulary.len())])?;
        let singular_values = state.f64s("singular_values", &[None])?;
        let left = state.f32s("left_singular_vectors", &[Some(vocabulary.len()), Some(singular_values.len())])?;
        let most = singular_values.first().copied().unwrap_or(1.0);
        if most.is_nan() || most <= 0.0 {
            return Err(damaged::content("singular_values", "a finite number above 0", most));
        }
        // Smaller values are zeros with a rounding error.
        if let Some(position) = singular_values.iter().position(|value| !(1e-7..=1.0).contains(&(value / most))) {
            return Err(damaged::range("singular_values", 1e-7 * most, most, singular_values[position], position));
        }
        check_range("word_weights", weights, 0.0, 1e6)?;
        // Numbers that were rounded may be slightly above 1.
        check_range("left_singular_vectors", left, -1.001, 1.001)?;
        Ok(Lsa::new(values, vocabulary, weights.to_vec(), singular_values.to_vec(), left.to_vec()))
    }

    fn dimensions(&self) -> usize {
        self.singular_values.len()
    }

    /// Writes Σ_k⁻ʷ U_kᵀ d; returns its length.
    fn fold_in(&self, text: &[WordId], counts: &mut Counts, vector: &mut [f32]) -> f64 {
        vector.fill(0.0);
        let mut squares = 0.0;
        for &(word, tf) in counts.count(text) {
            let row = word as usize * self.dimensions();
            let weight = self.weighting.local(tf) * self.weights[word as usize];
            add_scaled(vector, weight as f32, &self.left[row..row + self.dimensions()]);
            squares += weight * weight;
        }
        if sum_of_squares(vector) <= OUTSIDE * OUTSIDE * squares {
            vector.fill(0.0);
            return 0.0;
        }
        vector.iter_mut().zip(&self.scales).for_each(|(x, scale)| *x *= scale);
        sum_of_squares(vector).sqrt()
    }
}

/// Reads the titles that have a word, as numbers of their own vocabulary.
fn read_titles(corpus: &Corpus) -> Result<(Interner, WordLists), NoRoom> {
    let (mut vocabulary, mut titles, mut words) = (Interner::default(), WordLists::default(), Vec::new());
    for title in corpus.titles.iter().filter(|title| !title.is_empty()) {
        words.clear();
        for &word in title {
            words.push(vocabulary.try_intern(corpus.vocabulary.word(word))?.0);
        }
        titles.try_push(WORDS, words.iter().copied())?;
    }
    Ok((vocabulary, titles))
}

impl Ranker for Lsa {
    fn name(&self) -> &str {
        SYSTEM.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let (mut reader, mut counts) = (WordReader::default(), Counts::default());
        let (mut query_vector, mut title_vector) = (vec![0.0; self.dimensions()], vec![0.0; self.dimensions()]);
        self.fold_in(reader.read(&self.vocabulary, query), &mut counts, &mut query_vector);
        normalize(&mut query_vector);
        let cosine = |title: &&str| {
            let length = self.fold_in(reader.read(&self.vocabulary, title), &mut counts, &mut title_vector);
            if length > 0.0 { f64::from(dot(&query_vector, &title_vector)) / length } else { 0.0 }
        };
        titles.iter().map(cosine).collect()
    }

    /// Returns Σ_k⁻ʷ U_kᵀ of a text that is the word alone, up to its length.
    fn word_vectors(&self) -> Option<InnerWords<'_>> {
        let scaled = |row: &[f32]| row.iter().zip(&self.scales).map(|(x, scale)| x * scale).collect::<Vec<f32>>();
        let vectors = self.left.chunks_exact(self.dimensions().max(1)).flat_map(scaled).collect();
        Some(InnerWords { words: &self.vocabulary, vectors, dimension: self.dimensions() })
    }
}

impl SystemRanker for Lsa {
    fn tune(&mut self, values: &Values) {
        let whitening = values.get(WHITENING.name);
        // Relative to the largest, so that the unit of the weights does not matter.
        let most = self.singular_values.first().copied().unwrap_or(1.0);
        self.scales = self.singular_values.iter().map(|value| (value / most).powf(-whitening) as f32).collect();
    }

    fn state(&self) -> RankerState {
        let shape = [self.vocabulary.len(), self.dimensions()];
        RankerState::default()
            .with_words(&self.vocabulary)
            .with_f64s("word_weights", &self.weights)
            .with_f64s("singular_values", &self.singular_values)
            .with("left_singular_vectors", &shape, Numbers::F32(self.left.clone()))
    }
}

#[cfg(test)]
mod tests;
