//! The CLSM of Shen et al. 2014: windows of n = 2d + 1 words, h_t = tanh(W_c l_t + b_c),
//! v = max_t h_t, y = tanh(W_s v + b_s), or several such layers one after the other (its section 3.5).
//!
//! W_c is stored as one row for each trigram, [features + 1, n·K], with the n places in the window next to each other.
//! So a distinct word is projected once for all places it can have, and the convolution is a sum of n vectors without
//! a product. The last row is the padding word `<s>`.

use super::input::{Input, gather_gradient, place_embeddings, split_by_block};
use super::kind::{EncoderKind, MAX_LAYERS, UNIT_RANGE, UNITS};
use super::trace::{Quantity, Slot, Stage, State, States, row};
use super::{
    BlockScratch, Bptt, Description, Encoder, Gradients, Group, Reading, Tensor, TensorKind, TextStatistics, Trace,
    for_each_block, reduce_blocks,
};
use crate::fields::{Rule, fields};
use crate::math::activation::tanh_slice;
use crate::math::gemm::{Left, gemm};
use crate::math::{Buffer, Matrix, vector};
use crate::text::batch::{Batch, Block};
use clickvec_tables::{Error, ErrorKind, Result};
use rayon::prelude::*;
use std::borrow::Cow;

/// The groups of the padding word's row of W_c, one for each place in the window, have names that begin so.
pub(super) const PADDING_NAME: &str = "wc.padding";

const CONVOLUTION: usize = 0;
const PADDING: usize = 1;
/// W_s of the first semantic layer.
const SEMANTIC: usize = 2;
/// Only with biases: b_c, then b_s of the first semantic layer. Further layers follow, each with its bias.
const CONVOLUTION_BIAS: usize = 3;
const SEMANTIC_BIAS: usize = 4;

fields! {
    /// The sizes of a CLSM; by default 288/96 as in the papers' tables, with windows of three words.
    #[derive(Eq)]
    pub struct ClsmConfig {
        /// The number of words in a window, which is odd.
        pub window: usize = 3 where Rule::Within(1.0, 31.0),
        /// The number of units of the convolution (K).
        pub convolution: usize = 288 where UNITS,
        /// The units of semantic layers between the maximum and the last one, if there are several.
        pub hidden: Vec<usize> = (Vec::new()) where Rule::List([0, MAX_LAYERS - 2], UNIT_RANGE),
        /// The size of the embedding (L).
        pub semantic: usize = 96 where UNITS,
        /// Whether there are biases. The paper has none.
        pub bias: bool = true,
    }
}

impl ClsmConfig {
    /// Returns the CLSM of its paper: 300/128 without biases, with windows of three words.
    pub fn papers() -> ClsmConfig {
        ClsmConfig { convolution: 300, semantic: 128, bias: false, ..ClsmConfig::default() }
    }

    /// Returns the units of each semantic layer.
    fn layers(&self) -> Vec<usize> {
        self.hidden.iter().copied().chain([self.semantic]).collect()
    }
}

impl EncoderKind for ClsmConfig {
    fn sizes(&self) -> String {
        let bias = if self.bias { "" } else { ", no bias" };
        let layers: Vec<String> = self.layers().iter().map(ToString::to_string).collect();
        format!("window {}, layers of {}, {}{bias}", self.window, self.convolution, layers.join(", "))
    }

    fn build(&self, features: usize) -> Box<dyn Encoder> {
        Box::new(Clsm::new(features, self))
    }

    fn parameters(&self, features: u64) -> Option<u64> {
        let mut inputs = self.convolution as u64;
        let input = features.checked_add(1)?.checked_mul(self.window as u64)?.checked_mul(inputs)?;
        let bias = |units: u64| if self.bias { units } else { 0 };
        self.layers().into_iter().try_fold(input.checked_add(bias(inputs))?, |sum, units| {
            let units = units as u64;
            let layer = inputs.checked_mul(units)?.checked_add(bias(units))?;
            inputs = units;
            sum.checked_add(layer)
        })
    }

    fn check(&self) -> Result<()> {
        if self.window.is_multiple_of(2) {
            let expected = "an odd number of words, so that each window has a middle";
            return Err(Error::expected(ErrorKind::Setting, expected, self.window.to_string()).within("encoder.window"));
        }
        Ok(())
    }

    fn description(&self) -> Description {
        Description { reading: Reading::Windows, gates: &[], telling: &[State::Window] }
    }

    fn input_places(&self) -> usize {
        self.window
    }

