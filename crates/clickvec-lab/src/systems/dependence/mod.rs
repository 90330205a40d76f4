//! The sequential dependence model of a collection (Metzler and Croft, "A Markov random field model for term
//! dependencies", 2005): language models of words, of neighbouring words, and of words in a window. MRF and LCE are
//! built on it.

mod pairs;

use self::pairs::{PairCounts, REACH};
use super::language_model::CollectionModel;
use super::ulm::MU;
use clickvec::internals::text::{Interner, WordId};
use clickvec_eval::internals::RankerState;
use clickvec_eval::internals::{WORDS, WordLists};
use clickvec_eval::ranker::Corpus;
use clickvec_eval::ranker::{Parameter, Values};
use clickvec_tables::damaged;
use clickvec_tables::memory::NoRoom;

/// λ_T.
pub(super) const LAMBDA_T: Parameter = Parameter::scoring("lambda_t", 0.85, 0.0, 1.0, "the weight of single words");
/// λ_O.
pub(super) const LAMBDA_O: Parameter = Parameter::scoring(
    "lambda_o",
    0.1,
    0.0,
    1.0,
    "the weight of neighbouring query words that are neighbours in the title",
);
/// λ_U.
pub(super) const LAMBDA_U: Parameter = Parameter::scoring(
    "lambda_u",
    0.05,
    0.0,
    1.0,
    "the weight of neighbouring query words within 8 words of the title",
);

/// The values of [`MU`], [`LAMBDA_T`], [`LAMBDA_O`] and [`LAMBDA_U`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Weights {
    pub(super) mu: f64,
    /// The weight of single words. The three weights sum to 1, or are all 0.
    terms: f64,
    ordered: f64,
    unordered: f64,
}

impl Weights {
    pub(super) fn new(values: &Values) -> Weights {
        let lambdas = [LAMBDA_T, LAMBDA_O, LAMBDA_U].map(|lambda| values.get(lambda.name));
        let sum: f64 = lambdas.iter().sum();
        let [terms, ordered, unordered] = lambdas.map(|lambda| if sum > 0.0 { lambda / sum } else { 0.0 });
        Weights { mu: values.get(MU.name), terms, ordered, unordered }
    }
}

/// A collection with its counts.
#[derive(Debug, Clone)]
pub(super) struct Dependence {
    pub(super) vocabulary: Interner,
    pub(super) titles: WordLists,
    pub(super) collection: CollectionModel,
    ordered: PairCounts,
    unordered: PairCounts,
}

impl Dependence {
    pub(super) fn new(corpus: &Corpus) -> Result<Dependence, NoRoom> {
        Dependence::from_titles(corpus.vocabulary.clone(), corpus.titles.clone())
    }

    /// Creates the model of `titles`, whose words are below the size of the vocabulary.
    fn from_titles(vocabulary: Interner, titles: WordLists) -> Result<Dependence, NoRoom> {
        let words = vocabulary.len();
        let collection = CollectionModel::from_texts(&titles, words);
        let (ordered, unordered) =
            rayon::join(|| PairCounts::ordered(&titles, words), || PairCounts::unordered(&titles, words));
        Ok(Dependence { vocabulary, titles, collection, ordered: ordered?, unordered: unordered? })
    }

    /// Stores the titles alone: they are smaller than their counts, and counts in the file could contradict them.
    pub(super) fn state(&self) -> RankerState {
        let lengths: Vec<u32> = self.titles.iter().map(|title| title.len() as u32).collect();
        RankerState::default()
            .with_words(&self.vocabulary)
            .with_u32s("title_words", self.titles.items())
            .with_u32s("title_lengths", &lengths)
    }

    pub(super) fn restore(state: &RankerState) -> Result<Dependence, clickvec_tables::Error> {
        let vocabulary = state.words()?;
        let words = state.u32s("title_words", &[None])?;
        let lengths = state.u32s("title_lengths", &[None])?;
        let total: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        if total != words.len() as u64 {
            return Err(damaged::content(
                "title_words",
                format!("{total} words, the sum of `title_lengths`"),
                words.len(),
            ));
        }
        if let Some(position) = words.iter().position(|&word| word as usize >= vocabulary.len()) {
            return Err(damaged::not_below("title_words", vocabulary.len(), words[position], position));
        }
        let mut titles = WordLists::default();
        let mut rest = words;
        for &length in lengths {
            let (title, others) = rest.split_at(length as usize);
            titles.try_push(WORDS, title.iter().copied())?;
            rest = others;
        }
        Ok(Dependence::from_titles(vocabulary, titles)?)
    }

