//! Fusion of several rankers into one, by a weighted sum of their scores, as they are (Bruch, Gai, Ingber, "An analysis of
//! fusion functions for hybrid retrieval", 2023, compare such sums) or normalised for each query (Shaw and Fox, "Combination of
//! multiple searches", 1994), or of reciprocal ranks (Cormack, Clarke, Büttcher, "Reciprocal rank fusion outperforms Condorcet
//! and individual rank learning methods", 2009).

use std::ops::ControlFlow;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::candidates::best;
use super::{Progress, Ranker};
use crate::ranker::Candidates;
use clickvec::index::Hit;
use clickvec_tables::ErrorKind;
use clickvec_tables::Result;
use clickvec_tables::shown::shortened;

/// The constant k of reciprocal rank fusion, as published.
pub const RECIPROCAL_RANK_K: f64 = 60.0;

/// The number of titles that each ranker finds at least for a fusion that searches.
pub const FUSED_DEPTH: usize = 1000;

/// For the two rounds of [`fit_weights`], the size of a step and the number of steps to each side.
const ROUNDS: [(f64, u32); 2] = [(0.1, 10), (0.02, 4)];

/// A limit on the sweeps over all weights in a round. Every sweep but the last raises the objective.
const MOST_SWEEPS: usize = 20;

/// The method that makes the scores of a ranker for one query comparable.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FusionMethod {
    /// s − least: scores as they are, from the lowest of the query. Where a ranker's scores hardly differ, it hardly counts; the
    /// next two methods make its first title count as much as everywhere. A weight is for one point of a score, so it is small
    /// if scores are large: [`equal_weights`](crate::equal_weights) allow for that.
    Linear,
    /// (s − least) / (most − least), from 0 to 1.
    MinMax,
    /// (s − mean) / standard deviation.
    ZScore,
    /// 1 / (k + rank), with ranks counted from 1. Tied titles get the mean over all their orders.
    ReciprocalRank {
        /// The constant, above −1; the larger it is, the less the first ranks differ. [`RECIPROCAL_RANK_K`] is the
        /// published value.
        k: f64,
    },
}

impl FusionMethod {
    /// Returns the name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            FusionMethod::Linear => "linear",
            FusionMethod::MinMax => "min-max",
            FusionMethod::ZScore => "z-score",
            FusionMethod::ReciprocalRank { .. } => "reciprocal-rank",
        }
    }
}

impl FromStr for FusionMethod {
    type Err = clickvec_tables::Error;

    fn from_str(text: &str) -> Result<FusionMethod, clickvec_tables::Error> {
        match text {
            "linear" => Ok(FusionMethod::Linear),
            "min-max" | "sum" => Ok(FusionMethod::MinMax),
            "z-score" => Ok(FusionMethod::ZScore),
            "reciprocal-rank" | "rrf" => Ok(FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K }),
            other => Err(clickvec_tables::Error::expected(
                ErrorKind::Setting,
                "`linear`, `min-max`, `z-score` or `reciprocal-rank`",
                format!("`{}`", shortened(other)),
            )),
        }
    }
}

/// Several rankers as one.
pub struct Fusion {
    name: String,
    members: Vec<Arc<dyn Ranker>>,
    weights: Vec<f64>,
    method: FusionMethod,
}

impl Fusion {
    /// The fusion of `members`, each with its weight, called `name` in tables.
    pub fn new(name: String, members: Vec<(Arc<dyn Ranker>, f64)>, method: FusionMethod) -> Fusion {
        let (members, weights) = members.into_iter().unzip();
        Fusion { name, members, weights, method }
    }

    /// The weight of each member.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }
}

impl Ranker for Fusion {
    fn name(&self) -> &str {
        &self.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let mut fused = vec![0.0; titles.len()];
        for (member, &weight) in self.members.iter().zip(&self.weights) {
            add(&mut fused, &self.method.apply(&member.score(query, titles)), weight);
        }
        fused
    }

