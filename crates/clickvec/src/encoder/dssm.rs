//! The DSSM of Huang et al. 2013: x = Σ_t l(t), then layers h = tanh(W h + b).

use super::input::{Input, gather_gradient, place_embeddings, split_texts_by_block};
use super::kind::{EncoderKind, LAYERS, layer_parameters};
use super::trace::{Quantity, Slot, Stage, State, States, row};
use super::{
    BlockScratch, Bptt, Description, Encoder, Gradients, Reading, Tensor, TensorKind, TextStatistics, Trace,
    for_each_block, reduce_blocks,
};
use crate::fields::fields;
use crate::math::Buffer;
use crate::math::activation::tanh_slice;
use crate::math::gemm::{Left, gemm, gemm_into};
use crate::math::sparse::add_rows;
use crate::math::vector;
use crate::text::batch::{Batch, Block};
use rayon::prelude::*;
use std::borrow::Cow;

fields! {
    /// The sizes of a DSSM; by default the papers' 288/96.
    #[derive(Eq)]
    pub struct DssmConfig {
        /// The units of each layer; the last is the size of the embedding.
        pub layers: Vec<usize> = (vec![288, 96]) where LAYERS,
    }
}

impl EncoderKind for DssmConfig {
    fn sizes(&self) -> String {
        let layers: Vec<String> = self.layers.iter().map(ToString::to_string).collect();
        format!("layers of {}", layers.join(", "))
    }

    fn build(&self, features: usize) -> Box<dyn Encoder> {
        Box::new(Dssm::new(features, &self.layers))
    }

    fn parameters(&self, features: u64) -> Option<u64> {
        let mut inputs = features;
        self.layers.iter().try_fold(0u64, |sum, &units| {
            let layer = layer_parameters(inputs, units as u64)?;
            inputs = units as u64;
            sum.checked_add(layer)
        })
    }

    fn description(&self) -> Description {
        Description { reading: Reading::Bag, gates: &[], telling: &[] }
    }

    fn active_inputs(&self, texts: TextStatistics) -> f64 {
        texts.trigrams_per_word * texts.words_per_text
    }
}

/// A feed-forward network over a text's bag of letter trigrams.
pub(super) struct Dssm {
    /// w1, b1, w2, b2, …
    tensors: Vec<Tensor>,
}

/// The states of a DSSM over a batch.
#[derive(Debug, Default)]
struct DssmStates {
    /// H_k
    units: Vec<usize>,
    blocks: Vec<DssmBlockStates>,
}

/// The states of a DSSM over a block.
#[derive(Debug, Default)]
struct DssmBlockStates {
    /// Activations of each layer, [texts of the block, H_k].
    layers: Vec<Buffer>,
    /// Their inputs; empty unless requested.
    inputs: Vec<Buffer>,
    /// The words of the text that is read.
    words: Vec<u32>,
}

impl States for DssmStates {
    fn text_quantities(&self) -> Vec<Quantity> {
        (0..self.units.len()).map(|layer| State::Layer(layer).into()).collect()
    }

    fn at_text(&self, slot: Slot<'_>, quantity: Quantity) -> Option<Cow<'_, [f32]>> {
        let State::Layer(layer) = quantity.state else { return None };
        let block = &self.blocks[slot.number];
        let layers = match quantity.stage {
            Stage::Before => &block.inputs,
            Stage::After => &block.layers,
        };
        row(layers.get(layer)?, slot.index, self.units[layer])
    }
}

impl Dssm {
    /// Creates an encoder with all weights zero, and one layer for each of `layers`.
    pub(super) fn new(features: usize, layers: &[usize]) -> Dssm {
        let mut tensors = Vec::new();
        let mut inputs = features;
        for (i, &units) in layers.iter().enumerate() {
            let kind = if i == 0 { TensorKind::Input } else { TensorKind::Dense };
            tensors.push(Tensor::zeros(kind, inputs, &[&format!("w{}", i + 1)], units));
            tensors.push(Tensor::zeros(TensorKind::Bias, 1, &[&format!("b{}", i + 1)], units));
            inputs = units;
        }
        Dssm { tensors }
    }

    fn layers(&self) -> usize {
        self.tensors.len() / 2
    }

    fn units(&self, layer: usize) -> usize {
        self.tensors[2 * layer].value.columns()
    }

    fn forward_block(&self, block: &Block, projected: &[f32], keep_inputs: bool, states: &mut DssmBlockStates) {
        let texts = block.texts.len();
        let DssmBlockStates { layers, inputs: saved, words } = states;
        layers.resize_with(self.layers(), Buffer::default);
        saved.resize_with(if keep_inputs { self.layers() } else { 0 }, Buffer::default);
        for layer in 0..self.layers() {
            let units = self.units(layer);
            let (before, now) = layers.split_at_mut(layer);
            let now = &mut now[0];
            now.resize(texts * units);
            for row in now.chunks_exact_mut(units) {
                row.copy_from_slice(self.tensors[2 * layer + 1].value.data());
            }
            match before.last() {
                None => {
                    for (slot, row) in now.chunks_exact_mut(units).enumerate() {
                        words.clear();
                        words.extend((0..block.length(slot)).map(|t| block.words[block.row(slot, t)]));
                        add_rows(projected, words, row);
                    }
                }
                Some(before) => {
                    let inputs = self.units(layer - 1);
                    let weights = self.tensors[2 * layer].value.data();
                    gemm((texts, units, inputs), Left::rows(before, inputs), (weights, units), (now, units));
                }
            }
            if let Some(saved) = saved.get_mut(layer) {
                saved.resize(now.len());
                saved.copy_from_slice(now);
            }
            tanh_slice(now);
        }
    }

