//! Clicked pairs made ready for training: the log, read once and laid in mapped files, and its minibatches.

mod log;
mod mapped;
mod minibatch;
mod reader;

use serde::{Deserialize, Serialize};

pub use log::{ClickLog, LogConfig, LogStatistics, Pair};
pub use mapped::Mapped;
pub use minibatch::{Minibatch, MinibatchConfig, Minibatches, NegativeSource, Negatives};
pub use reader::{Click, ClickReader};

/// What the `count` column of a click log is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weighting {
    /// ln(1 + count): the thousandth click says less than the first.
    #[default]
    Log,
    /// The count itself.
    Linear,
    /// 1 for every pair; the column is not even read.
    None,
}
