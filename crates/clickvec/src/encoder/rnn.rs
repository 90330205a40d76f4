//! The RNN of Palangi et al. 2015, eq. (1): y(t) = tanh(W l(t) + W_rec y(t − 1) + b).

use super::input::{Input, place_embeddings, split_by_block};
use super::kind::{EncoderKind, UNITS, layer_parameters};
use super::trace::{Quantity, Slot, Stage, State, States, row};
use super::{
    BlockScratch, Bptt, Description, Direction, Encoder, Gradients, Reading, Tensor, TensorKind, Trace, for_each_block,
};
use crate::fields::fields;
use crate::math::Buffer;
use crate::math::activation::tanh_slice;
use crate::math::gemm::{Left, Right, Rows, gemm, gemm_into, gemm_onto};
use crate::text::batch::{Batch, Block};
use rayon::prelude::*;
use std::borrow::Cow;

const INPUT: usize = 0;
const RECURRENT: usize = 1;
const BIAS: usize = 2;

/// Errors smaller than this are set to zero. Errors shrink from word to word through saturated units, below the
/// smallest numbers that processors multiply at full speed; products of those took three times as long.
pub(super) const NEGLIGIBLE: f32 = 1e-30;

fields! {
    /// The size of an RNN; by default the paper's 288 units.
    #[derive(Eq)]
    pub struct RnnConfig {
        /// The number of units.
        pub hidden: usize = 288 where UNITS,
    }
}

impl EncoderKind for RnnConfig {
    fn sizes(&self) -> String {
        format!("{} units", self.hidden)
    }

    fn build(&self, features: usize) -> Box<dyn Encoder> {
        Box::new(Rnn::new(features, self.hidden))
    }

    fn parameters(&self, features: u64) -> Option<u64> {
        let hidden = self.hidden as u64;
        layer_parameters(features.checked_add(hidden)?, hidden)
    }

    fn description(&self) -> Description {
        Description { reading: Reading::WordByWord, gates: &[], telling: &[State::Activation] }
    }
}

/// A recurrent network; the embedding is y(T).
pub(super) struct Rnn {
    hidden: usize,
    tensors: Vec<Tensor>,
}

/// The states of an RNN over a batch.
#[derive(Debug, Default)]
struct RnnStates {
    hidden: usize,
    blocks: Vec<RnnBlockStates>,
}

/// The states of an RNN over a block; rows are the block's packed rows.
#[derive(Debug, Default)]
struct RnnBlockStates {
    /// y, [rows, H]
    activation: Buffer,
    /// The input of tanh, [rows, H]; empty unless requested.
    inputs: Buffer,
}

impl States for RnnStates {
    fn word_quantities(&self) -> Vec<Quantity> {
        vec![State::Activation.into()]
    }

    fn at(&self, slot: Slot<'_>, quantity: Quantity, word: usize) -> Option<Cow<'_, [f32]>> {
        if quantity.state.read(quantity.direction) != State::Activation.into() {
            return None;
        }
        let block = &self.blocks[slot.number];
        let values = match quantity.stage {
            Stage::Before => &block.inputs,
            Stage::After => &block.activation,
        };
        row(values, slot.row(quantity.direction, word), self.hidden)
    }
}

impl Rnn {
    /// Returns all weights zero.
    pub(super) fn new(features: usize, hidden: usize) -> Rnn {
        let tensors = vec![
            Tensor::zeros(TensorKind::Input, features, &["w"], hidden),
            Tensor::zeros(TensorKind::Dense, hidden, &["wrec"], hidden),
            Tensor::zeros(TensorKind::Bias, 1, &["b"], hidden),
        ];
        Rnn { hidden, tensors }
    }

    fn forward_block(
        &self,
        recurrent: Right<'_>,
        block: &Block,
        projected: &[f32],
        keep_inputs: bool,
        states: &mut RnnBlockStates,
    ) {
        let h = self.hidden;
        let RnnBlockStates { activation, inputs: saved } = states;
        activation.resize(block.rows() * h);
        saved.resize(if keep_inputs { block.rows() * h } else { 0 });
        for t in 0..block.steps() {
            let n = block.running[t] as usize;
            let first = block.start[t] as usize;
            let (before, now) = activation.split_at_mut(first * h);
            let now = &mut now[..n * h];
            let ahead = block.running_at(t + 1);
            let words = &block.words[first..][..n + ahead];
            if t > 0 {
                let before = Left::rows(&before[block.start[t - 1] as usize * h..], h);
                let inputs = Rows { data: projected, stride: h, of: words, ahead };
                gemm_onto((n, h, h), before, recurrent, inputs, (now, h));
            } else {
                for (y, &word) in now.chunks_exact_mut(h).zip(words) {
                    y.copy_from_slice(&projected[word as usize * h..][..h]);
                }
            }
            if keep_inputs {
                saved[first * h..][..n * h].copy_from_slice(now);
            }
            tanh_slice(now);
        }
    }