    fn active_inputs(&self, texts: TextStatistics) -> f64 {
        texts.trigrams_per_word * self.window as f64
    }
}

/// A convolution over windows of words, a maximum over the text, and one more layer.
pub(super) struct Clsm {
    /// n: words in a window.
    window: usize,
    /// K: units of the convolution.
    units: usize,
    /// Units of each semantic layer; the last is L, the size of the embedding.
    layers: Vec<usize>,
    /// Whether there are biases.
    has_bias: bool,
    tensors: Vec<Tensor>,
}

/// The states of a CLSM over a batch.
#[derive(Debug, Default)]
struct ClsmStates {
    /// K
    units: usize,
    /// Units of each semantic layer.
    layers: Vec<usize>,
    blocks: Vec<ClsmBlockStates>,
}

/// The states of a CLSM over a block.
#[derive(Debug, Default)]
struct ClsmBlockStates {
    /// W_c l_t + b_c before tanh, [rows, K]; h_t is its tanh.
    windows: Buffer,
    /// v, [texts of the block, K]
    pooled: Buffer,
    /// The word (step) at whose window each unit of v was largest, or the first of several, [texts of the block, K].
    winners: Vec<u32>,
    /// Activations of each semantic layer, [texts of the block, units]; the last is y.
    semantic: Vec<Buffer>,
    /// Their inputs, such as W_s v + b_s; empty unless requested.
    inputs: Vec<Buffer>,
}

impl States for ClsmStates {
    fn word_quantities(&self) -> Vec<Quantity> {
        vec![State::Window.into()]
    }

    fn text_quantities(&self) -> Vec<Quantity> {
        let layers = (0..self.layers.len()).map(|layer| State::Layer(layer).into());
        [State::Maximum.into()].into_iter().chain(layers).collect()
    }

