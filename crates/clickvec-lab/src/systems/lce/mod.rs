//! LCE: latent concept expansion (Metzler and Croft, "Latent concept expansion using Markov random fields", 2007).

mod retrieval;

use self::retrieval::best_titles;
use super::dependence::{Dependence, LAMBDA_O, LAMBDA_T, LAMBDA_U, Matches, Query, Weights};
use super::ulm::MU;
use clickvec::internals::text::WordId;
use clickvec_eval::internals::InvertedLists;
use clickvec_eval::internals::RankerState;
use clickvec_eval::internals::WordReader;
use clickvec_eval::ranker::{Parameter, System, Values};
use clickvec_eval::ranker::{Ranker, SystemRanker};
use clickvec_tables::memory::NoRoom;

const FEEDBACK: Parameter = Parameter {
    integer: true,
    ..Parameter::scoring("feedback", 20.0, 0.0, 1000.0, "titles of the collection that the expansion is taken from")
};
const CONCEPTS: Parameter = Parameter {
    integer: true,
    ..Parameter::scoring("concepts", 10.0, 0.0, 1000.0, "words that are added to the query")
};
const EXPANSION: Parameter =
    Parameter::scoring("expansion", 0.2, 0.0, 1.0, "the weight of the expansion, from 0 (none) to 1 (it alone)");
const RARITY: Parameter =
    Parameter::scoring("rarity", 0.0, 0.0, 1.0, "how much words that are frequent in the collection are held back");

/// The system before training: name, parameters, how to train and restore it.
pub(super) const SYSTEM: System = System {
    name: "lce",
    about: "latent concept expansion on top of mrf (Metzler, Croft 2007)",
    parameters: &[MU, LAMBDA_T, LAMBDA_O, LAMBDA_U, FEEDBACK, CONCEPTS, EXPANSION, RARITY],
    files: &[],
    one_above_zero: &[LAMBDA_T.name, LAMBDA_O.name, LAMBDA_U.name],
    train: |values, resources, _| Ok(Box::new(Lce::new(Dependence::new(resources.corpus)?, values)?)),
    restore: |values, state| Ok(Box::new(Lce::new(Dependence::restore(state)?, values)?)),
};

/// The scoring parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Settings {
    weights: Weights,
    feedback: usize,
    concepts: usize,
    expansion: f64,
    rarity: f64,
}

impl Settings {
    fn new(values: &Values) -> Settings {
        Settings {
            weights: Weights::new(values),
            feedback: values.count(FEEDBACK.name),
            concepts: values.count(CONCEPTS.name),
            expansion: values.get(EXPANSION.name),
            rarity: values.get(RARITY.name),
        }
    }
}

/// LCE: [`super::Mrf`] answers the query, the best titles R of the collection expand it, and the expanded query scores
/// (1 − ε) MRF(Q, D) + ε |Q| Σ_e P(e|Q) ln P(e|D).
///
/// The concepts e are words. Their likelihood is P(e|Q) ∝ Σ_{D in R} exp(MRF(Q, D)) P(e|D) / P(e|C)^r. The k most
/// likely concepts that are not words of the query are used, and their P(e|Q) are made to sum to 1. |Q| is the number
/// of words in the query that the collection has, so that ε means the same for short and long queries.
#[derive(Debug, Clone)]
pub(super) struct Lce {
    model: Dependence,
    lists: InvertedLists,
    settings: Settings,
}

impl Lce {
    fn new(model: Dependence, values: &Values) -> Result<Lce, NoRoom> {
        let lists = InvertedLists::new(&model.titles, model.vocabulary.len())?;
        Ok(Lce { model, lists, settings: Settings::new(values) })
    }

    /// Expands a query with its concepts.
    fn expanded(&self, words: &[WordId]) -> Query {
        let Settings { weights, expansion, .. } = &self.settings;
        let query = Query::new(&self.model, weights, words, 1.0, &[]);
        let mut concepts = self.concepts(&query);
        if concepts.is_empty() {
            return query;
        }
        let known = words.iter().filter(|&&word| self.model.collection.probability(word) > 0.0).count();
        concepts.iter_mut().for_each(|(_, weight)| *weight *= expansion * known as f64);
        Query::new(&self.model, weights, words, 1.0 - expansion, &concepts)
    }

    /// Returns the most likely concepts, with likelihoods that sum to 1.
    fn concepts(&self, query: &Query) -> Vec<(WordId, f64)> {
        let Settings { weights: Weights { mu, .. }, feedback, concepts, expansion, rarity } = self.settings;
        if concepts == 0 || expansion == 0.0 {
            return Vec::new();
        }
        let best = best_titles(&self.model, &self.lists, query, feedback);
        // Relative to the likelihood of the first title, so that none that matters underflows.
        let first = best.first().map_or(0.0, |&(score, _)| score);
        // Σ_D P(Q, D) P(e|D) = Σ_D P(Q, D) tf(e, D) / (|D| + μ) + P(e|C) Σ_D P(Q, D) μ / (|D| + μ).
        let mut found: Vec<(WordId, f64)> = Vec::new();
        let mut smoothing = 0.0;
        for &(score, title) in &best {
            let title = self.model.titles.get(title as usize);
            let share = (score - first).exp() / (title.len() as f64 + mu);
            smoothing += share * mu;
            found.extend(title.iter().map(|&word| (word, share)));
        }
        found.sort_by_key(|&(word, _)| word);
        let likelihood = |occurrences: &[(WordId, f64)]| {
            let (word, sum) = (occurrences[0].0, occurrences.iter().map(|(_, share)| share).sum::<f64>());
            let probability = self.model.collection.probability(word);
            (word, (sum + smoothing * probability) / probability.powf(rarity))
        };
        let by_word = found.chunk_by(|(a, _), (b, _)| a == b);
        let others = by_word.filter(|occurrences| query.words.binary_search(&occurrences[0].0).is_err());
        let mut likely: Vec<(WordId, f64)> = others.map(likelihood).collect();
        let order = |a: &(WordId, f64), b: &(WordId, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if likely.len() > concepts {
            likely.select_nth_unstable_by(concepts - 1, order);
            likely.truncate(concepts);
        }
        likely.sort_unstable_by(order);
        let sum: f64 = likely.iter().map(|&(_, weight)| weight).sum();
        likely.iter_mut().for_each(|(_, weight)| *weight /= sum);
        likely
    }
}

impl Ranker for Lce {
    fn name(&self) -> &str {
        SYSTEM.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let vocabulary = &self.model.vocabulary;
        let (mut reader, mut matches) = (WordReader::default(), Matches::default());
        let query = self.expanded(reader.read(vocabulary, query));
        let score = |title: &&str| query.score_of(reader.read(vocabulary, title), &mut matches);
        titles.iter().map(score).collect()
    }
}

impl SystemRanker for Lce {
    fn tune(&mut self, values: &Values) {
        self.settings = Settings::new(values);
    }

    fn state(&self) -> RankerState {
        self.model.state()
    }
}

#[cfg(test)]
mod tests;
