//! BM25: Okapi weighting (Robertson and Zaragoza, "The probabilistic relevance framework: BM25 and
//! beyond", 2009).

use std::borrow::Cow;

use super::candidates::Sums;
use super::corpus::{Corpus, TitleTerms};
use super::inverted::InvertedLists;
use super::state::RankerState;
use super::system::{FOLD, Parameter, System, Values};
use super::{Ranker, SystemRanker};
use crate::ranker::Candidates;
use clickvec::index::Hit;
use clickvec::internals::text::{Analysis, Interner, WordBuffer, WordId, for_each_term};
use clickvec_tables::{Result, damaged};

/// The array of the number of titles and their mean length.
const SIZES: &str = "documents_and_mean_length";

/// The system before training: name, parameters, how to train and restore it.
pub(super) const SYSTEM: System = System {
    name: "bm25",
    about: "Okapi BM25 (Robertson, Zaragoza 2009)",
    parameters: &[
        Parameter::scoring(
            "k1",
            0.9,
            0.0,
            1000.0,
            "how slowly repetitions of a word saturate; 0 counts each word once",
        ),
        Parameter::scoring(
            "b",
            0.4,
            0.0,
            1.0,
            "how much the title's length counts, from 0 (not at all) to 1 (in full)",
        ),
        Parameter::count("stem", 0, 0, 1, "1 compares English plurals and singulars as one word"),
        Parameter::count("split", 0, 0, 1, "1 separates numbers from letters: `12in` is `12` and `in`"),
        FOLD,
    ],
    files: &[],
    one_above_zero: &[],
    train: |values, resources, _| Ok(Box::new(Bm25::train(values, resources.corpus)?)),
    restore: |values, state| Ok(Box::new(Bm25::restore(values, state)?)),
};

/// BM25 with the statistics of a collection of titles.
///
/// The score of a title D for a query is the sum, over all occurrences of words in the query, of idf · tf · (k₁ + 1) /
/// (tf + k₁ · (1 − b + b · |D| / mean length)), where idf = ln(1 + (N − df + ½) / (df + ½)), tf counts the word in D,
/// and |D| counts all words of D. A word that is not in the collection has df = 0. With an [`Analysis`], words are terms.
#[derive(Debug, Clone)]
pub(super) struct Bm25 {
    analysis: Analysis,
    /// The terms of the collection.
    vocabulary: Interner,
    /// The number of titles in the collection that have each term.
    document_frequency: Vec<u32>,
    /// The number of titles in the collection.
    documents: u64,
    /// The mean number of terms in a title.
    mean_length: f64,
    k1: f64,
    b: f64,
}

impl Bm25 {
    fn train(values: &Values, corpus: &Corpus) -> Result<Bm25> {
        let analysis = analysis_in(values);
        let TitleTerms { vocabulary, titles } = corpus.title_terms(analysis)?;
        let mut document_frequency = vec![0; vocabulary.len()];
        // The last title, counted from 1, in which each term was counted.
        let mut last = vec![0; vocabulary.len()];
        for (number, title) in (1..).zip(titles.iter()) {
            for &term in title {
                let term = term as usize;
                document_frequency[term] += u32::from(last[term] != number);
                last[term] = number;
            }
        }
        let documents = titles.len() as u64;
        let mean_length = titles.items().len() as f64 / documents.max(1) as f64;
        let vocabulary = vocabulary.into_owned();
        let (k1, b) = (values.get("k1"), values.get("b"));
        Ok(Bm25 { analysis, vocabulary, document_frequency, documents, mean_length, k1, b })
    }

    fn restore(values: &Values, state: &RankerState) -> Result<Bm25, clickvec_tables::Error> {
        let vocabulary = state.words()?;
        let document_frequency = state.u32s("document_frequency", &[Some(vocabulary.len())])?.to_vec();
        let &[documents, mean_length] = state.f64s(SIZES, &[Some(2)])? else {
            unreachable!("the shape was checked");
        };
        let most = document_frequency.iter().copied().max().unwrap_or(0);
        if documents < f64::from(most) || documents.fract() != 0.0 {
            return Err(damaged::count(SIZES, most, documents));
        }
        if mean_length < 0.0 {
            return Err(damaged::range(SIZES, 0.0, f64::INFINITY, mean_length, 1));
        }
        let (analysis, documents) = (analysis_in(values), documents as u64);
        let (k1, b) = (values.get("k1"), values.get("b"));
        Ok(Bm25 { analysis, vocabulary, document_frequency, documents, mean_length, k1, b })
    }

    /// The idf of a term, which need not be in the vocabulary.
    fn inverse_document_frequency(&self, term: Option<WordId>) -> f64 {
        let titles = term.map_or(0, |term| u64::from(self.document_frequency[term as usize]));
        (1.0 + ((self.documents - titles) as f64 + 0.5) / (titles as f64 + 0.5)).ln()
    }

