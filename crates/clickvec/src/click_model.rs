//! The position-based click model: how often each place of a result list is looked at.
//!
//! A click takes two things: that the place is looked at, and that the title attracts whoever looks. With θ_k the first
//! for place k and α the second for a pair of query and title, P(click) = θ_k α (Craswell, Zoeter, Taylor and Ramsey, "An
//! experimental comparison of click position-bias models", WSDM 2008; Chuklin, Markov and de Rijke, *Click models for web
//! search*, 2015). A ranker puts what attracts on top, so the places' bare click rates tell nothing of θ; pairs that were
//! shown at several places do, since their α is the same at each.
//!
//! **The fit** is by conditional EM (ECM; Meng and Rubin, Biometrika 80, 1993): with c clicks of n showings of pair i at
//! place k,
//!
//! - α_i = Σ_k c_ik / Σ_k n_ik θ_k,
//! - θ_k = Σ_i c_ik / Σ_i n_ik α_i,
//!
//! each the exact maximum of the likelihood of clicks as a Poisson number with the model's mean, given the other. That
//! likelihood is chosen over that of single clicks because an α for each pair is as many parameters as there are pairs,
//! most of them with a handful of showings: the maximum of the other is biased then (Neyman and Scott, 1948), while here
//! α cancels from the equations of θ, which stay right for any number of showings as long as the mean is θ_k α
//! (Wooldridge, Journal of Econometrics 90, 1999). A pair with one showing thus does no harm, and one that was shown at a
//! single place says nothing and is passed over.
//!
//! No α is kept: each round streams over the pairs and sums, so memory is a few numbers a place.

/// The most rounds.
const MAX_ITERATIONS: usize = 500;
/// The fit stands when no ln θ moves further in a round.
const TOLERANCE: f64 = 1e-6;

/// What was seen of a pair at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PositionCell {
    /// The place, from 0.
    pub position: usize,
    /// How often the pair was shown there.
    pub shown: u64,
    /// How often it was clicked there.
    pub clicks: u64,
}

/// How often each place is looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct PositionModel {
    /// θ by place, as a part of the reference's, which has 1; `None` where the log does not say: the place has no clicks,
    /// or no pair links it to the reference.
    pub examination: Vec<Option<f64>>,
    /// The standard error of each θ: robust, with the pairs of one query as a cluster. 0 for the reference.
    pub standard_errors: Vec<Option<f64>>,
    /// The first place with clicks.
    pub reference: usize,
    /// How often each place showed a title, and how often it was clicked there; all pairs.
    pub totals: Vec<(u64, u64)>,
    /// Pairs that were shown at several places and clicked: those that the fit is from.
    pub informative_pairs: u64,
    /// Rounds until the fit stood.
    pub iterations: usize,
    /// The conditional log-likelihood of the clicks after each round, up to a constant. It never falls.
    pub log_likelihood: Vec<f64>,
}

