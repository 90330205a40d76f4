//! The loss of Palangi et al. 2015, eq. (3)–(5): for a pair r and its negatives j,
//! l_r = weight · log(1 + Σ_j exp(−γ (R(Q, D⁺) − R(Q, D_j⁻)))), R the cosine; summed over r. A teacher can
//! replace a share of it. Or noise-contrastive estimation, in `nce`.

mod divergence;
mod margin;
mod nce;

pub use self::divergence::Targets;
pub use self::margin::Margins;
pub use self::nce::EvenlyDrawn;

use self::divergence::Divergence;
use self::nce::{Contrast, cut};
use crate::math::Buffer;
use crate::math::activation::exp_slice;
use crate::math::gemm::{Left, gemm};
use crate::math::matrix::transpose;
use crate::math::vector::{add_scaled, dot, normalize};
use crate::text::batch::Lists;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The number of pairs, or of texts, in a task.
const CHUNK: usize = 64;

/// The loss that training lowers for each pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LossKind {
    /// Minus the logarithm of the clicked title's share in a softmax over it and its negatives, as in the papers.
    #[default]
    Softmax,
    /// Noise-contrastive estimation: each title is classified on its own, as clicked or drawn by chance.
    Nce,
}

/// The pairs of a minibatch, as rows of queries and titles.
#[derive(Debug, Default, Clone)]
pub struct Pairs {
    /// The clicked title of each query.
    pub positive: Vec<u32>,
    /// The factor of each pair's loss.
    pub weight: Vec<f32>,
    /// The negatives.
    pub negatives: NegativeRows,
    /// The teacher's cosines, if there is a teacher; only with [`NegativeRows::AllBut`].
    pub targets: Option<Targets>,
    /// The margins of a teacher's scores, if there are any; only with [`NegativeRows::AllBut`].
    pub margins: Option<Margins>,
    /// With [`LossKind::Nce`]: for each title, ln P_n, P_n being how likely it is as a negative. A factor that all titles share
    /// does not matter. Not together with a teacher.
    pub noise: Option<Vec<f32>>,
}

/// The negatives of each pair.
#[derive(Debug, Clone)]
pub enum NegativeRows {
    /// These titles.
    Listed(TitleLists),
    /// All titles except these, which include the clicked title.
    AllBut(TitleLists),
}

/// A list of titles for each pair.
pub type TitleLists = Lists<u32>;

/// The result of [`Loss::compute`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LossSum {
    /// Σ l_r
    pub loss: f64,
    /// Pairs without a negative, which have no loss.
    pub without_negatives: u64,
}

/// Working memory and results of the loss, reused from call to call.
#[derive(Debug, Default)]
pub struct Loss {
    /// ∂L/∂query embeddings, [pairs, L]
    pub query_gradient: Vec<f32>,
    /// ∂L/∂title embeddings, [titles, L]
    pub title_gradient: Vec<f32>,
    queries: Unit,
    titles: Unit,
    /// ∂L/∂cosine: [pairs, titles] with [`NegativeRows::AllBut`], otherwise one value for each listed negative.
    d_cosine: Vec<f32>,
    d_positive: Vec<f32>,
    sums: Vec<LossSum>,
    contrast: Contrast,
}

/// Vectors divided by their length.
#[derive(Debug, Default)]
struct Unit {
    vectors: Vec<f32>,
    lengths: Vec<f32>,
    transposed: Buffer,
}

impl Default for NegativeRows {
    fn default() -> NegativeRows {
        NegativeRows::Listed(TitleLists::default())
    }
}

