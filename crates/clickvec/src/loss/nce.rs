//! Noise-contrastive estimation, which Shen et al. 2014 (§4) name as an alternative to the softmax (Mnih & Kavukcuoglu 2013,
//! "Learning word embeddings efficiently with noise-contrastive estimation"). For each title by itself: was it clicked,
//! or is it one of k titles that are in the minibatch by chance? For a pair r,
//! l_r = −weight · [ln σ(Δ(Q, D⁺)) + Σ_j ln(1 − σ(Δ(Q, D_j⁻)))] with Δ(Q, D) = γ R(Q, D) + c − ln(k P_n(D)).
//!
//! P_n is the probability of a title as a negative, and c is −ln Z. Mnih & Kavukcuoglu leave c at 0, because their scores
//! can take any value and learn to be normalised. γ times a cosine cannot, so each minibatch has the c at which its own loss
//! is smallest. The loss is convex in c. Its derivative with respect to c is 0 there, so although c depends on the weights,
//! this adds nothing to the gradient (the envelope theorem). A factor of P_n that all titles share is absorbed by c.

use std::ops::Range;

use super::{CHUNK, Loss, LossSum, Pairs};
use crate::math::activation::{exp, exp_slice, ln, mul_add};
use crate::math::gemm::{Left, gemm};
use crate::math::level::by_level;
use crate::math::matrix::transpose;
use crate::math::vector::{add_scaled, dot};
use crate::ragged::Ragged;
use crate::text::batch::Lists;
use rayon::prelude::*;

/// The pairs of a minibatch between two passes over its titles. Negatives are numbers elsewhere: Δ − c, one run for each pair.
#[derive(Debug, Default)]
pub(super) struct Contrast {
    /// Δ − c of the clicked titles.
    clicked: Vec<f32>,
    /// The pairs' weights, 0 for a pair without negatives.
    weight: Vec<f32>,
}

/// Clicked pairs with negatives that were drawn evenly from all titles, so that P_n is the same for all.
#[derive(Debug, Default)]
pub struct EvenlyDrawn {
    contrast: Contrast,
    /// Δ − c of each pair's negatives.
    deltas: Ragged<f32>,
}

/// Sums over the pairs of a minibatch, each times its weight.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    /// Σ 1 − σ(Δ) over clicked titles, and minus its derivative with respect to c.
    clicked: [f64; 2],
    /// Σ σ(Δ) over negatives, and its derivative with respect to c.
    negatives: [f64; 2],
}

impl Loss {
    /// Computes [`Loss::listed`] for this loss. `noise` has ln P_n of each title.
    pub(super) fn contrast_listed(
        &mut self,
        gamma: f32,
        size: usize,
        pairs: &Pairs,
        noise: &[f32],
        lists: &Lists<u32>,
    ) {
        self.clear_sums(pairs.positive.len(), lists.items.len());
        let (queries, titles) = (&self.queries.vectors, &self.titles.vectors);
        let of = |title: u32| &titles[title as usize * size..][..size];
        self.contrast.begin(pairs, |r| lists.get(r).len());
        let run = |r: usize| lists.start[r] as usize..lists.start[r + 1] as usize;
        let runs = cut(&mut self.d_cosine, pairs.positive.len(), &run);
        (runs, self.contrast.clicked.par_chunks_mut(CHUNK)).into_par_iter().enumerate().for_each(
            |(chunk, (mut deltas, clicked))| {
                for (r, clicked) in (chunk * CHUNK..).zip(clicked) {
                    let (query, list) = (&queries[r * size..][..size], lists.get(r));
                    let log_count = (list.len().max(1) as f32).ln();
                    let delta = |title: u32| gamma * dot(query, of(title)) - noise[title as usize] - log_count;
                    *clicked = delta(pairs.positive[r]);
                    let (own, after) = deltas.split_at_mut(list.len());
                    deltas = after;
                    own.iter_mut().zip(list).for_each(|(x, &title)| *x = delta(title));
                }
            },
        );
        let c = self.contrast.normalizer(&self.d_cosine, &run);
        let (contrast, runs) = (&self.contrast, cut(&mut self.d_cosine, pairs.positive.len(), &run));
        (
            runs,
            self.sums.par_chunks_mut(CHUNK),
            self.d_positive.par_chunks_mut(CHUNK),
            self.query_gradient.par_chunks_mut(CHUNK * size),
        )
            .into_par_iter()
            .enumerate()
            .for_each(|(chunk, (mut deltas, sums, d_positives, gradients))| {
                let outs = sums.iter_mut().zip(d_positives).zip(gradients.chunks_exact_mut(size));
                for (r, ((sum, d_positive), gradient)) in (chunk * CHUNK..).zip(outs) {
                    let list = lists.get(r);
                    let (own, after) = deltas.split_at_mut(list.len());
                    deltas = after;
                    (*sum, *d_positive) = contrast.finish(r, own, c, gamma);
                    sum.without_negatives = u64::from(list.is_empty());
                    add_scaled(gradient, *d_positive, of(pairs.positive[r]));
                    own.iter().zip(list).for_each(|(&d, &title)| add_scaled(gradient, d, of(title)));
                }
            });
        self.add_to_titles(size, pairs, lists);
    }

