//! BM25: Okapi weighting (Robertson and Zaragoza, "The probabilistic relevance framework: BM25 and
//! beyond", 2009).

use std::collections::HashMap;

use super::Ranker;
use super::spec::{RankerSpec, SpecFault};
use crate::text::{WordBuffer, for_each_word};

/// The free parameters of BM25.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25Parameters {
    /// How slowly a repeated word saturates; 0 counts a word once.
    pub k1: f64,
    /// How much a title's length counts, from 0 not at all to 1 in full.
    pub b: f64,
}

impl Default for Bm25Parameters {
    fn default() -> Bm25Parameters {
        Bm25Parameters { k1: 0.9, b: 0.4 }
    }
}

impl Bm25Parameters {
    /// The parameters that `spec` gives, `k1` and `b`, and the defaults of those that it does not.
    ///
    /// # Errors
    ///
    /// [`SpecFault`] for another parameter, a `k1` outside 0 to 1000, or a `b` outside 0 to 1.
    pub fn from_spec(spec: &RankerSpec) -> Result<Bm25Parameters, SpecFault> {
        spec.allow(&["k1", "b"])?;
        let default = Bm25Parameters::default();
        Ok(Bm25Parameters {
            k1: spec.number("k1", default.k1, 0.0..=1000.0)?,
            b: spec.number("b", default.b, 0.0..=1.0)?,
        })
    }
}

/// BM25 with the statistics of a collection of titles.
///
/// The score of a title D for a query is the sum over the query's words, each as often as it stands
/// there, of idf · tf · (k₁ + 1) / (tf + k₁ · (1 − b + b · |D| / mean length)), where
/// idf = ln(1 + (N − df + ½) / (df + ½)), tf counts the word in D, and |D| counts all words of D.
/// A word that the collection lacks has df = 0.
#[derive(Debug, Clone)]
pub struct Bm25 {
    parameters: Bm25Parameters,
    /// How many titles of the collection have the word.
    document_frequency: HashMap<String, u64>,
    /// The number of titles in the collection.
    documents: u64,
    /// Words a title.
    mean_length: f64,
}

impl Bm25 {
    /// BM25 over a collection, each of whose titles counts as often as it comes.
    pub fn new<'a>(titles: impl IntoIterator<Item = &'a str>, parameters: Bm25Parameters) -> Bm25 {
        struct Counted {
            titles: u64,
            /// The number of the last title that was counted.
            last: u64,
        }
        let mut counted: HashMap<String, Counted> = HashMap::new();
        let mut buffer = WordBuffer::default();
        let (mut documents, mut words) = (0u64, 0u64);
        for title in titles {
            documents += 1;
            for_each_word(title, &mut buffer, |word| {
                words += 1;
                match counted.get_mut(word) {
                    Some(word) => {
                        word.titles += u64::from(word.last != documents);
                        word.last = documents;
                    }
                    None => {
                        counted.insert(word.to_owned(), Counted { titles: 1, last: documents });
                    }
                }
            });
        }
        Bm25 {
            parameters,
            document_frequency: counted.into_iter().map(|(word, counted)| (word, counted.titles)).collect(),
            documents,
            mean_length: words as f64 / documents.max(1) as f64,
        }
    }

    fn inverse_document_frequency(&self, word: &str) -> f64 {
        let titles = self.document_frequency.get(word).copied().unwrap_or(0);
        (1.0 + ((self.documents - titles) as f64 + 0.5) / (titles as f64 + 0.5)).ln()
    }

    /// k₁ · (1 − b + b · |D| / mean length); in a collection without words every length is the mean.
    fn length_norm(&self, length: u64) -> f64 {
        let Bm25Parameters { k1, b } = self.parameters;
        let relative = if self.mean_length > 0.0 { length as f64 / self.mean_length } else { 1.0 };
        k1 * (1.0 - b + b * relative)
    }
}

