//! IBM model 1 (Brown, Della Pietra, Della Pietra, Mercer, "The mathematics of statistical machine translation:
//! parameter estimation", 1993): each word of the target text is drawn from the translations of a word of the source
//! text or of the empty word, all equally likely.

use rayon::prelude::*;

use super::table::TranslationTable;
use clickvec::internals::ragged::Ragged;
use clickvec::internals::text::WordId;
use clickvec_eval::internals::WordLists;
use clickvec_tables::memory::{NoRoom, room_for_numbers};

/// The size of a task; sums are taken task by task.
const PIECE: usize = 1 << 14;

/// A number that is not a word of the target, for the occurrence that a prior adds to an entry.
const NO_TOKEN: u32 = u32::MAX;

/// Pairs of texts. Each target is a translation of its source.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bitext<'a> {
    pub(super) sources: &'a WordLists,
    pub(super) targets: &'a WordLists,
    /// The weight of each pair.
    pub(super) weights: &'a [f32],
}

impl<'a> Bitext<'a> {
    /// Returns (source, target, weight) of each pair that has words on both sides and a weight.
    pub(super) fn pairs(self) -> impl Iterator<Item = (&'a [WordId], &'a [WordId], f64)> {
        let pairs = self.sources.iter().zip(self.targets.iter()).zip(self.weights);
        let pairs = pairs.map(|((source, target), &weight)| (source, target, f64::from(weight)));
        pairs.filter(|&(source, target, weight)| !source.is_empty() && !target.is_empty() && weight > 0.0)
    }

    /// Returns the opposite direction.
    pub(super) fn reversed(self) -> Bitext<'a> {
        Bitext { sources: self.targets, targets: self.sources, weights: self.weights }
    }
}

/// The probabilities t(target word | source word) during learning.
///
/// There is an entry for each two words that occur in a pair, and entries know their occurrences. So an iteration is
/// two products with one sparse matrix, words of targets × entries: z = A t, then counts = t ∘ Aᵀ(c/z) with the pairs'
/// weights c.
#[derive(Debug)]
pub(super) struct Ibm1 {
    /// The start of each source word's entries. The empty word comes last.
    rows: Vec<usize>,
    /// The target word of each entry, ascending within a row.
    targets: Vec<WordId>,
    /// t, by entry.
    probabilities: Vec<f64>,
    /// The tokens (words of targets) that each entry can explain. If a source has a word twice, its entries list the
    /// token twice.
    occurrences: Ragged<u32>,
    /// For each token, the entries of its source's words. Tokens are the target words of all pairs, one after the other.
    entries: Ragged<u32>,
    /// For each token, the weight of its pair.
    token_weights: Vec<f64>,
    /// Σ over tokens of weight · ln(source words + 1).
    log_choices: f64,
    /// The number of times that each source word counts as translated to itself beforehand.
    prior: f64,
}

impl Ibm1 {
    /// Creates the state before the first step, with uniform probabilities over all target words. Words are below `words`.
    ///
    /// With a `prior` above 0, each source word counts as seen that often as its own translation. EM then raises the
    /// posterior under a Dirichlet prior instead of the likelihood.
    ///
    /// # Errors
    ///
    /// [`NoRoom`].
    pub(super) fn new(bitext: Bitext<'_>, words: usize, prior: f64) -> Result<Ibm1, NoRoom> {
        let (starts, mut occurrences) = collect_occurrences(bitext, words, prior > 0.0)?;
        let mut rest = occurrences.as_mut_slice();
        let mut pieces = Vec::with_capacity(words + 1);
        for row in starts.windows(2) {
            let (piece, others) = rest.split_at_mut(row[1] - row[0]);
            pieces.push(piece);
            rest = others;
        }
        pieces.into_par_iter().for_each(|row| row.sort_unstable());

        let tokens = bitext.pairs().map(|(_, target, _)| target.len()).sum();
        let mut entries = Ragged::with_capacity(tokens, occurrences.len());
        let (mut token_weights, mut log_choices) = (Vec::with_capacity(tokens), 0.0);
        for (source, target, weight) in bitext.pairs() {
            let choices = source.len() + 1;
            for _ in target {
                entries.push(std::iter::repeat_n(0, choices));
                token_weights.push(weight);
                log_choices += weight * (choices as f64).ln();
            }
        }
        let mut model = Ibm1 {
            rows: vec![0],
            targets: Vec::new(),
            probabilities: Vec::new(),
            occurrences: Ragged::with_capacity(0, occurrences.len()),
            entries,
            token_weights,
            log_choices,
            prior,
        };
        // How many entries of each token were set.
        let mut set = vec![0; model.token_weights.len()];
        for row in starts.windows(2) {
            for entry in occurrences[row[0]..row[1]].chunk_by(|a, b| a >> 32 == b >> 32) {
                let tokens = entry.iter().map(|&occurrence| occurrence as u32).filter(|&token| token != NO_TOKEN);
                for token in tokens.clone() {
                    let position = &mut set[token as usize];
                    model.entries.get_mut(token as usize)[*position] = model.targets.len() as u32;
                    *position += 1;
                }
                model.occurrences.push(tokens);
                model.targets.push((entry[0] >> 32) as WordId);
            }
            model.rows.push(model.targets.len());
        }
        let mut is_target = vec![false; words];
        model.targets.iter().for_each(|&word| is_target[word as usize] = true);
        let target_words = is_target.iter().filter(|&&is_target| is_target).count();
        model.probabilities = vec![1.0 / target_words as f64; model.targets.len()];
        Ok(model)
    }

