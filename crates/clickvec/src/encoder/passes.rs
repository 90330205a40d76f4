//! What every encoder has: its weights, and the forward and the backward pass through them.

use rayon::prelude::*;

use super::{Bptt, Gradients, Input, Tensor, Trace};
use crate::math::Buffer;
use crate::text::batch::{Batch, Block};

/// A text encoder: weights, and the forward and backward pass through them.
pub trait Encoder: Send + Sync {
    /// L: size of the embedding.
    fn dimension(&self) -> usize;

    /// The weights, input tables among them.
    fn tensors(&self) -> &[Tensor];

    /// The weights, to initialise, load or update.
    fn tensors_mut(&mut self) -> &mut [Tensor];

    /// Embeds every text of `batch`: fills `trace`, the embeddings in [`Trace::embeddings`]. A text
    /// without a word becomes the zero vector.
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

    /// [`Encoder::forward`] for words that are projected already: `projected` has a list for each
    /// input table, [words, W], and in it the row of every word of the batch's blocks.
    fn forward_projected(&self, batch: &Batch, projected: &[Buffer], trace: &mut Trace);

    /// The input layers.
    fn inputs(&self) -> Vec<Input<'_>>;

    /// The backward pass of [`Encoder::forward`] over the same `batch`, for which
    /// [`Batch::plan_rows`] has run: `grad` is ∂L/∂embeddings [texts, L], and `gradients` is
    /// replaced by ∂L/∂tensors. It uses up the trace: errors take the place of states that nothing
    /// needs any more.
    fn backward(&self, batch: &Batch, trace: &mut Trace, grad: &[f32], bptt: Bptt, gradients: &mut Gradients);
}

/// Runs `forward` on every block with the states that are its own; the only block of a batch at
/// once, since entering the thread pool costs more than encoding a short text. There are never fewer states
/// than before, so that their memory is reused.
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
