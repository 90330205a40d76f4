//! LSTMs on top of each other (Palangi et al. 2014): each layer reads the outputs y(t) of the one below word by word, and
//! the last layer's y(T) is the embedding.
//!
//! The first layer reads words like any LSTM. For a further layer, the outputs below are projected in one product for a
//! whole block; then its forward and backward passes are those of [`super::lstm`].

use super::input::{Input, place_embeddings, split_by_block};
use super::kind::{EncoderKind, LAYERS};
use super::lstm::{self, EmbeddingGradient, INPUT, LstmStates, Order};
use super::trace::{Direction, Quantity, Slot, States};
use super::{
    BlockScratch, Bptt, Description, Encoder, Gradients, LstmConfig, Peephole, Tensor, TensorKind, Trace, reduce_blocks,
};
use crate::fields::fields;
use crate::math::Buffer;
use crate::math::gemm::{Left, gemm, gemm_into};
use crate::math::vector::add;
use crate::text::batch::{Batch, Block};
use rayon::prelude::*;
use std::borrow::Cow;

fields! {
    /// The sizes and gates of LSTMs on top of each other; by default two layers of as many cells as the paper's LSTM.
    #[derive(Eq)]
    pub struct StackedConfig {
        /// The cells of each layer; the first reads words.
        pub layers: Vec<usize> = (vec![96, 96]) where LAYERS,
        /// Whether there are forget gates.
        pub forget_gate: bool = false,
        /// Connections from the cells to the gates: `none`, `diagonal` or `full`.
        pub peephole: Peephole = (Peephole::None),
    }
}

impl StackedConfig {
    /// Returns the LSTM of a layer.
    fn layer(&self, layer: usize) -> LstmConfig {
        LstmConfig { cells: self.layers[layer], forget_gate: self.forget_gate, peephole: self.peephole }
    }

    fn layers(&self) -> impl Iterator<Item = LstmConfig> {
        (0..self.layers.len()).map(|layer| self.layer(layer))
    }
}

impl EncoderKind for StackedConfig {
    fn sizes(&self) -> String {
        let layers: Vec<String> = self.layers.iter().map(ToString::to_string).collect();
        let variant = self.layers().next().map_or_else(String::new, |layer| layer.variant());
        format!("lstm layers of {} cells{variant}", layers.join(", "))
    }

    fn build(&self, features: usize) -> Box<dyn Encoder> {
        Box::new(Stacked::new(features, self.clone()))
    }

    fn parameters(&self, features: u64) -> Option<u64> {
        let mut inputs = features;
        self.layers().try_fold(0u64, |sum, layer| {
            let parameters = layer.parameters(inputs)?;
            inputs = layer.cells as u64;
            sum.checked_add(parameters)
        })
    }

    fn description(&self) -> Description {
        lstm::describe(self.forget_gate)
    }

    fn has_published_signals(&self) -> bool {
        self.layers.len() == 1
    }
}

/// LSTMs, each of which reads the one below.
pub(super) struct Stacked {
    config: StackedConfig,
    /// The tensors of each layer, one layer after the other.
    tensors: Vec<Tensor>,
}

/// The states of all layers over a batch.
#[derive(Debug, Default)]
struct StackedStates {
    layers: Vec<LstmStates>,
    /// The projected inputs of the layer that is being computed, [packed rows, G·H].
    projected: Buffer,
    /// The packed rows, which are what a further layer reads instead of words: 0, 1, 2, …
    rows: Vec<u32>,
    /// ∂L/∂y of the layer below, [packed rows, H].
    below: Buffer,
    /// The transpose of a further layer's input weights.
    transposed: Buffer,
}

impl States for StackedStates {
    /// Returns those of the last layer.
    fn word_quantities(&self) -> Vec<Quantity> {
        self.layers.last().map_or_else(Vec::new, LstmStates::word_quantities)
    }

    fn at(&self, slot: Slot<'_>, quantity: Quantity, word: usize) -> Option<Cow<'_, [f32]>> {
        self.layers.last()?.at(slot, quantity, word)
    }
}

impl Stacked {
    /// Returns all weights zero.
    pub(super) fn new(features: usize, config: StackedConfig) -> Stacked {
        let mut tensors = Vec::new();
        let mut inputs = features;
        for (number, layer) in (1..).zip(config.layers()) {
            let mut layer_tensors = layer.tensors(inputs, &format!("layer{number}."));
            if number > 1 {
                layer_tensors[INPUT].kind = TensorKind::Dense;
            }
            tensors.extend(layer_tensors);
            inputs = layer.cells;
        }
        Stacked { config, tensors }
    }

