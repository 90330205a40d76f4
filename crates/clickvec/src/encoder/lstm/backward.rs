//! The backward pass of an LSTM, in two forms: the exact gradient (Palangi et al. 2015, back-propagation through time
//! of eq. 2), and the published per-gate error signals (eq. 16–44).
//!
//! Both compute the errors of the gates, [rows, G·H]. All gradients of weights follow from those.

mod errors;
mod weights;

use errors::{all_errors, inner_errors, output_errors};
use weights::weight_gradients;

use super::states::{LstmBlockStates, LstmStates};
use super::{LstmConfig, PEEPHOLE, Peephole, RECURRENT, Tensor};
use crate::encoder::input::split_by_block;
use crate::encoder::{BlockScratch, Bptt, Scratch, Signals};
use crate::math::activation::tanh;
use crate::math::gemm::{Left, gemm, gemm_into};
use crate::math::vector::add;
use crate::math::{Buffer, Matrix};
use crate::text::batch::{Batch, Block};
use rayon::prelude::*;

/// ∂L/∂y of an LSTM: of the last words of texts, where it fills part of each embedding, or of every word.
#[derive(Clone, Copy)]
pub(in super::super) struct EmbeddingGradient<'a> {
    /// ∂L/∂embeddings; empty if they do not depend on this LSTM other than through every word.
    values: &'a [f32],
    /// Size of the whole embedding.
    stride: usize,
    /// The column where this LSTM's part begins.
    offset: usize,
    /// ∂L/∂y(t) of every packed row, [rows, H], for an LSTM that another one reads; otherwise empty.
    rows: &'a [f32],
}

impl<'a> EmbeddingGradient<'a> {
    /// Returns the gradient for an LSTM whose part of each embedding, which has `stride` numbers, begins at `offset`.
    pub(in super::super) fn last_words(values: &'a [f32], stride: usize, offset: usize) -> EmbeddingGradient<'a> {
        EmbeddingGradient { values, stride, offset, rows: &[] }
    }

    /// Returns the gradient for an LSTM that another one reads.
    pub(in super::super) fn every_word(rows: &'a [f32]) -> EmbeddingGradient<'a> {
        EmbeddingGradient { values: &[], stride: 0, offset: 0, rows }
    }
}

/// Returns the backward pass of one LSTM over a batch. `gradients` are those of this LSTM, shaped and zero. Returns the sum of
/// the squares of the input matrix's gradient.
pub(in super::super) fn backward(
    config: LstmConfig,
    tensors: &[Tensor],
    batch: &Batch,
    trace: &mut LstmStates,
    grad: EmbeddingGradient<'_>,
    bptt: Bptt,
    scratch: &mut Scratch,
    gradients: &mut [Matrix],
) -> f64 {
    gate_errors(config, tensors, batch, trace, grad, bptt, scratch);
    scratch.sum_layer(batch, tensors, trace.direction, &trace.gates, gradients)
}

/// Replaces the gates of `trace` by their errors, and leaves each block's share of the gradients of recurrent and peephole
/// weights in `scratch`.
pub(in super::super) fn gate_errors(
    config: LstmConfig,
    tensors: &[Tensor],
    batch: &Batch,
    trace: &mut LstmStates,
    grad: EmbeddingGradient<'_>,
    bptt: Bptt,
    scratch: &mut Scratch,
) {
    let width = config.gates() * config.cells;
    scratch.shape_blocks(batch.blocks.len());
    let weights = Weights::transpose(config, tensors, &mut scratch.transposed);
    let LstmStates { gates, blocks, .. } = trace;
    let rows = split_by_block(batch, width, gates);
    (batch.blocks.par_iter(), &blocks[..], scratch.blocks.par_iter_mut(), rows).into_par_iter().for_each(
        |(block, trace, scratch, rows)| {
            scratch.begin(tensors);
            backward_block(config, &weights, block, trace, grad, bptt, scratch, rows);
        },
    );
}

/// Transposes of the recurrent weights: the backward pass multiplies by them.
struct Weights<'a> {
    /// W_recᵀ, [G·H, H]
    recurrent: &'a [f32],
    /// Full: W_pᵀ, [P·H, H]; diagonal: the vectors as they are, [P, H].
    peephole: Option<&'a [f32]>,
}

impl<'a> Weights<'a> {
    fn transpose(config: LstmConfig, tensors: &'a [Tensor], buffers: &'a mut Vec<Buffer>) -> Weights<'a> {
        buffers.resize_with(2, Buffer::default);
        let [recurrent, peephole] = &mut buffers[..] else { unreachable!("two buffers") };
        tensors[RECURRENT].value.transpose_into(recurrent);
        let peephole = match config.peephole {
            Peephole::None => None,
            Peephole::Diagonal => Some(tensors[PEEPHOLE].value.data()),
            Peephole::Full => {
                tensors[PEEPHOLE].value.transpose_into(peephole);
                Some(&peephole[..])
            }
        };
        Weights { recurrent: &recurrent[..], peephole }
    }
}

