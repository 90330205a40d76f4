//! The position-based click model: how often each position of a result list is looked at.
//!
//! A click needs two things: the user looks at the position, and the title attracts the user. Let θ_k be the probability
//! of the first for position k, and α the probability of the second for a pair of query and title. Then P(click) = θ_k α
//! (Craswell, Zoeter, Taylor and Ramsey, "An experimental comparison of click position-bias models", WSDM 2008;
//! Chuklin, Markov and de Rijke, *Click models for web search*, 2015). A ranker puts attractive titles on top, so the
//! plain click rates of the positions say nothing about θ. Pairs that were shown at several positions do, because their α is
//! the same at each position.
//!
//! **The fit** is by conditional EM (ECM; Meng and Rubin, Biometrika 80, 1993). With c clicks in n showings of pair i
//! at position k,
//!
//! - α_i = Σ_k c_ik / Σ_k n_ik θ_k,
//! - θ_k = Σ_i c_ik / Σ_i n_ik α_i,
//!
//! Each is the exact maximum, given the other, of the likelihood of the clicks as Poisson numbers with the model's
//! mean. The likelihood of single clicks (Bernoulli) would be biased: it has as many parameters α as there are pairs,
//! and most pairs have only a few showings (Neyman and Scott, 1948). With the Poisson likelihood α cancels from the
//! equations of θ, which stay right for any number of showings as long as the mean is θ_k α (Wooldridge, Journal of
//! Econometrics 90, 1999). A pair with one showing therefore does no harm. A pair that was shown at a single position
//! says nothing and is skipped.
//!
//! No α is stored: each round streams over the pairs and adds up, so memory holds only a few numbers for each position.

use std::collections::BTreeSet;

/// The largest number of rounds.
const MAX_ITERATIONS: usize = 500;
/// The fit is done when no ln θ changes by more than this in a round.
const TOLERANCE: f64 = 1e-6;

/// The showings and clicks of a pair at one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PositionCell {
    /// The position, from 0.
    pub position: usize,
    /// The number of times that the pair was shown there.
    pub shown: u64,
    /// The number of times that it was clicked there.
    pub clicks: u64,
}

/// A fitted model: how often each position is looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct PositionModel {
    /// θ of each position divided by that of the reference, so the reference has 1. `None` where the log does not
    /// determine it, as at a position without clicks: compared with the reference, the likelihood has no maximum.
    pub examination: Vec<Option<f64>>,
    /// The standard error of each θ, robust, with the pairs of a query as a cluster. 0 for the reference; `None` also
    /// if there is only one query.
    pub standard_errors: Vec<Option<f64>>,
    /// The position with θ = 1: the first position that was shown or, if the log cannot compare it with any other, the first
    /// of the comparable positions with the most clicks.
    pub reference: usize,
    /// The showings and clicks of each position, over all pairs.
    pub totals: Vec<(u64, u64)>,
    /// The attraction of the titles at each position, clicks / (showings · θ), divided by that of the reference; `None`
    /// where θ is.
    ///
    /// It falls from position to position if the ranker that made the log tells good titles from bad ones. Otherwise it
    /// stays level.
    pub attraction: Vec<Option<f64>>,
    /// The pairs that the fit is based on: those shown at several of the compared positions and clicked at one of them.
    pub informative_pairs: u64,
    /// The number of rounds.
    pub iterations: usize,
    /// The conditional log-likelihood of the clicks after each round, up to a constant. It never decreases.
    pub log_likelihood: Vec<f64>,
}

