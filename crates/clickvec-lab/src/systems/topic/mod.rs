//! The shared parts of trained PLSA, LDA and BLTM: topics, folding in of titles, and the mixture with ULM.

pub(super) mod bltm;
#[cfg(test)]
mod by_hand;
mod cache;
mod em;
mod fold;
pub(super) mod lda;
mod pair;
pub(super) mod plsa;
mod side;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use super::language_model::CollectionModel;
use super::ulm::MU;
use crate::systems::fault::{no_clicks, too_few_titles, too_many};
use cache::Cache;
use clickvec::internals::math::vector::dot;
use clickvec::internals::text::{Interner, WordId};
use clickvec_eval::internals::{Numbers, RankerState, check_range};
use clickvec_eval::internals::{UNKNOWN, WordReader};
use clickvec_eval::ranker::Corpus;
use clickvec_eval::ranker::{Parameter, Values};
use clickvec_eval::ranker::{Ranker, SystemRanker};
use clickvec_tables::Error;
use clickvec_tables::damaged;
use fold::{Folder, Inference};
use side::{ABSENT, Side};

const TOPICS: Parameter = Parameter::count("topics", 100, 1, 10_000, "topics");
/// The titles that topics are learnt from.
const CLICKED: Parameter = Parameter::count(
    "clicked",
    0,
    0,
    1,
    "1: learn from the clicked titles, weighted by their clicks, instead of the collection",
);
/// The weight of ULM.
const LAMBDA: Parameter =
    Parameter::scoring("lambda", 0.7, 0.0, 1.0, "the weight of the unigram language model; the topics get the rest");

/// The words of one language with P(w|z) of each. Queries have their own language or that of titles.
#[derive(Debug, Clone, PartialEq)]
struct Topics {
    /// T.
    count: usize,
    /// The row of each word of the vocabulary, or [`ABSENT`].
    row_of: Vec<u32>,
    /// [rows, T], with the topics of a word next to each other.
    probability: Vec<f32>,
}

impl Topics {
    /// Returns P(w|z) for z = 0 … T − 1, if the language has the word.
    fn row(&self, word: WordId) -> Option<&[f32]> {
        if word == UNKNOWN {
            return None;
        }
        let row = self.row_of[word as usize];
        (row != ABSENT).then(|| &self.probability[row as usize * self.count..][..self.count])
    }

    fn save(&self, state: RankerState, language: &str) -> RankerState {
        let rows = self.probability.len() / self.count;
        state.with_u32s(&format!("{language}_rows"), &self.row_of).with(
            &format!("{language}_topics"),
            &[rows, self.count],
            Numbers::F32(self.probability.clone()),
        )
    }

    fn restore(
        state: &RankerState,
        language: &str,
        count: usize,
        words: usize,
    ) -> Result<Topics, clickvec_tables::Error> {
        let row_of = state.u32s(&format!("{language}_rows"), &[Some(words)])?.to_vec();
        let probability = state.f32s(&format!("{language}_topics"), &[None, Some(count)])?.to_vec();
        let rows = probability.len() / count;
        if let Some(position) = row_of.iter().position(|&row| row != ABSENT && row as usize >= rows) {
            return Err(damaged::not_below(format!("{language}_rows"), rows, row_of[position], position));
        }
        // A sum of rounded numbers may be slightly above 1.
        check_range(&format!("{language}_topics"), &probability, 0.0, 1.001)?;
        Ok(Topics { count, row_of, probability })
    }
}

/// PLSA, LDA or BLTM: P(Q|D) = Π over the query's words of λ P_ulm(q|D) + (1 − λ) Σ_z P(q|z) P(z|D).
///
/// P(z|D) is inferred from the title's words with fixed topics, for every title in the same way, even for those that
/// the topics were learnt from. Words of the title that the topics lack are left out; in a title without other words
/// all topics are equal. A query word that has probability 0 under every title is left out: one that neither the
/// collection nor the topics have, or only the part that has no weight.
#[derive(Debug, Clone)]
pub(super) struct TopicRanker {
    name: &'static str,
    vocabulary: Interner,
    collection: CollectionModel,
    titles: Topics,
    /// The topics of queries, if they have their own.
    queries: Option<Topics>,
    inference: Inference,
    folded: Cache,
    lambda: f64,
    mu: f64,
}

impl TopicRanker {
    fn new(
        name: &'static str,
        values: &Values,
        corpus: &Corpus,
        (titles, queries): (Topics, Option<Topics>),
        inference: Inference,
    ) -> TopicRanker {
        let (vocabulary, collection) = (corpus.vocabulary.clone(), CollectionModel::new(corpus));
        let (lambda, mu) = (values.get(LAMBDA.name), values.get(MU.name));
        let folded = Cache::new(titles.count);
        TopicRanker { name, vocabulary, collection, titles, queries, inference, folded, lambda, mu }
    }

