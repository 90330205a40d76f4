//! The bidirectional LSTM: two LSTMs, one of which reads a text from right to left.

use super::input::resize;
use super::lstm::{self, Direction, EmbeddingGradient, LstmTrace};
use super::{Bptt, Encoder, Gradients, LstmConfig, States, Tensor, Trace};
use crate::text::batch::Batch;

/// Two LSTMs with weights of their own; the embedding is both, left to right first.
pub struct Bidirectional {
    config: LstmConfig,
    /// Those of the one, then those of the other.
    tensors: Vec<Tensor>,
}

impl Bidirectional {
    /// All weights zero.
    pub fn new(features: usize, config: LstmConfig) -> Bidirectional {
        let mut tensors = config.tensors(features, "forward.");
        tensors.extend(config.tensors(features, "backward."));
        Bidirectional { config, tensors }
    }

    fn half(&self) -> usize {
        self.tensors.len() / 2
    }
}

const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Backward];

impl Encoder for Bidirectional {
    fn dimension(&self) -> usize {
        2 * self.config.cells
    }

    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn tensors_mut(&mut self) -> &mut [Tensor] {
        &mut self.tensors
    }

    fn forward_projected(&self, batch: &Batch, projected: &[Vec<f32>], trace: &mut Trace) {
        if !matches!(trace.states, States::Bilstm(_)) {
            trace.states = States::Bilstm(Box::new([LstmTrace::default(), LstmTrace::default()]));
        }
        let States::Bilstm(states) = &mut trace.states else { unreachable!("set above") };
        let towers = self.tensors.chunks(self.half()).zip(projected);
        for ((states, direction), (tensors, projected)) in states.iter_mut().zip(DIRECTIONS).zip(towers) {
            lstm::forward(self.config, tensors, batch, direction, projected, states);
        }
        let h = self.config.cells;
        resize(&mut trace.embeddings, batch.texts() * 2 * h);
        trace.embeddings.fill(0.0);
        for (i, states) in states.iter().enumerate() {
            for (block, states) in batch.blocks.iter().zip(&states.blocks) {
                for (place, &text) in block.texts.iter().enumerate() {
                    let embedding = &mut trace.embeddings[text as usize * 2 * h..][..2 * h];
                    embedding[i * h..][..h].copy_from_slice(states.last(block, place, h));
                }
            }
        }
    }

    fn backward(&self, batch: &Batch, trace: &Trace, grad: &[f32], bptt: Bptt, gradients: &mut Gradients) {
        let States::Bilstm(states) = &trace.states else { panic!("backward without its forward") };
        gradients.shape_like(&self.tensors, batch.touched().len());
        let Gradients { tensors: out, table_squares, scratch } = gradients;
        let h = self.config.cells;
        let parts =
            states.iter().zip(DIRECTIONS).zip(self.tensors.chunks(self.half())).zip(out.chunks_mut(self.half()));
        for (i, (((states, direction), tensors), out)) in parts.enumerate() {
            let grad = EmbeddingGradient { values: grad, stride: 2 * h, offset: i * h };
            *table_squares += lstm::backward(self.config, tensors, batch, direction, states, grad, bptt, scratch, out);
        }
    }
}