    /// Fills `errors` [rows, H], ∂L/∂(input of tanh), and the block's share of ∂L/∂W_rec.
    fn backward_block(
        &self,
        recurrent: Right<'_>,
        block: &Block,
        activation: &[f32],
        grad: &[f32],
        bptt: Bptt,
        scratch: &mut BlockScratch,
        errors: &mut [f32],
    ) {
        let h = self.hidden;
        let d_activation = &mut scratch.buffers[0];
        d_activation.resize(block.texts.len() * h);
        for t in (0..block.steps()).rev() {
            // Errors flow through slots low … n; the texts from `ending` on end here.
            let low = bptt.words.map_or(0, |words| block.running_at(t.saturating_add(words)));
            let (n, ending, first) = (block.running_at(t), block.running_at(t + 1), block.start[t] as usize);
            for slot in ending.max(low)..n {
                let text = block.texts[slot] as usize;
                d_activation[slot * h..][..h].copy_from_slice(&grad[text * h..][..h]);
            }
            errors[first * h..(first + low) * h].fill(0.0);
            let now = (first + low) * h..(first + n) * h;
            let d_now = &mut d_activation[low * h..n * h];
            for ((error, &d), &y) in errors[now.clone()].iter_mut().zip(d_now.iter()).zip(&activation[now.clone()]) {
                let exact = d * (1.0 - y * y);
                *error = if exact.abs() < NEGLIGIBLE { 0.0 } else { exact };
            }
            if t == 0 || low == n {
                continue;
            }
            let before = (block.start[t - 1] as usize + low) * h;
            let errors = &errors[now];
            gemm_into((n - low, h, h), Left::rows(errors, h), recurrent, (d_now, h));
            let into = scratch.dense[RECURRENT].data_mut();
            let before = Left::transposed(&activation[before..], h);
            gemm((h, h, n - low), before, (errors, h), (into, h));
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

    fn inputs(&self) -> Vec<Input<'_>> {
        vec![Input { weights: &self.tensors[INPUT], bias: Some(&self.tensors[BIAS]) }]
    }

    fn forward_projected(&self, batch: &Batch, projected: &[Buffer], trace: &mut Trace) {
        let RnnStates { hidden, blocks } = trace.states.begin(batch);
        let h = self.hidden;
        *hidden = h;
        let recurrent = Right::from((self.tensors[RECURRENT].value.data(), h));
        for_each_block(&batch.blocks, blocks, |block, states| {
            self.forward_block(recurrent, block, &projected[0], trace.keep_inputs, states);
        });
        place_embeddings(batch, h, &mut trace.embeddings, |b, slot| {
            batch.blocks[b].last(&blocks[b].activation, slot, h)
        });
    }

    fn backward(&self, batch: &Batch, trace: &mut Trace, grad: &[f32], bptt: Bptt, gradients: &mut Gradients) {
        let states: &mut RnnStates = trace.states.spend();
        let h = self.hidden;
        gradients.shape_like(&self.tensors, batch);
        let Gradients { tensors: out, table_squares, scratch, .. } = gradients;
        scratch.shape_blocks(batch.blocks.len());
        scratch.transposed.resize_with(1, Buffer::default);
        self.tensors[RECURRENT].value.transpose_into(&mut scratch.transposed[0]);
        let mut rows = std::mem::take(&mut scratch.rows);
        rows.resize(batch.rows() * h);
        let recurrent = Right::from((&scratch.transposed[0], h));
        let parts = split_by_block(batch, h, &mut rows);
        (batch.blocks.par_iter(), states.blocks.par_iter(), scratch.blocks.par_iter_mut(), parts)
            .into_par_iter()
            .for_each(|(block, states, scratch, errors)| {
                scratch.begin(&self.tensors);
                self.backward_block(recurrent, block, &states.activation, grad, bptt, scratch, errors);
            });
        *table_squares = scratch.sum_layer(batch, &self.tensors, Direction::Forward, &rows, out);
        scratch.rows = rows;
    }
}
