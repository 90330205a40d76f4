//! The loss of a teacher's scores: for a query with scored titles i, the variance over i of γ cosine_i − score_i. That is half
//! the mean squared difference of margins, (γ cosine_i − γ cosine_j) − (score_i − score_j), over all pairs of titles, each with
//! itself too.

use super::TitleLists;

/// A teacher's scores for a minibatch.
#[derive(Debug, Clone, Default)]
pub struct Margins {
    /// The factor of the model's cosines.
    pub gamma: f32,
    /// The share of the loss of a pair that has scores.
    pub share: f32,
    /// For each pair, the scored titles of its query; none or at least two.
    pub titles: TitleLists,
    /// Their scores, one list after the other.
    pub scores: Vec<f32>,
}

impl Margins {
    /// Removes everything.
    pub fn clear(&mut self) {
        self.titles.clear();
        self.scores.clear();
    }

    /// Returns the share of a pair's loss.
    pub(super) fn share(&self, pair: usize) -> f32 {
        if self.titles.get(pair).is_empty() { 0.0 } else { self.share }
    }

    /// Fills the gradient of `weight` times the loss of a pair, one number for each of its scored titles, and returns the
    /// loss.
    pub(super) fn compute(&self, weight: f32, cosines: &[f32], pair: usize, gradient: &mut Vec<f32>) -> f64 {
        let titles = self.titles.get(pair);
        let first = self.titles.start[pair] as usize;
        let n = titles.len() as f32;
        gradient.clear();
        let scores = &self.scores[first..first + titles.len()];
        gradient.extend(titles.iter().zip(scores).map(|(&title, score)| self.gamma * cosines[title as usize] - score));
        let mean = gradient.iter().sum::<f32>() / n;
        let mut squares = 0.0;
        for x in gradient.iter_mut() {
            *x -= mean;
            squares += f64::from(*x).powi(2);
            *x *= 2.0 * self.gamma * weight / n;
        }
        squares / f64::from(n)
    }
}