    /// Computes [`Loss::all_but`] for this loss. `noise` has ln P_n of each title.
    pub(super) fn contrast_all_but(
        &mut self,
        gamma: f32,
        size: usize,
        pairs: &Pairs,
        noise: &[f32],
        exceptions: &Lists<u32>,
    ) {
        let count = self.titles.lengths.len();
        self.clear_sums(pairs.positive.len(), pairs.positive.len() * count);
        if count == 0 {
            return;
        }
        let (queries, titles) = (&self.queries.vectors, &self.titles.vectors);
        transpose(titles, size, &mut self.titles.transposed);
        let transposed = &self.titles.transposed;
        let left = |r: usize| count.saturating_sub(exceptions.get(r).len());
        self.contrast.begin(pairs, left);
        (
            self.d_cosine.par_chunks_mut(CHUNK * count),
            self.contrast.clicked.par_chunks_mut(CHUNK),
            queries.par_chunks(CHUNK * size),
        )
            .into_par_iter()
            .enumerate()
            .for_each(|(chunk, (rows, clicked, queries))| {
                let n = clicked.len();
                gemm((n, count, size), Left::rows(queries, size), (transposed, count), (rows, count));
                for (r, (row, clicked)) in (chunk * CHUNK..).zip(rows.chunks_exact_mut(count).zip(clicked)) {
                    let log_count = (left(r).max(1) as f32).ln();
                    for (x, noise) in row.iter_mut().zip(noise) {
                        *x = gamma * *x - noise - log_count;
                    }
                    *clicked = row[pairs.positive[r] as usize];
                    exceptions.get(r).iter().for_each(|&title| row[title as usize] = f32::NEG_INFINITY);
                }
            });
        let c = self.contrast.normalizer(&self.d_cosine, &|r| r * count..(r + 1) * count);
        let contrast = &self.contrast;
        (
            self.d_cosine.par_chunks_mut(CHUNK * count),
            self.sums.par_chunks_mut(CHUNK),
            self.query_gradient.par_chunks_mut(CHUNK * size),
        )
            .into_par_iter()
            .enumerate()
            .for_each(|(chunk, (rows, sums, gradient))| {
                let n = sums.len();
                for (r, (row, sum)) in (chunk * CHUNK..).zip(rows.chunks_exact_mut(count).zip(sums)) {
                    let d_positive;
                    (*sum, d_positive) = contrast.finish(r, row, c, gamma);
                    sum.without_negatives = u64::from(left(r) == 0);
                    row[pairs.positive[r] as usize] = d_positive;
                }
                gemm((n, size, count), Left::rows(rows, count), (titles, size), (gradient, size));
            });
        self.multiply_into_titles(size, pairs.positive.len());
    }
}

/// Cuts the runs of all pairs, which have different lengths, into those of each task.
pub(super) fn cut<'a>(
    mut rest: &'a mut [f32],
    pairs: usize,
    run: &impl Fn(usize) -> Range<usize>,
) -> Vec<&'a mut [f32]> {
    let mut parts = Vec::with_capacity(pairs.div_ceil(CHUNK));
    for first in (0..pairs).step_by(CHUNK) {
        let last = (first + CHUNK).min(pairs) - 1;
        let (part, after) = rest.split_at_mut(run(last).end - run(first).start);
        parts.push(part);
        rest = after;
    }
    parts
}

impl Contrast {
    /// Begins a minibatch. `negatives` is the number of negatives of a pair.
    fn begin(&mut self, pairs: &Pairs, negatives: impl Fn(usize) -> usize) {
        self.clicked.clear();
        self.clicked.resize(pairs.positive.len(), 0.0);
        self.weight.clear();
        let weights = pairs.weight.iter().enumerate();
        self.weight.extend(weights.map(|(r, &weight)| if negatives(r) == 0 { 0.0 } else { weight }));
    }