    /// Returns the number of tensors of a layer.
    fn each(&self) -> usize {
        self.tensors.len() / self.config.layers.len()
    }
}

/// Sets `projected` [rows, G·H] to W y + b for the outputs y of a block's layer below, [rows, inputs].
fn project(tensors: &[Tensor], below: &[f32], projected: &mut [f32]) {
    let weights = &tensors[INPUT].value;
    let (inputs, width) = (weights.rows(), weights.columns());
    let rows = projected.len() / width;
    for row in projected.chunks_exact_mut(width) {
        row.copy_from_slice(tensors[lstm::BIAS].value.data());
    }
    gemm((rows, width, inputs), Left::rows(below, inputs), (weights.data(), width), (projected, width));
}

/// Computes, from the errors of a layer's gates [rows, G·H], the block's share of the gradients of its input weights and bias,
/// and ∂L/∂y of the layer below, [rows, inputs]. `transposed` is the transpose of its input weights.
fn pass_down(transposed: &[f32], errors: &[f32], y_below: &[f32], scratch: &mut BlockScratch, below: &mut [f32]) {
    let dense = &mut scratch.dense;
    let (inputs, width) = (dense[INPUT].rows(), dense[INPUT].columns());
    let rows = errors.len() / width;
    let into = (dense[INPUT].data_mut(), width);
    gemm((inputs, width, rows), Left::transposed(y_below, inputs), (errors, width), into);
    for errors in errors.chunks_exact(width) {
        add(dense[lstm::BIAS].data_mut(), errors);
    }
    gemm_into((rows, inputs, width), Left::rows(errors, width), (transposed, inputs), (below, inputs));
}

impl Encoder for Stacked {
    fn dimension(&self) -> usize {
        self.config.layers[self.config.layers.len() - 1]
    }

    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn tensors_mut(&mut self) -> &mut [Tensor] {
        &mut self.tensors
    }

    fn inputs(&self) -> Vec<Input<'_>> {
        vec![Input { weights: &self.tensors[INPUT], bias: Some(&self.tensors[lstm::BIAS]) }]
    }

    fn forward_projected(&self, batch: &Batch, projected: &[Buffer], trace: &mut Trace) {
        let StackedStates { layers, projected: products, rows, .. } = trace.states.begin(batch);
        layers.resize_with(self.config.layers.len(), LstmStates::default);
        rows.clear();
        rows.extend(0..batch.rows() as u32);
        for (layer, tensors) in self.tensors.chunks(self.each()).enumerate() {
            let config = self.config.layer(layer);
            let (below, states) = layers.split_at_mut(layer);
            let Some(below) = below.last() else {
                let order = Order::Words(Direction::Forward);
                lstm::forward(config, tensors, batch, order, &projected[0], &mut states[0], trace.keep_inputs);
                continue;
            };
            let width = config.gates() * config.cells;
            products.resize(batch.rows() * width);
            match &batch.blocks[..] {
                // Entering the thread pool costs more than encoding a short text.
                [_] => project(tensors, below.activations(0), products),
                blocks => {
                    let parts = split_by_block(batch, width, products);
                    let numbered = (0..blocks.len()).into_par_iter().zip(parts);
                    numbered.for_each(|(number, projected)| project(tensors, below.activations(number), projected));
                }
            }
            lstm::forward(config, tensors, batch, Order::Rows(rows), products, &mut states[0], trace.keep_inputs);
        }
        let h = self.dimension();
        let Some(last) = layers.last() else { unreachable!("a layer") };
        place_embeddings(batch, h, &mut trace.embeddings, |b, slot| batch.blocks[b].last(last.activations(b), slot, h));
    }

    fn backward(&self, batch: &Batch, trace: &mut Trace, grad: &[f32], bptt: Bptt, gradients: &mut Gradients) {
        let StackedStates { layers, below, transposed, .. } = trace.states.spend();
        gradients.shape_like(&self.tensors, batch);
        let Gradients { tensors: out, table_squares, scratch, .. } = gradients;
        let each = self.each();
        let last = layers.len() - 1;
        for layer in (0..=last).rev() {
            let (config, tensors) = (self.config.layer(layer), &self.tensors[layer * each..][..each]);
            let out = &mut out[layer * each..][..each];
            let grad = if layer == last {
                EmbeddingGradient::last_words(grad, config.cells, 0)
            } else {
                EmbeddingGradient::every_word(below)
            };
            let (lower, states) = layers.split_at_mut(layer);
            let states = &mut states[0];
            if layer == 0 {
                *table_squares = lstm::backward(config, tensors, batch, states, grad, bptt, scratch, out);
                continue;
            }
            lstm::gate_errors(config, tensors, batch, states, grad, bptt, scratch);
            tensors[INPUT].value.transpose_into(transposed);
            let inputs = self.config.layers[layer - 1];
            below.resize(batch.rows() * inputs);
            let width = config.gates() * config.cells;
            let (lower, transposed) = (&lower[layer - 1], &transposed[..]);
            let rows = (split_by_block(batch, width, states.errors()), split_by_block(batch, inputs, below));
            let blocks: &[Block] = &batch.blocks;
            (0..blocks.len()).into_par_iter().zip(scratch.blocks.par_iter_mut()).zip(rows.0).zip(rows.1).for_each(
                |(((number, scratch), errors), below)| {
                    pass_down(transposed, errors, lower.activations(number), scratch, below);
                },
            );
            reduce_blocks(&scratch.blocks[..blocks.len()], tensors, out, scratch.chain.as_mut());
        }
    }
}
