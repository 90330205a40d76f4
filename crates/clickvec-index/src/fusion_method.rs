//! How the scores of several rankers are made comparable and added up: as they are (Bruch, Gai, Ingber, "An analysis of fusion functions
//! for hybrid retrieval", 2023, compare such sums), normalised for each query (Shaw and Fox, "Combination of multiple searches", 1994),
//! or by reciprocal ranks (Cormack, Clarke, Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
//! methods", 2009).

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use clickvec::index::Hit;
use clickvec_tables::shown::shortened;
use clickvec_tables::{Error, ErrorKind, Result};

/// The constant k of reciprocal rank fusion, as published.
pub const RECIPROCAL_RANK_K: f64 = 60.0;

/// The method that makes the scores of a ranker for one query comparable.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FusionMethod {
    /// s − least: scores as they are, from the lowest of the query. Where a ranker's scores hardly differ, it hardly counts; the
    /// next two methods make its first title count as much as everywhere. A weight is for one point of a score, so it is small
    /// if scores are large.
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
    type Err = Error;

    fn from_str(text: &str) -> Result<FusionMethod> {
        match text {
            "linear" => Ok(FusionMethod::Linear),
            "min-max" | "sum" => Ok(FusionMethod::MinMax),
            "z-score" => Ok(FusionMethod::ZScore),
            "reciprocal-rank" | "rrf" => Ok(FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K }),
            other => Err(Error::expected(
                ErrorKind::Setting,
                "`linear`, `min-max`, `z-score` or `reciprocal-rank`",
                format!("`{}`", shortened(other)),
            )),
        }
    }
}

/// Returns what each title of a ranker's list adds to a fusion, in the order of the list; see [`FusionMethod::comparable`].
pub fn fused_shares(list: &[Hit], weight: f64, method: FusionMethod, depth: usize) -> Vec<(u32, f64)> {
    method.comparable(list, depth).map(|(position, value)| (position, weight * value)).collect()
}

/// Adds up what several rankers say of each title, best first.
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

impl FusionMethod {
    /// Normalises the scores of one ranker for a query's titles. NaN and −∞, the score of a title that a run lacks, count as the
    /// least of the other scores (by reciprocal ranks, as less), and ∞ as the largest number.
    pub fn apply(self, scores: &[f64]) -> Vec<f64> {
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

    /// Makes the scores of what a ranker found comparable with those of other rankers: a title that it did not find has 0.
    ///
    /// A list of fewer than `depth` titles has all that have anything of the query, so the others count as titles with score 0.
    /// So they do, except with z-scores, if all titles of a list have the same score.
    pub fn comparable(self, hits: &[Hit], depth: usize) -> impl Iterator<Item = (u32, f64)> {
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

#[cfg(test)]
mod tests;