impl Ranker for Bm25 {
    fn name(&self) -> &str {
        "bm25"
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let mut buffer = WordBuffer::default();
        // The query's distinct words in their order, so that sums are always taken alike.
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut weights: Vec<f64> = Vec::new();
        for_each_word(query, &mut buffer, |word| {
            let weight = self.inverse_document_frequency(word) * (self.parameters.k1 + 1.0);
            match places.get(word) {
                Some(&place) => weights[place] += weight,
                None => {
                    places.insert(word.to_owned(), weights.len());
                    weights.push(weight);
                }
            }
        });
        let mut counts = vec![0u32; weights.len()];
        let mut score = |title: &&str| {
            counts.fill(0);
            let mut length = 0;
            for_each_word(title, &mut buffer, |word| {
                length += 1;
                if let Some(&place) = places.get(word) {
                    counts[place] += 1;
                }
            });
            let norm = self.length_norm(length);
            let present = weights.iter().zip(&counts).filter(|(_, count)| **count > 0);
            // From +0: the sum of nothing would be −0.
            present.fold(0.0, |sum, (weight, &tf)| sum + weight * f64::from(tf) / (f64::from(tf) + norm))
        };
        titles.iter().map(&mut score).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "expected {expected}, found {found}");
        }
    }

    #[test]
    fn a_hand_computed_collection() {
        // Lengths 3, 1, 2: the mean is 2. `red` has df 2, `door` df 1.
        let bm25 = Bm25::new(["red door red", "red", "blue lamp"], Bm25Parameters { k1: 1.2, b: 0.75 });
        let red = (1.0f64 + 1.5 / 2.5).ln();
        let door = (1.0f64 + 2.5 / 1.5).ln();
        let long = 1.2 * (0.25 + 0.75 * 1.5);
        let short = 1.2 * (0.25 + 0.75 * 0.5);
        let first = red * 2.0 * 2.2 / (2.0 + long) + door * 2.2 / (1.0 + long);
        let second = red * 2.2 / (1.0 + short);
        assert_close(&bm25.score("Red door!", &["red door red", "red", "blue lamp", ""]), &[first, second, 0.0, 0.0]);
        // A repeated query word counts each time.
        assert_close(&bm25.score("red red", &["red"]), &[2.0 * second]);
        // A word that no title of the collection has, in a title from elsewhere.
        let new = (1.0f64 + 3.5 / 0.5).ln();
        assert_close(&bm25.score("new", &["new", "red"]), &[new * 2.2 / (1.0 + short), 0.0]);
    }

    #[test]
    fn k1_of_0_counts_words_once_and_b_of_0_ignores_length() {
        let once = Bm25::new(["a a a", "a", "b"], Bm25Parameters { k1: 0.0, b: 0.5 });
        let scores = once.score("a", &["a a a", "a"]);
        assert_eq!(scores[0], scores[1]);
        let flat = Bm25::new(["a x y z", "a", "b"], Bm25Parameters { k1: 0.9, b: 0.0 });
        let scores = flat.score("a", &["a x y z", "a"]);
        assert_eq!(scores[0], scores[1]);
    }

    #[test]
    fn empty_things_score_0() {
        let bm25 = Bm25::new(["a b", "c"], Bm25Parameters::default());
        assert_eq!(bm25.score("", &["a", ""]), [0.0, 0.0]);
        assert_eq!(bm25.score("!?", &["a"]), [0.0]);
        assert_eq!(bm25.score("a", &[""]), [0.0]);
        assert!(bm25.score("a", &[]).is_empty());
        for empty in [Bm25::new([], Bm25Parameters::default()), Bm25::new(["", "?"], Bm25Parameters::default())] {
            let scores = empty.score("a", &["a", "b"]);
            assert!(scores[0].is_finite() && scores[0] > 0.0 && scores[1] == 0.0, "{scores:?}");
        }
    }

    #[test]
    fn parameters_come_from_a_spec() {
        let parse = |text: &str| text.parse().and_then(|spec| Bm25Parameters::from_spec(&spec));
        assert_eq!(parse("bm25"), Ok(Bm25Parameters { k1: 0.9, b: 0.4 }));
        assert_eq!(parse("bm25:b=0.75"), Ok(Bm25Parameters { k1: 0.9, b: 0.75 }));
        for bad in ["bm25:k1=-1", "bm25:b=1.5", "bm25:k2=1"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
