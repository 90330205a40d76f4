//! The forward pass of an LSTM.

use super::states::{LstmBlockStates, LstmStates};
use super::{Direction, LstmConfig, PEEPHOLE, Peephole, RECURRENT, Tensor};
use crate::encoder::for_each_block_with_rows;
use crate::math::Matrix;
use crate::math::activation::{mul_add, sigmoid, tanh};
use crate::math::gemm::{Left, Right, Rows, gemm, gemm_onto};
use crate::math::level::by_level;
use crate::text::batch::{Batch, Block};

/// The rows of its projected inputs that an LSTM reads.
#[derive(Clone, Copy)]
pub(in super::super) enum Order<'a> {
    /// The words of texts, in this direction.
    Words(Direction),
    /// The outputs of the LSTM below at the same packed rows of the batch: 0, 1, 2, …
    Rows(&'a [u32]),
}

impl<'a> Order<'a> {
    fn direction(self) -> Direction {
        match self {
            Order::Words(direction) => direction,
            Order::Rows(_) => Direction::Forward,
        }
    }

    /// Returns the rows to read, one for each packed row of a block.
    fn words(self, block: &'a Block) -> &'a [u32] {
        match self {
            Order::Words(Direction::Forward) => &block.words,
            Order::Words(Direction::Backward) => &block.reversed,
            Order::Rows(rows) => &rows[block.first_row as usize..][..block.rows()],
        }
    }
}

/// Runs the forward pass of one LSTM over a batch.
pub(in super::super) fn forward(
    config: LstmConfig,
    tensors: &[Tensor],
    batch: &Batch,
    order: Order<'_>,
    projected: &[f32],
    states: &mut LstmStates,
    keep_inputs: bool,
) {
    states.config = config;
    states.direction = order.direction();
    let LstmStates { gates, blocks, .. } = states;
    let width = config.gates() * config.cells;
    gates.resize(batch.rows() * width);
    let recurrent = Right::from((tensors[RECURRENT].value.data(), width));
    let forward = |block: &Block, gates: &mut [f32], trace: &mut LstmBlockStates| {
        forward_block(config, tensors, recurrent, block, order.words(block), projected, keep_inputs, gates, trace);
    };
    for_each_block_with_rows(batch, (gates, width), blocks, forward);
}

fn forward_block(
    config: LstmConfig,
    tensors: &[Tensor],
    recurrent: Right<'_>,
    block: &Block,
    words: &[u32],
    projected: &[f32],
    keep_inputs: bool,
    gates: &mut [f32],
    trace: &mut LstmBlockStates,
) {
    let h = config.cells;
    let width = config.gates() * h;
    let rows = block.rows();
    trace.cell.resize(rows * h);
    trace.activation.resize(rows * h);
    trace.inputs.resize(if keep_inputs { rows * width } else { 0 });
    let peephole = tensors.get(PEEPHOLE).map(|tensor| &tensor.value);

    for t in 0..block.steps() {
        let n = block.running[t] as usize;
        let first = block.start[t] as usize;
        let gates = &mut gates[first * width..][..n * width];
        // y⁻ and c⁻ of the texts that are still running are the first n rows of the step before. Both are zero at t =
        // 0.
        let (cell_before, cell) = trace.cell.split_at_mut(first * h);
        let cell = &mut cell[..n * h];
        let before = t.checked_sub(1).map(|s| block.start[s] as usize * h);
        let cell_before = before.map_or(&[][..], |start| &cell_before[start..][..n * h]);
        let ahead = block.running_at(t + 1);
        let words = &words[first..][..n + ahead];
        match before {
            None => {
                for (gates, &word) in gates.chunks_exact_mut(width).zip(words) {
                    gates.copy_from_slice(&projected[word as usize * width..][..width]);
                }
            }
            Some(start) => {
                let activation_before = Left::rows(&trace.activation[start..][..n * h], h);
                let inputs = Rows { data: projected, stride: width, of: words, ahead };
                gemm_onto((n, width, h), activation_before, recurrent, inputs, (gates, width));
                peephole_before(config, peephole, n, cell_before, gates);
            }
        }
        if keep_inputs {
            trace.inputs[first * width..][..n * width].copy_from_slice(gates);
        }
        cell_step(gates, cell_before, cell, h, config.forget_gate);
        peephole_after(config, peephole, n, cell, gates);
        if keep_inputs {
            // The output gate gets its input from the new cell state only now.
            let saved = trace.inputs[first * width..][..n * width].chunks_exact_mut(width);
            for (saved, gates) in saved.zip(gates.chunks_exact(width)) {
                saved[config.output_gate()..].copy_from_slice(&gates[config.output_gate()..]);
            }
        }
        output_step(gates, cell, &mut trace.activation[first * h..][..n * h], h);
    }
}

/// Adds W_p3 c⁻ and W_p2 c⁻ to the inputs of the input and forget gates.
fn peephole_before(config: LstmConfig, peephole: Option<&Matrix>, n: usize, cell_before: &[f32], gates: &mut [f32]) {
    let Some(weights) = peephole else { return };
    let (h, width) = (config.cells, config.gates() * config.cells);
    let columns = config.output_gate() - config.input_gate();
    let weights_stride = weights.columns();
    match config.peephole {
        Peephole::None => {}
        Peephole::Full => gemm(
            (n, columns, h),
            Left::rows(cell_before, h),
            (weights.data(), weights_stride),
            (&mut gates[config.input_gate()..], width),
        ),
        Peephole::Diagonal => {
            for (gates, cell) in gates.chunks_exact_mut(width).zip(cell_before.chunks_exact(h)) {
                let gates = &mut gates[config.input_gate()..][..columns];
                for (gate, weights) in gates.chunks_exact_mut(h).zip(weights.data().chunks_exact(h)) {
                    for ((gate, &weight), &c) in gate.iter_mut().zip(weights).zip(cell) {
                        *gate += weight * c;
                    }
                }
            }
        }
    }
}

/// Adds W_p1 c to the input of the output gate, which sees the new cell state.
fn peephole_after(config: LstmConfig, peephole: Option<&Matrix>, n: usize, cell: &[f32], gates: &mut [f32]) {
    let Some(weights) = peephole else { return };
    let (h, width) = (config.cells, config.gates() * config.cells);
    let first = weights.columns() - h;
    match config.peephole {
        Peephole::None => {}
        Peephole::Full => gemm(
            (n, h, h),
            Left::rows(cell, h),
            (&weights.data()[first..], weights.columns()),
            (&mut gates[config.output_gate()..], width),
        ),
        Peephole::Diagonal => {
            for (gates, cell) in gates.chunks_exact_mut(width).zip(cell.chunks_exact(h)) {
                let output = &mut gates[config.output_gate()..];
                for ((gate, &weight), &c) in output.iter_mut().zip(&weights.data()[first..]).zip(cell) {
                    *gate += weight * c;
                }
            }
        }
    }
}

by_level! {
    /// Computes y_g = tanh, i = σ and f = σ in place in `gates` [n, G·H], and c = f∘c⁻ + i∘y_g into `cell` [n, H].
    /// `cell_before` is empty at the first word.
    fn cell_step(gates: &mut [f32], cell_before: &[f32], cell: &mut [f32], h: usize, forget: bool) = cell_step_body
}

#[inline(always)]
fn cell_step_body<const FMA: bool>(gates: &mut [f32], cell_before: &[f32], cell: &mut [f32], h: usize, forget: bool) {
    let width = gates.len() / (cell.len() / h);
    let mut before = cell_before.chunks_exact(h);
    for (gates, cell) in gates.chunks_exact_mut(width).zip(cell.chunks_exact_mut(h)) {
        let (y_g, gates) = gates.split_at_mut(h);
        let (i, gates) = gates.split_at_mut(h);
        for ((y_g, i), c) in y_g.iter_mut().zip(i.iter_mut()).zip(cell.iter_mut()) {
            *y_g = tanh::<FMA>(*y_g);
            *i = sigmoid::<FMA>(*i);
            *c = *i * *y_g;
        }
        if forget {
            gates[..h].iter_mut().for_each(|f| *f = sigmoid::<FMA>(*f));
        }
        let Some(before) = before.next() else { continue };
        if forget {
            for ((c, &c_before), &f) in cell.iter_mut().zip(before).zip(&gates[..h]) {
                *c = mul_add::<FMA>(f, c_before, *c);
            }
        } else {
            for (c, &c_before) in cell.iter_mut().zip(before) {
                *c += c_before;
            }
        }
    }
}

by_level! {
    /// Computes o = σ in place in `gates`, and y = o∘tanh c, [n, H].
    fn output_step(gates: &mut [f32], cell: &[f32], activation: &mut [f32], h: usize) = output_step_body
}

#[inline(always)]
fn output_step_body<const FMA: bool>(gates: &mut [f32], cell: &[f32], activation: &mut [f32], h: usize) {
    let width = gates.len() / (cell.len() / h);
    let states = cell.chunks_exact(h).zip(activation.chunks_exact_mut(h));
    for (gates, (cell, activation)) in gates.chunks_exact_mut(width).zip(states) {
        let o = &mut gates[width - h..];
        for ((o, &c), y) in o.iter_mut().zip(cell).zip(activation) {
            *o = sigmoid::<FMA>(*o);
            *y = *o * tanh::<FMA>(c);
        }
    }
}