impl Loss {
    /// Computes the loss of `pairs` over embeddings of `dimension` numbers, and stores its gradients.
    pub fn compute(&mut self, gamma: f32, queries: &[f32], titles: &[f32], dimension: usize, pairs: &Pairs) -> LossSum {
        let (query_vectors, title_vectors) = (&mut self.queries, &mut self.titles);
        rayon::join(|| query_vectors.fill(queries, dimension), || title_vectors.fill(titles, dimension));
        self.query_gradient.clear();
        self.query_gradient.resize(queries.len(), 0.0);
        self.title_gradient.clear();
        self.title_gradient.resize(titles.len(), 0.0);
        match (&pairs.negatives, &pairs.noise) {
            (NegativeRows::Listed(lists), None) => self.listed(gamma, dimension, pairs, lists),
            (NegativeRows::AllBut(lists), None) => self.all_but(gamma, dimension, pairs, lists),
            (NegativeRows::Listed(lists), Some(noise)) => {
                self.contrast_listed(gamma, dimension, pairs, noise, lists);
            }
            (NegativeRows::AllBut(lists), Some(noise)) => {
                self.contrast_all_but(gamma, dimension, pairs, noise, lists);
            }
        }
        let (query_gradient, title_gradient) = (&mut self.query_gradient, &mut self.title_gradient);
        rayon::join(|| self.queries.back(query_gradient, dimension), || self.titles.back(title_gradient, dimension));
        let mut total = LossSum::default();
        for sum in &self.sums {
            total.loss += sum.loss;
            total.without_negatives += sum.without_negatives;
        }
        total
    }

    /// Clears the sums that tasks fill in, for this many pairs and cosines.
    fn clear_sums(&mut self, pairs: usize, cosines: usize) {
        self.sums.clear();
        self.sums.resize(pairs, LossSum::default());
        self.d_positive.clear();
        self.d_positive.resize(pairs, 0.0);
        self.d_cosine.clear();
        self.d_cosine.resize(cosines, 0.0);
    }

    fn listed(&mut self, gamma: f32, dimension: usize, pairs: &Pairs, lists: &Lists<u32>) {
        self.clear_sums(pairs.positive.len(), lists.items.len());
        let (queries, titles) = (&self.queries.vectors, &self.titles.vectors);
        let of = |title: u32| &titles[title as usize * dimension..][..dimension];
        let run = |r: usize| lists.start[r] as usize..lists.start[r + 1] as usize;
        (
            cut(&mut self.d_cosine, pairs.positive.len(), &run),
            self.sums.par_chunks_mut(CHUNK),
            self.d_positive.par_chunks_mut(CHUNK),
            self.query_gradient.par_chunks_mut(CHUNK * dimension),
        )
            .into_par_iter()
            .enumerate()
            .for_each(|(chunk, (mut d_cosines, sums, d_positives, gradients))| {
                let first = chunk * CHUNK;
                let outs = sums.iter_mut().zip(d_positives).zip(gradients.chunks_exact_mut(dimension));
                for (r, ((sum, d_positive), gradient)) in (first..).zip(outs) {
                    let (query, positive, negatives) =
                        (&queries[r * dimension..][..dimension], pairs.positive[r], lists.get(r));
                    let (d_cosine, after) = d_cosines.split_at_mut(negatives.len());
                    d_cosines = after;
                    let cosine = dot(query, of(positive));
                    for (x, &title) in d_cosine.iter_mut().zip(negatives) {
                        *x = gamma * (dot(query, of(title)) - cosine);
                    }
                    let (loss, d) = softplus_of_sum(d_cosine, gamma * pairs.weight[r]);
                    *d_positive = d;
                    sum.loss = f64::from(pairs.weight[r]) * loss;
                    sum.without_negatives = u64::from(negatives.is_empty());
                    add_scaled(gradient, d, of(positive));
                    for (&d, &title) in d_cosine.iter().zip(negatives) {
                        add_scaled(gradient, d, of(title));
                    }
                }
            });
        self.add_to_titles(dimension, pairs, lists);
    }

