//! Several LSTMs, each with its own weights. The embedding consists of their vectors, each scaled to unit length, one
//! after the other. So the cosine of two texts is the mean of the members' cosines.
//!
//! A projection may bring them to fewer numbers. No gradient changes it while members learn: it is fitted to what they
//! have learnt (`train::projection`).

use super::input::Input;
use super::kind::{EncoderKind, UNITS};
use super::lstm::{self, EmbeddingGradient, LstmStates, Order};
use super::trace::{Direction, Quantity, Slot, States};
use super::{Bptt, Description, Encoder, Gradients, LstmConfig, Peephole, Tensor, Trace};
use crate::fields::{Field, Rule, fields};
use crate::math::gemm::{Left, gemm, gemm_into};
use crate::math::vector::{add_scaled, dot, normalize, scale_to_unit};
use crate::math::{Buffer, Matrix};
use crate::text::batch::Batch;
use clickvec_tables::{Error, ErrorKind, Result};
use std::borrow::Cow;

fields! {
    /// The number of LSTMs, their sizes, and those of their vectors together.
    #[derive(Copy, Eq)]
    pub struct MembersConfig {
        /// The number of LSTMs. Each is trained on its own, with its own seed, and their vectors are joined end to end.
        pub members: usize where Rule::Within(1.0, MAX_MEMBERS as f64),
        /// The number of cells of each.
        pub cells: usize where UNITS,
        /// Whether there are forget gates.
        pub forget_gate: bool,
        /// Connections from the cells to the gates: `none`, `diagonal` or `full`.
        pub peephole: Peephole,
        /// The size of a text's vector, or `none` for all cells of the members. After each epoch, the principal components of up to
        /// 20,000 titles reduce the members' vectors to this many numbers.
        #[serde(with = "crate::fields::integer_or_none")]
        pub dimension: Option<usize> where Rule::AtLeast(1.0),
    }
}

impl Default for MembersConfig {
    /// Returns the number that is best in validation (docs/explanation/defaults.md).
    fn default() -> MembersConfig {
        MembersConfig { members: 3, cells: 96, forget_gate: false, peephole: Peephole::None, dimension: None }
    }
}

impl MembersConfig {
    /// Returns the size of the members' vectors together.
    fn units(&self) -> usize {
        self.members * self.cells
    }

    /// Creates a configuration of `members` LSTMs like `lstm`.
    pub fn new(members: usize, lstm: LstmConfig, dimension: Option<usize>) -> MembersConfig {
        let LstmConfig { cells, forget_gate, peephole } = lstm;
        MembersConfig { members, cells, forget_gate, peephole, dimension }
    }

    /// Returns the input and output size of the projection that makes the embedding, if there is one.
    pub(super) fn projection(&self) -> Option<(usize, usize)> {
        self.dimension.map(|dimension| (self.units(), dimension))
    }

    /// Returns the same without a projection.
    pub(super) fn without_projection(&self) -> MembersConfig {
        MembersConfig { dimension: None, ..*self }
    }

    /// Returns each of the LSTMs.
    pub(super) fn lstm(&self) -> LstmConfig {
        LstmConfig { cells: self.cells, forget_gate: self.forget_gate, peephole: self.peephole }
    }
}

/// The name of the projection's matrix.
const PROJECTION: &str = "projection";

/// The largest number of members.
pub(super) const MAX_MEMBERS: usize = 64;

impl EncoderKind for MembersConfig {
    fn name(&self) -> &'static str {
        "members"
    }

    fn about(&self) -> &'static str {
        "Several LSTMs, each trained on its own"
    }

    fn sizes(&self) -> String {
        let projected =
            self.dimension.map_or_else(String::new, |dimension| format!(", projected to {dimension} numbers"));
        format!("{} times lstm, {}{projected}", self.members, self.lstm().sizes())
    }

    fn build(&self, features: usize) -> Box<dyn Encoder> {
        Box::new(Members::new(features, *self))
    }

    fn parameters(&self, features: u64) -> Option<u64> {
        let projection =
            self.dimension.map_or(Some(0), |dimension| (self.units() as u64).checked_mul(dimension as u64))?;
        self.lstm().parameters(features)?.checked_mul(self.members as u64)?.checked_add(projection)
    }

    fn fields(&self) -> &'static [Field] {
        MembersConfig::FIELDS
    }

    fn check(&self) -> Result<()> {
        let units = self.units();
        match self.dimension {
            Some(dimension) if self.members < 2 || dimension > units => {
                let expected = format!("two members or more, which have at least {dimension} numbers together");
                let found = format!("{} of {} cells", self.members, self.cells);
                Err(Error::expected(ErrorKind::Setting, expected, found).within("encoder.dimension"))
            }
            _ => Ok(()),
        }
    }

    fn description(&self) -> Description {
        self.lstm().description()
    }

    fn has_published_signals(&self) -> bool {
        true
    }

    fn adds_up(&self) -> bool {
        self.lstm().adds_up()
    }
}

