//! The LSTM of Palangi et al. 2015, eq. (2), with every variant of it that the paper names.
//!
//! H cells, G gates. Columns of a gate buffer: y_g | i | f (with a forget gate) | o, each H wide.

use super::input::{Input, bias_gradient, gather_gradient, place_embeddings, split_by_block};
use super::lstm_backward::{Weights, backward_block};
use super::{
    Bptt, Encoder, Gradients, LstmConfig, Peephole, Scratch, States, Tensor, TensorKind, Trace, reduce_blocks,
};
use crate::math::activation::{mul_add, sigmoid, tanh};
use crate::math::bf16::{Packed, Precision};
use crate::math::gemm::{Left, Right, Rows, gemm, gemm_onto};
use crate::math::level::by_level;
use crate::math::{Buffer, Matrix};
use crate::text::batch::{Batch, Block};
use rayon::prelude::*;

/// The order of an LSTM's tensors.
pub(crate) const INPUT: usize = 0;
pub(crate) const RECURRENT: usize = 1;
pub(crate) const BIAS: usize = 2;
pub(crate) const PEEPHOLE: usize = 3;

/// One LSTM over texts read from left to right.
pub struct Lstm {
    config: LstmConfig,
    tensors: Vec<Tensor>,
}

/// In which order a text's words are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

/// The states of one LSTM over a batch.
#[derive(Debug, Default)]
pub struct LstmTrace {
    /// y_g | i | f | o after their activations, [packed rows of the batch, G·H]; the way back puts
    /// ∂L/∂(input of each gate) in their place.
    pub gates: Buffer,
    /// One for each block.
    pub blocks: Vec<LstmBlockTrace>,
}

/// The states of one LSTM over a block; rows are the block's packed rows.
#[derive(Debug, Default)]
pub struct LstmBlockTrace {
    /// c, [rows, H]
    pub cell: Buffer,
    /// y, [rows, H]
    pub activation: Buffer,
}

impl LstmConfig {
    /// G: gates, the input y_g counted as one.
    pub fn gates(&self) -> usize {
        if self.forget_gate { 4 } else { 3 }
    }

    /// Column where a gate begins.
    pub(crate) fn input_gate(&self) -> usize {
        self.cells
    }

    /// Column where the output gate begins; the forget gate, if there is one, lies before it.
    pub(crate) fn output_gate(&self) -> usize {
        (self.gates() - 1) * self.cells
    }

    /// The tensors of one LSTM, with `prefix` before each name.
    pub(crate) fn tensors(&self, features: usize, prefix: &str) -> Vec<Tensor> {
        let gates: &[&str] = if self.forget_gate { &["4", "3", "2", "1"] } else { &["4", "3", "1"] };
        let named = |stem: &str, gates: &[&str]| -> Vec<String> {
            gates.iter().map(|gate| format!("{prefix}{stem}{gate}")).collect()
        };
        let tensor = |kind, inputs, stem, gates: &[&str]| {
            let names = named(stem, gates);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            Tensor::zeros(kind, inputs, &names, self.cells)
        };
        let mut tensors = vec![
            tensor(TensorKind::Table, features, "w", gates),
            tensor(TensorKind::Dense, self.cells, "wrec", gates),
            tensor(TensorKind::Dense, 1, "b", gates),
        ];
        match self.peephole {
            Peephole::None => {}
            Peephole::Diagonal => tensors.push(tensor(TensorKind::Dense, 1, "wp", &gates[1..])),
            Peephole::Full => tensors.push(tensor(TensorKind::Dense, self.cells, "wp", &gates[1..])),
        }
        tensors
    }
}

impl Lstm {
    /// All weights zero.
    pub fn new(features: usize, config: LstmConfig) -> Lstm {
        Lstm { config, tensors: config.tensors(features, "") }
    }
}

impl Encoder for Lstm {
    fn dimension(&self) -> usize {
        self.config.cells
    }

    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn tensors_mut(&mut self) -> &mut [Tensor] {
        &mut self.tensors
    }

    fn inputs(&self) -> Vec<Input<'_>> {
        vec![Input { table: &self.tensors[INPUT], bias: Some(&self.tensors[BIAS]) }]
    }

    fn forward_projected(&self, batch: &Batch, projected: &[Buffer], trace: &mut Trace) {
        if !matches!(trace.states, States::Lstm(_)) {
            trace.states = States::Lstm(LstmTrace::default());
        }
        let States::Lstm(states) = &mut trace.states else { unreachable!("set above") };
        let Trace { precision, packed, .. } = trace;
        forward(self.config, &self.tensors, batch, Direction::Forward, &projected[0], states, *precision, packed);
        let h = self.config.cells;
        place_embeddings(batch, h, &mut trace.embeddings, |b, place| states.blocks[b].last(&batch.blocks[b], place, h));
    }

    fn backward(&self, batch: &Batch, trace: &mut Trace, grad: &[f32], bptt: Bptt, gradients: &mut Gradients) {
        let how = (bptt, trace.precision);
        let States::Lstm(states) = &mut trace.states else { panic!("backward without its forward") };
        gradients.shape_like(&self.tensors, batch);
        let Gradients { tensors, table_squares, scratch, .. } = gradients;
        let grad = EmbeddingGradient { values: grad, stride: self.config.cells, offset: 0 };
        *table_squares =
            backward(self.config, &self.tensors, batch, Direction::Forward, states, grad, how, scratch, tensors);
    }
}

