//! The RNN of Palangi et al. 2015, eq. (1): y(t) = tanh(W l(t) + W_rec y(t − 1) + b).

use super::input::{gather_rows, gather_words, place_embeddings, resize, split_by_block};
use super::{BlockScratch, Bptt, Encoder, Gradients, States, Tensor, TensorKind, Trace, for_each_block, reduce_blocks};
use crate::math::activation::tanh_slice;
use crate::math::gemm::{Left, gemm, gemm_into};
use crate::math::{Matrix, vector};
use crate::text::batch::{Batch, Block};
use rayon::prelude::*;

const INPUT: usize = 0;
const RECURRENT: usize = 1;
const BIAS: usize = 2;

/// A recurrent network; the embedding is y(T).
pub struct Rnn {
    hidden: usize,
    tensors: Vec<Tensor>,
}

/// The states of an RNN over a batch.
#[derive(Debug, Default)]
pub struct RnnTrace {
    /// y, [rows, H] of each block.
    pub activations: Vec<Vec<f32>>,
}

impl Rnn {
    /// All weights zero.
    pub fn new(features: usize, hidden: usize) -> Rnn {
        let tensors = vec![
            Tensor::zeros(TensorKind::Table, features, &["w"], hidden),
            Tensor::zeros(TensorKind::Dense, hidden, &["wrec"], hidden),
            Tensor::zeros(TensorKind::Dense, 1, &["b"], hidden),
        ];
        Rnn { hidden, tensors }
    }

    fn forward_block(&self, block: &Block, projected: &[f32], activation: &mut Vec<f32>) {
        let h = self.hidden;
        resize(activation, block.rows() * h);
        let bias = self.tensors[BIAS].value.data();
        for t in 0..block.steps() {
            let n = block.running[t] as usize;
            let first = block.start[t] as usize;
            let (before, now) = activation.split_at_mut(first * h);
            let now = &mut now[..n * h];
            for (y, &word) in now.chunks_exact_mut(h).zip(&block.words[first..]) {
                y.copy_from_slice(&projected[word as usize * h..][..h]);
                vector::add(y, bias);
            }
            if t > 0 {
                let before = Left::rows(&before[block.start[t - 1] as usize * h..], h);
                gemm((n, h, h), before, (self.tensors[RECURRENT].value.data(), h), (now, h));
            }
            tanh_slice(now);
        }
    }

    /// Fills `errors` [rows, H], ∂L/∂(input of tanh), and the block's share of ∂L/∂W_rec.
    fn backward_block(
        &self,
        recurrent: &[f32],
        block: &Block,
        activation: &[f32],
        grad: &[f32],
        bptt: Bptt,
        scratch: &mut BlockScratch,
        errors: &mut [f32],
    ) {
        let h = self.hidden;
        let running = |t: usize| block.running.get(t).map_or(0, |&n| n as usize);
        let d_activation = &mut scratch.buffers[0];
        resize(d_activation, block.texts.len() * h);
        for t in (0..block.steps()).rev() {
            // Errors flow through places low … n; those from `ending` on end here.
            let low = bptt.words.map_or(0, |words| running(t.saturating_add(words)));
            let (n, ending, first) = (running(t), running(t + 1), block.start[t] as usize);
            for place in ending.max(low)..n {
                let text = block.texts[place] as usize;
                d_activation[place * h..][..h].copy_from_slice(&grad[text * h..][..h]);
            }
            errors[first * h..(first + low) * h].fill(0.0);
            let now = (first + low) * h..(first + n) * h;
            let d_now = &mut d_activation[low * h..n * h];
            for ((error, &d), &y) in errors[now.clone()].iter_mut().zip(d_now.iter()).zip(&activation[now.clone()]) {
                *error = d * (1.0 - y * y);
            }
            if t == 0 || low == n {
                continue;
            }
            let before = (block.start[t - 1] as usize + low) * h;
            let errors = &errors[now];
            gemm_into((n - low, h, h), Left::rows(errors, h), (recurrent, h), (d_now, h));
            let into = scratch.dense[RECURRENT].data_mut();
            gemm((h, h, n - low), Left::transposed(&activation[before..], h), (errors, h), (into, h));
        }
    }
}

impl Encoder for Rnn {
    fn dimension(&self) -> usize {
        self.hidden
    }

    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn tensors_mut(&mut self) -> &mut [Tensor] {
        &mut self.tensors
    }

    fn forward_projected(&self, batch: &Batch, projected: &[Vec<f32>], trace: &mut Trace) {
        if !matches!(trace.states, States::Rnn(_)) {
            trace.states = States::Rnn(RnnTrace::default());
        }
        let States::Rnn(RnnTrace { activations }) = &mut trace.states else { unreachable!("set above") };
        for_each_block(&batch.blocks, activations, |block, activation| {
            self.forward_block(block, &projected[0], activation);
        });
        let h = self.hidden;
        place_embeddings(batch, h, &mut trace.embeddings, |b, place| {
            let block = &batch.blocks[b];
            let row = block.row(place, block.length(place) - 1);
            &activations[b][row * h..][..h]
        });
    }

    fn backward(&self, batch: &Batch, trace: &Trace, grad: &[f32], bptt: Bptt, gradients: &mut Gradients) {
        let States::Rnn(states) = &trace.states else { panic!("backward without its forward") };
        let h = self.hidden;
        gradients.shape_like(&self.tensors, batch.touched().len());
        let Gradients { tensors: out, table_squares, scratch } = gradients;
        scratch.shape_blocks(batch.blocks.len(), &self.tensors);
        scratch.transposed.resize_with(1, Vec::new);
        self.tensors[RECURRENT].value.transpose_into(&mut scratch.transposed[0]);
        resize(&mut scratch.rows, batch.rows() * h);
        let recurrent = &scratch.transposed[0][..];
        let rows = split_by_block(batch, h, &mut scratch.rows);
        (batch.blocks.par_iter(), states.activations.par_iter(), scratch.blocks.par_iter_mut(), rows)
            .into_par_iter()
            .for_each(|(block, activation, scratch, errors)| {
                self.backward_block(recurrent, block, activation, grad, bptt, scratch, errors);
            });
        reduce_blocks(&scratch.blocks[..batch.blocks.len()], &self.tensors, out);
        gather_words(&batch.occurrences, h, &scratch.rows, &mut scratch.words);
        add_up(&scratch.words, &mut out[BIAS]);
        *table_squares = gather_rows(batch, &scratch.words, &mut out[INPUT]);
    }
}

/// Adds all rows of `words` to a bias gradient: every packed row saw the bias.
pub(crate) fn add_up(words: &[f32], bias: &mut Matrix) {
    for word in words.chunks_exact(bias.columns()) {
        vector::add(bias.data_mut(), word);
    }
}
