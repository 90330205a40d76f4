//! The bidirectional LSTM: two LSTMs, one of which reads a text from right to left.

use super::input::Input;
use super::kind::EncoderKind;
use super::lstm::{self, EmbeddingGradient, LstmStates, Order};
use super::trace::{Direction, Quantity, Slot, States};
use super::{Bptt, Description, Encoder, Gradients, LstmConfig, Tensor, Trace};
use crate::fields::Field;
use crate::math::Buffer;
use crate::text::batch::Batch;
use std::borrow::Cow;

/// The sizes of a bidirectional LSTM: those of each direction.
pub(super) struct BilstmConfig(pub(super) LstmConfig);

impl EncoderKind for BilstmConfig {
    fn name(&self) -> &'static str {
        "bilstm"
    }

    fn about(&self) -> &'static str {
        "Two LSTMs, one that reads forwards and one that reads backwards"
    }

    fn sizes(&self) -> String {
        format!("{} cells in each direction{}", self.0.cells, self.0.variant())
    }

    fn build(&self, features: usize) -> Box<dyn Encoder> {
        Box::new(Bidirectional::new(features, self.0))
    }

    fn parameters(&self, features: u64) -> Option<u64> {
        self.0.parameters(features)?.checked_mul(2)
    }

    fn fields(&self) -> &'static [Field] {
        LstmConfig::FIELDS
    }

    fn description(&self) -> Description {
        self.0.description()
    }

    fn has_published_signals(&self) -> bool {
        true
    }
}

/// Two LSTMs, each with its own weights. The embedding consists of both vectors, left to right first.
pub(super) struct Bidirectional {
    config: LstmConfig,
    /// The tensors of the first LSTM, then those of the second.
    tensors: Vec<Tensor>,
}

impl Bidirectional {
    /// Returns all weights zero.
    pub(super) fn new(features: usize, config: LstmConfig) -> Bidirectional {
        let mut tensors = config.tensors(features, "forward.");
        tensors.extend(config.tensors(features, "backward."));
        Bidirectional { config, tensors }
    }

    fn half(&self) -> usize {
        self.tensors.len() / 2
    }
}

const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Backward];

/// The states of both directions over a batch.
#[derive(Debug, Default)]
struct BidirectionalStates([LstmStates; 2]);

impl States for BidirectionalStates {
    fn word_quantities(&self) -> Vec<Quantity> {
        DIRECTIONS.into_iter().zip(&self.0).flat_map(|(direction, states)| states.read(direction)).collect()
    }

    fn at(&self, slot: Slot<'_>, quantity: Quantity, word: usize) -> Option<Cow<'_, [f32]>> {
        let [forward, backward] = &self.0;
        match quantity.direction {
            Direction::Forward => forward.at_word(slot, quantity, word),
            Direction::Backward => backward.at_word(slot, quantity, word),
        }
    }
}

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
        tensors.map(|tensors| Input { weights: &tensors[lstm::INPUT], bias: Some(&tensors[lstm::BIAS]) }).collect()
    }

    fn forward_projected(&self, batch: &Batch, projected: &[Buffer], trace: &mut Trace) {
        let BidirectionalStates(states) = trace.states.begin(batch);
        let weights = self.tensors.chunks(self.half()).zip(projected);
        for ((states, direction), (tensors, projected)) in states.iter_mut().zip(DIRECTIONS).zip(weights) {
            lstm::forward(self.config, tensors, batch, Order::Words(direction), projected, states, trace.keep_inputs);
        }
        let h = self.config.cells;
        trace.embeddings.clear();
        trace.embeddings.resize(batch.texts() * 2 * h, 0.0);
        for (i, states) in states.iter().enumerate() {
            for (block, states) in batch.blocks.iter().zip(&states.blocks) {
                for (slot, &text) in block.texts.iter().enumerate() {
                    let embedding = &mut trace.embeddings[text as usize * 2 * h..][..2 * h];
                    embedding[i * h..][..h].copy_from_slice(states.last(block, slot, h));
                }
            }
        }
    }

    fn backward(&self, batch: &Batch, trace: &mut Trace, grad: &[f32], bptt: Bptt, gradients: &mut Gradients) {
        let BidirectionalStates(states) = trace.states.spend();
        gradients.shape_like(&self.tensors, batch);
        let Gradients { tensors: out, table_squares, scratch, .. } = gradients;
        let h = self.config.cells;
        let parts =
            states.iter_mut().zip(DIRECTIONS).zip(self.tensors.chunks(self.half())).zip(out.chunks_mut(self.half()));
        for (i, (((states, direction), tensors), out)) in parts.enumerate() {
            let grad = EmbeddingGradient::last_words(grad, 2 * h, i * h);
            *table_squares += lstm::backward(self.config, tensors, batch, direction, states, grad, bptt, scratch, out);
        }
    }
}