    /// Fills the titles' gradients from `d_positive` and `d_cosine` of listed negatives.
    fn add_to_titles(&mut self, dimension: usize, pairs: &Pairs, lists: &Lists<u32>) {
        // Pairs share titles, so this adds up pair by pair, in order.
        for (r, &positive) in pairs.positive.iter().enumerate() {
            let query = &self.queries.vectors[r * dimension..][..dimension];
            let mut add = |title: u32, d| {
                add_scaled(&mut self.title_gradient[title as usize * dimension..][..dimension], d, query);
            };
            add(positive, self.d_positive[r]);
            let d_cosine = &self.d_cosine[lists.start[r] as usize..];
            lists.get(r).iter().zip(d_cosine).for_each(|(&title, &d)| add(title, d));
        }
    }

    fn all_but(&mut self, gamma: f32, dimension: usize, pairs: &Pairs, exceptions: &Lists<u32>) {
        let count = self.titles.lengths.len();
        self.clear_sums(pairs.positive.len(), pairs.positive.len() * count);
        if count == 0 {
            return;
        }
        let (queries, titles) = (&self.queries.vectors, &self.titles.vectors);
        transpose(titles, dimension, &mut self.titles.transposed);
        let transposed = &self.titles.transposed;
        (
            self.d_cosine.par_chunks_mut(CHUNK * count),
            self.sums.par_chunks_mut(CHUNK),
            queries.par_chunks(CHUNK * dimension),
            self.query_gradient.par_chunks_mut(CHUNK * dimension),
        )
            .into_par_iter()
            .enumerate()
            .for_each(|(chunk, (d_cosine, sums, queries, gradient))| {
                let n = sums.len();
                gemm((n, count, dimension), Left::rows(queries, dimension), (transposed, count), (d_cosine, count));
                let (mut divergence, mut margin_gradients) = (Divergence::default(), Vec::new());
                for (i, (row, sum)) in d_cosine.chunks_exact_mut(count).zip(sums).enumerate() {
                    let r = chunk * CHUNK + i;
                    let positive = pairs.positive[r] as usize;
                    let targets = pairs.targets.as_ref().filter(|targets| targets.shares[r] > 0.0);
                    let share = targets.map_or(0.0, |targets| targets.shares[r]);
                    let margins = pairs.margins.as_ref().filter(|margins| margins.share(r) > 0.0);
                    let margin_share = margins.map_or(0.0, |margins| margins.share(r));
                    let rest = pairs.weight[r] * (1.0 - margin_share);
                    let mut teacher_loss = targets.map_or(0.0, |targets| {
                        let weight = rest * share;
                        f64::from(weight) * divergence.compute(weight, row, targets, r)
                    });
                    if let Some(margins) = margins {
                        let weight = pairs.weight[r] * margin_share;
                        teacher_loss += f64::from(weight) * margins.compute(weight, row, r, &mut margin_gradients);
                    }
                    let cosine = row[positive];
                    for x in row.iter_mut() {
                        *x = gamma * (*x - cosine);
                    }
                    for &title in exceptions.get(r) {
                        row[title as usize] = f32::NEG_INFINITY;
                    }
                    let weight = rest * (1.0 - share);
                    let (loss, d_positive) = softplus_of_sum(row, gamma * weight);
                    row[positive] = d_positive;
                    sum.loss = f64::from(weight) * loss + teacher_loss;
                    if targets.is_some() {
                        add_scaled(row, 1.0, &divergence.gradient);
                    }
                    if let Some(margins) = margins {
                        for (&title, gradient) in margins.titles.get(r).iter().zip(&margin_gradients) {
                            row[title as usize] += gradient;
                        }
                    }
                    sum.without_negatives = u64::from(exceptions.get(r).len() >= count);
                }
                gemm((n, dimension, count), Left::rows(d_cosine, count), (titles, dimension), (gradient, dimension));
            });
        self.multiply_into_titles(dimension, pairs.positive.len());
    }

