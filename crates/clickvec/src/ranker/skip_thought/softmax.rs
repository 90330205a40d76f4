//! The softmax over all words or over a sample, with its gradient.

use crate::math::Buffer;
use crate::math::activation::exp;
use crate::math::gemm::{Left, gemm, gemm_into};
use crate::math::level::by_level;
use crate::math::matrix::transpose;
use crate::math::vector::add;

/// The number of rows whose scores are in memory at once, so that they stay in the cache.
const ROWS: usize = 128;

/// The words of a minibatch's softmax.
///
/// These are all words, or a sample that includes the minibatch's own words. Word w is in the sample with probability
/// π(w), so its score is v_w·h + b_w − ln π(w) (sampled softmax: Jean et al. 2015, "On using very large target
/// vocabulary for neural machine translation"). The scores of frequent words, which are always in the sample, stay as
/// they are.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// The numbers of the words, ascending.
    pub(super) words: Vec<u32>,
    /// v: [candidates, units]
    rows: Buffer,
    /// vᵀ
    columns: Buffer,
    /// b − ln π
    bias: Buffer,
    units: usize,
}

/// The gradient of [`Candidates`].
#[derive(Debug, Default)]
pub(super) struct CandidateGradient {
    /// [candidates, units]
    pub(super) rows: Buffer,
    /// [candidates]
    pub(super) bias: Buffer,
}

impl Candidates {
    /// Candidates with bias b and probabilities `presence` (π), which are 1 if every word is a candidate.
    pub(super) fn new(words: Vec<u32>, output: &[f32], bias: &[f32], presence: impl Fn(u32) -> f64) -> Candidates {
        let units = output.len() / bias.len();
        let mut rows = Buffer::zeros(words.len() * units);
        for (row, &word) in rows.chunks_exact_mut(units).zip(&words) {
            row.copy_from_slice(&output[word as usize * units..][..units]);
        }
        let corrected = words.iter().map(|&word| bias[word as usize] - presence(word).ln() as f32).collect::<Vec<_>>();
        let mut columns = Buffer::default();
        transpose(&rows, units, &mut columns);
        Candidates { words, rows, columns, bias: corrected.into(), units }
    }

    /// A gradient of zeros.
    pub(super) fn gradient(&self) -> CandidateGradient {
        CandidateGradient { rows: Buffer::zeros(self.rows.len()), bias: Buffer::zeros(self.words.len()) }
    }

    /// The sum of −log P(target | state) over all rows of `states`; `targets` are positions in `words`. Sets `errors`
    /// to the gradient of `weight` times this sum with respect to the states.
    pub(super) fn loss(
        &self,
        states: &[f32],
        targets: &[u32],
        weight: f32,
        errors: &mut Buffer,
        gradient: &mut CandidateGradient,
    ) -> f64 {
        let (units, count) = (self.units, self.words.len());
        errors.resize(states.len());
        let mut scores = Buffer::default();
        let mut loss = 0.0;
        let parts = states.chunks(ROWS * units).zip(targets.chunks(ROWS)).zip(errors.chunks_mut(ROWS * units));
        for ((states, targets), errors) in parts {
            let rows = targets.len();
            scores.resize(rows * count);
            gemm_into((rows, count, units), Left::rows(states, units), (&self.columns, count), (&mut scores, count));
            for (row, &target) in scores.chunks_exact_mut(count).zip(targets) {
                let target = target as usize;
                let own = row[target] + self.bias[target];
                let (greatest, sum) = exponentials(row, &self.bias);
                loss += f64::from(greatest - own) + f64::from(sum).ln();
                scale(row, weight / sum);
                row[target] -= weight;
                add(&mut gradient.bias, row);
            }
            gemm_into((rows, units, count), Left::rows(&scores, count), (&self.rows, units), (errors, units));
            let sizes = (count, units, rows);
            gemm(sizes, Left::transposed(&scores, count), (states, units), (&mut gradient.rows, units));
        }
        loss
    }
}

by_level! {
    /// Replaces scores by exp(score + bias − the greatest of these sums). Returns the greatest and the sum.
    fn exponentials(scores: &mut [f32], bias: &[f32]) -> (f32, f32) = exponentials_body
}

/// The number of partial sums: the same order at every level, and enough for the registers.
const LANES: usize = 32;

#[inline(always)]
fn exponentials_body<const FMA: bool>(scores: &mut [f32], bias: &[f32]) -> (f32, f32) {
    let mut greatest = [f32::NEG_INFINITY; LANES];
    for (scores, bias) in scores.chunks_mut(LANES).zip(bias.chunks(LANES)) {
        for ((score, &bias), greatest) in scores.iter_mut().zip(bias).zip(&mut greatest) {
            *score += bias;
            *greatest = if *score > *greatest { *score } else { *greatest };
        }
    }
    let greatest = greatest.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sums = [0.0f32; LANES];
    for scores in scores.chunks_mut(LANES) {
        for (score, sum) in scores.iter_mut().zip(&mut sums) {
            *score = exp::<FMA>(*score - greatest);
            *sum += *score;
        }
    }
    (greatest, sums.iter().sum())
}

by_level! {
    fn scale(x: &mut [f32], by: f32) = scale_body
}

#[inline(always)]
fn scale_body<const FMA: bool>(x: &mut [f32], by: f32) {
    x.iter_mut().for_each(|x| *x *= by);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_computed_softmax() {
        // Scores 1, 2 and 0.5 + ln 2, because the last word is in the sample half the time.
        let output = [1.0, 0.0, 0.0, 9.0, 2.0, 0.0, 0.0, 0.0];
        let candidates =
            Candidates::new(vec![0, 2, 3], &output, &[0.0, 0.0, 0.0, 0.5], |word| if word == 3 { 0.5 } else { 1.0 });
        let (mut errors, mut gradient) = (Buffer::default(), candidates.gradient());
        let loss = candidates.loss(&[1.0, 3.0], &[1], 0.5, &mut errors, &mut gradient);
        let e = [1f64.exp(), 2f64.exp(), 2.0 * 0.5f64.exp()];
        let sum: f64 = e.iter().sum();
        assert!((loss + (e[1] / sum).ln()).abs() < 1e-6, "{loss}");
        let p = e.map(|e| e / sum);
        let error = 0.5 * (p[0] * 1.0 + (p[1] - 1.0) * 2.0);
        assert!((f64::from(errors[0]) - error).abs() < 1e-6 && errors[1] == 0.0, "{errors:?} {error}");
        let expected = [0.5 * p[0], 0.5 * (p[1] - 1.0), 0.5 * p[2]];
        for (i, expected) in expected.into_iter().enumerate() {
            assert!((f64::from(gradient.bias[i]) - expected).abs() < 1e-6);
            assert!((f64::from(gradient.rows[2 * i + 1]) - 3.0 * expected).abs() < 1e-6);
        }
    }
}