    /// Divides a count by the number of words in the collection, as in the paper, for P(w|C), P(w w'|C) and so on.
    fn probability(&self, count: u32) -> f64 {
        f64::from(count) / self.titles.items().len().max(1) as f64
    }
}

/// Features of one kind: words (the second number is 0) or pairs of words, as positions in the query.
#[derive(Debug, Clone, Default)]
struct Features {
    keys: Vec<(u32, u32)>,
    /// The weight of each log probability.
    weights: Vec<f64>,
    /// μ P(feature|C), above 0.
    background: Vec<f64>,
}

impl Features {
    /// Creates the features that have a weight and are in the collection, ordered by key. A feature that the query has twice gets
    /// twice the weight.
    fn new(mut found: Vec<((u32, u32), f64)>, background: impl Fn((u32, u32)) -> f64) -> Features {
        found.sort_by_key(|&(key, _)| key);
        let mut features = Features::default();
        for run in found.chunk_by(|(a, _), (b, _)| a == b) {
            let (key, weight) = (run[0].0, run.iter().map(|(_, weight)| weight).sum::<f64>());
            let background = background(key);
            if weight > 0.0 && background > 0.0 {
                features.keys.push(key);
                features.weights.push(weight);
                features.background.push(background);
            }
        }
        features
    }

    fn position(&self, key: (u32, u32)) -> Option<usize> {
        self.keys.binary_search(&key).ok()
    }

    /// Returns Σ w ln(μ P(f|C)).
    fn base(&self) -> f64 {
        self.weights.iter().zip(&self.background).map(|(weight, background)| weight * background.ln()).sum()
    }

    /// Returns the amount that `count` occurrences of feature `i` add to the score.
    fn gain(&self, i: usize, count: u32) -> f64 {
        self.weights[i] * (f64::from(count) / self.background[i]).ln_1p()
    }

    fn gains(&self, counts: &[u32]) -> f64 {
        let present = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        present.map(|(i, &count)| self.gain(i, count)).sum()
    }
}

/// A query, prepared for scoring titles: Σ_f w_f ln((tf(f, D) + μ P(f|C)) / (|D| + μ)) over its features f.
///
/// It is computed as Σ_f w_f ln(μ P(f|C)) + Σ_f w_f ln(1 + tf / (μ P(f|C))) − (Σ_f w_f) ln(|D| + μ), so that only the
/// features in a title cost a logarithm.
#[derive(Debug, Clone)]
pub(super) struct Query {
    /// The distinct words of the query that are in the collection, sorted.
    pub(super) words: Vec<WordId>,
    terms: Features,
    ordered: Features,
    unordered: Features,
    mu: f64,
    pub(super) base: f64,
    pub(super) weight: f64,
}

/// The matches of a query in a title, and working memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Matches {
    /// The positions of the query's words in the title, and which words they are.
    positions: Vec<(usize, u32)>,
    terms: Vec<u32>,
    ordered: Vec<u32>,
    unordered: Vec<u32>,
}

impl Query {
    /// Creates a query of these words, which may include `UNKNOWN`, and of further words with their own weights.
    ///
    /// The weights of the query's own features are multiplied by `share`. A feature that is not in the collection is
    /// left out for every title, as in ULM.
    pub(super) fn new(
        model: &Dependence,
        weights: &Weights,
        query: &[WordId],
        share: f64,
        more: &[(WordId, f64)],
    ) -> Query {
        let is_known = |&word: &WordId| model.collection.probability(word) > 0.0;
        let mut words: Vec<WordId> = query.iter().copied().chain(more.iter().map(|&(word, _)| word)).collect();
        words.retain(is_known);
        words.sort_unstable();
        words.dedup();
        let position = |word: WordId| words.binary_search(&word).ok().map(|position| position as u32);
        let word = |position: u32| words[position as usize];
        let Weights { mu, .. } = *weights;

        let own = query.iter().map(|&word| (word, share * weights.terms));
        let terms = own.chain(more.iter().copied());
        let terms = terms.filter_map(|(word, weight)| Some(((position(word)?, 0), weight))).collect();
        let terms = Features::new(terms, |(word_place, _)| mu * model.collection.probability(word(word_place)));

        let neighbours = || query.windows(2).filter_map(|pair| Some((position(pair[0])?, position(pair[1])?)));
        let ordered = neighbours().map(|pair| (pair, share * weights.ordered)).collect();
        let ordered = Features::new(ordered, |(a, b)| mu * model.probability(model.ordered.get(word(a), word(b))));
        // Positions are in the order of word numbers.
        let unordered = neighbours().map(|(a, b)| ((a.min(b), a.max(b)), share * weights.unordered)).collect();
        let unordered =
            Features::new(unordered, |(a, b)| mu * model.probability(model.unordered.get(word(a), word(b))));

        let all = [&terms, &ordered, &unordered];
        let base = all.iter().map(|features| features.base()).sum();
        let weight = all.iter().flat_map(|features| &features.weights).sum();
        Query { words, terms, ordered, unordered, mu, base, weight }
    }

