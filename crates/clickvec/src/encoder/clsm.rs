//! The CLSM of Shen et al. 2014: windows of n = 2d + 1 words, h_t = tanh(W_c l_t + b_c),
//! v = max_t h_t, y = tanh(W_s v + b_s).
//!
//! W_c is stored as one row a trigram, [features + 1, n·K]: the n places in the window side by
//! side. A distinct word is projected once for all places it can take; the convolution is then a
//! sum of n vectors and needs no product. The last row is the padding word `<s>`.

use super::input::{Input, gather_gradient, place_embeddings, split_by_block};
use super::{
    BlockScratch, Bptt, Encoder, Gradients, Group, States, Tensor, TensorKind, Trace, for_each_block, reduce_blocks,
};
use crate::math::activation::tanh_slice;
use crate::math::gemm::{Left, gemm};
use crate::math::{Buffer, Matrix, vector};
use crate::text::batch::{Batch, Block};
use rayon::prelude::*;

const CONVOLUTION: usize = 0;
const PADDING: usize = 1;
const SEMANTIC: usize = 2;
/// Present only with biases: b_c, then b_s.
const CONVOLUTION_BIAS: usize = 3;
const SEMANTIC_BIAS: usize = 4;

/// A convolution over windows of words, a maximum over the text, and one more layer.
pub struct Clsm {
    /// n: words in a window.
    window: usize,
    /// K: units of the convolution.
    units: usize,
    /// L: size of the embedding.
    dimension: usize,
    tensors: Vec<Tensor>,
}

/// The states of a CLSM over a batch.
#[derive(Debug, Default)]
pub struct ClsmTrace {
    /// One for each block.
    pub blocks: Vec<ClsmBlockTrace>,
}

/// The states of a CLSM over a block.
#[derive(Debug, Default)]
pub struct ClsmBlockTrace {
    /// W_c l_t + b_c before tanh, [rows, K]; h_t is its tanh.
    pub windows: Buffer,
    /// v, [texts of the block, K]
    pub pooled: Buffer,
    /// The word (step) at whose window each unit of v was largest, the first if several,
    /// [texts of the block, K].
    pub winners: Vec<u32>,
    /// y, [texts of the block, L]
    pub semantic: Buffer,
}

impl Clsm {
    /// All weights zero.
    pub fn new(features: usize, window: usize, units: usize, dimension: usize, bias: bool) -> Clsm {
        let places = |stem: &str| {
            (0..window).map(|place| Group { name: format!("{stem}.{place}"), width: units }).collect::<Vec<_>>()
        };
        let mut tensors = vec![
            Tensor::new(TensorKind::Table, places("wc"), Matrix::zeros(features, window * units)),
            Tensor::new(TensorKind::Dense, places("wc.padding"), Matrix::zeros(1, window * units)),
            Tensor::zeros(TensorKind::Dense, units, &["ws"], dimension),
        ];
        if bias {
            tensors.push(Tensor::zeros(TensorKind::Dense, 1, &["bc"], units));
            tensors.push(Tensor::zeros(TensorKind::Dense, 1, &["bs"], dimension));
        }
        Clsm { window, units, dimension, tensors }
    }

    fn bias(&self, tensor: usize) -> Option<&[f32]> {
        self.tensors.get(tensor).map(|tensor| tensor.value.data())
    }

    fn forward_block(&self, block: &Block, projected: &[f32], trace: &mut ClsmBlockTrace) {
        let (k, width, d) = (self.units, self.window * self.units, self.window / 2);
        let texts = block.texts.len();
        trace.windows.resize(block.rows() * k);
        trace.pooled.resize(texts * k);
        trace.winners.resize(texts * k, 0);
        trace.semantic.resize(texts * self.dimension);
        let padding = self.tensors[PADDING].value.data();
        for place in 0..texts {
            let length = block.length(place);
            let pooled = &mut trace.pooled[place * k..][..k];
            let winners = &mut trace.winners[place * k..][..k];
            for t in 0..length {
                let row = block.row(place, t);
                let sum = &mut trace.windows[row * k..][..k];
                match self.bias(CONVOLUTION_BIAS) {
                    Some(bias) => sum.copy_from_slice(bias),
                    None => sum.fill(0.0),
                }
                for slot in 0..self.window {
                    // The word at this place of the window: t + slot − d, if it is inside the text.
                    let vector = match (t + slot).checked_sub(d).filter(|&at| at < length) {
                        Some(at) => &projected[block.words[block.row(place, at)] as usize * width..],
                        None => padding,
                    };
                    vector::add(sum, &vector[slot * k..][..k]);
                }
                if t == 0 {
                    pooled.copy_from_slice(sum);
                    winners.fill(0);
                } else {
                    for ((best, winner), &x) in pooled.iter_mut().zip(winners.iter_mut()).zip(sum.iter()) {
                        // tanh keeps the order, so the maximum is taken before it. NaN must survive.
                        let wins = x > *best || x.is_nan();
                        *winner = if wins { t as u32 } else { *winner };
                        *best = if wins { x } else { *best };
                    }
                }
            }
        }
        tanh_slice(&mut trace.pooled);
        for row in trace.semantic.chunks_exact_mut(self.dimension) {
            match self.bias(SEMANTIC_BIAS) {
                Some(bias) => row.copy_from_slice(bias),
                None => row.fill(0.0),
            }
        }
        gemm(
            (texts, self.dimension, k),
            Left::rows(&trace.pooled, k),
            (self.tensors[SEMANTIC].value.data(), self.dimension),
            (&mut trace.semantic, self.dimension),
        );
        tanh_slice(&mut trace.semantic);
    }