/// Returns the model fitted to the clicks.
///
/// `replay` passes on the query number and the cells of every pair, with the pairs of a query next to each other. It
/// is called once in every round. Returns `None` if no two positions can be compared.
///
/// # Errors
///
/// Those of `replay`.
pub fn fit_positions<E>(
    mut replay: impl FnMut(&mut dyn FnMut(u64, &[PositionCell])) -> Result<(), E>,
) -> Result<Option<PositionModel>, E> {
    let mut beaten = Beaten::default();
    let mut totals: Vec<(u64, u64)> = Vec::new();
    replay(&mut |_, cells| {
        for cell in cells {
            if totals.len() <= cell.position {
                totals.resize(cell.position + 1, (0, 0));
            }
            let (shown, clicks) = &mut totals[cell.position];
            *shown = shown.saturating_add(cell.shown.max(cell.clicks));
            *clicks = clicks.saturating_add(cell.clicks);
        }
        beaten.add(cells);
    })?;
    let Some(known) = beaten.compared(&totals) else { return Ok(None) };
    let Some(reference) = known.iter().position(|&known| known) else { return Ok(None) };

    let mut theta = vec![1.0; totals.len()];
    let mut log_likelihood = Vec::new();
    let (mut iterations, mut informative_pairs) = (0, 0);
    while iterations < MAX_ITERATIONS {
        iterations += 1;
        let mut clicks = vec![0.0; theta.len()];
        let mut expected = vec![0.0; theta.len()];
        let mut likelihood = 0.0;
        informative_pairs = 0;
        replay(&mut |_, cells| {
            let Some(pair) = Pair::new(cells, &theta, &known) else { return };
            informative_pairs += 1;
            for cell in cells.iter().filter(|cell| known[cell.position]) {
                clicks[cell.position] += cell.clicks as f64;
                expected[cell.position] += pair.alpha * shown(cell);
                if cell.clicks > 0 {
                    likelihood += cell.clicks as f64 * (shown(cell) * theta[cell.position] / pair.looked).ln();
                }
            }
        })?;
        log_likelihood.push(likelihood);
        let scale = clicks[reference] / expected[reference];
        let mut moved = 0.0_f64;
        for position in (0..theta.len()).filter(|&position| known[position]) {
            if clicks[position] > 0.0 && expected[position] > 0.0 {
                let next = clicks[position] / expected[position] / scale;
                moved = moved.max((next / theta[position]).ln().abs());
                theta[position] = next;
            }
        }
        if moved < TOLERANCE {
            break;
        }
    }
    let errors = standard_errors(&mut replay, &theta, &known, reference)?;
    let standard_errors = (0..totals.len()).map(|position| match &errors {
        Some(errors) => known[position].then(|| errors[position]),
        None => (position == reference).then_some(0.0),
    });
    let standard_errors = standard_errors.collect();
    let of = |values: &[f64]| (0..totals.len()).map(|position| known[position].then(|| values[position])).collect();
    let rate = |position: usize| totals[position].1 as f64 / (totals[position].0 as f64 * theta[position]);
    let attraction: Vec<f64> = (0..totals.len()).map(|position| rate(position) / rate(reference)).collect();
    Ok(Some(PositionModel {
        examination: of(&theta),
        standard_errors,
        reference,
        attraction: of(&attraction),
        totals,
        informative_pairs,
        iterations,
        log_likelihood,
    }))
}

impl PositionModel {
    /// Returns the weight of a click at each position: 1/θ, at most `clip` (clipped inverse propensity), times the position's
    /// attraction, at most 1, to the power of `trust`. It is 1 at a position whose θ is not known.
    ///
    /// With a trust of 0 this is inverse propensity alone, which is right if every click means the same. Clicks do not
    /// mean the same if users now and then click useless titles: far down, where a good ranker has put the bad titles,
    /// most clicks are of that kind, and these would get the largest weights. So each click is also weighted by how
    /// likely a title at its position is to deserve it, as in Agarwal et al. ("Addressing trust bias for unbiased
    /// learning-to-rank", WWW 2019, Bayes-IPS). Their probability that a click at a position is deserved needs to know
    /// how often users err; attraction does not.
    pub fn weights(&self, clip: f64, trust: f64) -> Vec<f64> {
        let weight = |(theta, attraction): (f64, f64)| (1.0 / theta).min(clip) * attraction.min(1.0).powf(trust);
        let positions = self.examination.iter().zip(&self.attraction);
        positions.map(|(&theta, &attraction)| theta.zip(attraction).map_or(1.0, weight)).collect()
    }
}

/// Returns the number of showings. A log that lost showings can have more clicks than showings.
fn shown(cell: &PositionCell) -> f64 {
    cell.shown.max(cell.clicks) as f64
}

/// The sums over a pair that a round needs.
struct Pair {
    clicks: f64,
    /// Σ n θ: the expected number of times that the pair was looked at.
    looked: f64,
    alpha: f64,
}

impl Pair {
    fn new(cells: &[PositionCell], theta: &[f64], known: &[bool]) -> Option<Pair> {
        let (mut clicks, mut looked, mut positions) = (0.0, 0.0, 0);
        for cell in cells.iter().filter(|cell| known[cell.position]) {
            clicks += cell.clicks as f64;
            looked += shown(cell) * theta[cell.position];
            positions += usize::from(shown(cell) > 0.0);
        }
        (clicks > 0.0 && positions > 1).then(|| Pair { clicks, looked, alpha: clicks / looked })
    }
}

