//! The bidirectional LSTM: two LSTMs, one of which reads a text from right to left.

use super::input::Input;
use super::lstm::{self, Direction, EmbeddingGradient, LstmTrace};
use super::{Bptt, Encoder, Gradients, LstmConfig, States, Tensor, Trace};
use crate::math::Buffer;
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

    fn inputs(&self) -> Vec<Input<'_>> {
        let tensors = self.tensors.chunks(self.half());
        tensors.map(|tensors| Input { table: &tensors[lstm::INPUT], bias: Some(&tensors[lstm::BIAS]) }).collect()
    }

    fn forward_projected(&self, batch: &Batch, projected: &[Buffer], trace: &mut Trace) {
        if !matches!(trace.states, States::Bilstm(_)) {
            trace.states = States::Bilstm(Box::new([LstmTrace::default(), LstmTrace::default()]));
        }
        let Trace { precision, packed, .. } = trace;
        let States::Bilstm(states) = &mut trace.states else { unreachable!("set above") };
        let tables = self.tensors.chunks(self.half()).zip(projected);
        for ((states, direction), (tensors, projected)) in states.iter_mut().zip(DIRECTIONS).zip(tables) {
            lstm::forward(self.config, tensors, batch, direction, projected, states, *precision, packed);
        }
        let h = self.config.cells;
        trace.embeddings.clear();
        trace.embeddings.resize(batch.texts() * 2 * h, 0.0);
        for (i, states) in states.iter().enumerate() {
            for (block, states) in batch.blocks.iter().zip(&states.blocks) {
                for (place, &text) in block.texts.iter().enumerate() {
                    let embedding = &mut trace.embeddings[text as usize * 2 * h..][..2 * h];
                    embedding[i * h..][..h].copy_from_slice(states.last(block, place, h));
                }
            }
        }
    }

    fn backward(&self, batch: &Batch, trace: &mut Trace, grad: &[f32], bptt: Bptt, gradients: &mut Gradients) {
        let how = (bptt, trace.precision);
        let States::Bilstm(states) = &mut trace.states else { panic!("backward without its forward") };
        gradients.shape_like(&self.tensors, batch);
        let Gradients { tensors: out, table_squares, scratch, .. } = gradients;
        let h = self.config.cells;
        let parts =
            states.iter_mut().zip(DIRECTIONS).zip(self.tensors.chunks(self.half())).zip(out.chunks_mut(self.half()));
        for (i, (((states, direction), tensors), out)) in parts.enumerate() {
            let grad = EmbeddingGradient { values: grad, stride: 2 * h, offset: i * h };
            *table_squares += lstm::backward(self.config, tensors, batch, direction, states, grad, how, scratch, out);
        }
    }
}