    /// Finds the query's features in a title.
    pub(super) fn find(&self, title: &[WordId], matches: &mut Matches) {
        let Matches { positions, terms, ordered, unordered } = matches;
        positions.clear();
        for (counts, features) in
            [(&mut *terms, &self.terms), (&mut *ordered, &self.ordered), (&mut *unordered, &self.unordered)]
        {
            counts.clear();
            counts.resize(features.keys.len(), 0);
        }
        for (position, word) in title.iter().enumerate() {
            let Ok(found) = self.words.binary_search(word) else { continue };
            let word = found as u32;
            if let Some(term) = self.terms.position((word, 0)) {
                terms[term] += 1;
            }
            let near = positions.iter().rposition(|&(other, _)| position - other > REACH).map_or(0, |last| last + 1);
            for i in near..positions.len() {
                let (other_position, other) = positions[i];
                if other_position + 1 == position
                    && let Some(pair) = self.ordered.position((other, word))
                {
                    ordered[pair] += 1;
                }
                let is_first = !positions[near..i].iter().any(|&(_, earlier)| earlier == other);
                if is_first && let Some(pair) = self.unordered.position((word.min(other), word.max(other))) {
                    unordered[pair] += 1;
                }
            }
            positions.push((position, word));
        }
    }

    /// Returns the score of a title of `length` words with these matches.
    pub(super) fn score(&self, matches: &Matches, length: usize) -> f64 {
        if self.weight == 0.0 {
            return 0.0;
        }
        let gains = self.terms.gains(&matches.terms)
            + self.ordered.gains(&matches.ordered)
            + self.unordered.gains(&matches.unordered);
        self.base + gains - self.length_loss(length)
    }

    /// Returns the score of a title.
    pub(super) fn score_of(&self, title: &[WordId], matches: &mut Matches) -> f64 {
        self.find(title, matches);
        self.score(matches, title.len())
    }

    /// Returns the amount that the word at `position` alone adds to [`Query::base`] if it occurs `count` times in the title.
    pub(super) fn term_gain(&self, position: usize, count: u32) -> f64 {
        self.terms.position((position as u32, 0)).map_or(0.0, |term| self.terms.gain(term, count))
    }

    /// Returns the positions of the two words of each pair, and the most that the pair can add to a title's score. A title has a
    /// word at most `most(word)` times.
    pub(super) fn pair_gains(&self, most: impl Fn(WordId) -> u32) -> Vec<([usize; 2], f64)> {
        let most = |position: u32| most(self.words[position as usize]);
        let positions = |(a, b): (u32, u32)| [a as usize, b as usize];
        let ordered = self.ordered.keys.iter().enumerate();
        let ordered = ordered.map(|(i, &(a, b))| (positions((a, b)), self.ordered.gain(i, most(a).min(most(b)))));
        let unordered = self.unordered.keys.iter().enumerate();
        let unordered =
            unordered.map(|(i, &(a, b))| (positions((a, b)), self.unordered.gain(i, most(a).saturating_add(most(b)))));
        ordered.chain(unordered).collect()
    }

    /// Returns the amount that a title's length subtracts from its score.
    pub(super) fn length_loss(&self, length: usize) -> f64 {
        self.weight * (length as f64 + self.mu).ln()
    }

    /// Returns the largest number of words with which a title can score `worst` or more, if its score without the length is
    /// `most`.
    pub(super) fn longest_title(&self, most: f64, worst: f64) -> f64 {
        ((most - worst) / self.weight).exp() - self.mu
    }

    /// Returns whether there are no features, so that all titles score 0.
    pub(super) fn is_empty(&self) -> bool {
        self.weight == 0.0
    }
}
