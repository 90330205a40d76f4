//! Encoders, which turn a text into a vector.
//!
//! An encoder's weights do not change while it is used: it writes only to the caller's [`Trace`] and [`Gradients`]. Training,
//! serving and explaining run the same [`Encoder::forward`]. Everything about one kind of encoder is in its own file: sizes,
//! limits, defaults, both passes, the reader of its states, and its description for explanations.

mod clsm;
pub(crate) mod config;
pub(crate) mod description;
mod dssm;
pub(crate) mod gradients;
mod gru;
pub(crate) mod init;
pub(crate) mod input;
mod joined;
pub(crate) mod kind;
mod lstm;
mod members;
pub(crate) mod passes;
mod rnn;
mod stacked;
pub(crate) mod tensor;
pub(crate) mod trace;

pub use clsm::ClsmConfig;
pub use config::EncoderConfig;
pub(crate) use description::{Description, Reading};
pub use dssm::DssmConfig;
pub(crate) use gradients::{BlockScratch, Gradients, Scratch, reduce_blocks};
pub use gru::GruConfig;
pub use init::InitRange;
pub(crate) use init::initialize;
pub(crate) use input::Input;
pub(crate) use kind::TextStatistics;
pub use lstm::{LstmConfig, Peephole};
pub use members::MembersConfig;
pub(crate) use members::prefix as member_prefix;
pub(crate) use passes::{Encoder, for_each_block, for_each_block_with_rows};
pub use rnn::RnnConfig;
pub use stacked::StackedConfig;
pub(crate) use tensor::{Group, Motion, Tensor, TensorKind};
pub(crate) use trace::Trace;
pub use trace::{Direction, Quantity, Stage, State, StateReader, TextStates};

use serde::{Deserialize, Serialize};

use crate::fields::{self, Rule, fields};

fields! {
    /// The way in which errors flow back through the words of a text.
    #[derive(Copy, Eq)]
    pub struct Bptt {
        /// The number of last words through which errors flow back, or `none` for all.
        #[serde(with = "fields::integer_or_none")]
        pub words: Option<usize> = None where Rule::AtLeast(1.0),
        /// The error signals of an LSTM: `exact`, the gradient, or `per-gate`, the paper's formulas as printed: only the path
        /// through each gate itself.
        pub signals: Signals = (Signals::Exact),
    }
}

/// The error signals that an LSTM propagates back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signals {
    /// The exact gradient.
    #[default]
    Exact,
    /// Only each gate's own recurrent path (Palangi et al. 2015, eq. 16–44).
    PerGate,
}
