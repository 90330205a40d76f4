//! The gated recurrent unit of Chung et al. 2014, section 3.2, which the LSTM paper names as an alternative:
//! z = σ(W_z l + W_recz y⁻ + b_z), r = σ(W_r l + W_recr y⁻ + b_r), ỹ = tanh(W_h l + W_rech (r∘y⁻) + b_h) and
//! y = (1 − z)∘y⁻ + z∘ỹ, where y⁻ = y(t − 1).

use super::input::{Input, place_embeddings, split_by_block};
use super::kind::{EncoderKind, UNITS, layer_parameters};
use super::rnn::NEGLIGIBLE;
use super::trace::{Quantity, Slot, Stage, State, States, row};
use super::{
    BlockScratch, Bptt, Description, Direction, Encoder, Gradients, Reading, Tensor, TensorKind, Trace,
    for_each_block_with_rows,
};
use crate::fields::fields;
use crate::math::Buffer;
use crate::math::activation::{mul_add, sigmoid, tanh};
use crate::math::gemm::{Left, Right, Rows, gemm, gemm_ahead, gemm_into, gemm_onto};
use crate::math::level::by_level;
use crate::text::batch::{Batch, Block};
use rayon::prelude::*;
use std::borrow::Cow;

const INPUT: usize = 0;
/// To the two gates from y⁻.
const RECURRENT: usize = 1;
const BIAS: usize = 2;
/// To ỹ from r∘y⁻.
const CANDIDATE: usize = 3;

fields! {
    /// The size of a GRU; by default as many cells as the paper's LSTM has.
    #[derive(Eq)]
    pub struct GruConfig {
        /// The number of cells: the size of y.
        pub cells: usize = 96 where UNITS,
    }
}

impl EncoderKind for GruConfig {
    fn sizes(&self) -> String {
        format!("{} cells", self.cells)
    }

    fn build(&self, features: usize) -> Box<dyn Encoder> {
        Box::new(Gru::new(features, self.cells))
    }

    fn parameters(&self, features: u64) -> Option<u64> {
        let cells = self.cells as u64;
        layer_parameters(features.checked_add(cells)?, cells.checked_mul(3)?)
    }

    fn description(&self) -> Description {
        Description {
            reading: Reading::WordByWord,
            gates: &[State::UpdateGate, State::ResetGate],
            telling: &[State::Activation, State::UpdateGate],
        }
    }
}

/// A gated recurrent network; the embedding is y(T).
pub(super) struct Gru {
    cells: usize,
    tensors: Vec<Tensor>,
}

/// The states of a GRU over a batch.
#[derive(Debug, Default)]
struct GruStates {
    cells: usize,
    /// z | r | ỹ, [packed rows of the batch, 3·H]. The backward pass replaces them by ∂L/∂(input of each).
    gates: Buffer,
    blocks: Vec<GruBlockStates>,
}

/// The states of a GRU over a block; rows are the block's packed rows.
#[derive(Debug, Default)]
struct GruBlockStates {
    /// r∘y⁻, [rows, H]
    reset: Buffer,
    /// y, [rows, H]
    activation: Buffer,
    /// The inputs of σ, σ and tanh, [rows, 3·H]; empty unless requested.
    inputs: Buffer,
}

impl States for GruStates {
    fn word_quantities(&self) -> Vec<Quantity> {
        [State::UpdateGate, State::ResetGate, State::Candidate, State::Activation].map(Quantity::from).to_vec()
    }

    fn at(&self, slot: Slot<'_>, quantity: Quantity, word: usize) -> Option<Cow<'_, [f32]>> {
        if quantity != (Quantity { stage: quantity.stage, ..quantity.state.into() }) {
            return None;
        }
        let (block, h, packed) = (&self.blocks[slot.number], self.cells, slot.row(quantity.direction, word));
        let in_batch = slot.batch_row(quantity.direction, word);
        let group = match quantity.state {
            State::UpdateGate => 0,
            State::ResetGate => 1,
            State::Candidate => 2,
            State::Activation if quantity.stage == Stage::After => return row(&block.activation, packed, h),
            _ => return None,
        };
        match quantity.stage {
            Stage::Before => row(&block.inputs, 3 * packed + group, h),
            Stage::After => row(&self.gates, 3 * in_batch + group, h),
        }
    }
}

impl Gru {
    /// Returns all weights zero.
    pub(super) fn new(features: usize, cells: usize) -> Gru {
        let tensors = vec![
            Tensor::zeros(TensorKind::Input, features, &["wz", "wr", "wh"], cells),
            Tensor::zeros(TensorKind::Dense, cells, &["wrecz", "wrecr"], cells),
            Tensor::zeros(TensorKind::Bias, 1, &["bz", "br", "bh"], cells),
            Tensor::zeros(TensorKind::Dense, cells, &["wrech"], cells),
        ];
        Gru { cells, tensors }
    }