/// Several LSTMs.
pub(super) struct Members {
    config: MembersConfig,
    /// The tensors of each LSTM, one LSTM after the other, and the projection [units of all, dimension], if there is one.
    tensors: Vec<Tensor>,
}

impl Members {
    /// Returns all weights zero.
    pub(super) fn new(features: usize, config: MembersConfig) -> Members {
        let tensors = |member: usize| config.lstm().tensors(features, &prefix(member));
        let projection = config.dimension.map(|dimension| Tensor::named(PROJECTION, config.units(), dimension));
        Members { config, tensors: (0..config.members).flat_map(tensors).chain(projection).collect() }
    }

    /// Returns the number of tensors of a member. The projection is one more, and there are two members or more then.
    fn each(&self) -> usize {
        self.tensors.len() / self.config.members
    }

    /// Returns the tensors of each member.
    fn member_tensors(&self) -> impl Iterator<Item = &[Tensor]> {
        self.tensors.chunks_exact(self.each()).take(self.config.members)
    }

    fn projection(&self) -> Option<&Tensor> {
        self.config.dimension.and_then(|_| self.tensors.last())
    }
}

/// Returns the prefix of the names of a member's matrices.
pub(crate) fn prefix(member: usize) -> String {
    format!("m{}.", member + 1)
}

/// The states of all members over a batch.
#[derive(Debug, Default)]
struct MemberStates {
    members: Vec<LstmStates>,
    /// The length of each member's vector before scaling, [texts, members].
    lengths: Vec<f32>,
    /// The members' unit vectors before the projection, [texts, units of all]; not used without a projection.
    units: Vec<f32>,
    /// The transpose of the projection.
    transposed: Buffer,
}

impl States for MemberStates {
    fn word_quantities(&self) -> Vec<Quantity> {
        self.members.first().map_or_else(Vec::new, |states| states.read(Direction::Forward))
    }

    /// Returns the cells of all members, one member after the other.
    fn at(&self, slot: Slot<'_>, quantity: Quantity, word: usize) -> Option<Cow<'_, [f32]>> {
        if quantity.direction != Direction::Forward {
            return None;
        }
        let mut all = Vec::new();
        for states in &self.members {
            all.extend_from_slice(&states.at_word(slot, quantity, word)?);
        }
        Some(Cow::Owned(all))
    }
}

impl Encoder for Members {
    fn dimension(&self) -> usize {
        self.config.dimension.unwrap_or(self.config.units())
    }

    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn tensors_mut(&mut self) -> &mut [Tensor] {
        &mut self.tensors
    }

    fn inputs(&self) -> Vec<Input<'_>> {
        self.member_tensors()
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
        let MemberStates { members, lengths, units, .. } = trace.states.begin(batch);
        members.resize_with(self.config.members, LstmStates::default);
        let weights = self.member_tensors().zip(projected);
        for (states, (tensors, projected)) in members.iter_mut().zip(weights) {
            lstm::forward(
                self.config.lstm(),
                tensors,
                batch,
                Order::Words(Direction::Forward),
                projected,
                states,
                trace.keep_inputs,
            );
        }
        let (h, all) = (self.config.cells, self.config.units());
        let vectors = if self.config.dimension.is_some() { &mut *units } else { &mut trace.embeddings };
        vectors.clear();
        vectors.resize(batch.texts() * all, 0.0);
        lengths.clear();
        lengths.resize(batch.texts() * self.config.members, 0.0);
        for (i, states) in members.iter().enumerate() {
            for (block, states) in batch.blocks.iter().zip(&states.blocks) {
                for (slot, &text) in block.texts.iter().enumerate() {
                    let part = &mut vectors[text as usize * all + i * h..][..h];
                    part.copy_from_slice(states.last(block, slot, h));
                    lengths[text as usize * self.config.members + i] = normalize(part);
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
        let MemberStates { members, lengths, units, transposed } = trace.states.spend();
        gradients.shape_like(&self.tensors, batch);
        let Gradients { tensors: out, table_squares, scratch, .. } = gradients;
        let (h, all) = (self.config.cells, self.config.units());
        let (mut grad, units) = match self.projection() {
            None => (grad.to_vec(), &trace.embeddings),
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
                (below, &*units)
            }
        };
        // ∂L/∂(unit vector) becomes ∂L/∂vector: (g − (g·u) u) / length.
        let parts = grad.chunks_exact_mut(h).zip(units.chunks_exact(h));
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
        let parts = members.iter_mut().zip(self.member_tensors()).zip(out.chunks_mut(each));
        for (i, ((states, tensors), out)) in parts.enumerate() {
            let grad = EmbeddingGradient::last_words(&grad, all, i * h);
            let direction = Direction::Forward;
            *table_squares +=
                lstm::backward(self.config.lstm(), tensors, batch, direction, states, grad, bptt, scratch, out);
        }
    }
}