    /// Returns the c at which the loss is smallest: there, the clicked titles taken for noise are as many as the negatives
    /// taken for clicked, Σ 1 − σ(Δ⁺) = Σ σ(Δ⁻). `run` is where a pair has its negatives in `deltas`.
    ///
    /// Newton's method on the logarithm of their quotient, which is nearly a straight line: some six steps. Where it leads
    /// far away or out of the bounds known so far, these are halved, or looked for. The sums of tasks are added up in order, so
    /// threads change nothing. NaN if a Δ is.
    fn normalizer(&self, deltas: &[f32], run: &(impl Fn(usize) -> Range<usize> + Sync)) -> f32 {
        let both = || self.weight.iter().zip(&self.clicked).map(|(&w, &x)| (f64::from(w), f64::from(x)));
        let weight: f64 = both().map(|(weight, _)| weight).sum();
        if weight == 0.0 {
            return 0.0;
        }
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let (mut c, mut reach) = (-both().map(|(weight, x)| weight * x).sum::<f64>() / weight, 8.0f64);
        for _ in 0..200 {
            let Sums { clicked, negatives } = self.sums(c as f32, deltas, run);
            let value = (negatives[0] / clicked[0]).ln();
            if value.is_nan() {
                return f32::NAN;
            }
            if value > 0.0 {
                high = c;
            } else {
                low = c;
            }
            let slope = negatives[1] / negatives[0] + clicked[1] / clicked[0];
            let step = -value / slope.max(1e-9);
            // The method is quadratic, so what the next step would change is below the precision of Δ.
            if step.abs() < 1e-4 {
                return (c + step) as f32;
            }
            let newton = c + step;
            let next = if step.abs() <= NEWTON && low < newton && newton < high {
                newton
            } else if low.is_finite() && high.is_finite() {
                low.midpoint(high)
            } else {
                reach *= 2.0;
                c + reach.copysign(step)
            };
            if next as f32 == c as f32 {
                break;
            }
            c = next;
        }
        c as f32
    }

    fn sums(&self, c: f32, deltas: &[f32], run: &(impl Fn(usize) -> Range<usize> + Sync)) -> Sums {
        let tasks = self.clicked.par_chunks(CHUNK).zip(self.weight.par_chunks(CHUNK)).enumerate();
        let parts: Vec<Sums> = tasks
            .map(|(chunk, (clicked, weights))| {
                let mut sums = Sums::default();
                let mut clicked_terms = [0.0; CHUNK];
                let clicked_terms = &mut clicked_terms[..clicked.len()];
                clicked_terms.iter_mut().zip(clicked).for_each(|(x, &clicked)| *x = -(clicked + c));
                exp_slice(clicked_terms);
                for ((r, &weight), &x) in (chunk * CHUNK..).zip(weights).zip(&*clicked_terms) {
                    let (weight, x) = (f64::from(weight), f64::from(x));
                    let wrong = x / (1.0 + x);
                    sums.clicked[0] += weight * wrong;
                    sums.clicked[1] += weight * wrong / (1.0 + x);
                    let [sum, slope] = logistic_sums(&deltas[run(r)], c);
                    sums.negatives[0] += weight * sum;
                    sums.negatives[1] += weight * slope;
                }
                sums
            })
            .collect();
        let mut all = Sums::default();
        for part in parts {
            for i in 0..2 {
                all.clicked[i] += part.clicked[i];
                all.negatives[i] += part.negatives[i];
            }
        }
        all
    }

    /// Returns the loss of a pair, and its derivative with respect to the cosine of the clicked title. Each Δ − c of a
    /// negative is replaced by the derivative with respect to its cosine, and −∞ by 0.
    fn finish(&self, r: usize, deltas: &mut [f32], c: f32, gamma: f32) -> (LossSum, f32) {
        let scale = gamma * self.weight[r];
        let mut wrong = [-self.clicked[r]];
        let clicked_loss = logistic_losses(&mut wrong, -c, 1.0);
        let loss = clicked_loss + logistic_losses(deltas, c, scale);
        (LossSum { loss: f64::from(self.weight[r]) * loss, without_negatives: 0 }, -scale * wrong[0])
    }
}