/// ∂L/∂embeddings of an LSTM that fills part of each embedding.
#[derive(Clone, Copy)]
pub(crate) struct EmbeddingGradient<'a> {
    pub(crate) values: &'a [f32],
    /// Size of the whole embedding.
    pub(crate) stride: usize,
    /// Where this LSTM's part begins.
    pub(crate) offset: usize,
}

impl LstmBlockTrace {
    /// y(T) of the text at `place`.
    pub(crate) fn last(&self, block: &Block, place: usize, cells: usize) -> &[f32] {
        let row = block.row(place, block.length(place) - 1);
        &self.activation[row * cells..][..cells]
    }
}

impl Direction {
    pub(crate) fn words(self, block: &Block) -> &[u32] {
        match self {
            Direction::Forward => &block.words,
            Direction::Backward => &block.reversed,
        }
    }
}

pub(crate) fn forward(
    config: LstmConfig,
    tensors: &[Tensor],
    batch: &Batch,
    direction: Direction,
    projected: &[f32],
    trace: &mut LstmTrace,
    precision: Precision,
    packed: &mut Packed,
) {
    let LstmTrace { gates, blocks } = trace;
    let width = config.gates() * config.cells;
    gates.resize(batch.rows() * width);
    let recurrent = precision.prepare((config.cells, width), tensors[RECURRENT].value.data(), packed);
    let forward = |block: &Block, gates: &mut [f32], trace: &mut LstmBlockTrace| {
        forward_block(config, tensors, recurrent, block, direction.words(block), projected, gates, trace);
    };
    blocks.resize_with(batch.blocks.len().max(blocks.len()), LstmBlockTrace::default);
    match &batch.blocks[..] {
        // As in `for_each_block`, the thread pool would cost a short text more than its whole way.
        [block] => forward(block, gates, &mut blocks[0]),
        all => (all, split_by_block(batch, width, gates), blocks)
            .into_par_iter()
            .for_each(|(block, gates, trace)| forward(block, gates, trace)),
    }
}

fn forward_block(
    config: LstmConfig,
    tensors: &[Tensor],
    recurrent: Right<'_>,
    block: &Block,
    words: &[u32],
    projected: &[f32],
    gates: &mut [f32],
    trace: &mut LstmBlockTrace,
) {
    let h = config.cells;
    let width = config.gates() * h;
    let rows = block.rows();
    trace.cell.resize(rows * h);
    trace.activation.resize(rows * h);
    let peephole = tensors.get(PEEPHOLE).map(|tensor| &tensor.value);

    for t in 0..block.steps() {
        let n = block.running[t] as usize;
        let first = block.start[t] as usize;
        let gates = &mut gates[first * width..][..n * width];
        // y⁻ and c⁻ of the texts still running are the first n of the step before; both are zero at t = 0.
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
        cell_step(gates, cell_before, cell, h, config.forget_gate);
        peephole_after(config, peephole, n, cell, gates);
        output_step(gates, cell, &mut trace.activation[first * h..][..n * h], h);
    }
}

/// W_p3 c⁻ and W_p2 c⁻ into the input and forget gates.
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

/// W_p1 c into the output gate: it sees the new cell state.
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
    /// y_g = tanh, i = σ, f = σ in place in `gates` [n, G·H]; c = f∘c⁻ + i∘y_g into `cell` [n, H].
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
    /// o = σ in place in `gates`; y = o∘tanh c, [n, H].
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

/// The way back; `gradients` are this LSTM's, shaped and zero. Returns Σ of the squares of the table's.
pub(crate) fn backward(
    config: LstmConfig,
    tensors: &[Tensor],
    batch: &Batch,
    direction: Direction,
    trace: &mut LstmTrace,
    grad: EmbeddingGradient<'_>,
    (bptt, precision): (Bptt, Precision),
    scratch: &mut Scratch,
    gradients: &mut [Matrix],
) -> f64 {
    let width = config.gates() * config.cells;
    scratch.shape_blocks(batch.blocks.len());
    let weights = Weights::transpose(config, tensors, precision, &mut scratch.transposed, &mut scratch.packed);
    let LstmTrace { gates, blocks, .. } = trace;
    let rows = split_by_block(batch, width, gates);
    (batch.blocks.par_iter(), &blocks[..], scratch.blocks.par_iter_mut(), rows).into_par_iter().for_each(
        |(block, trace, scratch, rows)| {
            scratch.begin(tensors);
            backward_block(config, &weights, block, trace, grad, bptt, scratch, rows);
        },
    );
    reduce_blocks(&scratch.blocks[..batch.blocks.len()], tensors, gradients);

    let occurrences = match direction {
        Direction::Forward => &batch.occurrences,
        Direction::Backward => {
            batch.occurrences_reversed(&mut scratch.occurrences);
            &scratch.occurrences
        }
    };
    let squares = gather_gradient(batch, occurrences, gates, &mut gradients[INPUT], &mut scratch.squares);
    bias_gradient(batch, gradients);
    squares
}