    /// Members find titles by themselves, [`FUSED_DEPTH`] at least, and [`fuse_hits`] makes one list of them.
    fn candidates<'a>(&'a self, titles: &'a [&'a str]) -> Result<Box<dyn Candidates + 'a>> {
        let members = self.members.iter().zip(&self.weights).filter(|&(_, &weight)| weight > 0.0);
        let members =
            members.map(|(member, &weight)| Ok((member.candidates(titles)?, weight))).collect::<Result<Vec<_>>>()?;
        let (members, weights) = members.into_iter().unzip();
        Ok(Box::new(FusedCandidates { titles: titles.len(), members, weights, method: self.method }))
    }
}

struct FusedCandidates<'a> {
    titles: usize,
    members: Vec<Box<dyn Candidates + 'a>>,
    weights: Vec<f64>,
    method: FusionMethod,
}

impl Candidates for FusedCandidates<'_> {
    fn titles(&self) -> usize {
        self.titles
    }

    fn search(&self, query: &str, k: usize) -> Result<Vec<Hit>> {
        let depth = k.max(FUSED_DEPTH);
        let found = self.members.iter().map(|member| member.search(query, depth));
        let lists = found.collect::<Result<Vec<_>>>()?;
        let lists: Vec<&[Hit]> = lists.iter().map(Vec::as_slice).collect();
        Ok(best(fuse_hits(&lists, &self.weights, self.method, depth), k))
    }
}

/// What several rankers, each with its weight, found for one query, as one list, best first. A ranker with weight 0 takes no part:
/// what it alone found is not in the list.
///
/// Scores are made comparable within each list. A title that a ranker did not find gets nothing from it: the least score of
/// that list, or no reciprocal rank. So the result depends on how long the lists are. A list of fewer than `depth` titles, as many as
/// were asked for ([`FUSED_DEPTH`] if nothing else is said), has all that have anything of the query, so the others count as titles
/// with score 0: a word that only one title has is worth most. So they do, except with z-scores, if all titles of a list have the
/// same score.
///
/// # Panics
/// If there is not one weight for each list.
pub fn fuse_hits(lists: &[&[Hit]], weights: &[f64], method: FusionMethod, depth: usize) -> Vec<Hit> {
    assert_eq!(lists.len(), weights.len(), "one weight a ranker");
    let taking_part = lists.iter().zip(weights).filter(|&(_, &weight)| weight > 0.0);
    let shares = taking_part.map(|(list, &weight)| fused_shares(list, weight, method, depth));
    sum_shares(&shares.collect::<Vec<_>>())
}

/// What each title of a ranker's list adds to a fusion, in the order of the list. Nothing is missing in a list of fewer than `depth`.
pub fn fused_shares(list: &[Hit], weight: f64, method: FusionMethod, depth: usize) -> Vec<(u32, f64)> {
    method.comparable(list, depth).map(|(position, value)| (position, weight * value)).collect()
}

/// One list of what several rankers add, best first.
pub fn sum_shares(rankers: &[Vec<(u32, f64)>]) -> Vec<Hit> {
    let mut shares: Vec<(u32, f64)> = rankers.concat();
    // Stable: the sum of a title's shares is taken in the order of the rankers.
    shares.sort_by_key(|&(position, _)| position);
    let summed = |shares: &[(u32, f64)]| {
        let score: f64 = shares.iter().map(|&(_, share)| share).sum();
        Hit { position: shares[0].0, score: score as f32 }
    };
    let mut fused: Vec<Hit> = shares.chunk_by(|a, b| a.0 == b.0).map(summed).collect();
    fused.sort_unstable_by(Hit::best_first);
    fused
}