impl EvenlyDrawn {
    /// Adds a pair, from γ times the cosines of its clicked title and of its negatives, of which there is at least one.
    pub fn push(&mut self, clicked: f64, negatives: impl ExactSizeIterator<Item = f64>) {
        let log_count = (negatives.len() as f64).ln();
        self.contrast.clicked.push((clicked - log_count) as f32);
        self.contrast.weight.push(1.0);
        self.deltas.push(negatives.map(|x| (x - log_count) as f32));
    }

    /// Returns the number of pairs.
    pub fn len(&self) -> usize {
        self.deltas.len()
    }

    /// Returns whether [`Self::len`] is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the loss of all pairs, which are removed.
    pub fn take_loss(&mut self) -> f64 {
        let EvenlyDrawn { contrast, mut deltas } = std::mem::take(self);
        let c = contrast.normalizer(deltas.items(), &|r| deltas.range(r));
        (0..deltas.len()).map(|r| contrast.finish(r, deltas.get_mut(r), c, 1.0).0.loss).sum()
    }
}

/// The longest step of Newton's method. Beyond it exponentials are at their limits, and their slopes say little.
const NEWTON: f64 = 30.0;
/// The number of values whose exponentials are stored at a time.
const BLOCK: usize = 256;
/// The number of separate sums: enough for the widest registers, and the same at every level.
const LANES: usize = 16;

#[inline(always)]
fn logistic_sums_body<const FMA: bool>(x: &[f32], shift: f32) -> [f64; 2] {
    let (mut sum, mut slope) = (0.0, 0.0);
    let mut block = [0.0f32; BLOCK];
    for x in x.chunks(BLOCK) {
        for (e, &x) in block.iter_mut().zip(x) {
            *e = exp::<FMA>(x + shift);
        }
        block[x.len()..].fill(0.0);
        let (mut sums, mut slopes) = ([0.0f32; LANES], [0.0f32; LANES]);
        for e in block.as_chunks::<LANES>().0.iter().take(x.len().div_ceil(LANES)) {
            for i in 0..LANES {
                let one_minus = 1.0 / (1.0 + e[i]);
                let y = e[i] * one_minus;
                sums[i] += y;
                slopes[i] = mul_add::<FMA>(y, one_minus, slopes[i]);
            }
        }
        sum += sums.iter().map(|&x| f64::from(x)).sum::<f64>();
        slope += slopes.iter().map(|&x| f64::from(x)).sum::<f64>();
    }
    [sum, slope]
}

by_level! {
    /// Returns Σ σ(xᵢ + shift) and its derivative with respect to shift. −∞ adds nearly 0 to either.
    fn logistic_sums(x: &[f32], shift: f32) -> [f64; 2] = logistic_sums_body
}

#[inline(always)]
fn logistic_losses_body<const FMA: bool>(x: &mut [f32], shift: f32, scale: f32) -> f64 {
    let mut total = 0.0;
    let mut block = [0.0f32; BLOCK];
    for x in x.chunks_mut(BLOCK) {
        for (loss, x) in block.iter_mut().zip(&mut *x) {
            let y = *x + shift;
            // With e^−|y| nothing overflows: ln(1 + e^y) is max(y, 0) + ln(1 + e^−|y|).
            let e = exp::<FMA>(-y.abs());
            let u = 1.0 + e;
            let share = 1.0 / u;
            // What rounding took from u is put back, so that a small e counts in full.
            *loss = ln::<FMA>(u) + (e - (u - 1.0)) * share + if y > 0.0 { y } else { 0.0 };
            let slope = if y >= 0.0 { share } else { e * share };
            // Below −87 the exponential is limited and not zero; −∞ means "not a negative". NaN must propagate.
            *x = if y < -87.0 { 0.0 } else { scale * slope };
        }
        block[x.len()..].fill(0.0);
        let mut sums = [0.0f32; LANES];
        for losses in block.as_chunks::<LANES>().0.iter().take(x.len().div_ceil(LANES)) {
            for i in 0..LANES {
                sums[i] += losses[i];
            }
        }
        total += sums.iter().map(|&x| f64::from(x)).sum::<f64>();
    }
    total
}

by_level! {
    /// Returns Σ ln(1 + e^(xᵢ + shift)). Each xᵢ is replaced by `scale` times its derivative, and −∞ by 0.
    fn logistic_losses(x: &mut [f32], shift: f32, scale: f32) -> f64 = logistic_losses_body
}

#[cfg(test)]
mod tests;