    /// Fills `errors` [rows, n·K], ∂L/∂projection of the word at each packed row, and the block's
    /// share of the dense gradients, the padding word's among them.
    fn backward_block(
        &self,
        semantic: &[f32],
        block: &Block,
        trace: &ClsmBlockTrace,
        grad: &[f32],
        scratch: &mut BlockScratch,
        errors: &mut [f32],
    ) {
        let (k, width, d, l) = (self.units, self.window * self.units, self.window / 2, self.dimension);
        let texts = block.texts.len();
        let BlockScratch { dense, buffers: [d_semantic, d_pooled, _] } = scratch;
        d_semantic.resize(texts * l);
        for (place, &text) in block.texts.iter().enumerate() {
            let y = &trace.semantic[place * l..][..l];
            let grad = &grad[text as usize * l..][..l];
            for ((error, &y), &grad) in d_semantic[place * l..][..l].iter_mut().zip(y).zip(grad) {
                *error = grad * (1.0 - y * y);
            }
        }
        gemm((k, l, texts), Left::transposed(&trace.pooled, k), (&*d_semantic, l), (dense[SEMANTIC].data_mut(), l));
        d_pooled.resize(texts * k);
        d_pooled.fill(0.0);
        gemm((texts, k, l), Left::rows(d_semantic, l), (semantic, k), (d_pooled, k));
        for (error, &v) in d_pooled.iter_mut().zip(trace.pooled.iter()) {
            *error *= 1.0 - v * v;
        }
        if self.tensors.len() > CONVOLUTION_BIAS {
            for error in d_semantic.chunks_exact(l) {
                vector::add(dense[SEMANTIC_BIAS].data_mut(), error);
            }
            for error in d_pooled.chunks_exact(k) {
                vector::add(dense[CONVOLUTION_BIAS].data_mut(), error);
            }
        }
        errors.fill(0.0);
        for place in 0..texts {
            let length = block.length(place);
            for unit in 0..k {
                let error = d_pooled[place * k + unit];
                let winner = trace.winners[place * k + unit] as usize;
                for slot in 0..self.window {
                    match (winner + slot).checked_sub(d).filter(|&at| at < length) {
                        Some(at) => errors[block.row(place, at) * width + slot * k + unit] += error,
                        None => dense[PADDING].data_mut()[slot * k + unit] += error,
                    }
                }
            }
        }
    }
}

impl Encoder for Clsm {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn tensors_mut(&mut self) -> &mut [Tensor] {
        &mut self.tensors
    }

    fn inputs(&self) -> Vec<Input<'_>> {
        vec![Input { table: &self.tensors[CONVOLUTION], bias: None }]
    }

    fn forward_projected(&self, batch: &Batch, projected: &[Buffer], trace: &mut Trace) {
        if !matches!(trace.states, States::Clsm(_)) {
            trace.states = States::Clsm(ClsmTrace::default());
        }
        let States::Clsm(ClsmTrace { blocks }) = &mut trace.states else { unreachable!("set above") };
        for_each_block(&batch.blocks, blocks, |block, trace| self.forward_block(block, &projected[0], trace));
        let l = self.dimension;
        place_embeddings(batch, l, &mut trace.embeddings, |b, place| &blocks[b].semantic[place * l..][..l]);
    }

    fn backward(&self, batch: &Batch, trace: &mut Trace, grad: &[f32], _: Bptt, gradients: &mut Gradients) {
        let States::Clsm(states) = &mut trace.states else { panic!("backward without its forward") };
        let width = self.window * self.units;
        gradients.shape_like(&self.tensors, batch);
        let Gradients { tensors: out, table_squares, scratch, .. } = gradients;
        scratch.shape_blocks(batch.blocks.len());
        scratch.transposed.resize_with(1, Buffer::default);
        self.tensors[SEMANTIC].value.transpose_into(&mut scratch.transposed[0]);
        scratch.rows.resize(batch.rows() * width);
        let semantic = &scratch.transposed[0][..];
        let rows = split_by_block(batch, width, &mut scratch.rows);
        (batch.blocks.par_iter(), states.blocks.par_iter(), scratch.blocks.par_iter_mut(), rows)
            .into_par_iter()
            .for_each(|(block, trace, scratch, errors)| {
                scratch.begin(&self.tensors);
                self.backward_block(semantic, block, trace, grad, scratch, errors);
            });
        reduce_blocks(&scratch.blocks[..batch.blocks.len()], &self.tensors, out);
        *table_squares =
            gather_gradient(batch, &batch.occurrences, &scratch.rows, &mut out[CONVOLUTION], &mut scratch.squares);
    }
}
