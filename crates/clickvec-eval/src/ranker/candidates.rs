//! Finding the best of all titles by the scores of a ranker.

use clickvec::Result;
use clickvec::index::Hit;
use clickvec::internals::Pool;
use rayon::prelude::*;

use super::Ranker;

/// A source of candidates: it proposes the best titles for a query. Titles are identified by their positions, counted from 0. Any
/// number of threads may ask at the same time.
pub trait Candidates: Send + Sync {
    /// Returns the number of titles.
    fn titles(&self) -> usize;

    /// Returns the best `k` titles in the order of [`Hit::best_first`], or fewer.
    ///
    /// # Errors
    ///
    /// Those of a search among vectors.
    fn search(&self, query: &str, k: usize) -> Result<Vec<Hit>>;

    /// Returns the best `k` titles for each of many queries, as [`Candidates::search`] finds them.
    ///
    /// # Errors
    ///
    /// Those of [`Candidates::search`].
    fn search_batch(&self, queries: &[&str], k: usize) -> Result<Vec<Vec<Hit>>> {
        queries.par_iter().map(|query| self.search(query, k)).collect()
    }
}

/// A scan that scores every title for every query: the way that is open to any ranker.
pub(super) struct Scan<'a, R: ?Sized> {
    ranker: &'a R,
    titles: &'a [&'a str],
}

impl<'a, R: Ranker + ?Sized> Scan<'a, R> {
    pub(super) fn new(ranker: &'a R, titles: &'a [&'a str]) -> Scan<'a, R> {
        Scan { ranker, titles }
    }
}

impl<R: Ranker + ?Sized> Candidates for Scan<'_, R> {
    fn titles(&self) -> usize {
        self.titles.len()
    }

    fn search(&self, query: &str, k: usize) -> Result<Vec<Hit>> {
        let scores = self.ranker.score(query, self.titles);
        Ok(best((0..).zip(scores).map(|(position, score)| Hit { position, score: score as f32 }).collect(), k))
    }
}

/// The best `k` of these.
pub(super) fn best(mut hits: Vec<Hit>, k: usize) -> Vec<Hit> {
    if k < hits.len() {
        if k > 0 {
            hits.select_nth_unstable_by(k - 1, Hit::best_first);
        }
        hits.truncate(k);
    }
    hits.sort_unstable_by(Hit::best_first);
    hits
}

/// A sum for each title, which a query adds to through inverted lists.
pub(super) struct Sums {
    titles: usize,
    sums: Pool<Vec<f64>>,
}

impl Sums {
    pub(super) fn new(titles: usize) -> Sums {
        Sums { titles, sums: Pool::default() }
    }

    /// The number of titles.
    pub(super) fn len(&self) -> usize {
        self.titles
    }

    /// The best `k` titles with a sum above 0, which is their score. `add` gets a sum of 0 for each title.
    pub(super) fn best(&self, k: usize, add: impl FnOnce(&mut [f64])) -> Vec<Hit> {
        self.sums.with(
            || vec![0.0; self.titles],
            |sums| {
                add(sums);
                let mut hits = Vec::new();
                for (position, sum) in sums.iter_mut().enumerate() {
                    if *sum > 0.0 {
                        hits.push(Hit { position: position as u32, score: *sum as f32 });
                        *sum = 0.0;
                    }
                }
                best(hits, k)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranker::shop::Shop;
    use crate::ranker::testing::train;
    use crate::ranker::{Corpus, Ranker};

    /// What scoring every title finds, without titles whose score is no more than `least`.
    fn by_scores(ranker: &dyn Ranker, query: &str, titles: &[&str], k: usize, least: f64) -> Vec<Hit> {
        let scored = (0..).zip(ranker.score(query, titles)).filter(|&(_, score)| score > least);
        let mut hits: Vec<Hit> = scored.map(|(position, score)| Hit { position, score: score as f32 }).collect();
        hits.sort_by(Hit::best_first);
        hits.truncate(k);
        hits
    }

    fn shop_titles(shop: &Shop) -> Vec<String> {
        let queries = shop.judgments.queries.iter().flat_map(|query| &query.titles);
        queries
            .map(|title| title.text.clone())
            .chain(["".to_owned(), "?".to_owned(), "never seen".to_owned()])
            .collect()
    }

    #[test]
    fn inverted_lists_find_what_scoring_every_title_finds() {
        let shop = Shop::new();
        let titles = shop_titles(&shop);
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        for spec in ["bm25", "bm25:k1=2,b=1", "trigram", "trigram:tf_power=0.5,idf_power=2"] {
            let ranker = train(spec, &shop.corpus);
            let found = ranker.candidates(&titles).unwrap();
            assert_eq!(found.titles(), titles.len());
            let queries = shop.judgments.queries.iter().step_by(10).map(|query| query.text.as_str());
            let queries: Vec<&str> = queries.chain(["", "!", "never never seen", "qqqq"]).collect();
            for k in [0, 1, 7, titles.len() + 1] {
                for query in &queries {
                    let hits = found.search(query, k).unwrap();
                    assert_eq!(hits, by_scores(ranker.as_ref(), query, &titles, k, 0.0), "{spec} {query} {k}");
                }
                let batch = found.search_batch(&queries, k).unwrap();
                let singly: Vec<_> = queries.iter().map(|query| found.search(query, k).unwrap()).collect();
                assert_eq!(batch, singly);
            }
        }
    }

    /// Prefers short titles.
    struct Lengths;

    impl Ranker for Lengths {
        fn name(&self) -> &str {
            "lengths"
        }

        fn score(&self, _: &str, titles: &[&str]) -> Vec<f64> {
            titles.iter().map(|title| -(title.len() as f64)).collect()
        }
    }

    #[test]
    fn any_ranker_can_score_every_title() {
        let ranker = Lengths;
        let titles = ["lamp", "red door", "red"];
        let found = ranker.candidates(&titles).unwrap();
        let hits = found.search("red", 2).unwrap();
        assert_eq!(hits, by_scores(&ranker, "red", &titles, 2, f64::NEG_INFINITY));
        assert_eq!(hits.len(), 2);
    }

    #[test]
    fn there_may_be_no_title() {
        let ranker = train("bm25", &Corpus::default());
        assert!(ranker.candidates(&[]).unwrap().search("red", 3).unwrap().is_empty());
    }
}