    fn at(&self, slot: Slot<'_>, quantity: Quantity, word: usize) -> Option<Cow<'_, [f32]>> {
        if quantity.state.read(quantity.direction) != State::Window.into() {
            return None;
        }
        let before = row(&self.blocks[slot.number].windows, slot.row(quantity.direction, word), self.units)?;
        Some(match quantity.stage {
            Stage::Before => before,
            Stage::After => {
                let mut after = before.into_owned();
                tanh_slice(&mut after);
                Cow::Owned(after)
            }
        })
    }

    fn at_text(&self, slot: Slot<'_>, quantity: Quantity) -> Option<Cow<'_, [f32]>> {
        let block = &self.blocks[slot.number];
        match (quantity.state, quantity.stage) {
            (State::Maximum, Stage::After) => row(&block.pooled, slot.index, self.units),
            (State::Maximum, Stage::Before) => {
                let winners = self.winners(slot)?.iter().enumerate();
                let row = |word| slot.row(quantity.direction, word as usize);
                Some(winners.map(|(unit, &word)| block.windows[row(word) * self.units + unit]).collect())
            }
            (State::Layer(layer), stage) => {
                let layers = if stage == Stage::After { &block.semantic } else { &block.inputs };
                row(layers.get(layer)?, slot.index, self.layers[layer])
            }
            _ => None,
        }
    }

    fn winners(&self, slot: Slot<'_>) -> Option<&[u32]> {
        Some(&self.blocks[slot.number].winners[slot.index * self.units..][..self.units])
    }
}

impl Clsm {
    /// Returns all weights zero.
    pub(super) fn new(features: usize, config: &ClsmConfig) -> Clsm {
        let &ClsmConfig { window, convolution: units, bias, .. } = config;
        let layers = config.layers();
        let groups = |stem: &str| {
            (0..window).map(|position| Group { name: format!("{stem}.{position}"), width: units }).collect::<Vec<_>>()
        };
        let mut tensors = vec![
            Tensor::new(TensorKind::Input, groups("wc"), Matrix::zeros(features, window * units)),
            Tensor::new(TensorKind::Dense, groups(PADDING_NAME), Matrix::zeros(1, window * units)),
            Tensor::zeros(TensorKind::Dense, units, &["ws"], layers[0]),
        ];
        if bias {
            tensors.push(Tensor::zeros(TensorKind::Bias, 1, &["bc"], units));
            tensors.push(Tensor::zeros(TensorKind::Bias, 1, &["bs"], layers[0]));
        }
        for (number, pair) in (2..).zip(layers.windows(2)) {
            tensors.push(Tensor::zeros(TensorKind::Dense, pair[0], &[&format!("ws{number}")], pair[1]));
            if bias {
                tensors.push(Tensor::zeros(TensorKind::Bias, 1, &[&format!("bs{number}")], pair[1]));
            }
        }
        Clsm { window, units, layers, has_bias: bias, tensors }
    }

    fn bias(&self, tensor: usize) -> Option<&[f32]> {
        self.has_bias.then(|| self.tensors[tensor].value.data())
    }

    /// Returns the places of a semantic layer's weights and of its bias, if there are biases.
    fn layer_tensors(&self, layer: usize) -> (usize, usize) {
        match (layer, self.has_bias) {
            (0, _) => (SEMANTIC, SEMANTIC_BIAS),
            (_, true) => (SEMANTIC_BIAS + 2 * layer - 1, SEMANTIC_BIAS + 2 * layer),
            (_, false) => (SEMANTIC + layer, usize::MAX),
        }
    }

    /// Returns the units that a semantic layer reads.
    fn inputs_of(&self, layer: usize) -> usize {
        if layer == 0 { self.units } else { self.layers[layer - 1] }
    }

    fn forward_block(&self, block: &Block, projected: &[f32], keep_inputs: bool, trace: &mut ClsmBlockStates) {
        let (k, width, d) = (self.units, self.window * self.units, self.window / 2);
        let texts = block.texts.len();
        trace.windows.resize(block.rows() * k);
        trace.pooled.resize(texts * k);
        trace.winners.resize(texts * k, 0);
        let padding = self.tensors[PADDING].value.data();
        for index in 0..texts {
            let length = block.length(index);
            let pooled = &mut trace.pooled[index * k..][..k];
            let winners = &mut trace.winners[index * k..][..k];
            for t in 0..length {
                let row = block.row(index, t);
                let sum = &mut trace.windows[row * k..][..k];
                match self.bias(CONVOLUTION_BIAS) {
                    Some(bias) => sum.copy_from_slice(bias),
                    None => sum.fill(0.0),
                }
                for slot in 0..self.window {
                    // The word at this place of the window is t + slot − d, if that is inside the text.
                    let vector = match (t + slot).checked_sub(d).filter(|&at| at < length) {
                        Some(at) => &projected[block.words[block.row(index, at)] as usize * width..],
                        None => padding,
                    };
                    vector::add(sum, &vector[slot * k..][..k]);
                }
                if t == 0 {
                    pooled.copy_from_slice(sum);
                    winners.fill(0);
                } else {
                    for ((best, winner), &x) in pooled.iter_mut().zip(winners.iter_mut()).zip(sum.iter()) {
                        // tanh is monotonic, so the maximum can be taken before it. NaN must propagate.
                        let wins = x > *best || x.is_nan();
                        *winner = if wins { t as u32 } else { *winner };
                        *best = if wins { x } else { *best };
                    }
                }
            }
        }
        tanh_slice(&mut trace.pooled);
        trace.semantic.resize_with(self.layers.len(), Buffer::default);
        trace.inputs.resize_with(if keep_inputs { self.layers.len() } else { 0 }, Buffer::default);
        for (layer, &units) in self.layers.iter().enumerate() {
            let (below, now) = trace.semantic.split_at_mut(layer);
            let (below, now) = (below.last().unwrap_or(&trace.pooled), &mut now[0]);
            let (weights, bias) = self.layer_tensors(layer);
            now.resize(texts * units);
            for row in now.chunks_exact_mut(units) {
                match self.bias(bias) {
                    Some(bias) => row.copy_from_slice(bias),
                    None => row.fill(0.0),
                }
            }
            let inputs = self.inputs_of(layer);
            let weights = (self.tensors[weights].value.data(), units);
            gemm((texts, units, inputs), Left::rows(below, inputs), weights, (now, units));
            if let Some(saved) = trace.inputs.get_mut(layer) {
                saved.resize(now.len());
                saved.copy_from_slice(now);
            }
            tanh_slice(now);
        }
    }

    /// Fills `errors` [rows, n·K], the ∂L/∂projection of the word at each packed row, and the block's share of the
    /// dense gradients, including the padding word's.
    fn backward_block(
        &self,
        transposed: &[Buffer],
        block: &Block,
        trace: &ClsmBlockStates,
        grad: &[f32],
        scratch: &mut BlockScratch,
        errors: &mut [f32],
    ) {
        let (k, width, d, l) = (self.units, self.window * self.units, self.window / 2, self.dimension());
        let texts = block.texts.len();
        let BlockScratch { dense, buffers: [error, before, _] } = scratch;
        error.resize(texts * l);
        let last = self.layers.len() - 1;
        for (index, &text) in block.texts.iter().enumerate() {
            let y = &trace.semantic[last][index * l..][..l];
            let grad = &grad[text as usize * l..][..l];
            for ((error, &y), &grad) in error[index * l..][..l].iter_mut().zip(y).zip(grad) {
                *error = grad * (1.0 - y * y);
            }
        }
        // From the last semantic layer to the maximum; `error` becomes ∂L/∂(the maximum before tanh).
        for layer in (0..=last).rev() {
            let (units, inputs) = (self.layers[layer], self.inputs_of(layer));
            let below = if layer == 0 { &trace.pooled } else { &trace.semantic[layer - 1] };
            let (weights, bias) = self.layer_tensors(layer);
            let into = (dense[weights].data_mut(), units);
            gemm((inputs, units, texts), Left::transposed(below, inputs), (&*error, units), into);
            if self.has_bias {
                for error in error.chunks_exact(units) {
                    vector::add(dense[bias].data_mut(), error);
                }
            }
            before.resize(texts * inputs);
            before.fill(0.0);
            gemm((texts, inputs, units), Left::rows(error, units), (&transposed[layer], inputs), (before, inputs));
            for (error, &x) in before.iter_mut().zip(below.iter()) {
                *error *= 1.0 - x * x;
            }
            std::mem::swap(error, before);
        }
        if self.has_bias {
            for error in error.chunks_exact(k) {
                vector::add(dense[CONVOLUTION_BIAS].data_mut(), error);
            }
        }
        let d_pooled = &*error;
        errors.fill(0.0);
        for index in 0..texts {
            let length = block.length(index);
            for unit in 0..k {
                let error = d_pooled[index * k + unit];
                let winner = trace.winners[index * k + unit] as usize;
                for slot in 0..self.window {
                    match (winner + slot).checked_sub(d).filter(|&at| at < length) {
                        Some(at) => errors[block.row(index, at) * width + slot * k + unit] += error,
                        None => dense[PADDING].data_mut()[slot * k + unit] += error,
                    }
                }
            }
        }
    }
}

impl Encoder for Clsm {
    fn dimension(&self) -> usize {
        self.layers[self.layers.len() - 1]
    }

    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn tensors_mut(&mut self) -> &mut [Tensor] {
        &mut self.tensors
    }

    fn inputs(&self) -> Vec<Input<'_>> {
        vec![Input { weights: &self.tensors[CONVOLUTION], bias: None }]
    }

    fn forward_projected(&self, batch: &Batch, projected: &[Buffer], trace: &mut Trace) {
        let ClsmStates { units, layers, blocks } = trace.states.begin(batch);
        let (l, last) = (self.dimension(), self.layers.len() - 1);
        *units = self.units;
        layers.clone_from(&self.layers);
        for_each_block(&batch.blocks, blocks, |block, states| {
            self.forward_block(block, &projected[0], trace.keep_inputs, states);
        });
        place_embeddings(batch, l, &mut trace.embeddings, |b, index| &blocks[b].semantic[last][index * l..][..l]);
    }

    fn backward(&self, batch: &Batch, trace: &mut Trace, grad: &[f32], _: Bptt, gradients: &mut Gradients) {
        let states: &mut ClsmStates = trace.states.spend();
        let width = self.window * self.units;
        gradients.shape_like(&self.tensors, batch);
        let Gradients { tensors: out, table_squares, scratch, .. } = gradients;
        scratch.shape_blocks(batch.blocks.len());
        scratch.transposed.resize_with(self.layers.len(), Buffer::default);
        for (layer, transposed) in scratch.transposed.iter_mut().enumerate() {
            self.tensors[self.layer_tensors(layer).0].value.transpose_into(transposed);
        }
        scratch.rows.resize(batch.rows() * width);
        let transposed = &scratch.transposed[..];
        let rows = split_by_block(batch, width, &mut scratch.rows);
        (batch.blocks.par_iter(), states.blocks.par_iter(), scratch.blocks.par_iter_mut(), rows)
            .into_par_iter()
            .for_each(|(block, trace, scratch, errors)| {
                scratch.begin(&self.tensors);
                self.backward_block(transposed, block, trace, grad, scratch, errors);
            });
        reduce_blocks(&scratch.blocks[..batch.blocks.len()], &self.tensors, out, scratch.chain.as_mut());
        *table_squares = gather_gradient(
            batch,
            &batch.occurrences,
            &scratch.rows,
            &mut out[CONVOLUTION],
            &mut scratch.squares,
            scratch.chain.as_mut(),
        );
    }
}
