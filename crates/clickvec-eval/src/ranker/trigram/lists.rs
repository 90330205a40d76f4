//! Inverted lists of letter trigrams: they find the titles with the best cosine.

use super::LetterTrigrams;
use crate::ranker::Candidates;
use clickvec::index::Hit;
use clickvec::internals::Pool;
use clickvec::internals::index::{Best, Shared};
use clickvec::internals::ragged::Ragged;
use clickvec_tables::Result;

/// The number of titles of which sums are taken at a time, so that they stay in the nearest cache.
const BLOCK: usize = 2048;
/// What a score may lose by rounding, with room to spare.
const ROUNDED: f64 = 1.0 - 1e-6;

/// The titles that have each trigram of a [`LetterTrigrams`]. A search finds the scores of [`LetterTrigrams`], rounded, of the
/// titles that have a trigram of the query.
pub struct TrigramLists {
    /// Where the list of each trigram begins, and where the last one ends.
    starts: Shared<u64>,
    /// Positions of titles, ascending in each list. A title is there as often as it has the trigram.
    titles: Shared<u32>,
    /// The length of each title's vector.
    lengths: Shared<f64>,
    scratch: Pool<Scratch>,
}

/// The working memory of a search.
#[derive(Default)]
struct Scratch {
    /// A sum for each title of a block; all are 0 between two blocks.
    sums: Vec<f64>,
    best: Best,
}

/// The rest of the list of a trigram of the query.
struct Rest<'a> {
    titles: &'a [u32],
    id: u32,
    weight: f64,
    /// What it adds to the product of a title that has it once.
    once: f64,
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
    ///
    /// # Errors
    ///
    /// [`clickvec_tables::ErrorKind::Memory`].
    pub fn new<'t, I: Iterator<Item = &'t str>>(
        ranker: &LetterTrigrams,
        titles: impl Fn() -> I,
    ) -> Result<TrigramLists> {
        let lists: Ragged<u32> = Ragged::sorted("the titles of each trigram", ranker.len(), |each| {
            let mut vector = super::Vector::new(ranker.len());
            for (position, title) in (0..).zip(titles()) {
                vector.count(ranker, title, |id, count| (0..count).for_each(|_| each(id as usize, position)));
            }
        })?;
        let mut squares = vec![0.0; titles().count()];
        for id in 0..ranker.len() {
            for occurrences in lists.get(id).chunk_by(|a, b| a == b) {
                squares[occurrences[0] as usize] += ranker.weight(id as u32, occurrences.len() as u32).powi(2);
            }
        }
        let lengths: Vec<f64> = squares.into_iter().map(f64::sqrt).collect();
        let (ends, titles) = lists.into_parts();
        let starts: Vec<u64> = std::iter::once(0).chain(ends.into_iter().map(|end| end as u64)).collect();
        let scratch = Pool::default();
        Ok(TrigramLists { scratch, starts: starts.into(), titles: titles.into(), lengths: lengths.into() })
    }

    /// Lists that were made earlier, from [`TrigramLists::parts`]. `None` if they do not fit each other.
    pub fn from_parts(starts: Shared<u64>, titles: Shared<u32>, lengths: Shared<f64>) -> Option<TrigramLists> {
        let fits = starts.first() == Some(&0)
            && starts.last() == Some(&(titles.len() as u64))
            && starts.windows(2).all(|pair| pair[0] <= pair[1]);
        fits.then(|| TrigramLists { starts, titles, lengths, scratch: Pool::default() })
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
        let rest = |&(id, weight): &(u32, f64)| {
            let (start, end) = (*self.starts.get(id as usize)?, *self.starts.get(id as usize + 1)?);
            let titles = &self.titles[start as usize..end as usize];
            Some(Rest { titles, id, weight, once: ranker.weight(id, 1) * weight })
        };
        let mut lists: Vec<Rest<'_>> = query.weights.iter().filter_map(rest).collect();
        self.scratch.with(Scratch::default, |Scratch { sums, best }| {
            sums.resize(BLOCK, 0.0);
            best.restart(k.min(self.titles()));
            for first in (0..self.titles()).step_by(BLOCK) {
                let lengths = &self.lengths[first..(first + BLOCK).min(self.titles())];
                let (first, end) = (first as u32, (first + lengths.len()) as u32);
                for list in &mut lists {
                    list.add(ranker, sums, first, end);
                }
                // What a title's product must reach to be among the best, for each unit of its length.
                let mut least = f64::from(best.threshold()) * query.length * ROUNDED;
                for (position, (sum, length)) in (first..).zip(sums.iter_mut().zip(lengths)) {
                    let product = std::mem::take(sum);
                    if product > 0.0 && product >= least * length && allowed(position) {
                        let score = (product / (length * query.length)) as f32;
                        if best.keep(Hit { position, score }) {
                            least = f64::from(best.threshold()) * query.length * ROUNDED;
                        }
                    }
                }
            }
            best.take()
        })
    }
}

