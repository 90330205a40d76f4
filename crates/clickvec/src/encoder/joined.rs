//! LSTMs side by side, each with its own weights: one, two that read in both directions, or several members. The
//! embedding consists of their last outputs, one after the other.
//!
//! Members' outputs are scaled to unit length, so the cosine of two texts is the mean of the members' cosines. A
//! projection may bring them to fewer numbers. No gradient changes it while members learn: it is fitted to what they
//! have learnt (`train::projection`).

use super::input::Input;
use super::kind::{EncoderKind, layer_parameters};
use super::lstm::{self, EmbeddingGradient, LstmStates, Order};
use super::trace::{Direction, Quantity, Slot, States};
use super::{Bptt, Description, Encoder, Gradients, LstmConfig, Peephole, Tensor, Trace};
use crate::math::gemm::{Left, gemm, gemm_into};
use crate::math::vector::{add_scaled, dot, normalize, scale_to_unit};
use crate::math::{Buffer, Matrix};
use crate::text::batch::Batch;
use std::borrow::Cow;

/// The name of the projection's matrix.
const PROJECTION: &str = "projection";

impl EncoderKind for LstmConfig {
    fn sizes(&self) -> String {
        format!("{} cells{}", self.cells, self.variant())
    }

    fn build(&self, features: usize) -> Box<dyn Encoder> {
        Box::new(Joined::new(features, *self, [(String::new(), Direction::Forward)]))
    }

    fn parameters(&self, features: u64) -> Option<u64> {
        let cells = self.cells as u64;
        let gates = layer_parameters(features.checked_add(cells)?, cells)?.checked_mul(self.gates() as u64)?;
        let peephole = match self.peephole {
            Peephole::None => 0,
            Peephole::Diagonal => cells,
            Peephole::Full => cells.checked_mul(cells)?,
        };
        gates.checked_add(peephole.checked_mul(self.gates() as u64 - 1)?)
    }

    fn description(&self) -> Description {
        lstm::describe(self.forget_gate)
    }

    fn has_published_signals(&self) -> bool {
        true
    }

    fn adds_up(&self) -> bool {
        !self.forget_gate
    }
}

/// The sizes of a bidirectional LSTM: those of each direction.
pub(super) struct BilstmConfig(pub(super) LstmConfig);

impl EncoderKind for BilstmConfig {
    fn sizes(&self) -> String {
        format!("{} cells in each direction{}", self.0.cells, self.0.variant())
    }

    fn build(&self, features: usize) -> Box<dyn Encoder> {
        let lstms = [("forward.", Direction::Forward), ("backward.", Direction::Backward)];
        Box::new(Joined::new(features, self.0, lstms.map(|(prefix, direction)| (prefix.to_owned(), direction))))
    }

    fn parameters(&self, features: u64) -> Option<u64> {
        self.0.parameters(features)?.checked_mul(2)
    }

    fn description(&self) -> Description {
        self.0.description()
    }

    fn has_published_signals(&self) -> bool {
        true
    }
}

/// LSTMs that read the same text.
pub(super) struct Joined {
    config: LstmConfig,
    /// The direction in which each LSTM reads.
    directions: Vec<Direction>,
    /// Whether the vector of each LSTM is scaled to unit length.
    scaled: bool,
    /// The size of the embedding, if a projection of the unit vectors makes it.
    projected: Option<usize>,
    /// The tensors of each LSTM, one LSTM after the other, and the projection [units of all, dimension], if there is one.
    tensors: Vec<Tensor>,
}

impl Joined {
    /// Returns LSTMs with all weights zero, each with the prefix of its tensors' names.
    pub(super) fn new(
        features: usize,
        config: LstmConfig,
        lstms: impl IntoIterator<Item = (String, Direction)>,
    ) -> Joined {
        let (prefixes, directions): (Vec<String>, Vec<Direction>) = lstms.into_iter().unzip();
        let tensors = prefixes.iter().flat_map(|prefix| config.tensors(features, prefix)).collect();
        Joined { config, directions, scaled: false, projected: None, tensors }
    }

    /// Returns the same with vectors scaled to unit length, and a projection of them to this many numbers, if any.
    pub(super) fn scaled(mut self, projected: Option<usize>) -> Joined {
        let units = self.units();
        self.tensors.extend(projected.map(|dimension| Tensor::named(PROJECTION, units, dimension)));
        Joined { scaled: true, projected, ..self }
    }

    /// Returns the size of the LSTMs' vectors together.
    fn units(&self) -> usize {
        self.directions.len() * self.config.cells
    }

    /// Returns the number of tensors of an LSTM. The projection is one more, and there are two LSTMs or more then.
    fn each(&self) -> usize {
        self.tensors.len() / self.directions.len()
    }

    /// Returns the tensors of each LSTM.
    fn lstm_tensors(&self) -> impl Iterator<Item = &[Tensor]> {
        self.tensors.chunks_exact(self.each()).take(self.directions.len())
    }

    fn projection(&self) -> Option<&Tensor> {
        self.projected.and_then(|_| self.tensors.last())
    }
}

/// The states of all LSTMs over a batch.
#[derive(Debug, Default)]
struct JoinedStates {
    lstms: Vec<LstmStates>,
    /// The length of each LSTM's vector before scaling, [texts, LSTMs].
    lengths: Vec<f32>,
    /// The unit vectors before the projection, [texts, units of all]; not used without a projection.
    units: Vec<f32>,
    /// The transpose of the projection.
    transposed: Buffer,
}