/// Fits the model.
///
/// `replay` goes through all pairs, those of one query side by side, and hands over the query's number and the pair's
/// cells; it is called once a round. `None` if no pair was clicked and shown at two places.
///
/// # Errors
///
/// Whatever `replay` returns.
pub fn fit_positions<E>(
    mut replay: impl FnMut(&mut dyn FnMut(u64, &[PositionCell])) -> Result<(), E>,
) -> Result<Option<PositionModel>, E> {
    let mut groups = Groups::default();
    let mut totals: Vec<(u64, u64)> = Vec::new();
    let mut informative_pairs = 0;
    replay(&mut |_, cells| {
        for cell in cells {
            if totals.len() <= cell.position {
                totals.resize(cell.position + 1, (0, 0));
            }
            totals[cell.position].0 += cell.shown.max(cell.clicks);
            totals[cell.position].1 += cell.clicks;
        }
        if informative(cells) {
            informative_pairs += 1;
            groups.link(cells);
        }
    })?;
    // The places that can be compared: those linked with the most clicks behind them.
    let Some(reference) = groups.reference(&totals) else { return Ok(None) };
    let known: Vec<bool> =
        (0..totals.len()).map(|place| totals[place].1 > 0 && groups.same(place, reference)).collect();
    if known.iter().filter(|&&known| known).count() < 2 {
        return Ok(None);
    }

    let mut theta = vec![1.0; totals.len()];
    let mut log_likelihood = Vec::new();
    let mut iterations = 0;
    while iterations < MAX_ITERATIONS {
        iterations += 1;
        let mut clicks = vec![0.0; theta.len()];
        let mut expected = vec![0.0; theta.len()];
        let mut likelihood = 0.0;
        replay(&mut |_, cells| {
            let Some(pair) = Pair::of(cells, &theta, &known) else { return };
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
        for place in (0..theta.len()).filter(|&place| known[place]) {
            if clicks[place] > 0.0 && expected[place] > 0.0 {
                let next = clicks[place] / expected[place] / scale;
                moved = moved.max((next / theta[place]).ln().abs());
                theta[place] = next;
            }
        }
        if moved < TOLERANCE {
            break;
        }
    }
    let errors = standard_errors(&mut replay, &theta, &known, reference)?;
    let of = |values: &[f64]| (0..totals.len()).map(|place| known[place].then(|| values[place])).collect();
    Ok(Some(PositionModel {
        examination: of(&theta),
        standard_errors: of(&errors),
        reference,
        totals,
        informative_pairs,
        iterations,
        log_likelihood,
    }))
}

impl PositionModel {
    /// What a click at each place is worth: 1/θ, at most `clip` (inverse propensity, clipped). A place of which the log
    /// says nothing has what the nearest known one above it has, or else the reference.
    pub fn weights(&self, clip: f64) -> Vec<f64> {
        let mut last = 1.0;
        let weight = |examination: &Option<f64>| {
            if let Some(examination) = examination {
                last = (1.0 / examination).min(clip);
            }
            last
        };
        self.examination.iter().map(weight).collect()
    }
}

/// Whether θ has anything to learn from a pair.
fn informative(cells: &[PositionCell]) -> bool {
    cells.iter().filter(|cell| cell.shown > 0 || cell.clicks > 0).count() > 1
        && cells.iter().any(|cell| cell.clicks > 0)
}

/// A log that lost showings has more clicks than those at a place.
fn shown(cell: &PositionCell) -> f64 {
    cell.shown.max(cell.clicks) as f64
}

/// What a round needs of a pair.
struct Pair {
    clicks: f64,
    /// Σ n θ: how often it was looked at.
    looked: f64,
    alpha: f64,
}

impl Pair {
    fn of(cells: &[PositionCell], theta: &[f64], known: &[bool]) -> Option<Pair> {
        if !informative(cells) {
            return None;
        }
        let (mut clicks, mut looked, mut places) = (0.0, 0.0, 0);
        for cell in cells.iter().filter(|cell| known[cell.position]) {
            clicks += cell.clicks as f64;
            looked += shown(cell) * theta[cell.position];
            places += 1;
        }
        (clicks > 0.0 && places > 1).then(|| Pair { clicks, looked, alpha: clicks / looked })
    }
}

/// From the sandwich H⁻¹ B H⁻¹ of the conditional likelihood in ln θ, the reference's left out: H its curvature, B the sum
/// over queries of the squares of their scores.
fn standard_errors<E>(
    replay: &mut impl FnMut(&mut dyn FnMut(u64, &[PositionCell])) -> Result<(), E>,
    theta: &[f64],
    known: &[bool],
    reference: usize,
) -> Result<Vec<f64>, E> {
    let free: Vec<usize> = (0..theta.len()).filter(|&place| known[place] && place != reference).collect();
    let mut column = vec![usize::MAX; theta.len()];
    free.iter().enumerate().for_each(|(number, &place)| column[place] = number);
    let size = free.len();
    let (mut curvature, mut squares) = (vec![0.0; size * size], vec![0.0; size * size]);
    let mut score = vec![0.0; size];
    let mut current = None;
    let settle = |score: &mut Vec<f64>, squares: &mut Vec<f64>| {
        for row in (0..size).filter(|&row| score[row] != 0.0) {
            for column in 0..size {
                squares[row * size + column] += score[row] * score[column];
            }
        }
        score.fill(0.0);
    };
    replay(&mut |query, cells| {
        if current != Some(query) {
            settle(&mut score, &mut squares);
            current = Some(query);
        }
        let Some(pair) = Pair::of(cells, theta, known) else { return };
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
    let inverse = inverse(curvature, size);
    let mut errors = vec![0.0; theta.len()];
    for (row, &place) in free.iter().enumerate() {
        let mut variance = 0.0;
        for a in 0..size {
            for b in 0..size {
                variance += inverse[row * size + a] * squares[a * size + b] * inverse[b * size + row];
            }
        }
        errors[place] = theta[place] * variance.max(0.0).sqrt();
    }
    Ok(errors)
}

/// The inverse of a symmetric positive definite matrix, by Gauss and Jordan with pivots from the diagonal.
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

/// Places that pairs link, as a forest.
#[derive(Default)]
struct Groups {
    parent: Vec<usize>,
}

impl Groups {
    fn find(&self, mut place: usize) -> usize {
        while let Some(&parent) = self.parent.get(place).filter(|&&parent| parent != place) {
            place = parent;
        }
        place
    }

    fn link(&mut self, cells: &[PositionCell]) {
        let last = cells.iter().map(|cell| cell.position).max().unwrap_or(0);
        (self.parent.len()..=last).for_each(|place| self.parent.push(place));
        let mut places = cells.iter().filter(|cell| cell.shown > 0 || cell.clicks > 0).map(|cell| cell.position);
        let Some(first) = places.next() else { return };
        for place in places {
            let (a, b) = (self.find(first), self.find(place));
            // The smaller becomes the root, so that chains stay as short as places are few.
            self.parent[a.max(b)] = a.min(b);
        }
    }

    fn same(&self, a: usize, b: usize) -> bool {
        self.find(a) == self.find(b)
    }

    /// The first place with clicks of the group with the most clicks, among groups of at least two such places.
    fn reference(&self, totals: &[(u64, u64)]) -> Option<usize> {
        let clicked = || (0..totals.len().min(self.parent.len())).filter(|&place| totals[place].1 > 0);
        let clicks = |root: usize| -> u64 {
            clicked().filter(|&place| self.find(place) == root).map(|place| totals[place].1).sum()
        };
        let linked = |root: usize| clicked().filter(|&place| self.find(place) == root).count() > 1;
        let roots = clicked().map(|place| self.find(place)).filter(|&root| linked(root));
        let root = roots.max_by_key(|&root| (clicks(root), std::cmp::Reverse(root)))?;
        clicked().find(|&place| self.find(place) == root)
    }
}

#[cfg(test)]
mod tests;
