//! ULM: the unigram language model with Dirichlet smoothing (Zhai and Lafferty, "A study of smoothing methods for
//! language models applied to information retrieval", 2004).

use super::language_model::CollectionModel;
use clickvec::internals::text::{Interner, WordId};
use clickvec_eval::internals::RankerState;
use clickvec_eval::internals::WordReader;
use clickvec_eval::ranker::{Parameter, Resources, System, Values, Watch};
use clickvec_eval::ranker::{Ranker, SystemRanker};
use clickvec_tables::Result;

/// The parameter of Dirichlet smoothing, shared by all systems that have it.
pub(super) const MU: Parameter =
    Parameter::scoring("mu", 20.0, 1e-3, 1e6, "how many words of the collection each title is smoothed with");

/// The system before training: name, parameters, how to train and restore it.
pub(super) const SYSTEM: System = System {
    name: "ulm",
    about: "unigram language model with Dirichlet smoothing (Zhai, Lafferty 2004)",
    parameters: &[MU],
    files: &[],
    one_above_zero: &[],
    train: |values, resources, _: &mut Watch<'_>| Ok(Box::new(Ulm::train(values, resources))),
    restore: |values, state| Ok(Box::new(Ulm::restore(values, state)?)),
};

/// log P(Q|D) = Σ over the query's words of log((tf(q, D) + μ P(q|C)) / (|D| + μ)).
///
/// A query word that is not in the collection is left out for every title.
#[derive(Debug, Clone)]
pub(super) struct Ulm {
    vocabulary: Interner,
    collection: CollectionModel,
    mu: f64,
}

impl Ulm {
    fn train(values: &Values, resources: &Resources<'_>) -> Ulm {
        let corpus = resources.corpus;
        Ulm { vocabulary: corpus.vocabulary.clone(), collection: CollectionModel::new(corpus), mu: values.get(MU.name) }
    }

    fn restore(values: &Values, state: &RankerState) -> Result<Ulm, clickvec_tables::Error> {
        let vocabulary = state.words()?;
        let frequencies = state.u32s("collection_frequency", &[Some(vocabulary.len())])?;
        let collection = CollectionModel::from_frequencies(frequencies.to_vec());
        Ok(Ulm { vocabulary, collection, mu: values.get(MU.name) })
    }

    fn log_likelihood(&self, query: &[WordId], title: &[WordId]) -> f64 {
        query.iter().map(|&word| self.collection.smoothed(word, title, self.mu).ln()).sum()
    }
}

impl Ranker for Ulm {
    fn name(&self) -> &str {
        SYSTEM.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let (mut queries, mut reader) = (WordReader::default(), WordReader::default());
        let known = |word: &WordId| self.collection.probability(*word) > 0.0;
        let query: Vec<WordId> = queries.read(&self.vocabulary, query).iter().copied().filter(known).collect();
        titles.iter().map(|title| self.log_likelihood(&query, reader.read(&self.vocabulary, title))).collect()
    }
}

impl SystemRanker for Ulm {
    fn tune(&mut self, values: &Values) {
        self.mu = values.get(MU.name);
    }

    fn state(&self) -> RankerState {
        RankerState::default()
            .with_words(&self.vocabulary)
            .with_u32s("collection_frequency", self.collection.frequencies())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::systems::shop::{Shop, ndcg, restored, with_shuffled_words};
    use crate::systems::testing::{assert_close, corpus, is_kept_by_a_file, train};

    #[test]
    fn a_hand_computed_collection() {
        // Six words, with `red` three times and `door` once.
        let corpus = corpus(&["red door red", "red", "blue lamp"], &[]);
        let ulm = train("ulm:mu=2", &corpus);
        let p = |tf: f64, frequency: f64, length: f64| ((tf + 2.0 * frequency / 6.0) / (length + 2.0)).ln();
        let expected = [
            p(2.0, 3.0, 3.0) + p(1.0, 1.0, 3.0),
            p(1.0, 3.0, 1.0) + p(0.0, 1.0, 1.0),
            p(0.0, 3.0, 0.0) + p(0.0, 1.0, 0.0),
        ];
        assert_close(&ulm.score("Red door", &["red door red", "red", ""]), &expected);
        // A word that is not in the collection is left out of a query, and counts in a title's length.
        assert_close(&ulm.score("red sofa door", &["red door red", "red", ""]), &expected);
        assert_close(&ulm.score("red", &["sofa red"]), &[p(1.0, 3.0, 2.0)]);
        assert_eq!(ulm.score("sofa", &["sofa", "red"]), [0.0, 0.0]);
    }

    #[test]
    fn shuffled_frequencies_rank_worse() {
        let shop = Shop::new();
        let ulm = train("ulm", &shop.corpus);
        let shuffled = restored("ulm", &with_shuffled_words(&ulm.state()));
        let (found, without) = (ndcg(ulm.as_ref(), &shop.judgments), ndcg(shuffled.as_ref(), &shop.judgments));
        assert!(found > without + 0.05, "{found}, shuffled {without}");
    }

    #[test]
    fn mu_can_be_changed_and_a_file_keeps_it() {
        let corpus = corpus(&["red door red", "red", "blue lamp"], &[]);
        is_kept_by_a_file("ulm:mu=5", &corpus);
        let (mut tuned, fresh) = (train("ulm:mu=2", &corpus), train("ulm:mu=9", &corpus));
        tuned.tune(&SYSTEM.values(&"ulm:mu=9".parse().unwrap()).unwrap());
        assert_eq!(tuned.score("red lamp", &["red", "lamp"]), fresh.score("red lamp", &["red", "lamp"]));
    }
}