impl Rest<'_> {
    /// Adds what the trigram adds to the titles from `first` to before `end`, and leaves the rest.
    fn add(&mut self, ranker: &LetterTrigrams, sums: &mut [f64], first: u32, end: u32) {
        // A title that has it twice gets it twice, unless counts have a power.
        if ranker.tf_power == 1.0 {
            let here = self.titles.iter().take_while(|title| **title < end);
            let mut passed = 0;
            for &title in here {
                passed += 1;
                // A damaged file may have positions in any order.
                if let Some(sum) = sums.get_mut(title.wrapping_sub(first) as usize) {
                    *sum += self.once;
                }
            }
            self.titles = &self.titles[passed..];
            return;
        }
        let mut at = 0;
        while let Some(&title) = self.titles.get(at)
            && title < end
        {
            let mut count = 1;
            while self.titles.get(at + count) == Some(&title) {
                count += 1;
            }
            at += count;
            if let Some(sum) = sums.get_mut(title.wrapping_sub(first) as usize) {
                *sum += if count == 1 { self.once } else { ranker.weight(self.id, count as u32) * self.weight };
            }
        }
        self.titles = &self.titles[at..];
    }
}

/// The titles of a search without an index.
pub(super) struct TrigramCandidates<'a> {
    pub(super) ranker: &'a LetterTrigrams,
    pub(super) lists: TrigramLists,
}

impl Candidates for TrigramCandidates<'_> {
    fn titles(&self) -> usize {
        self.lists.titles()
    }

    fn search(&self, query: &str, k: usize) -> clickvec::Result<Vec<Hit>> {
        Ok(self.lists.search(self.ranker, &self.ranker.query(query), k, &|_| true))
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
            let lists = TrigramLists::new(&ranker, || TITLES.iter().copied()).unwrap();
            let (starts, titles, lengths) = lists.parts();
            let restored =
                TrigramLists::from_parts(starts.to_vec().into(), titles.to_vec().into(), lengths.to_vec().into());
            let restored = restored.unwrap();
            assert_eq!((restored.trigrams(), restored.titles()), (ranker.len(), TITLES.len()));
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
                    assert_eq!(restored.search(&ranker, &ranker.query(query), 3, &allowed), expected, "{query}");
                }
            }
        }
    }

    #[test]
    fn many_titles_are_searched_block_by_block() {
        let titles: Vec<String> =
            (0..2 * BLOCK + 100).map(|n| format!("{} lamp {}", TITLES[n % 6], n * 7919 % 1000)).collect();
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        let ranker = LetterTrigrams::train(&SYSTEM.values(&"trigram".parse().unwrap()).unwrap(), &corpus(&titles, &[]));
        let lists = TrigramLists::new(&ranker, || titles.iter().copied()).unwrap();
        for query in ["lamp 512", "red door", "banana 99"] {
            let scored = (0..).zip(ranker.score(query, &titles)).filter(|&(_, score)| score > 0.0);
            let mut expected: Vec<Hit> =
                scored.map(|(position, score)| Hit { position, score: score as f32 }).collect();
            expected.sort_by(Hit::best_first);
            for k in [1, 10, 1000, titles.len(), usize::MAX] {
                let found = lists.search(&ranker, &ranker.query(query), k, &|_| true);
                assert_eq!(found, expected[..k.min(expected.len())], "{query} {k}");
            }
        }
    }

    #[test]
    fn lists_that_do_not_fit_are_refused_and_others_never_panic() {
        let ranker = ranker("trigram");
        let of = |starts: &[u64], titles: &[u32]| {
            TrigramLists::from_parts(starts.to_vec().into(), titles.to_vec().into(), vec![1.0; 2].into())
        };
        for starts in [&[][..], &[1, 3], &[0, 2], &[0, 4], &[0, 3, 2, 3]] {
            assert!(of(starts, &[0, 0, 1]).is_none(), "{starts:?}");
        }
        let damaged = of(&[0, 3], &[0, 9, u32::MAX]).unwrap();
        assert!(damaged.search(&ranker, &ranker.query("red banana door"), 5, &|_| true).len() < 2);
    }
}