    fn restore(
        name: &'static str,
        values: &Values,
        state: &RankerState,
        queries_differ: bool,
        inference: Inference,
    ) -> Result<TopicRanker, clickvec_tables::Error> {
        let vocabulary = state.words()?;
        let words = vocabulary.len();
        let collection =
            CollectionModel::from_frequencies(state.u32s("collection_frequency", &[Some(words)])?.to_vec());
        let topics = |language| Topics::restore(state, language, values.count(TOPICS.name), words);
        let titles = topics("title")?;
        let queries = if queries_differ { Some(topics("query")?) } else { None };
        let (lambda, mu) = (values.get(LAMBDA.name), values.get(MU.name));
        let folded = Cache::new(titles.count);
        Ok(TopicRanker { name, vocabulary, collection, titles, queries, inference, folded, lambda, mu })
    }

    /// Returns the words of the query that have a probability under some title.
    fn known(&self, query: &[WordId]) -> Vec<(WordId, Option<&[f32]>)> {
        let topics = self.queries.as_ref().unwrap_or(&self.titles);
        let known = query.iter().map(|&word| (word, topics.row(word)));
        known
            .filter(|&(word, row)| {
                (self.lambda > 0.0 && self.collection.probability(word) > 0.0) || (self.lambda < 1.0 && row.is_some())
            })
            .collect()
    }
}

impl Ranker for TopicRanker {
    fn name(&self) -> &str {
        self.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let (mut queries, mut reader) = (WordReader::default(), WordReader::default());
        let query = self.known(queries.read(&self.vocabulary, query));
        let mut folder = Folder::new(self.titles.count, self.inference);
        let mut bag: Vec<WordId> = Vec::new();
        let score = |title: &&str| {
            bag.clear();
            bag.extend_from_slice(reader.read(&self.vocabulary, title));
            // Sums must not depend on the order of the words, which means nothing here.
            bag.sort_unstable();
            let fold = || Arc::from(folder.fold(bag.iter().filter_map(|&word| self.titles.row(word))));
            let topics = self.folded.get_or_fold(&bag, fold);
            let log = |&(word, row): &(WordId, Option<&[f32]>)| {
                let by_topics = row.map_or(0.0, |row| f64::from(dot(row, &topics)));
                let p = self.lambda * self.collection.smoothed(word, &bag, self.mu) + (1.0 - self.lambda) * by_topics;
                // Without ULM and without priors, a word may have none of the title's topics.
                p.max(f64::MIN_POSITIVE).ln()
            };
            query.iter().map(log).sum()
        };
        titles.iter().map(score).collect()
    }
}

impl SystemRanker for TopicRanker {
    fn tune(&mut self, values: &Values) {
        (self.lambda, self.mu) = (values.get(LAMBDA.name), values.get(MU.name));
    }

    fn state(&self) -> RankerState {
        let state = RankerState::default()
            .with_words(&self.vocabulary)
            .with_u32s("collection_frequency", self.collection.frequencies());
        let state = self.titles.save(state, "title");
        match &self.queries {
            Some(queries) => queries.save(state, "query"),
            None => state,
        }
    }
}

/// Returns the titles with words, from which topics are learnt, and the weight of each: those of the collection, or those that
/// were clicked, each once and with the sum of its pairs' weights.
fn titles_side(ranker: &'static str, corpus: &Corpus, values: &Values) -> clickvec::Result<(Side, Vec<f32>)> {
    let (topics, words) = (values.count(TOPICS.name), corpus.vocabulary.len());
    let (titles, weights) = match values.count(CLICKED.name) {
        0 => {
            let titles = Side::new(corpus.titles.iter().filter(|title| !title.is_empty()), words)?;
            let weights = vec![1.0; titles.texts()];
            (titles, weights)
        }
        _ => {
            let mut positions: HashMap<&[WordId], usize> = HashMap::new();
            let mut clicked: Vec<(&[WordId], f64)> = Vec::new();
            for (title, &weight) in corpus.clicks.titles.iter().zip(&corpus.clicks.weights) {
                if title.is_empty() || weight == 0.0 {
                    continue;
                }
                let position = *positions.entry(title).or_insert_with(|| {
                    clicked.push((title, 0.0));
                    clicked.len() - 1
                });
                clicked[position].1 += f64::from(weight);
            }
            if clicked.is_empty() {
                return Err(no_clicks(ranker));
            }
            let titles = Side::new(clicked.iter().map(|&(title, _)| title), words)?;
            (titles, clicked.into_iter().map(|(_, weight)| weight as f32).collect())
        }
    };
    if titles.texts() == 0 {
        return Err(too_few_titles(ranker, 1, 0));
    }
    enough_words(ranker, &titles, topics)?;
    Ok((titles, weights))
}

/// Checks the number of topics. A topic is a distribution over words, so with more topics than words some say nothing.
fn enough_words(ranker: &'static str, side: &Side, topics: usize) -> Result<(), Error> {
    if topics <= side.words() {
        return Ok(());
    }
    Err(too_many(ranker, "topics", "words", side.words(), topics))
}