/// Turns `gates` [rows, G·H] into the errors of the gates, ∂L/∂(input of each gate), and adds up the
/// block's share of the gradients of recurrent and peephole weights in `scratch.dense`.
fn backward_block(
    config: LstmConfig,
    weights: &Weights<'_>,
    block: &Block,
    trace: &LstmBlockStates,
    grad: EmbeddingGradient<'_>,
    bptt: Bptt,
    scratch: &mut BlockScratch,
    gates: &mut [f32],
) {
    let (h, width) = (config.cells, config.gates() * config.cells);
    let per_text = if bptt.signals == Signals::PerGate { width } else { h };
    for buffer in &mut scratch.buffers[..2] {
        buffer.resize(block.texts.len() * per_text);
    }
    for t in (0..block.steps()).rev() {
        let span = Span::at(block, bptt, t);
        let Span { first, low, n, .. } = span;
        gates[first * width..(first + low) * width].fill(0.0);
        let (earlier, gates) = gates.split_at_mut((first + low) * width);
        let gates = &mut gates[..(n - low) * width];
        if low == n {
            continue;
        }
        let states = span.states(trace, t, block, h);
        match bptt.signals {
            Signals::Exact => {
                let [d_activation, d_cell, ..] = &mut scratch.buffers;
                span.begin_texts(block, grad, h, 1, d_activation, d_cell);
                if !grad.rows.is_empty() {
                    let from = (block.first_row as usize + first + low) * h;
                    add(&mut d_activation[low * h..n * h], &grad.rows[from..][..(n - low) * h]);
                }
                exact_step(config, weights, states, &span, d_activation, d_cell, gates, t > 0);
            }
            Signals::PerGate => {
                per_gate_step(config, weights, states, &span, block, grad, &mut scratch.buffers, gates, t > 0)
            }
        }
        // Prefetch while the step's errors are still in the cache.
        let ahead = t.checked_sub(1).map_or([&[][..]; 3], |t| {
            let span = Span::at(block, bptt, t);
            let States { cell_before, activation_before, .. } = span.states(trace, t, block, h);
            [&earlier[(span.first + span.low) * width..], cell_before, activation_before]
        });
        weight_gradients(config, states, gates, ahead, &mut scratch.dense);
    }
}

/// The texts through which errors flow at step t: slots low … n.
struct Span {
    /// Packed row of slot 0.
    first: usize,
    /// Texts before this slot have `bptt.words` words or more to come.
    cut: usize,
    /// `cut` for exact gradients. In the published form, where ∂c/∂W is a sum over all words read so far, the signals
    /// of the last words reach the weights by way of every earlier word, so this is 0.
    low: usize,
    /// Texts from this slot on end at step t.
    ending: usize,
    n: usize,
}