impl States for JoinedStates {
    fn word_quantities(&self) -> Vec<Quantity> {
        let in_direction = |direction| self.lstms.iter().find(|states| states.direction == direction);
        let directions = [Direction::Forward, Direction::Backward].into_iter().filter_map(in_direction);
        directions.flat_map(LstmStates::word_quantities).collect()
    }

    /// Returns the cells of all LSTMs that read in the quantity's direction, one LSTM after the other.
    fn at(&self, slot: Slot<'_>, quantity: Quantity, word: usize) -> Option<Cow<'_, [f32]>> {
        let mut all = Vec::new();
        for states in self.lstms.iter().filter(|states| states.direction == quantity.direction) {
            all.extend_from_slice(&states.at(slot, quantity, word)?);
        }
        (!all.is_empty()).then_some(Cow::Owned(all))
    }
}

impl Encoder for Joined {
    fn dimension(&self) -> usize {
        self.projected.unwrap_or(self.units())
    }

    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn tensors_mut(&mut self) -> &mut [Tensor] {
        &mut self.tensors
    }

    fn inputs(&self) -> Vec<Input<'_>> {
        self.lstm_tensors()
            .map(|tensors| Input { weights: &tensors[lstm::INPUT], bias: Some(&tensors[lstm::BIAS]) })
            .collect()
    }

    fn before_projection(&self, cells: &[f32]) -> Option<(Vec<f32>, &Matrix)> {
        let projection = self.projection()?;
        let mut units = cells.to_vec();
        units.chunks_exact_mut(self.config.cells).for_each(scale_to_unit);
        Some((units, &projection.value))
    }

    fn forward_projected(&self, batch: &Batch, projected: &[Buffer], trace: &mut Trace) {
        let JoinedStates { lstms, lengths, units, .. } = trace.states.begin(batch);
        let (h, all, count) = (self.config.cells, self.units(), self.directions.len());
        lstms.resize_with(count, LstmStates::default);
        let weights = self.lstm_tensors().zip(projected).zip(&self.directions);
        for (states, ((tensors, projected), &direction)) in lstms.iter_mut().zip(weights) {
            lstm::forward(self.config, tensors, batch, Order::Words(direction), projected, states, trace.keep_inputs);
        }
        let vectors = if self.projected.is_some() { &mut *units } else { &mut trace.embeddings };
        vectors.clear();
        vectors.resize(batch.texts() * all, 0.0);
        lengths.clear();
        lengths.resize(batch.texts() * count, 0.0);
        for (i, states) in lstms.iter().enumerate() {
            for (number, block) in batch.blocks.iter().enumerate() {
                for (slot, &text) in block.texts.iter().enumerate() {
                    let part = &mut vectors[text as usize * all + i * h..][..h];
                    part.copy_from_slice(block.last(states.activations(number), slot, h));
                    if self.scaled {
                        lengths[text as usize * count + i] = normalize(part);
                    }
                }
            }
        }
        if let Some(projection) = self.projection() {
            let (texts, dimension) = (batch.texts(), self.dimension());
            trace.embeddings.clear();
            trace.embeddings.resize(texts * dimension, 0.0);
            let into = (&mut trace.embeddings[..], dimension);
            gemm_into((texts, dimension, all), Left::rows(units, all), (projection.value.data(), dimension), into);
        }
    }

    fn backward(&self, batch: &Batch, trace: &mut Trace, grad: &[f32], bptt: Bptt, gradients: &mut Gradients) {
        let JoinedStates { lstms, lengths, units, transposed } = trace.states.spend();
        gradients.shape_like(&self.tensors, batch);
        let Gradients { tensors: out, table_squares, scratch, .. } = gradients;
        let (h, all) = (self.config.cells, self.units());
        let (mut grad, units) = match self.projection() {
            None => (Cow::Borrowed(grad), &trace.embeddings),
            Some(projection) => {
                let (texts, dimension) = (batch.texts(), self.dimension());
                let projection_gradient = out[self.tensors.len() - 1].data_mut();
                gemm(
                    (all, dimension, texts),
                    Left::transposed(units, all),
                    (grad, dimension),
                    (projection_gradient, dimension),
                );
                projection.value.transpose_into(transposed);
                let mut below = vec![0.0; texts * all];
                gemm_into(
                    (texts, all, dimension),
                    Left::rows(grad, dimension),
                    (&transposed[..], all),
                    (&mut below, all),
                );
                (Cow::Owned(below), &*units)
            }
        };
        if self.scaled {
            // ∂L/∂(unit vector) becomes ∂L/∂vector: (g − (g·u) u) / length.
            let parts = grad.to_mut().chunks_exact_mut(h).zip(units.chunks_exact(h));
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
        }
        let parts = lstms.iter_mut().zip(self.lstm_tensors()).zip(out.chunks_mut(self.each()));
        for (i, ((states, tensors), out)) in parts.enumerate() {
            let grad = EmbeddingGradient::last_words(&grad, all, i * h);
            *table_squares += lstm::backward(self.config, tensors, batch, states, grad, bptt, scratch, out);
        }
    }
}
