//! MRF: the sequential dependence model (Metzler and Croft, "A Markov random field model for term dependencies", 2005).

use super::dependence::{Dependence, LAMBDA_O, LAMBDA_T, LAMBDA_U, Matches, Query, Weights};
use super::ulm::MU;
use clickvec_eval::internals::RankerState;
use clickvec_eval::internals::WordReader;
use clickvec_eval::ranker::{Ranker, SystemRanker};
use clickvec_eval::ranker::{System, Values};

/// The system before training: name, parameters, how to train and restore it.
pub(super) const SYSTEM: System = System {
    name: "mrf",
    about: "Markov random field with sequential dependence (Metzler, Croft 2005)",
    parameters: &[MU, LAMBDA_T, LAMBDA_O, LAMBDA_U],
    files: &[],
    one_above_zero: &[LAMBDA_T.name, LAMBDA_O.name, LAMBDA_U.name],
    train: |values, resources, _| Ok(Box::new(Mrf::new(Dependence::new(resources.corpus)?, values))),
    restore: |values, state| Ok(Box::new(Mrf::restore(values, state)?)),
};

/// λ_T Σ ln P(q|D) over the query's words, and for each two neighbours q, q' of the query λ_O Σ ln P(q q'|D) + λ_U Σ
/// ln P({q, q'}|D): as neighbours in the same order, and in a window of 8 words in any order.
///
/// Each P is (tf(f, D) + μ cf(f) / |C|) / (|D| + μ), where cf(f) counts the feature f in the collection, and |D| and
/// |C| count words. The λ are divided by their sum. Features that are not in the collection are left out for every
/// title.
#[derive(Debug, Clone)]
pub(super) struct Mrf {
    model: Dependence,
    weights: Weights,
}

impl Mrf {
    fn new(model: Dependence, values: &Values) -> Mrf {
        Mrf { model, weights: Weights::new(values) }
    }

    fn restore(values: &Values, state: &RankerState) -> Result<Mrf, clickvec_tables::Error> {
        Ok(Mrf::new(Dependence::restore(state)?, values))
    }
}

impl Ranker for Mrf {
    fn name(&self) -> &str {
        SYSTEM.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let vocabulary = &self.model.vocabulary;
        let (mut reader, mut matches) = (WordReader::default(), Matches::default());
        let query = Query::new(&self.model, &self.weights, reader.read(vocabulary, query), 1.0, &[]);
        titles.iter().map(|title| query.score_of(reader.read(vocabulary, title), &mut matches)).collect()
    }
}

impl SystemRanker for Mrf {
    fn tune(&mut self, values: &Values) {
        self.weights = Weights::new(values);
    }