    /// The query's distinct terms in their order, so that sums are always taken alike, and the weight of each.
    fn query_weights(&self, query: &str, buffer: &mut WordBuffer) -> (Interner, Vec<f64>) {
        let (mut positions, mut weights) = (Interner::default(), Vec::new());
        for_each_term(query, self.analysis, buffer, |term| {
            let weight = self.inverse_document_frequency(self.vocabulary.get(term)) * (self.k1 + 1.0);
            match positions.intern(term) {
                (_, _, true) => weights.push(weight),
                (position, ..) => weights[position as usize] += weight,
            }
        });
        (positions, weights)
    }

    /// k₁ · (1 − b + b · |D| / mean length). In a collection without words every length counts as the mean.
    fn length_norm(&self, length: usize) -> f64 {
        let relative = if self.mean_length > 0.0 { length as f64 / self.mean_length } else { 1.0 };
        self.k1 * (1.0 - self.b + self.b * relative)
    }
}

fn analysis_in(values: &Values) -> Analysis {
    let is_on = |name| values.count(name) == 1;
    Analysis { stem: is_on("stem"), split: is_on("split"), fold: is_on(FOLD.name) }
}

impl Ranker for Bm25 {
    fn name(&self) -> &str {
        SYSTEM.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let mut buffer = WordBuffer::default();
        let (positions, weights) = self.query_weights(query, &mut buffer);
        let mut counts = vec![0u32; weights.len()];
        let score = |title: &&str| {
            counts.fill(0);
            let mut length = 0;
            for_each_term(title, self.analysis, &mut buffer, |term| {
                length += 1;
                if let Some(position) = positions.get(term) {
                    counts[position as usize] += 1;
                }
            });
            let norm = self.length_norm(length);
            let present = weights.iter().zip(&counts).filter(|(_, count)| **count > 0);
            // Starts from +0, because an empty sum would be −0.
            present.fold(0.0, |sum, (weight, &tf)| sum + weight * f64::from(tf) / (f64::from(tf) + norm))
        };
        titles.iter().map(score).collect()
    }

    fn candidates<'a>(&'a self, titles: &'a [&'a str]) -> Result<Box<dyn Candidates + 'a>> {
        let corpus = Corpus::from_titles(titles.iter().copied())?;
        let TitleTerms { vocabulary, titles } = corpus.title_terms(self.analysis)?;
        let (lists, sums) = (InvertedLists::new(&titles, vocabulary.len())?, Sums::new(titles.len()));
        let vocabulary = match vocabulary {
            Cow::Owned(terms) => terms,
            Cow::Borrowed(_) => corpus.vocabulary,
        };
        Ok(Box::new(Bm25Candidates { bm25: self, vocabulary, lists, sums }))
    }
}

/// BM25 over inverted lists: the scores of [`Bm25::score`], rounded, of the titles that have a term of the query.
struct Bm25Candidates<'a> {
    bm25: &'a Bm25,
    /// The terms of the titles, which the ranker's collection may lack.
    vocabulary: Interner,
    lists: InvertedLists,
    sums: Sums,
}

impl Candidates for Bm25Candidates<'_> {
    fn titles(&self) -> usize {
        self.sums.len()
    }

    fn search(&self, query: &str, k: usize) -> Result<Vec<Hit>> {
        let (terms, weights) = self.bm25.query_weights(query, &mut WordBuffer::default());
        let add = |sums: &mut [f64]| {
            for (position, weight) in (0..).zip(&weights) {
                let Some(term) = self.vocabulary.get(terms.word(position)) else { continue };
                let per_title = self.lists.counts(term).iter().zip(self.lists.lengths(term));
                for (&title, (&tf, &length)) in self.lists.get(term).iter().zip(per_title) {
                    let norm = self.bm25.length_norm(length as usize);
                    sums[title as usize] += weight * f64::from(tf) / (f64::from(tf) + norm);
                }
            }
        };
        Ok(self.sums.best(k, add))
    }
}

impl SystemRanker for Bm25 {
    fn tune(&mut self, values: &Values) {
        (self.k1, self.b) = (values.get("k1"), values.get("b"));
    }

