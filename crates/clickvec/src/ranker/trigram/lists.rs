//! Inverted lists of letter trigrams: they find the titles with the best cosine.

use super::LetterTrigrams;
use crate::index::{Candidates, Hit, Query, Shared};
use crate::ragged::Ragged;
use crate::ranker::candidates::Sums;

/// The titles that have each trigram of a [`LetterTrigrams`]. A search finds the scores of [`LetterTrigrams`], rounded, of the
/// titles that have a trigram of the query.
pub struct TrigramLists {
    /// Where the list of each trigram begins, and where the last one ends.
    starts: Shared<u64>,
    /// Positions of titles, ascending in each list. A title is there as often as it has the trigram.
    titles: Shared<u32>,
    /// The length of each title's vector.
    lengths: Shared<f64>,
    sums: Sums,
}

/// The weights of a query's trigrams.
pub struct TrigramQuery {
    weights: Vec<(u32, f64)>,
    length: f64,
}

impl LetterTrigrams {
    /// The weights of a query's trigrams.
    pub fn query(&self, text: &str) -> TrigramQuery {
        let mut weights = Vec::new();
        let length = super::Vector::new(self.len()).read(self, text, |id, weight| weights.push((id, weight)));
        TrigramQuery { weights, length }
    }
}

impl TrigramLists {
    /// The lists of these titles. They are asked for twice and must be the same.
    pub fn new<'t, I: Iterator<Item = &'t str>>(ranker: &LetterTrigrams, titles: impl Fn() -> I) -> TrigramLists {
        let lists: Ragged<u32> = Ragged::sorted(ranker.len(), |each| {
            let mut vector = super::Vector::new(ranker.len());
            for (position, title) in (0..).zip(titles()) {
                vector.count(ranker, title, |id, count| (0..count).for_each(|_| each(id as usize, position)));
            }
        });
        let mut squares = vec![0.0; titles().count()];
        for id in 0..ranker.len() {
            for of_title in lists.get(id).chunk_by(|a, b| a == b) {
                squares[of_title[0] as usize] += ranker.weight(id as u32, of_title.len() as u32).powi(2);
            }
        }
        let lengths: Vec<f64> = squares.into_iter().map(f64::sqrt).collect();
        let (ends, titles) = lists.into_parts();
        let starts: Vec<u64> = std::iter::once(0).chain(ends.into_iter().map(|end| end as u64)).collect();
        TrigramLists {
            sums: Sums::new(lengths.len()),
            starts: starts.into(),
            titles: titles.into(),
            lengths: lengths.into(),
        }
    }

    /// Lists that were made earlier, from [`TrigramLists::parts`]. `None` if they do not fit each other.
    pub fn of_parts(starts: Shared<u64>, titles: Shared<u32>, lengths: Shared<f64>) -> Option<TrigramLists> {
        let fits = starts.first() == Some(&0)
            && starts.last() == Some(&(titles.len() as u64))
            && starts.windows(2).all(|pair| pair[0] <= pair[1]);
        fits.then(|| TrigramLists { sums: Sums::new(lengths.len()), starts, titles, lengths })
    }

    /// Where the list of each trigram begins and the last one ends, the positions of titles in all lists, and the length of
    /// each title's vector.
    pub fn parts(&self) -> (&[u64], &[u32], &[f64]) {
        (&self.starts, &self.titles, &self.lengths)
    }

    /// The number of trigrams.
    pub fn trigrams(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of titles.
    pub fn titles(&self) -> usize {
        self.lengths.len()
    }

    /// The best `k` titles that are allowed and have a trigram of the query, best first. The lists were made by the same
    /// `ranker` as the query.
    pub fn search(
        &self,
        ranker: &LetterTrigrams,
        query: &TrigramQuery,
        k: usize,
        allowed: &dyn Fn(u32) -> bool,
    ) -> Vec<Hit> {
        let add = |sums: &mut [f64]| {
            for &(id, weight) in &query.weights {
                let id = id as usize;
                let (Some(&start), Some(&end)) = (self.starts.get(id), self.starts.get(id + 1)) else { continue };
                for of_title in self.titles[start as usize..end as usize].chunk_by(|a, b| a == b) {
                    // A damaged file may name a title that is not there.
                    if let Some(sum) = sums.get_mut(of_title[0] as usize) {
                        *sum += ranker.weight(id as u32, of_title.len() as u32) * weight;
                    }
                }
            }
        };
        self.sums.best(k, add, allowed, |title, product| product / (self.lengths[title] * query.length))
    }
}

/// The titles of a search without an index.
pub(super) struct TrigramCandidates<'a> {
    pub(super) ranker: &'a LetterTrigrams,
    pub(super) lists: TrigramLists,
}

impl Candidates for TrigramCandidates<'_> {
    fn len(&self) -> usize {
        self.lists.titles()
    }

    fn needs_vector(&self) -> bool {
        false
    }

    fn search(&self, query: &Query<'_>, k: usize) -> crate::Result<Vec<Hit>> {
        Ok(self.lists.search(self.ranker, &self.ranker.query(query.text), k, &|_| true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranker::Ranker as _;
    use crate::ranker::testing::corpus;
    use crate::ranker::trigram::SYSTEM;

    const TITLES: [&str; 6] = ["red door", "", "banana bandana", "red red lamp", "ананас", "door lamp red"];

    fn ranker(spec: &str) -> LetterTrigrams {
        LetterTrigrams::train(&SYSTEM.values(&spec.parse().unwrap()).unwrap(), &corpus(&TITLES, &[]))
    }

    #[test]
    fn lists_find_what_scoring_every_title_finds() {
        for spec in ["trigram", "trigram:tf_power=0.5,idf_power=2"] {
            let ranker = ranker(spec);
            let lists = TrigramLists::new(&ranker, || TITLES.iter().copied());
            let (starts, titles, lengths) = lists.parts();
            let again = TrigramLists::of_parts(starts.to_vec().into(), titles.to_vec().into(), lengths.to_vec().into());
            let again = again.unwrap();
            assert_eq!((again.trigrams(), again.titles()), (ranker.len(), TITLES.len()));
            for query in ["red lamp", "banana", "нас", "", "zzz"] {
                let scores = ranker.score(query, &TITLES);
                for odd in [true, false] {
                    let allowed = |position: u32| odd || position.is_multiple_of(2);
                    let mut expected: Vec<Hit> = (0..)
                        .zip(&scores)
                        .filter(|&(position, score)| *score > 0.0 && allowed(position))
                        .map(|(position, &score)| Hit { position, score: score as f32 })
                        .collect();
                    expected.sort_by(Hit::best_first);
                    expected.truncate(3);
                    assert_eq!(lists.search(&ranker, &ranker.query(query), 3, &allowed), expected, "{query}");
                    assert_eq!(again.search(&ranker, &ranker.query(query), 3, &allowed), expected, "{query}");
                }
            }
        }
    }

    #[test]
    fn lists_that_do_not_fit_are_refused_and_others_never_panic() {
        let ranker = ranker("trigram");
        let of = |starts: &[u64], titles: &[u32]| {
            TrigramLists::of_parts(starts.to_vec().into(), titles.to_vec().into(), vec![1.0; 2].into())
        };
        for starts in [&[][..], &[1, 3], &[0, 2], &[0, 4], &[0, 3, 2, 3]] {
            assert!(of(starts, &[0, 0, 1]).is_none(), "{starts:?}");
        }
        let damaged = of(&[0, 3], &[0, 9, u32::MAX]).unwrap();
        assert!(damaged.search(&ranker, &ranker.query("red banana door"), 5, &|_| true).len() < 2);
    }
}