    /// Fills the titles' gradients from `d_cosine` of all pairs and titles.
    fn multiply_into_titles(&mut self, dimension: usize, pairs: usize) {
        let (d_cosine, count, queries) = (&self.d_cosine, self.titles.lengths.len(), &self.queries.vectors);
        self.title_gradient.par_chunks_mut(CHUNK * dimension).enumerate().for_each(|(chunk, gradient)| {
            let n = gradient.len() / dimension;
            let left = Left::transposed(&d_cosine[chunk * CHUNK..], count);
            gemm((n, dimension, pairs), left, (queries, dimension), (gradient, dimension));
        });
    }
}

/// Returns log(1 + Σ_j e^{x_j}) with x_j = −γΔ_j. Each x_j is replaced by `scale` times its derivative, and −∞ by 0. Also returns
/// minus the sum of these, which is the clicked title's share.
fn softplus_of_sum(x: &mut [f32], scale: f32) -> (f64, f32) {
    // Subtract the largest exponent (that of the 1 is 0), so that no γ overflows. NaN must propagate.
    let largest = x.iter().fold(0.0f32, |largest, &x| if x > largest || x.is_nan() { x } else { largest });
    if x.iter().all(|&x| x == f32::NEG_INFINITY) {
        x.fill(0.0);
        return (0.0, 0.0);
    }
    for x in x.iter_mut() {
        // Below −87 the exponential is limited and not zero; −∞ means "not a negative".
        *x -= largest;
    }
    let mut one = [-largest];
    exp_slice(&mut one);
    let excluded: f32 = -87.0;
    let mut sum = f64::from(one[0]);
    let mut lanes = [0.0f64; 8];
    for chunk in x.chunks_mut(8) {
        let keep: [bool; 8] = std::array::from_fn(|i| chunk.get(i).is_some_and(|&x| x >= excluded || x.is_nan()));
        exp_slice(chunk);
        for ((lane, x), keep) in lanes.iter_mut().zip(chunk.iter_mut()).zip(keep) {
            *x = if keep { *x } else { 0.0 };
            *lane += f64::from(*x);
        }
    }
    sum += lanes.iter().sum::<f64>();
    let factor = scale / sum as f32;
    let mut share = [0.0f32; 8];
    for chunk in x.chunks_mut(8) {
        for (share, x) in share.iter_mut().zip(chunk) {
            *x *= factor;
            *share += *x;
        }
    }
    (f64::from(largest) + sum.ln(), -share.iter().sum::<f32>())
}

impl Unit {
    fn fill(&mut self, vectors: &[f32], dimension: usize) {
        // Every number is overwritten.
        self.vectors.resize(vectors.len(), 0.0);
        self.lengths.resize(vectors.len() / dimension, 0.0);
        let units = self.vectors.par_chunks_mut(CHUNK * dimension).zip(self.lengths.par_chunks_mut(CHUNK));
        units.zip(vectors.par_chunks(CHUNK * dimension)).for_each(|((units, lengths), vectors)| {
            units.copy_from_slice(vectors);
            let units = units.chunks_exact_mut(dimension);
            lengths.iter_mut().zip(units).for_each(|(length, unit)| *length = normalize(unit));
        });
    }

    /// Turns ∂L/∂(unit vector) into ∂L/∂vector, (g − (g·u) u) / length. It is 0 for a zero vector, whose cosine with
    /// anything is 0.
    fn back(&self, gradient: &mut [f32], dimension: usize) {
        let chunks = gradient.par_chunks_mut(CHUNK * dimension).zip(self.vectors.par_chunks(CHUNK * dimension));
        chunks.zip(self.lengths.par_chunks(CHUNK)).for_each(|((gradient, units), lengths)| {
            let rows = gradient.chunks_exact_mut(dimension).zip(units.chunks_exact(dimension));
            for ((gradient, unit), &length) in rows.zip(lengths) {
                if length == 0.0 {
                    gradient.fill(0.0);
                    continue;
                }
                let along = dot(gradient, unit);
                add_scaled(gradient, -along, unit);
                let scale = 1.0 / length;
                gradient.iter_mut().for_each(|g| *g *= scale);
            }
        });
    }
}

#[cfg(test)]
mod tests;
