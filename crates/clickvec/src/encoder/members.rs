//! Several LSTMs, each with its own weights. The embedding consists of their vectors, each scaled to unit length, one
//! after the other. So the cosine of two texts is the mean of the members' cosines.

use super::config::{EncoderKind, SizeFault};
use super::input::Input;
use super::lstm::{self, EmbeddingGradient, LstmStates, Order};
use super::trace::{Direction, Place, Quantity, States};
use super::{Bptt, Encoder, Gradients, LstmConfig, Tensor, Trace};
use crate::math::Buffer;
use crate::math::vector::{add_scaled, dot, normalize};
use crate::text::batch::Batch;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The number of LSTMs, and their sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MembersConfig {
    /// Number of LSTMs.
    pub members: usize,
    /// The sizes of each.
    #[serde(flatten)]
    pub lstm: LstmConfig,
}

/// The largest number of members.
pub(super) const MAX_MEMBERS: usize = 64;

impl EncoderKind for MembersConfig {
    fn name(&self) -> &'static str {
        "members"
    }

    fn sizes(&self) -> String {
        format!("{} times lstm, {}", self.members, self.lstm.sizes())
    }

    fn build(&self, features: usize) -> Box<dyn Encoder> {
        Box::new(Members::new(features, *self))
    }

    fn parameters(&self, features: u64) -> Option<u64> {
        self.lstm.parameters(features)?.checked_mul(self.members as u64)
    }

    fn fault(&self) -> Option<SizeFault> {
        match self.members {
            1..=MAX_MEMBERS => self.lstm.fault(),
            found => Some(SizeFault::Members(found)),
        }
    }

    fn is_recurrent(&self) -> bool {
        true
    }

    fn has_cells(&self) -> bool {
        true
    }
}

/// Several LSTMs.
pub(super) struct Members {
    config: MembersConfig,
    /// The tensors of each LSTM, one LSTM after the other.
    tensors: Vec<Tensor>,
}

impl Members {
    /// All weights zero.
    pub(super) fn new(features: usize, config: MembersConfig) -> Members {
        let of_member = |member: usize| config.lstm.tensors(features, &prefix(member));
        Members { config, tensors: (0..config.members).flat_map(of_member).collect() }
    }

    fn each(&self) -> usize {
        self.tensors.len() / self.config.members
    }
}

/// The prefix of the names of a member's matrices.
pub(crate) fn prefix(member: usize) -> String {
    format!("m{}.", member + 1)
}

/// The states of all members over a batch.
#[derive(Debug, Default)]
struct MemberStates {
    members: Vec<LstmStates>,
    /// The length of each member's vector before scaling, [texts, members].
    lengths: Vec<f32>,
}

impl States for MemberStates {
    fn of_words(&self) -> Vec<Quantity> {
        self.members.first().map_or_else(Vec::new, |states| states.read(Direction::Forward))
    }

    /// The cells of all members, one member after the other.
    fn at(&self, place: Place<'_>, quantity: Quantity, word: usize) -> Option<Cow<'_, [f32]>> {
        if quantity.direction != Direction::Forward {
            return None;
        }
        let mut all = Vec::new();
        for states in &self.members {
            all.extend_from_slice(&states.at_word(place, quantity, word)?);
        }
        Some(Cow::Owned(all))
    }
}

impl Encoder for Members {
    fn dimension(&self) -> usize {
        self.config.members * self.config.lstm.cells
    }

    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn tensors_mut(&mut self) -> &mut [Tensor] {
        &mut self.tensors
    }

    fn inputs(&self) -> Vec<Input<'_>> {
        let tensors = self.tensors.chunks(self.each());
        tensors.map(|tensors| Input { table: &tensors[lstm::INPUT], bias: Some(&tensors[lstm::BIAS]) }).collect()
    }

    fn forward_projected(&self, batch: &Batch, projected: &[Buffer], trace: &mut Trace) {
        let MemberStates { members, lengths } = trace.states.begin(batch);
        members.resize_with(self.config.members, LstmStates::default);
        let tables = self.tensors.chunks(self.each()).zip(projected);
        for (states, (tensors, projected)) in members.iter_mut().zip(tables) {
            let how = (trace.precision, trace.keep_inputs, &mut trace.packed);
            lstm::forward(self.config.lstm, tensors, batch, Order::Words(Direction::Forward), projected, states, how);
        }
        let (h, dimension) = (self.config.lstm.cells, self.dimension());
        trace.embeddings.clear();
        trace.embeddings.resize(batch.texts() * dimension, 0.0);
        lengths.clear();
        lengths.resize(batch.texts() * self.config.members, 0.0);
        for (i, states) in members.iter().enumerate() {
            for (block, states) in batch.blocks.iter().zip(&states.blocks) {
                for (place, &text) in block.texts.iter().enumerate() {
                    let part = &mut trace.embeddings[text as usize * dimension + i * h..][..h];
                    part.copy_from_slice(states.last(block, place, h));
                    lengths[text as usize * self.config.members + i] = normalize(part);
                }
            }
        }
    }

    fn backward(&self, batch: &Batch, trace: &mut Trace, grad: &[f32], bptt: Bptt, gradients: &mut Gradients) {
        let how = (bptt, trace.precision);
        let MemberStates { members, lengths } = trace.states.spend();
        gradients.shape_like(&self.tensors, batch);
        let Gradients { tensors: out, table_squares, scratch, .. } = gradients;
        let (h, dimension) = (self.config.lstm.cells, self.dimension());
        // ∂L/∂(unit vector) becomes ∂L/∂vector: (g − (g·u) u) / length.
        let mut grad = grad.to_vec();
        let parts = grad.chunks_exact_mut(h).zip(trace.embeddings.chunks_exact(h));
        for ((grad, unit), &length) in parts.zip(&*lengths) {
            if length == 0.0 {
                grad.fill(0.0);
                continue;
            }
            let along = dot(grad, unit);
            add_scaled(grad, -along, unit);
            let scale = 1.0 / length;
            grad.iter_mut().for_each(|g| *g *= scale);
        }
        let each = self.each();
        let parts = members.iter_mut().zip(self.tensors.chunks(each)).zip(out.chunks_mut(each));
        for (i, ((states, tensors), out)) in parts.enumerate() {
            let grad = EmbeddingGradient::of_last_words(&grad, dimension, i * h);
            let direction = Direction::Forward;
            *table_squares +=
                lstm::backward(self.config.lstm, tensors, batch, direction, states, grad, how, scratch, out);
        }
    }
}
