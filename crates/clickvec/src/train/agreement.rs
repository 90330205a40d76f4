//! The agreement of a model's similarities with its teacher's.

use std::cmp::Ordering;

use crate::clicks::{ClickLog, Taught};
use crate::math::vector::dot;
use crate::model::{Model, Side};
use crate::rng::Permutation;
use crate::settings::Section;
use rayon::prelude::*;

/// The largest number of queries in the sample, and of titles that each is compared with.
const QUERIES: usize = 200;
const TITLES: usize = 1000;
/// The number of best titles whose overlap is measured.
const BEST: usize = 10;

/// Agreement of a model's similarities with its teacher's, averaged over a random sample of queries, each compared with
/// a random sample of titles.
///
/// Without clicks, titles take the place of queries. Hardly any of these pairs ever met in a minibatch, so the figures
/// show how well the model generalises to pairs that it did not train on.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Agreement {
    /// Spearman's rank correlation of the cosines, from −1 to 1.
    pub spearman: f64,
    /// The share of the teacher's ten best titles that are among the model's.
    #[serde(rename = "overlap_of_10")]
    pub overlap: f64,
    /// The number of queries in the sample.
    pub queries: usize,
    /// The number of titles that each query was compared with.
    pub titles: usize,
}

/// The sample of texts on which model and teacher are compared.
pub(super) struct Probe {
    queries: Vec<String>,
    titles: Vec<String>,
    /// The teacher's cosines with all titles, one list for each query.
    cosines: Vec<Vec<f32>>,
}

impl Probe {
    /// Creates a sample of the texts of `log` that the teacher has vectors for, drawn with `seed`; `None` if there is no query, or are
    /// not two titles to tell apart.
    pub(super) fn new(log: &ClickLog, taught: &Taught, seed: u64) -> Option<Probe> {
        let all = log.section(Section::Clicks).end.max(log.section(Section::Titles).end);
        let from = if log.is_empty() { Section::Titles } else { Section::Clicks };
        let numbers = |from: std::ops::Range<u64>, name| {
            let order = Permutation::new(from.end - from.start, seed, name, 0);
            (0..from.end - from.start).map(move |index| from.start + order.at(index))
        };
        // Take each text only once, so that no title is compared with itself.
        let mut seen = std::collections::HashSet::new();
        let mut drawn = |numbers: &mut dyn Iterator<Item = u64>, is_title: bool, most: usize| {
            let (mut texts, mut vectors) = (Vec::new(), Vec::new());
            for number in numbers {
                let pair = log.pair(number as usize);
                let (hash, words) =
                    if is_title { (pair.title, pair.title_words) } else { (pair.query, pair.query_words) };
                if texts.len() == most {
                    break;
                }
                if let Some(vector) = taught.vector(hash)
                    && seen.insert(hash)
                {
                    texts.push(log.text(words));
                    vectors.push(vector);
                }
            }
            (texts, vectors)
        };
        let section = log.section(from);
        let most = if log.is_empty() { QUERIES.min(section.end as usize / 5) } else { QUERIES };
        let (queries, query_vectors) = drawn(&mut numbers(section, "queries to agree on"), false, most);
        let (titles, title_vectors) = drawn(&mut numbers(0..all, "titles to agree on"), true, TITLES);
        if queries.is_empty() || titles.len() < 2 {
            return None;
        }
        let cosines =
            query_vectors.iter().map(|query| title_vectors.iter().map(|title| dot(query, title)).collect()).collect();
        Some(Probe { queries, titles, cosines })
    }

    /// Returns the agreement of the cosines of `model` with the teacher's.
    pub(super) fn agreement(&self, model: &Model) -> Agreement {
        let Probe { queries, titles, cosines } = self;
        let dimension = model.dimension();
        let title_vectors = model.embedder(Side::Title).embed(titles);
        let query_vectors = model.embedder(Side::Query).embed(queries);
        let each: Vec<(f64, f64)> = query_vectors
            .par_chunks_exact(dimension)
            .zip(cosines)
            .map(|(query, theirs)| {
                let ours: Vec<f32> = title_vectors.chunks_exact(dimension).map(|title| dot(query, title)).collect();
                (spearman(&ours, theirs), overlap(&ours, theirs))
            })
            .collect();
        let mean = |of: fn(&(f64, f64)) -> f64| each.iter().map(of).sum::<f64>() / each.len().max(1) as f64;
        Agreement { spearman: mean(|x| x.0), overlap: mean(|x| x.1), queries: queries.len(), titles: titles.len() }
    }
}

/// Returns Pearson's correlation of the ranks. Tied numbers get the mean of their ranks. If all numbers of a side are tied, the
/// result is 0.
fn spearman(a: &[f32], b: &[f32]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() as f64 - 1.0) / 2.0;
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(&b) {
        let (a, b) = (a - mean, b - mean);
        ab += a * b;
        aa += a * a;
        bb += b * b;
    }
    if aa * bb > 0.0 { ab / (aa * bb).sqrt() } else { 0.0 }
}

/// Returns the rank of each number; the smallest has rank 0.
fn ranks(numbers: &[f32]) -> Vec<f64> {
    let order = sorted(numbers);
    let mut ranks = vec![0.0; numbers.len()];
    for tied in order.chunk_by(|&a, &b| numbers[a] == numbers[b]).scan(0, |before, tied| {
        *before += tied.len();
        Some((*before - tied.len(), tied))
    }) {
        let (before, tied) = tied;
        let rank = before as f64 + (tied.len() as f64 - 1.0) / 2.0;
        tied.iter().for_each(|&index| ranks[index] = rank);
    }
    ranks
}

/// Returns the share of the ten best places of `b` that are also among the ten best of `a`.
fn overlap(a: &[f32], b: &[f32]) -> f64 {
    let best = |numbers: &[f32]| {
        let order = sorted(numbers);
        order[order.len().saturating_sub(BEST)..].to_vec()
    };
    let (a, b) = (best(a), best(b));
    b.iter().filter(|index| a.contains(index)).count() as f64 / b.len().max(1) as f64
}

/// Returns the places of the numbers, in ascending order of the numbers.
fn sorted(numbers: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&a, &b| numbers[a].partial_cmp(&numbers[b]).unwrap_or(Ordering::Equal));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spearman_of_ranks_and_ties() {
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[0.1, 0.2, 9.0]), 1.0);
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[3.0, 2.0, -1.0]), -1.0);
        assert_eq!(spearman(&[1.0, 1.0], &[3.0, 2.0]), 0.0);
        // Ranks 0, 1.5, 1.5, 3 and 0, 1, 2, 3: covariance 4.5, variances 4.5 and 5.
        let found = spearman(&[1.0, 2.0, 2.0, 5.0], &[1.0, 2.0, 3.0, 4.0]);
        assert!((found - 4.5 / 22.5f64.sqrt()).abs() < 1e-12, "{found}");
    }

    #[test]
    fn overlap_of_the_best() {
        let (up, down): (Vec<f32>, Vec<f32>) = (0..20).map(|i| (i as f32, -i as f32)).unzip();
        assert_eq!((overlap(&up, &up), overlap(&up, &down)), (1.0, 0.0));
        let mut half = up.clone();
        half[..5].iter_mut().for_each(|x| *x += 100.0);
        assert_eq!(overlap(&up, &half), 0.5);
        assert_eq!(overlap(&[1.0, 2.0], &[5.0, 3.0]), 1.0, "fewer than ten");
    }
}