    /// Fills `errors` [texts of the block, H₁], the error of each text's first layer, which is that of each of its words.
    fn backward_block(
        &self,
        transposed: &[Buffer],
        block: &Block,
        layers: &[Buffer],
        grad: &[f32],
        scratch: &mut BlockScratch,
        errors: &mut [f32],
    ) {
        let texts = block.texts.len();
        let BlockScratch { dense, buffers: [error, before, _] } = scratch;
        let last = self.layers() - 1;
        let dimension = self.units(last);
        error.resize(texts * dimension);
        for (error, &text) in error.chunks_exact_mut(dimension).zip(&block.texts) {
            error.copy_from_slice(&grad[text as usize * dimension..][..dimension]);
        }
        for layer in (1..=last).rev() {
            let (units, inputs) = (self.units(layer), self.units(layer - 1));
            through_tanh(error, &layers[layer], dense[2 * layer + 1].data_mut());
            let into = dense[2 * layer].data_mut();
            gemm((inputs, units, texts), Left::transposed(&layers[layer - 1], inputs), (&*error, units), (into, units));
            before.resize(texts * inputs);
            gemm_into((texts, inputs, units), Left::rows(error, units), (&transposed[layer], inputs), (before, inputs));
            std::mem::swap(error, before);
        }
        through_tanh(error, &layers[0], dense[1].data_mut());
        errors.copy_from_slice(error);
    }
}

/// Turns the errors of a layer's values `h` into those of its inputs, and adds them to the gradient of its bias.
fn through_tanh(errors: &mut [f32], h: &[f32], bias: &mut [f32]) {
    for (errors, h) in errors.chunks_exact_mut(bias.len()).zip(h.chunks_exact(bias.len())) {
        for (error, &h) in errors.iter_mut().zip(h) {
            *error *= 1.0 - h * h;
        }
        vector::add(bias, errors);
    }
}

impl Encoder for Dssm {
    /// Returns the words of a text share its states.
    fn numbers_per_word(&self) -> usize {
        0
    }

    fn dimension(&self) -> usize {
        self.units(self.layers() - 1)
    }

    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn tensors_mut(&mut self) -> &mut [Tensor] {
        &mut self.tensors
    }

    fn inputs(&self) -> Vec<Input<'_>> {
        vec![Input { weights: &self.tensors[0], bias: None }]
    }

    fn forward_projected(&self, batch: &Batch, projected: &[Buffer], trace: &mut Trace) {
        let DssmStates { units, blocks } = trace.states.begin(batch);
        units.clear();
        units.extend((0..self.layers()).map(|layer| self.units(layer)));
        for_each_block(&batch.blocks, blocks, |block, states| {
            self.forward_block(block, &projected[0], trace.keep_inputs, states);
        });
        let dimension = self.dimension();
        place_embeddings(batch, dimension, &mut trace.embeddings, |b, slot| {
            &blocks[b].layers[self.layers() - 1][slot * dimension..][..dimension]
        });
    }

    fn backward(&self, batch: &Batch, trace: &mut Trace, grad: &[f32], _: Bptt, gradients: &mut Gradients) {
        let states: &mut DssmStates = trace.states.spend();
        gradients.shape_like(&self.tensors, batch);
        let Gradients { tensors: out, table_squares, scratch, .. } = gradients;
        scratch.shape_blocks(batch.blocks.len());
        scratch.transposed.resize_with(self.layers(), Buffer::default);
        for layer in 1..self.layers() {
            self.tensors[2 * layer].value.transpose_into(&mut scratch.transposed[layer]);
        }
        let units = self.units(0);
        let texts: usize = batch.blocks.iter().map(|block| block.texts.len()).sum();
        scratch.rows.resize(texts * units);
        let transposed = &scratch.transposed[..];
        let rows = split_texts_by_block(batch, units, &mut scratch.rows);
        (batch.blocks.par_iter(), states.blocks.par_iter(), scratch.blocks.par_iter_mut(), rows)
            .into_par_iter()
            .for_each(|(block, states, scratch, errors)| {
                scratch.begin(&self.tensors);
                self.backward_block(transposed, block, &states.layers, grad, scratch, errors);
            });
        reduce_blocks(&scratch.blocks[..batch.blocks.len()], &self.tensors, out, scratch.chain.as_mut());
        batch.occurrences_by_text(&mut scratch.occurrences);
        *table_squares = gather_gradient(
            batch,
            &scratch.occurrences,
            &scratch.rows,
            &mut out[0],
            &mut scratch.squares,
            scratch.chain.as_mut(),
        );
    }
}
