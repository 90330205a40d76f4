//! The teacher's part of the loss: for a pair r, share · weight · KL(p ‖ q), where p and q are the softmax over the titles
//! of γ times the teacher's and of γ times the model's cosines.

use crate::math::Buffer;
use crate::math::activation::exp_slice;

/// The teacher's cosines for a minibatch, which the model learns to imitate.
#[derive(Debug, Default, Clone)]
pub struct Targets {
    /// The factor that multiplies the teacher's and the model's cosines before the softmax.
    pub gamma: f32,
    /// The teacher's share of the loss of each pair; 0 if the teacher has no vector of its text.
    pub shares: Vec<f32>,
    /// For each title, whether the teacher has a vector of it.
    pub known: Vec<bool>,
    /// [pairs, titles]: the teacher's cosine of each pair's text and each title.
    pub cosines: Vec<f32>,
    /// Working memory: the teacher's vectors of the pairs' texts and of the titles.
    pub(crate) pair_vectors: Vec<f32>,
    pub(crate) title_vectors: Vec<f32>,
    pub(crate) transposed: Buffer,
}

/// KL(p ‖ q) of one pair, and its gradient.
#[derive(Debug, Default)]
pub(super) struct Divergence {
    /// ∂/∂cosine of each title, times the weight.
    pub(super) gradient: Vec<f32>,
    teacher: Vec<f32>,
}

impl Targets {
    /// Returns the teacher's cosines of a pair's text with all titles.
    fn cosines(&self, pair: usize) -> &[f32] {
        &self.cosines[pair * self.known.len()..][..self.known.len()]
    }
}

impl Divergence {
    /// Computes the gradient of `weight` · KL for a pair with these `cosines` of the model, and returns KL.
    pub(super) fn compute(&mut self, weight: f32, cosines: &[f32], targets: &Targets, pair: usize) -> f64 {
        let Targets { gamma, known, .. } = targets;
        let teachers = targets.cosines(pair);
        let model_log_sum = softmax(*gamma, cosines, known, &mut self.gradient);
        let teacher_log_sum = softmax(*gamma, teachers, known, &mut self.teacher);
        // ln p − ln q = γ (teacher's − model's cosine) − (ln of one sum − ln of the other).
        let mut mean = 0.0;
        let both = self.gradient.iter_mut().zip(&self.teacher);
        for ((q, &p), (&ours, &theirs)) in both.zip(cosines.iter().zip(teachers)) {
            mean += f64::from(p) * f64::from(theirs - ours);
            *q = gamma * weight * (*q - p);
        }
        f64::from(*gamma) * mean - teacher_log_sum + model_log_sum
    }
}

/// Fills `out` with the softmax of γ · `cosines` over the known titles, and 0 for the others. Returns the logarithm of the
/// sum. A NaN stays a NaN.
fn softmax(gamma: f32, cosines: &[f32], known: &[bool], out: &mut Vec<f32>) -> f64 {
    let mut largest = f32::NEG_INFINITY;
    for (&x, &known) in cosines.iter().zip(known) {
        if known && (x > largest || x.is_nan()) {
            largest = x;
        }
    }
    out.clear();
    // An unknown title gets a finite exponential here, which is set to 0 below.
    out.extend(cosines.iter().zip(known).map(|(&x, &known)| if known { gamma * (x - largest) } else { 0.0 }));
    exp_slice(out);
    let mut lanes = [0.0f64; 8];
    for (chunk, known) in out.chunks_mut(8).zip(known.chunks(8)) {
        for ((lane, x), &known) in lanes.iter_mut().zip(chunk).zip(known) {
            *x = if known { *x } else { 0.0 };
            *lane += f64::from(*x);
        }
    }
    let sum = lanes.iter().sum::<f64>();
    let scale = (1.0 / sum) as f32;
    out.iter_mut().for_each(|x| *x *= scale);
    f64::from(gamma * largest) + sum.ln()
}