/// The fused scores of the titles of one query, from the scores of several rankers with a weight each. Empty without
/// rankers.
///
/// Titles that no ranker tells apart have equal fused scores. A ranker that gives all titles the same score changes
/// nothing. NaN and −∞, the score of a title that a run lacks, count as the least of the query's other scores (by reciprocal ranks,
/// as less), and ∞ as the largest number.
///
/// # Panics
/// If there is not one weight for each ranker, or if the lists have different lengths.
pub fn fuse(scores: &[&[f64]], weights: &[f64], method: FusionMethod) -> Vec<f64> {
    assert_eq!(scores.len(), weights.len(), "one weight a ranker");
    let mut fused = vec![0.0; scores.first().map_or(0, |scores| scores.len())];
    for (scores, &weight) in scores.iter().zip(weights) {
        assert_eq!(scores.len(), fused.len(), "one score a title");
        add(&mut fused, &method.apply(scores), weight);
    }
    fused
}

fn add(fused: &mut [f64], normalized: &[f64], weight: f64) {
    fused.iter_mut().zip(normalized).for_each(|(sum, value)| *sum += weight * value);
}

impl FusionMethod {
    /// The normalised scores of one ranker for a query's titles.
    pub(crate) fn apply(self, scores: &[f64]) -> Vec<f64> {
        let least = match self {
            FusionMethod::ReciprocalRank { .. } => f64::MIN,
            _ => scores.iter().copied().filter(|&score| is_number(score)).fold(f64::MAX, f64::min),
        };
        let finite = |score: f64| if is_number(score) { score.clamp(f64::MIN, f64::MAX) } else { least };
        let mut scores: Vec<f64> = scores.iter().copied().map(finite).collect();
        match self {
            FusionMethod::Linear => from_least(&mut scores),
            FusionMethod::MinMax => min_max(&mut scores),
            FusionMethod::ZScore => z_scores(&mut scores),
            FusionMethod::ReciprocalRank { k } => reciprocal_ranks(&mut scores, k),
        }
        scores
    }

    /// What a ranker found, with scores that can be compared with those of other rankers: 0 is what it did not find.
    pub(crate) fn comparable(self, hits: &[Hit], depth: usize) -> impl Iterator<Item = (u32, f64)> {
        let mut scores: Vec<f64> = hits.iter().map(|hit| f64::from(hit.score)).collect();
        let uses_scores = !matches!(self, FusionMethod::ReciprocalRank { .. });
        // The list has all titles with anything of the query: the others would score 0. They do if all scores are the same, too: a
        // word that many titles have, all of one length, would be worth nothing otherwise. (Its z-score would be worth too much.)
        let is_ranged = matches!(self, FusionMethod::Linear | FusionMethod::MinMax);
        let is_alike = || scores.windows(2).all(|pair| pair[0] == pair[1]);
        if uses_scores && (hits.len() < depth || is_ranged && is_alike()) {
            scores.push(scores.iter().copied().fold(0.0, f64::min));
        }
        let values = self.apply(&scores);
        let least = if uses_scores { values.iter().copied().fold(f64::INFINITY, f64::min) } else { 0.0 };
        hits.iter().zip(values).map(move |(hit, value)| (hit.position, value - least))
    }
}

/// Whether a title has this score: a run gives −∞ to those that it lacks.
fn is_number(score: f64) -> bool {
    score > f64::NEG_INFINITY
}

fn from_least(scores: &mut [f64]) {
    let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
    scores.iter_mut().for_each(|score| *score = (*score - least).min(f64::MAX));
}

/// Scales scores to 0 … 1; all become 0 if they are equal.
fn min_max(scores: &mut [f64]) {
    let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Half of the largest range does not overflow.
    let scale = if (most - least).is_finite() { 1.0 } else { 0.5 };
    let range = most * scale - least * scale;
    for score in scores {
        *score = if range > 0.0 { (*score * scale - least * scale) / range } else { 0.0 };
    }
}

/// Standardises scores; all become 0 if they are equal.
fn z_scores(scores: &mut [f64]) {
    // Standardised scores do not depend on the scale, and after this nothing overflows.
    min_max(scores);
    let n = scores.len() as f64;
    let mean = scores.iter().sum::<f64>() / n;
    let deviation = (scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / n).sqrt();
    for score in scores {
        *score = if deviation > 0.0 { (*score - mean) / deviation } else { 0.0 };
    }
}

