//! Users, who look at a list of titles and click.

use rand::RngExt as _;
use serde::Serialize;

use super::market::Rng;

/// The number of titles in a list.
pub(super) const SHOWN: usize = 10;
/// The standard deviation of the error that the logging engine adds to a grade.
const ENGINE_ERROR: f64 = 1.2;

/// The position-based model: P(click) = P(examined | rank) · P(click | examined, grade).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct ClickModel {
    /// The probability of examination by rank, starting at the first rank.
    pub(super) examination: [f64; SHOWN],
    /// The probability of a click on an examined title, by grade.
    pub(super) attraction: [f64; 5],
}

impl ClickModel {
    /// Creates a model with examination r^−η and attraction ε + (1 − ε)(2^g − 1) / 15.
    pub(super) fn new(eta: f64, noise: f64) -> ClickModel {
        ClickModel {
            examination: std::array::from_fn(|rank| (rank as f64 + 1.0).powf(-eta)),
            attraction: std::array::from_fn(|grade| noise + (1.0 - noise) * (f64::from(1 << grade) - 1.0) / 15.0),
        }
    }

    /// Draws whether a title of this grade at this rank (from 0) is clicked.
    pub(super) fn clicks(&self, rank: usize, grade: u8, rng: &mut Rng) -> bool {
        rng.random::<f64>() < self.examination[rank] * self.attraction[usize::from(grade)]
    }
}

/// Returns the engine's estimate of a title's grade before its error: the true grade if it is unbiased (0), and only whether the
/// title sells best if it is fully biased (1).
pub(super) fn seeming_grade(grade: u8, sells_best: bool, bias: f64) -> f64 {
    (1.0 - bias) * f64::from(grade) + bias * if sells_best { 4.0 } else { 0.0 }
}

/// Ranks the candidates as an engine would show them: best first as far as it can tell, without repetitions. `judge` returns a
/// title's true grade, and the engine's estimate before its error.
pub(super) fn rank(
    candidates: &mut Vec<u32>,
    judge: impl Fn(u32) -> (u8, f64),
    rng: &mut Rng,
    list: &mut Vec<(u32, u8)>,
) {
    candidates.sort_unstable();
    candidates.dedup();
    let mut scored: Vec<(f64, u32, u8)> = candidates
        .iter()
        .map(|&title| {
            let (grade, seeming) = judge(title);
            // The sum of 4 uniform numbers has a variance of 1/3.
            let error = (0..4).map(|_| rng.random::<f64>()).sum::<f64>() - 2.0;
            (seeming + ENGINE_ERROR * 3f64.sqrt() * error, title, grade)
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    list.clear();
    list.extend(scored.into_iter().take(SHOWN).map(|(_, title, grade)| (title, grade)));
}
