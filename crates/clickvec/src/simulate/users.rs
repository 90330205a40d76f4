//! How a user looks at a list of titles and clicks.

use rand::RngExt as _;
use serde::Serialize;

use super::market::Rng;

/// Titles in a list.
pub(super) const SHOWN: usize = 10;
/// The error of the engine that made the log: the standard deviation of what it adds to a grade.
const ENGINE_ERROR: f64 = 1.2;

/// The position-based model: P(click) = P(examined | rank) · P(click | examined, grade).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct ClickModel {
    /// The probability by rank, the first rank first.
    pub(super) examination: [f64; SHOWN],
    /// The probability by grade.
    pub(super) attraction: [f64; 5],
}

impl ClickModel {
    /// Examination r^−η, attraction ε + (1 − ε)(2^g − 1) / 15.
    pub(super) fn new(eta: f64, noise: f64) -> ClickModel {
        ClickModel {
            examination: std::array::from_fn(|rank| (rank as f64 + 1.0).powf(-eta)),
            attraction: std::array::from_fn(|grade| noise + (1.0 - noise) * (f64::from(1 << grade) - 1.0) / 15.0),
        }
    }

    /// Whether the title of this grade at this rank, counted from 0, is clicked.
    pub(super) fn clicks(&self, rank: usize, grade: u8, rng: &mut Rng) -> bool {
        rng.random::<f64>() < self.examination[rank] * self.attraction[usize::from(grade)]
    }
}

/// The engine's own estimate of a title's grade, before it errs: the true grade if it is not biased (0); if it is fully
/// biased (1), only whether the title sells best.
pub(super) fn seeming_grade(grade: u8, sells_best: bool, bias: f64) -> f64 {
    (1.0 - bias) * f64::from(grade) + bias * if sells_best { 4.0 } else { 0.0 }
}

/// Makes the list that an engine would show: the best first as far as it can tell, none twice. `judge` gives a title's true
/// grade, and the one that the engine takes it for before it errs.
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