fn reciprocal_ranks(scores: &mut [f64], k: f64) {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let mut rank = 1;
    let mut reciprocals = vec![0.0; scores.len()];
    for tied in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let sum: f64 = (rank..rank + tied.len()).map(|rank| 1.0 / (k + rank as f64)).sum();
        tied.iter().for_each(|&position| reciprocals[position] = sum / tied.len() as f64);
        rank += tied.len();
    }
    scores.copy_from_slice(&reciprocals);
}

/// The best weights, and the objective that they reach.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedWeights {
    /// A weight for each ranker: 0 or more, with sum 1.
    pub weights: Vec<f64>,
    /// The objective at these weights.
    pub objective: f64,
}

/// A receiver of the progress of fitting weights, which may break: the search for the best weights begins once with equal weights
/// and once with each ranker alone, and a step is one of these.
pub type FitWatch<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

/// The weights of `members` rankers that maximise `objective`, for example NDCG on training queries.
///
/// The search changes one weight after another, first in steps of 0.1 over the whole range, then in steps of 0.02 nearby, for
/// as long as that helps. The other weights are scaled so that all sum to 1. It starts from equal weights and from
/// each ranker alone, so the result is never worse than the best of these. Of equally good weights it returns the
/// first found. NaN is worse than any number.
///
/// `watch` hears of each weight that is tried out, with the number of starts that are finished.
///
/// # Errors
///
/// `ErrorKind::Interrupted` if `watch` breaks.
pub fn fit_weights(
    members: usize,
    objective: &mut dyn FnMut(&[f64]) -> f64,
    watch: &mut FitWatch<'_>,
) -> Result<FittedWeights> {
    let mut value = |weights: &[f64]| {
        let value = objective(weights);
        if value.is_nan() { f64::NEG_INFINITY } else { value }
    };
    let of = members as u64 + 1;
    let mut best = ascend(vec![1.0 / members.max(1) as f64; members], &mut value, &mut |objective| {
        watch(Progress { done: 0, of, objective: Some(objective) })
    })?;
    for member in 0..members {
        let alone = (0..members).map(|other| f64::from(u8::from(other == member))).collect();
        let found = ascend(alone, &mut value, &mut |objective| {
            let objective = Some(objective.max(best.objective));
            watch(Progress { done: member as u64 + 1, of, objective })
        })?;
        if found.objective > best.objective {
            best = found;
        }
    }
    Ok(best)
}

fn ascend(
    start: Vec<f64>,
    objective: &mut dyn FnMut(&[f64]) -> f64,
    watch: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<FittedWeights> {
    let mut best = FittedWeights { objective: objective(&start), weights: start };
    // With a single ranker there is nothing to choose.
    if best.weights.len() < 2 {
        return Ok(best);
    }
    for (step, steps) in ROUNDS {
        for _ in 0..MOST_SWEEPS {
            let before = best.objective;
            for member in 0..best.weights.len() {
                if watch(best.objective).is_break() {
                    return Err(clickvec_tables::Error::interrupted());
                }
                let old = best.weights.clone();
                for n in 1..=steps {
                    for shift in [step, -step] {
                        let weight = (old[member] + shift * f64::from(n)).clamp(0.0, 1.0);
                        let weights = moved(&old, member, weight);
                        let value = objective(&weights);
                        if value > best.objective {
                            best = FittedWeights { weights, objective: value };
                        }
                    }
                }
            }
            if best.objective <= before {
                break;
            }
        }
    }
    Ok(best)
}

/// `weights` with one of them set to `weight` and the others in their old proportion, or equal if they were all 0.
fn moved(weights: &[f64], member: usize, weight: f64) -> Vec<f64> {
    let others: f64 = weights.iter().enumerate().filter(|&(other, _)| other != member).map(|(_, weight)| weight).sum();
    let other = |old: f64| {
        if others > 0.0 { old * (1.0 - weight) / others } else { (1.0 - weight) / (weights.len() - 1) as f64 }
    };
    weights.iter().enumerate().map(|(position, &old)| if position == member { weight } else { other(old) }).collect()
}

#[cfg(test)]
mod tests;