/// Rows low … n of the states at a step, [n − low, H].
#[derive(Clone, Copy)]
struct States<'a> {
    cell: &'a [f32],
    /// Empty at the first word.
    cell_before: &'a [f32],
    /// Empty at the first word.
    activation_before: &'a [f32],
}

impl Span {
    fn at(block: &Block, bptt: Bptt, t: usize) -> Span {
        let cut = bptt.words.map_or(0, |words| block.running_at(t.saturating_add(words)));
        let low = if bptt.signals == Signals::PerGate { 0 } else { cut };
        Span { first: block.start[t] as usize, cut, low, ending: block.running_at(t + 1), n: block.running_at(t) }
    }

    fn states<'a>(&self, trace: &'a LstmBlockStates, t: usize, block: &Block, h: usize) -> States<'a> {
        let of = |states: &'a [f32], start: usize| &states[(start + self.low) * h..(start + self.n) * h];
        let before = |states| t.checked_sub(1).map_or(&[][..], |s| of(states, block.start[s] as usize));
        States {
            cell: of(&trace.cell, self.first),
            cell_before: before(&trace.cell),
            activation_before: before(&trace.activation),
        }
    }

    /// Starts the texts that end here: sets `into` to `copies` copies of the gradient of their embedding, and `carry` to zeros;
    /// both are [texts, copies·H].
    fn begin_texts(
        &self,
        block: &Block,
        grad: EmbeddingGradient<'_>,
        h: usize,
        copies: usize,
        into: &mut [f32],
        carry: &mut [f32],
    ) {
        let width = copies * h;
        for slot in self.ending.max(self.low)..self.n {
            carry[slot * width..][..width].fill(0.0);
            let into = &mut into[slot * width..][..width];
            if grad.values.is_empty() {
                into.fill(0.0);
                continue;
            }
            let start = block.texts[slot] as usize * grad.stride + grad.offset;
            for copy in into.chunks_exact_mut(h) {
                copy.copy_from_slice(&grad.values[start..][..h]);
            }
        }
    }
}

/// Computes one step of the exact backward pass. On entry `d_activation` is ∂L/∂y(t), and `d_cell` is the part of ∂L/∂c(t) from
/// later words. On exit both belong to the step before. `gates` become their errors.
fn exact_step(
    config: LstmConfig,
    weights: &Weights<'_>,
    states: States<'_>,
    span: &Span,
    d_activation: &mut [f32],
    d_cell: &mut [f32],
    gates: &mut [f32],
    goes_on: bool,
) {
    let (h, width) = (config.cells, config.gates() * config.cells);
    let (low, n) = (span.low, span.n);
    let count = n - low;
    let d_activation = &mut d_activation[low * h..n * h];
    let d_cell = &mut d_cell[low * h..n * h];
    match weights.peephole {
        None => all_errors(gates, states.cell, states.cell_before, d_activation, d_cell, h, config.forget_gate),
        Some(peephole) => {
            output_errors(gates, states.cell, d_activation, d_cell, h);
            // c(t) reaches the output gate through W_p1, the last H rows of W_pᵀ.
            let last = &peephole[peephole.len() - last(config, h)..];
            into_cell(config.peephole, (count, h), (&gates[config.output_gate()..], width), last, d_cell);
            inner_errors(gates, states.cell_before, d_cell, h, config.forget_gate);
        }
    }
    let errors = &*gates;
    if !goes_on {
        return;
    }
    if let Some(peephole) = weights.peephole {
        // c(t − 1) reaches the input and forget gates.
        for gate in 1..config.gates() - 1 {
            let size = last(config, h);
            let peephole = &peephole[(gate - 1) * size..][..size];
            into_cell(config.peephole, (count, h), (&errors[gate * h..], width), peephole, d_cell);
        }
    }
    gemm_into((count, h, width), Left::rows(errors, width), (weights.recurrent, h), (d_activation, h));
}

