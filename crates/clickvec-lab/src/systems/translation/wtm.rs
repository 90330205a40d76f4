//! WTM: the word translation model.

use super::ibm1::Ibm1;
use super::table::{Row, TranslationTable};
use super::{background, clicks};
use crate::systems::fault::no_clicks;
use crate::systems::language_model::CollectionModel;
use clickvec::internals::text::{Interner, WordId};
use clickvec_eval::internals::RankerState;
use clickvec_eval::internals::{UNKNOWN, WordReader};
use clickvec_eval::ranker::Corpus;
use clickvec_eval::ranker::{Parameter, Progress, Resources, System, Values, Watch};
use clickvec_eval::ranker::{Ranker, SystemRanker};
use clickvec_tables::Result;

pub(super) const ITERATIONS: Parameter = Parameter::count("iterations", 10, 1, 1000, "iterations of EM");
pub(super) const PRIOR: Parameter = Parameter::training(
    "prior",
    10.0,
    0.0,
    1e6,
    "how often each word counts as already seen as its own translation; 0 is plain model 1",
);
pub(super) const PRUNE: Parameter =
    Parameter::training("prune", 1e-3, 0.0, 1.0, "translations less probable than this are dropped");
pub(super) const ALPHA: Parameter = Parameter::scoring("alpha", 0.2, 1e-6, 1.0, "the weight of the collection");
pub(super) const SELF: Parameter = Parameter::scoring(
    "self",
    0.3,
    0.0,
    1.0,
    "of the title's part, the weight of its own words rather than their translations",
);

/// The system before training: name, parameters, how to train and restore it.
pub(in crate::systems) const SYSTEM: System = System {
    name: "wtm",
    about: "word translation model: IBM model 1 from titles to queries (Gao, He, Nie 2010)",
    parameters: &[ITERATIONS, PRIOR, PRUNE, ALPHA, SELF],
    files: &[],
    one_above_zero: &[],
    train: |values, resources, watch| Ok(Box::new(Wtm::train(values, resources, watch)?)),
    restore: |values, state| Ok(Box::new(Wtm::restore(values, state)?)),
};

/// log P(Q|D) = Σ_q log(α P(q|C) + (1−α) (β tf(q, D) / |D| + (1−β) Σ_w P(q|w) tf(w, D) / |D|)), where P(q|w) is learned
/// from clicked pairs by IBM model 1 and β is the parameter `self`.
///
/// By likelihood alone, a title word that was seen once would explain all the words of its query. So each word counts as seen
/// `prior` times as its own translation, and rare words mean little but themselves.
///
/// P(q|C) counts words in the titles of the collection, and 1 for a word that only queries of clicks have. A query
/// word that is in neither is left out for every title.
#[derive(Debug, Clone)]
pub(crate) struct Wtm {
    vocabulary: Interner,
    collection: CollectionModel,
    table: TranslationTable,
    alpha: f64,
    self_weight: f64,
}

impl Wtm {
    fn train(values: &Values, resources: &Resources<'_>, watch: &mut Watch<'_>) -> Result<Wtm> {
        let corpus = resources.corpus;
        let bitext = clicks(corpus);
        if bitext.pairs().next().is_none() {
            return Err(no_clicks(SYSTEM.name));
        }
        let mut model = Ibm1::new(bitext, corpus.vocabulary.len(), values.get(PRIOR.name))?;
        let of = values.count(ITERATIONS.name) as u64;
        for done in 1..=of {
            let objective = Some(model.step());
            watch(Progress { done, of, objective });
        }
        Ok(Wtm::new(values, corpus, model.table(values.get(PRUNE.name))))
    }

    pub(super) fn new(values: &Values, corpus: &Corpus, table: TranslationTable) -> Wtm {
        Wtm::from_parts(values, corpus.vocabulary.clone(), background(corpus), table)
    }

    fn from_parts(values: &Values, vocabulary: Interner, collection: CollectionModel, table: TranslationTable) -> Wtm {
        Wtm { vocabulary, collection, table, alpha: values.get(ALPHA.name), self_weight: values.get(SELF.name) }
    }

    pub(super) fn restore(values: &Values, state: &RankerState) -> Result<Wtm, clickvec_tables::Error> {
        let vocabulary = state.words()?;
        let frequencies = state.u32s("collection_frequency", &[Some(vocabulary.len())])?;
        let collection = CollectionModel::from_frequencies(frequencies.to_vec());
        let table = TranslationTable::restore("translation", vocabulary.len(), vocabulary.len(), state)?;
        Ok(Wtm::from_parts(values, vocabulary, collection, table))
    }

    /// Prepares the words of a query for scoring; `None` for a word that is left out.
    pub(super) fn query(&self, query: &[WordId]) -> Vec<Option<QueryWord<'_>>> {
        let word = |&word: &WordId| {
            let background = self.collection.probability(word);
            (background > 0.0).then(|| QueryWord { word, background, translations: self.table.row(word) })
        };
        query.iter().map(word).collect()
    }

    pub(super) fn vocabulary(&self) -> &Interner {
        &self.vocabulary
    }

    /// Returns P(q|D), above 0.
    pub(super) fn probability(&self, query: &QueryWord<'_>, title: &[WordId]) -> f64 {
        let (mut same, mut translated) = (0u32, 0.0);
        for &word in title {
            same += u32::from(word == query.word);
            // The table does not have the word.
            if word != UNKNOWN {
                translated += query.translations.get(word);
            }
        }
        let length = title.len().max(1) as f64;
        let title_probability = (self.self_weight * f64::from(same) + (1.0 - self.self_weight) * translated) / length;
        self.alpha * query.background + (1.0 - self.alpha) * title_probability
    }
}

/// A word of a query, prepared for scoring.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryWord<'a> {
    pub(super) word: WordId,
    /// P(q|C).
    background: f64,
    translations: Row<'a>,
}

impl Ranker for Wtm {
    fn name(&self) -> &str {
        SYSTEM.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let (mut queries, mut reader) = (WordReader::default(), WordReader::default());
        let query = self.query(queries.read(&self.vocabulary, query));
        let score = |title: &&str| {
            let title = reader.read(&self.vocabulary, title);
            query.iter().flatten().map(|word| self.probability(word, title).ln()).sum()
        };
        titles.iter().map(score).collect()
    }
}

impl SystemRanker for Wtm {
    fn tune(&mut self, values: &Values) {
        (self.alpha, self.self_weight) = (values.get(ALPHA.name), values.get(SELF.name));
    }

    fn state(&self) -> RankerState {
        let state = RankerState::default()
            .with_words(&self.vocabulary)
            .with_u32s("collection_frequency", self.collection.frequencies());
        self.table.state("translation", state)
    }
}
