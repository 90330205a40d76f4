//! The trait of all encoders: their weights, and the forward and backward passes.

use rayon::prelude::*;

use super::input::split_by_block;
use super::{Bptt, Gradients, Input, Tensor, Trace};
use crate::math::{Buffer, Matrix};
use crate::text::batch::{Batch, Block};

/// A text encoder: its weights, and the forward and backward passes.
pub trait Encoder: Send + Sync {
    /// Returns L, the size of the embedding.
    fn dimension(&self) -> usize;

    /// Returns the weights, including input matrices.
    fn tensors(&self) -> &[Tensor];

    /// Returns the weights, to initialise, load or update.
    fn tensors_mut(&mut self) -> &mut [Tensor];

    /// Embeds every text of `batch` and fills `trace`; the vectors are in [`Trace::embeddings`]. A text without a word
    /// gets the zero vector.
    fn forward(&self, batch: &Batch, trace: &mut Trace) {
        let mut projected = std::mem::take(&mut trace.projected);
        let inputs = self.inputs();
        projected.resize_with(inputs.len(), Buffer::default);
        for (input, projected) in inputs.into_iter().zip(&mut projected) {
            input.project_all(batch, projected);
        }
        self.forward_projected(batch, &projected, trace);
        trace.projected = projected;
    }

    /// Runs [`Encoder::forward`] for words that are already projected. `projected` has a list for each input matrix, [words, W],
    /// with a row for every word of the batch's blocks.
    fn forward_projected(&self, batch: &Batch, projected: &[Buffer], trace: &mut Trace);

    /// Returns the input layers.
    fn inputs(&self) -> Vec<Input<'_>>;

    /// Returns the least number of values that training stores for each word of a text: the inputs of its gates, or their
    /// gradient.
    fn numbers_per_word(&self) -> usize {
        self.inputs().into_iter().map(Input::width).sum()
    }

    /// Returns the input of the projection that makes the embedding, for a text whose activations after the last word are
    /// `cells`, and its weights, [cells, L]; `None` without a projection.
    fn before_projection(&self, _cells: &[f32]) -> Option<(Vec<f32>, &Matrix)> {
        None
    }

    /// Runs the backward pass of [`Encoder::forward`] over the same `batch`, after [`Batch::plan_rows`]. `grad` is ∂L/∂embeddings
    /// [texts, L], and `gradients` is replaced by ∂L/∂tensors. The trace is used up: errors overwrite states that are no longer
    /// needed.
    fn backward(&self, batch: &Batch, trace: &mut Trace, grad: &[f32], bptt: Bptt, gradients: &mut Gradients);
}

/// Runs `forward` on every block with its own states. If there is only one block, it runs on this thread, because
/// entering the thread pool costs more than encoding a short text. The number of states never shrinks, so that their
/// memory is reused.
pub(crate) fn for_each_block<T: Default + Send>(
    blocks: &[Block],
    states: &mut Vec<T>,
    forward: impl Fn(&Block, &mut T) + Sync,
) {
    states.resize_with(blocks.len().max(states.len()), T::default);
    match blocks {
        [block] => forward(block, &mut states[0]),
        _ => blocks.par_iter().zip(states).for_each(|(block, states)| forward(block, states)),
    }
}

/// Runs [`for_each_block`] with the block's part of `rows` [packed rows of the batch, W] as well.
pub(crate) fn for_each_block_with_rows<T: Default + Send>(
    batch: &Batch,
    (rows, width): (&mut [f32], usize),
    states: &mut Vec<T>,
    forward: impl Fn(&Block, &mut [f32], &mut T) + Sync,
) {
    states.resize_with(batch.blocks.len().max(states.len()), T::default);
    match &batch.blocks[..] {
        [block] => forward(block, rows, &mut states[0]),
        blocks => (blocks, split_by_block(batch, width, rows), &mut states[..])
            .into_par_iter()
            .for_each(|(block, rows, states)| forward(block, rows, states)),
    }
}