    fn state(&self) -> RankerState {
        self.model.state()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::systems::shop::{Shop, ndcg, restored, with_shuffled_words};
    use crate::systems::testing::{assert_close, corpus, is_kept_by_a_file, train};

    #[test]
    fn a_hand_computed_collection() {
        // 8 words. `red` occurs 3 times, `door` twice, and `red door` once. The two share 3 windows: `door` completes
        // one with the first `red` in either title, and the last `red` completes one with `door`.
        let corpus = corpus(&["red big door", "red door red", "lamp lamp"], &[("sofa", "sofa red door")]);
        let mrf = train("mrf:mu=2,lambda_t=0.4,lambda_o=0.2,lambda_u=0.2", &corpus);
        let p = |tf: f64, cf: f64, length: f64| ((tf + 2.0 * cf / 8.0) / (length + 2.0)).ln();
        let words = |red: f64, door: f64, length: f64| 0.5 * (p(red, 3.0, length) + p(door, 2.0, length));
        let pairs = |ordered, unordered, length| 0.25 * (p(ordered, 1.0, length) + p(unordered, 3.0, length));
        let titles = ["red big door", "red door red", "door red", "lamp", ""];
        let expected = [
            words(1.0, 1.0, 3.0) + pairs(0.0, 1.0, 3.0),
            words(2.0, 1.0, 3.0) + pairs(1.0, 2.0, 3.0),
            words(1.0, 1.0, 2.0) + pairs(0.0, 1.0, 2.0),
            words(0.0, 0.0, 1.0) + pairs(0.0, 0.0, 1.0),
            words(0.0, 0.0, 0.0) + pairs(0.0, 0.0, 0.0),
        ];
        assert_close(&mrf.score("Red door!", &titles), &expected);
        // A word that is not in the collection is left out, and the words around it do not become neighbours.
        assert_close(&mrf.score("red sofa door", &titles[..2]), &[words(1.0, 1.0, 3.0), words(2.0, 1.0, 3.0)]);
        // Neighbours that are not in the collection are left out too, but not their windows: `big red`.
        let expected = 0.5 * (p(0.0, 1.0, 2.0) + p(1.0, 3.0, 2.0)) + 0.25 * p(0.0, 1.0, 2.0);
        assert_close(&mrf.score("big red", &["red sofa"]), &[expected]);
        // A pair that occurs twice in the query counts twice.
        let twice = mrf.score("red door red door", &titles[3..4]);
        let door_red = 0.25 * (p(0.0, 1.0, 1.0) + p(0.0, 3.0, 1.0));
        assert_close(&twice, &[2.0 * words(0.0, 0.0, 1.0) + 2.0 * pairs(0.0, 0.0, 1.0) + door_red]);
        assert_eq!(mrf.score("sofa", &["sofa", "red"]), [0.0, 0.0]);
    }

    #[test]
    fn without_pairs_it_is_the_unigram_language_model() {
        let shop = Shop::new();
        let mrf = train("mrf:mu=7,lambda_t=0.3,lambda_o=0,lambda_u=0", &shop.corpus);
        let ulm = train("ulm:mu=7", &shop.corpus);
        for query in &shop.judgments.queries {
            let titles: Vec<&str> = query.titles.iter().map(|title| title.text.as_str()).collect();
            assert_close(&mrf.score(&query.text, &titles), &ulm.score(&query.text, &titles));
        }
    }

    #[test]
    fn neighbours_in_their_order_come_first_then_those_in_a_window() {
        let far = "red a b c d e f g h door";
        let near = "red a b c d e f door g h";
        let reversed = "door red a b c d e f g h";
        let side_by_side = "red door a b c d e f g h";
        let mrf = train("mrf", &corpus(&[far, near, reversed, side_by_side], &[]));
        let scores = mrf.score("red door", &[far, near, reversed, side_by_side]);
        assert!(scores[0] < scores[1] && scores[1] == scores[2] && scores[2] < scores[3], "{scores:?}");
    }

    #[test]
    fn poor_collections_give_finite_scores() {
        let corpora: [&[&str]; 5] = [&[], &[""], &["a"], &["a", "a", "a"], &["a a a a a a a a a a"]];
        for titles in corpora {
            for spec in ["mrf", "mrf:lambda_t=0,lambda_o=0", "mrf:mu=0.001", "mrf:mu=1000000"] {
                let mrf = train(spec, &corpus(titles, &[]));
                for query in ["", "a", "a a", "a b a", "北京 x", "!"] {
                    let scores = mrf.score(query, &["", "a", "a a a a", "b", "北", "?"]);
                    assert!(scores.iter().all(|score| score.is_finite()), "{titles:?} {spec} {query}: {scores:?}");
                }
            }
        }
    }

    #[test]
    fn without_a_weight_it_is_refused() {
        for name in ["mrf", "lce"] {
            let spec = format!("{name}:lambda_t=0,lambda_o=0,lambda_u=0").parse().unwrap();
            let fault = System::named(name, &crate::SYSTEMS).unwrap().values(&spec).unwrap_err().to_string();
            let expected = "expected a value above 0 for one of lambda_t, lambda_o, lambda_u, found none";
            assert_eq!(fault, format!("ranker `{name}`: {expected}"));
        }
        assert!(SYSTEM.values(&"mrf:lambda_t=0,lambda_o=0".parse().unwrap()).is_ok());
    }

    #[test]
    fn weights_can_be_changed_and_a_file_keeps_them() {
        let shop = Shop::new();
        let spec = "mrf:mu=3,lambda_t=0.2,lambda_o=0.3,lambda_u=0.4";
        is_kept_by_a_file(spec, &corpus(&["red door red", "red", "", "blue lamp"], &[("red door", "red lamp")]));
        let (mut tuned, fresh) = (train("mrf", &shop.corpus), train(spec, &shop.corpus));
        tuned.tune(&SYSTEM.values(&spec.parse().unwrap()).unwrap());
        for query in &shop.judgments.queries {
            let titles: Vec<&str> = query.titles.iter().map(|title| title.text.as_str()).collect();
            assert_eq!(tuned.score(&query.text, &titles), fresh.score(&query.text, &titles));
        }
    }

    #[test]
    fn shuffled_counts_rank_worse() {
        let shop = Shop::new();
        let mrf = train("mrf", &shop.corpus);
        let shuffled = restored("mrf", &with_shuffled_words(&mrf.state()));
        let (found, without) = (ndcg(mrf.as_ref(), &shop.judgments), ndcg(shuffled.as_ref(), &shop.judgments));
        assert!(found > without + 0.05, "{found}, shuffled {without}");
    }

    #[test]
    fn a_damaged_state_is_refused() {
        let state = train("mrf", &corpus(&["red door", "lamp"], &[])).state();
        let fault = |state: RankerState| Mrf::restore(&SYSTEM.values(&"mrf".parse().unwrap()).unwrap(), &state).err();
        assert!(fault(state.clone()).is_none());
        let bad = [("title_words", [0, 1, 3].as_slice()), ("title_words", &[0, 1]), ("title_lengths", &[3, u32::MAX])];
        for (name, numbers) in bad {
            let found = fault(state.clone().with_u32s(name, numbers));
            assert!(found.is_some(), "{name} {numbers:?}");
        }
    }
}
