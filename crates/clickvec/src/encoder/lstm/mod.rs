//! The LSTM of Palangi et al. 2015, eq. (2), with every variant that the paper names.
//!
//! H cells, G gates. The columns of a gate buffer are y_g | i | f (if there is a forget gate) | o, each H wide.

mod backward;
mod forward;
mod states;

pub(super) use backward::{EmbeddingGradient, backward, gate_errors};
pub(super) use forward::{Order, forward};
pub(super) use states::LstmStates;

use super::kind::UNITS;
use super::trace::{Direction, State};
use super::{Description, Reading, Tensor, TensorKind};
use crate::fields::fields;
use serde::{Deserialize, Serialize};

/// The order of an LSTM's tensors.
pub(super) const INPUT: usize = 0;
pub(super) const RECURRENT: usize = 1;
pub(super) const BIAS: usize = 2;
pub(super) const PEEPHOLE: usize = 3;

fields! {
    /// The sizes and gates of an LSTM; by default that of the paper's experiments: 96 cells, no forget gate, no peepholes.
    #[derive(Copy, Eq)]
    pub struct LstmConfig {
        /// The number of cells, in each direction (H).
        pub cells: usize = 96 where UNITS,
        /// Whether there is a forget gate. Without it f = 1, as in the paper's experiments.
        pub forget_gate: bool = false,
        /// Connections from the cells to the gates: `none`, as in the paper's experiments; `diagonal`, from each cell to its own
        /// gates; or `full`, from each cell to every gate.
        pub peephole: Peephole = (Peephole::None),
    }
}

/// Connections from the cell state to the gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Peephole {
    /// None, as in the paper's experiments.
    None,
    /// Each cell to its own gates: a vector for each gate.
    Diagonal,
    /// Each cell to every gate: a matrix for each gate, as in the paper's gradients.
    Full,
}

/// Returns the description that all encoders of LSTMs share.
pub(super) fn describe(forget_gate: bool) -> Description {
    let gates: &[State] = if forget_gate {
        &[State::InputGate, State::ForgetGate, State::OutputGate]
    } else {
        &[State::InputGate, State::OutputGate]
    };
    Description { reading: Reading::WordByWord, gates, telling: &[State::Activation, State::InputGate] }
}

impl LstmConfig {
    /// Returns the number of gates (G), counting the input y_g.
    pub fn gates(&self) -> usize {
        if self.forget_gate { 4 } else { 3 }
    }

    /// Returns a description of the gates and peepholes.
    pub(super) fn variant(&self) -> String {
        let forget = if self.forget_gate { ", forget gate" } else { "" };
        let peephole = match self.peephole {
            Peephole::None => "",
            Peephole::Diagonal => ", diagonal peepholes",
            Peephole::Full => ", full peepholes",
        };
        format!("{forget}{peephole}")
    }

    /// Returns the first column of the input gate.
    pub(super) fn input_gate(&self) -> usize {
        self.cells
    }

    /// Returns the first column of the output gate. The forget gate, if there is one, comes before it.
    pub(super) fn output_gate(&self) -> usize {
        (self.gates() - 1) * self.cells
    }

    /// Returns the tensors of one LSTM, with `prefix` before each name.
    pub(super) fn tensors(&self, features: usize, prefix: &str) -> Vec<Tensor> {
        let gates: &[&str] = if self.forget_gate { &["4", "3", "2", "1"] } else { &["4", "3", "1"] };
        let named = |stem: &str, gates: &[&str]| -> Vec<String> {
            gates.iter().map(|gate| format!("{prefix}{stem}{gate}")).collect()
        };
        let tensor = |kind, inputs, stem, gates: &[&str]| {
            let names = named(stem, gates);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            Tensor::zeros(kind, inputs, &names, self.cells)
        };
        let mut tensors = vec![
            tensor(TensorKind::Input, features, "w", gates),
            tensor(TensorKind::Dense, self.cells, "wrec", gates),
            tensor(TensorKind::Bias, 1, "b", gates),
        ];
        match self.peephole {
            Peephole::None => {}
            Peephole::Diagonal => tensors.push(tensor(TensorKind::Dense, 1, "wp", &gates[1..])),
            Peephole::Full => tensors.push(tensor(TensorKind::Dense, self.cells, "wp", &gates[1..])),
        }
        tensors
    }
}