    /// Makes one iteration of EM.
    ///
    /// Returns the objective before it: the log likelihood of the targets, Σ weight · log P(target | source), plus the
    /// prior's Σ prior · log t(word | word).
    pub(super) fn step(&mut self) -> f64 {
        let weights = &self.token_weights;
        let mut ratios = vec![0.0; weights.len()];
        let pieces = ratios.par_chunks_mut(PIECE).enumerate().map(|(piece, ratios)| {
            let mut sum = 0.0;
            for (token, ratio) in (piece * PIECE..).zip(ratios) {
                let total: f64 = self.entries.get(token).iter().map(|&entry| self.probabilities[entry as usize]).sum();
                *ratio = weights[token] / total;
                sum += weights[token] * total.ln();
            }
            sum
        });
        let likelihood = pieces.collect::<Vec<f64>>().into_iter().sum::<f64>() - self.log_choices;

        let occurrences = &self.occurrences;
        let mut log_prior = 0.0;
        if self.prior > 0.0 {
            for word in 0..self.rows.len() as WordId - 2 {
                if let Some(entry) = self.entry(word as usize, word) {
                    log_prior += self.prior * self.probabilities[entry].ln();
                }
            }
        }
        self.probabilities.par_chunks_mut(PIECE).enumerate().for_each(|(piece, probabilities)| {
            for (entry, probability) in (piece * PIECE..).zip(probabilities) {
                *probability *= occurrences.get(entry).iter().map(|&token| ratios[token as usize]).sum::<f64>();
            }
        });
        for row in 0..self.rows.len() - 1 {
            if self.prior > 0.0
                && let Some(entry) = self.entry(row, row as WordId)
            {
                self.probabilities[entry] += self.prior;
            }
            let row = &mut self.probabilities[self.rows[row]..self.rows[row + 1]];
            let total: f64 = row.iter().sum();
            row.iter_mut().for_each(|probability| *probability /= total);
        }
        likelihood + log_prior
    }

    /// Returns t(target | source); 0 for two words that never occur in the same pair.
    pub(super) fn probability(&self, target: WordId, source: WordId) -> f64 {
        self.entry(source as usize, target).map_or(0.0, |entry| self.probabilities[entry])
    }

    /// Returns t(target | empty word).
    pub(super) fn probability_of_empty(&self, target: WordId) -> f64 {
        self.entry(self.rows.len() - 2, target).map_or(0.0, |entry| self.probabilities[entry])
    }

    fn entry(&self, row: usize, target: WordId) -> Option<usize> {
        let start = self.rows[row];
        self.targets[start..self.rows[row + 1]].binary_search(&target).ok().map(|position| start + position)
    }

    /// Returns the learnt table, without the empty word and without translations less probable than `least`. The other
    /// translations of a word are scaled to sum to 1 again. Each word retains its best translation.
    pub(super) fn table(&self, least: f64) -> TranslationTable {
        let words = self.rows.len() - 2;
        let mut retained: Vec<(WordId, WordId, f64)> = Vec::new();
        for source in 0..words {
            let row = self.rows[source]..self.rows[source + 1];
            let best = self.probabilities[row.clone()].iter().copied().fold(0.0, f64::max);
            let first = retained.len();
            for entry in row {
                let probability = self.probabilities[entry];
                if probability > 0.0 && probability >= least.min(best) {
                    retained.push((self.targets[entry], source as WordId, probability));
                }
            }
            let total: f64 = retained[first..].iter().map(|&(.., probability)| probability).sum();
            // Rounding may leave a probability slightly above 1.
            retained[first..].iter_mut().for_each(|(.., probability)| *probability = (*probability / total).min(1.0));
        }
        TranslationTable::new(words, &retained)
    }
}

/// Collects the possible explanations: for each word of each source, (target word, token) as one number, in rows by source word,
/// and the start of each row. With `with_self`, each source word that occurs also has an entry for itself.
fn collect_occurrences(bitext: Bitext<'_>, words: usize, with_self: bool) -> Result<(Vec<usize>, Vec<u64>), NoRoom> {
    let mut starts = vec![0; words + 2];
    for (source, target, _) in bitext.pairs() {
        source.iter().for_each(|&word| starts[word as usize + 1] += target.len());
        starts[words + 1] += target.len();
    }
    if with_self {
        starts[1..=words].iter_mut().filter(|count| **count > 0).for_each(|count| *count += 1);
    }
    for row in 0..=words {
        starts[row + 1] += starts[row];
    }
    let tokens = bitext.pairs().map(|(_, target, _)| target.len()).sum();
    // For occurrences: the number here, and later the token and the entry. For tokens: ends, how many are set, weights.
    room_for_numbers::<u32>("words that may translate each other", &[&[4, starts[words + 1]], &[6, tokens]])?;
    let mut next = starts.clone();
    let mut occurrences = vec![0; starts[words + 1]];
    let mut push = |row: usize, target: WordId, token: u32| {
        occurrences[next[row]] = u64::from(target) << 32 | u64::from(token);
        next[row] += 1;
    };
    if with_self {
        let occurring = (0..words).filter(|&word| starts[word] < starts[word + 1]);
        occurring.for_each(|word| push(word, word as WordId, NO_TOKEN));
    }
    let mut first = 0;
    for (source, target, _) in bitext.pairs() {
        for (token, &word) in (first..).zip(target) {
            source.iter().for_each(|&source| push(source as usize, word, token));
            push(words, word, token);
        }
        first += target.len() as u32;
    }
    Ok((starts, occurrences))
}
