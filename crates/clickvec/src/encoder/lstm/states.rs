//! The states of an LSTM, and how they are read.

use super::{Direction, LstmConfig};
use crate::encoder::trace::{Quantity, Slot, Stage, State, States, row};
use crate::math::Buffer;
use std::borrow::Cow;

/// The states of one LSTM over a batch.
#[derive(Debug, Default)]
pub(in super::super) struct LstmStates {
    /// The encoder's sizes.
    pub(super) config: LstmConfig,
    /// The direction in which it reads.
    pub(in super::super) direction: Direction,
    /// y_g | i | f | o after their activations, [packed rows of the batch, G·H]. The backward pass replaces them by
    /// ∂L/∂(input of each gate).
    pub(super) gates: Buffer,
    /// One for each block.
    pub(super) blocks: Vec<LstmBlockStates>,
}

/// The states of one LSTM over a block; rows are the block's packed rows.
#[derive(Debug, Default)]
pub(in super::super) struct LstmBlockStates {
    /// c, [rows, H]
    pub(super) cell: Buffer,
    /// y, [rows, H]
    pub(super) activation: Buffer,
    /// The inputs of the gates' activations, [rows, G·H]; empty unless requested.
    pub(super) inputs: Buffer,
}

impl LstmStates {
    /// Returns y of every row of a block, [rows, H].
    pub(in super::super) fn activations(&self, block: usize) -> &[f32] {
        &self.blocks[block].activation
    }

    /// Returns the errors of the gates after a backward pass, [packed rows of the batch, G·H].
    pub(in super::super) fn errors(&mut self) -> &mut [f32] {
        &mut self.gates
    }
}

impl States for LstmStates {
    fn word_quantities(&self) -> Vec<Quantity> {
        let forget = self.config.forget_gate.then_some(State::ForgetGate);
        let gates = [State::CellInput, State::InputGate].into_iter().chain(forget);
        let states = gates.chain([State::OutputGate, State::Cell, State::Activation]);
        states.map(|state| state.read(self.direction)).collect()
    }

    fn at(&self, slot: Slot<'_>, quantity: Quantity, word: usize) -> Option<Cow<'_, [f32]>> {
        let h = self.config.cells;
        let Quantity { state, direction, stage } = quantity;
        if direction != self.direction {
            return None;
        }
        let block = &self.blocks[slot.number];
        let gate = match (state, stage) {
            (State::CellInput, _) => 0,
            (State::InputGate, _) => 1,
            (State::ForgetGate, _) if self.config.forget_gate => 2,
            (State::OutputGate, _) => self.config.gates() - 1,
            (State::Cell, Stage::After) => return row(&block.cell, slot.row(direction, word), h),
            (State::Activation, Stage::After) => return row(&block.activation, slot.row(direction, word), h),
            _ => return None,
        };
        let column = |row: usize| row * self.config.gates() + gate;
        match stage {
            Stage::Before => row(&block.inputs, column(slot.row(direction, word)), h),
            Stage::After => row(&self.gates, column(slot.batch_row(direction, word)), h),
        }
    }
}
