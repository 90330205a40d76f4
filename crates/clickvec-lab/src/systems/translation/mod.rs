//! WTM and PTM: a query as a translation of a title, learnt from clicked pairs (Gao, He, Nie, "Clickthrough-based
//! translation models for web search: from word models to phrase models", 2010).

mod alignment;
mod ibm1;
mod phrases;
pub(super) mod ptm;
mod table;
pub(super) mod wtm;

use self::ibm1::Bitext;
use super::language_model::CollectionModel;
use clickvec_eval::ranker::Corpus;

/// Returns P(q|C): the titles' unigram model, with a count of 1 for each word that only the queries of clicks have, so that it
/// can be translated but does not make a title impossible.
fn background(corpus: &Corpus) -> CollectionModel {
    let mut frequencies = CollectionModel::new(corpus).frequencies().to_vec();
    for &word in corpus.clicks.queries.items() {
        let count = &mut frequencies[word as usize];
        *count = (*count).max(1);
    }
    CollectionModel::from_frequencies(frequencies)
}

/// Returns the clicked pairs, with titles as the source and queries as the target.
fn clicks(corpus: &Corpus) -> Bitext<'_> {
    let clicks = &corpus.clicks;
    Bitext { sources: &clicks.titles, targets: &clicks.queries, weights: &clicks.weights }
}

#[cfg(test)]
mod recovery;
#[cfg(test)]
mod tests;