/// Returns standard errors from the sandwich H⁻¹ B H⁻¹ of the conditional likelihood in ln θ, without the reference. H is its
/// curvature. B is the sum of the squared scores of the G queries, times G / (G − 1). Returns `None` if there is only one query.
fn standard_errors<E>(
    replay: &mut impl FnMut(&mut dyn FnMut(u64, &[PositionCell])) -> Result<(), E>,
    theta: &[f64],
    known: &[bool],
    reference: usize,
) -> Result<Option<Vec<f64>>, E> {
    let free: Vec<usize> = (0..theta.len()).filter(|&position| known[position] && position != reference).collect();
    let mut column = vec![usize::MAX; theta.len()];
    free.iter().enumerate().for_each(|(number, &position)| column[position] = number);
    let size = free.len();
    let (mut curvature, mut squares) = (vec![0.0; size * size], vec![0.0; size * size]);
    let mut score = vec![0.0; size];
    let (mut current, mut clusters) = (None, 0u64);
    let settle = |score: &mut Vec<f64>, squares: &mut Vec<f64>| {
        for row in (0..size).filter(|&row| score[row] != 0.0) {
            for column in 0..size {
                squares[row * size + column] += score[row] * score[column];
            }
        }
        score.fill(0.0);
    };
    replay(&mut |query, cells| {
        let Some(pair) = Pair::new(cells, theta, known) else { return };
        if current != Some(query) {
            settle(&mut score, &mut squares);
            current = Some(query);
            clusters += 1;
        }
        let share = |cell: &PositionCell| shown(cell) * theta[cell.position] / pair.looked;
        let own = || cells.iter().filter(|cell| column[cell.position] != usize::MAX);
        for cell in own() {
            let row = column[cell.position];
            score[row] += cell.clicks as f64 - pair.clicks * share(cell);
            curvature[row * size + row] += pair.clicks * share(cell);
            for other in own() {
                curvature[row * size + column[other.position]] -= pair.clicks * share(cell) * share(other);
            }
        }
    })?;
    settle(&mut score, &mut squares);
    if clusters < 2 {
        return Ok(None);
    }
    let few = clusters as f64 / (clusters - 1) as f64;
    let inverse = inverse(curvature, size);
    let mut errors = vec![0.0; theta.len()];
    for (row, &position) in free.iter().enumerate() {
        let mut variance = 0.0;
        for a in 0..size {
            for b in 0..size {
                variance += inverse[row * size + a] * squares[a * size + b] * inverse[b * size + row];
            }
        }
        errors[position] = theta[position] * (few * variance.max(0.0)).sqrt();
    }
    Ok(Some(errors))
}

/// Returns the inverse of a symmetric positive definite matrix, by Gauss–Jordan elimination with pivots from the diagonal.
fn inverse(mut matrix: Vec<f64>, size: usize) -> Vec<f64> {
    for pivot in 0..size {
        let value = matrix[pivot * size + pivot];
        matrix[pivot * size + pivot] = 1.0;
        for column in 0..size {
            matrix[pivot * size + column] /= value;
        }
        for row in (0..size).filter(|&row| row != pivot) {
            let factor = std::mem::replace(&mut matrix[row * size + pivot], 0.0);
            for column in 0..size {
                matrix[row * size + column] -= factor * matrix[pivot * size + column];
            }
        }
    }
    matrix
}

/// For each position that was clicked, the other positions that showed the same pair.
///
/// The likelihood has a finite maximum with every θ above 0 exactly if each position leads to every other by such steps
/// (Ford, "Solution of a ranking problem from binary comparisons", American Mathematical Monthly 64, 1957). Here a
/// click is a win against the other positions that showed the pair. A position without clicks leads nowhere.
#[derive(Default)]
struct Beaten {
    by_position: Vec<BTreeSet<usize>>,
}

impl Beaten {
    fn add(&mut self, cells: &[PositionCell]) {
        let last = cells.iter().map(|cell| cell.position).max().unwrap_or(0);
        if self.by_position.len() <= last {
            self.by_position.resize_with(last + 1, BTreeSet::new);
        }
        for clicked in cells.iter().filter(|cell| cell.clicks > 0) {
            let others = cells.iter().filter(|cell| shown(cell) > 0.0 && cell.position != clicked.position);
            self.by_position[clicked.position].extend(others.map(|cell| cell.position));
        }
    }

    /// Returns the positions that lead to each other: the group of the first position shown or, if that position is alone, the group
    /// with the most clicks. `None` if no two positions lead to each other.
    fn compared(&self, totals: &[(u64, u64)]) -> Option<Vec<bool>> {
        let positions = self.by_position.len();
        let mut backward = vec![BTreeSet::new(); positions];
        for (position, others) in self.by_position.iter().enumerate() {
            for &other in others {
                backward[other].insert(position);
            }
        }
        let first = totals.iter().position(|&(shown, _)| shown > 0)?;
        let mut seen = vec![false; positions];
        let mut best: Option<(u64, Vec<bool>)> = None;
        for position in first..positions {
            if seen[position] || self.by_position[position].is_empty() {
                continue;
            }
            let (to, from) = (reached(&self.by_position, position), reached(&backward, position));
            let both: Vec<bool> = to.into_iter().zip(from).map(|(to, from)| to && from).collect();
            let members = || (0..positions).filter(|&position| both[position]);
            members().for_each(|position| seen[position] = true);
            if members().count() < 2 {
                continue;
            }
            let clicks = members().fold(0u64, |sum, position| sum.saturating_add(totals[position].1));
            if position == first {
                return Some(both);
            }
            if best.as_ref().is_none_or(|&(most, _)| clicks > most) {
                best = Some((clicks, both));
            }
        }
        best.map(|(_, both)| both)
    }
}

/// Returns the positions that `position` leads to, including itself.
fn reached(steps: &[BTreeSet<usize>], position: usize) -> Vec<bool> {
    let mut reached = vec![false; steps.len()];
    let mut waiting = vec![position];
    while let Some(position) = waiting.pop() {
        if !std::mem::replace(&mut reached[position], true) {
            waiting.extend(steps[position].iter().filter(|&&next| !reached[next]));
        }
    }
    reached
}

#[cfg(test)]
mod tests;