    fn forward_block(
        &self,
        [to_gates, to_candidate]: [Right<'_>; 2],
        block: &Block,
        projected: &[f32],
        keep_inputs: bool,
        gates: &mut [f32],
        states: &mut GruBlockStates,
    ) {
        let h = self.cells;
        let GruBlockStates { reset, activation, inputs } = states;
        reset.resize(block.rows() * h);
        activation.resize(block.rows() * h);
        inputs.resize(if keep_inputs { block.rows() * 3 * h } else { 0 });
        for t in 0..block.steps() {
            let n = block.running[t] as usize;
            let first = block.start[t] as usize;
            let ahead = block.running_at(t + 1);
            let words = &block.words[first..][..n + ahead];
            let (before, now) = activation.split_at_mut(first * h);
            let now = &mut now[..n * h];
            let gates = &mut gates[first * 3 * h..][..n * 3 * h];
            let reset = &mut reset[first * h..][..n * h];
            // Nothing comes before the first word: y⁻ = 0.
            let before = if t > 0 { &before[block.start[t - 1] as usize * h..][..n * h] } else { &[][..] };
            if t > 0 {
                let rows = Rows { data: projected, stride: 3 * h, of: words, ahead };
                gemm_onto((n, 2 * h, h), Left::rows(before, h), to_gates, rows, (gates, 3 * h));
            } else {
                for (gates, &word) in gates.chunks_exact_mut(3 * h).zip(words) {
                    gates.copy_from_slice(&projected[word as usize * 3 * h..][..3 * h]);
                }
            }
            let mut keep = |gates: &[f32], columns: std::ops::Range<usize>| {
                if keep_inputs {
                    let inputs = inputs[first * 3 * h..][..n * 3 * h].chunks_exact_mut(3 * h);
                    for (inputs, gates) in inputs.zip(gates.chunks_exact(3 * h)) {
                        inputs[columns.clone()].copy_from_slice(&gates[columns.clone()]);
                    }
                }
            };
            keep(gates, 0..2 * h);
            gate_step(gates, before, reset, h);
            if t > 0 {
                let rows = Rows { data: &projected[2 * h..], stride: 3 * h, of: words, ahead };
                gemm_onto((n, h, h), Left::rows(reset, h), to_candidate, rows, (&mut gates[2 * h..], 3 * h));
            }
            keep(gates, 2 * h..3 * h);
            output_step(gates, before, now, h);
        }
    }

    /// Turns `gates` [rows, 3·H] into ∂L/∂(inputs of σ, σ and tanh), and fills in the block's share of the gradients of the
    /// recurrent weights; `to_gates` and `to_candidate` are those weights, transposed.
    fn backward_block(
        &self,
        [to_gates, to_candidate]: [Right<'_>; 2],
        block: &Block,
        states: &GruBlockStates,
        grad: &[f32],
        bptt: Bptt,
        scratch: &mut BlockScratch,
        gates: &mut [f32],
    ) {
        let h = self.cells;
        let GruBlockStates { reset, activation, .. } = states;
        let BlockScratch { dense, buffers: [d_activation, d_kept, _] } = scratch;
        d_activation.resize(block.texts.len() * h);
        d_kept.resize(block.texts.len() * h);
        for t in (0..block.steps()).rev() {
            // Errors flow through slots low … n; those from `ending` on end here.
            let low = bptt.words.map_or(0, |words| block.running_at(t.saturating_add(words)));
            let (n, ending, first) = (block.running_at(t), block.running_at(t + 1), block.start[t] as usize);
            for slot in ending.max(low)..n {
                let text = block.texts[slot] as usize;
                d_activation[slot * h..][..h].copy_from_slice(&grad[text * h..][..h]);
            }
            gates[first * 3 * h..(first + low) * 3 * h].fill(0.0);
            if low == n {
                continue;
            }
            let count = n - low;
            let (earlier, errors) = gates.split_at_mut((first + low) * 3 * h);
            let errors = &mut errors[..count * 3 * h];
            let d_now = &mut d_activation[low * h..n * h];
            if t == 0 {
                output_errors(errors, &[], d_now, h);
                continue;
            }
            let before = &activation[(block.start[t - 1] as usize + low) * h..][..count * h];
            output_errors(errors, before, d_now, h);
            let d_kept = &mut d_kept[..count * h];
            gemm_into((count, h, h), Left::rows(&errors[2 * h..], 3 * h), to_candidate, (d_kept, h));
            reset_errors(errors, before, d_kept, d_now, h);
            gemm((count, h, 2 * h), Left::rows(errors, 3 * h), to_gates, (d_now, h));
            let into = dense[RECURRENT].data_mut();
            // What the next step reads, while the errors of this one are still in the cache.
            let next = block.start[t - 1] as usize;
            let before_that = t.checked_sub(2).map_or(next, |t| block.start[t] as usize);
            let ahead = [&earlier[next * 3 * h..], &reset[next * h..first * h], &activation[before_that * h..next * h]];
            let errors_of_gates = (&*errors, 3 * h);
            gemm_ahead((h, 2 * h, count), Left::transposed(before, h), errors_of_gates, (into, 2 * h), ahead);
            let reset = &reset[(first + low) * h..(first + n) * h];
            let into = dense[CANDIDATE].data_mut();
            gemm((h, h, count), Left::transposed(reset, h), (&errors[2 * h..], 3 * h), (into, h));
        }
    }
}

impl Encoder for Gru {
    fn dimension(&self) -> usize {
        self.cells
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
        let GruStates { cells, gates: states, blocks } = trace.states.begin(batch);
        let h = self.cells;
        *cells = h;
        states.resize(batch.rows() * 3 * h);
        let [gates, outputs] = [RECURRENT, CANDIDATE].map(|tensor| self.tensors[tensor].value.data());
        let recurrent = [Right::from((gates, 2 * h)), Right::from((outputs, h))];
        let keep_inputs = trace.keep_inputs;
        for_each_block_with_rows(batch, (states, 3 * h), blocks, |block, gates, states| {
            self.forward_block(recurrent, block, &projected[0], keep_inputs, gates, states);
        });
        place_embeddings(batch, h, &mut trace.embeddings, |b, slot| {
            batch.blocks[b].last(&blocks[b].activation, slot, h)
        });
    }

    fn backward(&self, batch: &Batch, trace: &mut Trace, grad: &[f32], bptt: Bptt, gradients: &mut Gradients) {
        let GruStates { gates, blocks, .. } = trace.states.spend();
        let h = self.cells;
        gradients.shape_like(&self.tensors, batch);
        let Gradients { tensors: out, table_squares, scratch, .. } = gradients;
        scratch.shape_blocks(batch.blocks.len());
        scratch.transposed.resize_with(2, Buffer::default);
        for (tensor, transposed) in [RECURRENT, CANDIDATE].into_iter().zip(&mut scratch.transposed) {
            self.tensors[tensor].value.transpose_into(transposed);
        }
        let recurrent = [Right::from((&scratch.transposed[0], h)), Right::from((&scratch.transposed[1], h))];
        let rows = split_by_block(batch, 3 * h, gates);
        (batch.blocks.par_iter(), blocks.par_iter(), scratch.blocks.par_iter_mut(), rows).into_par_iter().for_each(
            |(block, states, scratch, gates)| {
                scratch.begin(&self.tensors);
                self.backward_block(recurrent, block, states, grad, bptt, scratch, gates);
            },
        );
        *table_squares = scratch.sum_layer(batch, &self.tensors, Direction::Forward, gates, out);
    }
}

by_level! {
    /// Computes z, r = σ in place in `gates` [n, 3·H], and `reset` [n, H] = r∘y⁻. `before` is y⁻ [n, H], or empty for zeros.
    fn gate_step(gates: &mut [f32], before: &[f32], reset: &mut [f32], h: usize) = gate_step_body
}

#[inline(always)]
fn gate_step_body<const FMA: bool>(gates: &mut [f32], before: &[f32], reset: &mut [f32], h: usize) {
    let mut before = before.chunks_exact(h);
    for (gates, reset) in gates.chunks_exact_mut(3 * h).zip(reset.chunks_exact_mut(h)) {
        gates[..2 * h].iter_mut().for_each(|gate| *gate = sigmoid::<FMA>(*gate));
        match before.next() {
            None => reset.fill(0.0),
            Some(before) => {
                for ((reset, &r), &y) in reset.iter_mut().zip(&gates[h..2 * h]).zip(before) {
                    *reset = r * y;
                }
            }
        }
    }
}

by_level! {
    /// Computes ỹ = tanh in place in `gates` [n, 3·H], and `now` [n, H] = y = y⁻ + z∘(ỹ − y⁻).
    fn output_step(gates: &mut [f32], before: &[f32], now: &mut [f32], h: usize) = output_step_body
}

#[inline(always)]
fn output_step_body<const FMA: bool>(gates: &mut [f32], before: &[f32], now: &mut [f32], h: usize) {
    let mut before = before.chunks_exact(h);
    for (gates, now) in gates.chunks_exact_mut(3 * h).zip(now.chunks_exact_mut(h)) {
        let (z, gates) = gates.split_at_mut(h);
        let candidate = &mut gates[h..];
        candidate.iter_mut().for_each(|c| *c = tanh::<FMA>(*c));
        match before.next() {
            None => {
                for ((y, &z), &c) in now.iter_mut().zip(&*z).zip(&*candidate) {
                    *y = z * c;
                }
            }
            Some(before) => {
                for (((y, &z), &c), &y_before) in now.iter_mut().zip(&*z).zip(&*candidate).zip(before) {
                    *y = mul_add::<FMA>(z, c - y_before, y_before);
                }
            }
        }
    }
}

/// Returns `x`, or zero if it is too small to matter: see [`NEGLIGIBLE`].
#[inline(always)]
fn settled(x: f32) -> f32 {
    if x.abs() < NEGLIGIBLE { 0.0 } else { x }
}

by_level! {
    /// Replaces z and ỹ in `gates` [n, 3·H] by their errors, from ∂L/∂y in `d_now` [n, H]. `d_now` becomes what flows to y⁻
    /// through 1 − z. At the first word, where `before` is empty, r has no error.
    fn output_errors(gates: &mut [f32], before: &[f32], d_now: &mut [f32], h: usize) = output_errors_body
}

#[inline(always)]
fn output_errors_body<const FMA: bool>(gates: &mut [f32], before: &[f32], d_now: &mut [f32], h: usize) {
    let mut before = before.chunks_exact(h);
    for (gates, d_now) in gates.chunks_exact_mut(3 * h).zip(d_now.chunks_exact_mut(h)) {
        let (z, rest) = gates.split_at_mut(h);
        let (r, candidate) = rest.split_at_mut(h);
        let values = z.iter_mut().zip(candidate).zip(d_now);
        match before.next() {
            None => {
                r.fill(0.0);
                values.for_each(|((z, c), d)| output_error(z, c, d, 0.0));
            }
            Some(before) => values.zip(before).for_each(|(((z, c), d), &y_before)| output_error(z, c, d, y_before)),
        }
    }
}

#[inline(always)]
fn output_error(gate: &mut f32, candidate: &mut f32, d_now: &mut f32, y_before: f32) {
    let (z, c, d) = (*gate, *candidate, *d_now);
    *gate = settled(d * (c - y_before) * z * (1.0 - z));
    *candidate = settled(d * z * (1.0 - c * c));
    *d_now = settled(d * (1.0 - z));
}

by_level! {
    /// Replaces r in `gates` [n, 3·H] by its error, from ∂L/∂(r∘y⁻) in `d_kept` [n, H], and adds what flows to y⁻ through r to
    /// `d_now` [n, H].
    fn reset_errors(gates: &mut [f32], before: &[f32], d_kept: &[f32], d_now: &mut [f32], h: usize) = reset_errors_body
}

#[inline(always)]
fn reset_errors_body<const FMA: bool>(gates: &mut [f32], before: &[f32], d_kept: &[f32], d_now: &mut [f32], h: usize) {
    let rows = gates.chunks_exact_mut(3 * h).zip(before.chunks_exact(h));
    let rows = rows.zip(d_kept.chunks_exact(h)).zip(d_now.chunks_exact_mut(h));
    for (((gates, before), d_kept), d_now) in rows {
        for (((r, &y_before), &d_kept), d_now) in gates[h..2 * h].iter_mut().zip(before).zip(d_kept).zip(d_now) {
            let gate = *r;
            *r = settled(d_kept * y_before * gate * (1.0 - gate));
            *d_now = mul_add::<FMA>(d_kept, gate, *d_now);
        }
    }
}