/// Returns the number of one gate's peephole weights.
fn last(config: LstmConfig, h: usize) -> usize {
    if config.peephole == Peephole::Full { h * h } else { h }
}

/// Adds errors·W_pᵀ of one gate to `d_cell`; a diagonal W_p is a vector.
fn into_cell(
    kind: Peephole,
    (count, h): (usize, usize),
    (errors, stride): (&[f32], usize),
    weights: &[f32],
    d_cell: &mut [f32],
) {
    match kind {
        Peephole::None => {}
        Peephole::Full => gemm((count, h, h), Left::rows(errors, stride), (weights, h), (d_cell, h)),
        Peephole::Diagonal => {
            for (i, d_cell) in d_cell.chunks_exact_mut(h).enumerate() {
                for ((d, &error), &weight) in d_cell.iter_mut().zip(&errors[i * stride..]).zip(weights) {
                    *d += error * weight;
                }
            }
        }
    }
}

/// Computes one step of the published form. With e_g(t) = δᵍ(t) + f(t + 1)∘e_g(t + 1), the sum Σ_t diag(δᵍ(t))·∂c(t)/∂W_g of eq.
/// (21)–(40) is Σ_t (e_g(t)∘b_g(t))·(input)ᵀ: errors of the gates, as in the exact form. The buffers are what arrives at y(t) on
/// each gate's own path, then f∘e, both [texts, G·H], and a product.
fn per_gate_step(
    config: LstmConfig,
    weights: &Weights<'_>,
    states: States<'_>,
    span: &Span,
    block: &Block,
    grad: EmbeddingGradient<'_>,
    buffers: &mut [Buffer; 3],
    gates_and_errors: &mut [f32],
    goes_on: bool,
) {
    let (h, width) = (config.cells, config.gates() * config.cells);
    let (low, n, gates) = (span.low, span.n, config.gates());
    let [signals, carried, product, ..] = buffers;
    span.begin_texts(block, grad, h, gates, signals, carried);
    // δ ends here, while f∘e goes on to the first word.
    signals[..span.cut * width].fill(0.0);
    for slot in low..n {
        let row = slot - low;
        let gate = &mut gates_and_errors[row * width..][..width];
        let signal = &mut signals[slot * width..][..width];
        let carry = &mut carried[slot * width..][..width];
        for j in 0..h {
            let (y_g, i, o) = (gate[j], gate[h + j], gate[width - h + j]);
            let f = if config.forget_gate { gate[2 * h + j] } else { 1.0 };
            let c_before = states.cell_before.get(row * h + j).copied().unwrap_or(0.0);
            let tanh_c = tanh::<false>(states.cell[row * h + j]);
            // eq. (17), (43): δ¹ = o∘(1 − o)∘h(c)∘v; eq. (22), (44): δᵍ = (1 − h²(c))∘o∘v.
            let output = width - h + j;
            signal[output] *= o * (1.0 - o) * tanh_c;
            gate[output] = signal[output];
            for g in 0..gates - 1 {
                let at = g * h + j;
                signal[at] *= (1.0 - tanh_c * tanh_c) * o;
                let sum = signal[at] + carry[at];
                let b = match g {
                    0 => i * (1.0 - y_g * y_g),
                    1 => y_g * i * (1.0 - i),
                    _ => c_before * f * (1.0 - f),
                };
                gate[at] = sum * b;
                carry[at] = f * sum;
            }
        }
    }
    if !goes_on {
        return;
    }
    // δᵍ(t − 1) begins with W_recgᵀ δᵍ(t): each gate uses its own recurrent weights.
    product.resize((n - low) * width);
    for gate in 0..gates {
        let own = (&weights.recurrent[gate * h * h..][..h * h], h);
        let signals = Left::rows(&signals[low * width + gate * h..], width);
        gemm_into((n - low, h, h), signals, own, (&mut product[gate * h..], width));
    }
    signals[low * width..n * width].copy_from_slice(product);
}