    fn state(&self) -> RankerState {
        RankerState::default()
            .with_words(&self.vocabulary)
            .with_u32s("document_frequency", &self.document_frequency)
            .with_f64s(SIZES, &[self.documents as f64, self.mean_length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranker::shop::{Shop, ndcg, restored, with_shuffled_words};
    use crate::ranker::testing::{assert_close, corpus, is_kept_by_a_file, train};

    #[test]
    fn a_hand_computed_collection() {
        // The lengths are 3, 1 and 2, with mean 2. `red` has df 2, and `door` df 1.
        let bm25 = train("bm25:k1=1.2,b=0.75", &corpus(&["red door red", "red", "blue lamp"], &[]));
        let red = (1.0f64 + 1.5 / 2.5).ln();
        let door = (1.0f64 + 2.5 / 1.5).ln();
        let long = 1.2 * (0.25 + 0.75 * 1.5);
        let short = 1.2 * (0.25 + 0.75 * 0.5);
        let first = red * 2.0 * 2.2 / (2.0 + long) + door * 2.2 / (1.0 + long);
        let second = red * 2.2 / (1.0 + short);
        assert_close(&bm25.score("Red door!", &["red door red", "red", "blue lamp", ""]), &[first, second, 0.0, 0.0]);
        // A repeated query word counts each time.
        assert_close(&bm25.score("red red", &["red"]), &[2.0 * second]);
        // Words that no title of the collection has, in a title from elsewhere. Two such words are different.
        let new = (1.0f64 + 3.5 / 0.5).ln();
        let scores = bm25.score("new", &["new", "red", "newer"]);
        assert_close(&scores, &[new * 2.2 / (1.0 + short), 0.0, 0.0]);
    }

    #[test]
    fn words_that_only_clicks_have_are_not_in_the_collection() {
        let alone = train("bm25", &corpus(&["red door", "lamp"], &[]));
        let clicked = train("bm25", &corpus(&["red door", "lamp"], &[("sofa", "green sofa")]));
        let titles = ["red sofa", "green lamp"];
        assert_eq!(alone.score("green sofa", &titles), clicked.score("green sofa", &titles));
    }

    #[test]
    fn k1_of_0_counts_words_once_and_b_of_0_ignores_length() {
        let once = train("bm25:k1=0,b=0.5", &corpus(&["a a a", "a", "b"], &[]));
        let scores = once.score("a", &["a a a", "a"]);
        assert_eq!(scores[0], scores[1]);
        let flat = train("bm25:b=0", &corpus(&["a x y z", "a", "b"], &[]));
        let scores = flat.score("a", &["a x y z", "a"]);
        assert_eq!(scores[0], scores[1]);
    }

    #[test]
    fn empty_things_score_0() {
        let bm25 = train("bm25", &corpus(&["a b", "c"], &[]));
        assert_eq!(bm25.score("", &["a", ""]), [0.0, 0.0]);
        assert_eq!(bm25.score("!?", &["a"]), [0.0]);
        assert_eq!(bm25.score("a", &[""]), [0.0]);
        assert!(bm25.score("a", &[]).is_empty());
        for empty in [train("bm25", &corpus(&[], &[])), train("bm25", &corpus(&["", "?"], &[]))] {
            let scores = empty.score("a", &["a", "b"]);
            assert!(scores[0].is_finite() && scores[0] > 0.0 && scores[1] == 0.0, "{scores:?}");
        }
    }

    #[test]
    fn terms_of_words_are_compared() {
        let titles = ["Sofas 12in", "12 in sofa", "sofa", "lamps"];
        let score = |spec: &str, query: &str| train(spec, &corpus(&titles, &[])).score(query, &titles);
        let both = score("bm25:stem=1,split=1", "12in sofas");
        assert!(both[0] == both[1] && both[1] > both[2] && both[2] > 0.0 && both[3] == 0.0, "{both:?}");
        // As if the terms had been written apart.
        let written = ["sofa 12 in", "12 in sofa", "sofa", "lamp"];
        let plain = train("bm25", &corpus(&written, &[])).score("12 in sofa", &written);
        assert_eq!(both, plain);
        let zeros = |scores: Vec<f64>| scores.iter().map(|&score| score == 0.0).collect::<Vec<_>>();
        assert_eq!(zeros(score("bm25", "12in sofas")), [false, true, true, true]);
        assert_eq!(zeros(score("bm25:stem=1", "sofas")), [false, false, false, true]);
        assert_eq!(zeros(score("bm25:split=1", "12in sofas")), [false, false, true, true]);
        assert_eq!(zeros(score("bm25:fold=1", "sófa")), [true, false, false, true]);
        is_kept_by_a_file("bm25:stem=1,split=1,fold=1", &corpus(&titles, &[]));
    }

    #[test]
    fn parameters_come_from_a_spec() {
        let values = |text: &str| SYSTEM.values(&text.parse().unwrap());
        let pair = |text: &str| values(text).map(|values| (values.get("k1"), values.get("b"))).unwrap();
        assert_eq!((pair("bm25"), pair("bm25:b=0.75")), ((0.9, 0.4), (0.9, 0.75)));
        for bad in ["bm25:k1=-1", "bm25:b=1.5", "bm25:k2=1", "bm25:stem=2", "bm25:split=0.5"] {
            assert!(values(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shuffled_frequencies_rank_worse() {
        let shop = Shop::new();
        let bm25 = train("bm25", &shop.corpus);
        let shuffled = restored("bm25", &with_shuffled_words(&bm25.state()));
        let (found, without) = (ndcg(bm25.as_ref(), &shop.judgments), ndcg(shuffled.as_ref(), &shop.judgments));
        assert!(found > without + 0.05, "{found}, shuffled {without}");
    }

    #[test]
    fn parameters_can_be_changed_and_a_file_keeps_them() {
        let corpus = corpus(&["red door red", "red", "blue lamp"], &[]);
        is_kept_by_a_file("bm25:k1=2,b=1", &corpus);
        let (mut tuned, fresh) = (train("bm25", &corpus), train("bm25:k1=2,b=1", &corpus));
        tuned.tune(&SYSTEM.values(&"bm25:k1=2,b=1".parse().unwrap()).unwrap());
        assert_eq!(tuned.score("red lamp", &["red", "lamp"]), fresh.score("red lamp", &["red", "lamp"]));
    }
}
