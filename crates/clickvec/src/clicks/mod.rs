//! Clicked pairs for training: their source, the log (read once, and stored in mapped files or in memory), and its
//! minibatches.

mod grade;
mod hashes;
pub(crate) mod held_out;
mod log;
mod minibatch;
mod noise;
mod pairs;
mod reader;
mod scored;
mod source;
mod spool;
mod statistics;
mod taught;
mod teacher;
mod viewed;
mod word_counts;

use serde::{Deserialize, Serialize};

pub use grade::click_grades;
pub use hashes::{pair_fingerprint, text_hash, title_fingerprint};
pub use held_out::{HeldOut, HeldOutCounts, HeldOutQuery};
pub use log::{ClickLog, LogConfig, Section};
pub use minibatch::{Minibatch, Minibatches, NegativeSource, Negatives};
pub use reader::ClickReader;
pub use scored::ScoreCoverage;
pub(crate) use scored::Scored;
pub use source::{ClickSource, RepeatableClicks};
pub(crate) use spool::Spooled;
pub use spool::Storage;
pub use statistics::LogStatistics;
pub(crate) use taught::Taught;
pub use taught::TeacherCoverage;
pub use teacher::Teacher;

/// The weight that a pair gets from the `count` column of a click log. [`Weighting::Binary`] also
/// decides for the column `weight`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weighting {
    /// ln(1 + count), because the thousandth click says less than the first.
    #[default]
    Log,
    /// The count itself.
    Linear,
    /// 1 for every pair. The column is not read.
    None,
    /// One click for each pair, as in the papers, whatever both `count` and `weight` say: 1 if they are above 0, otherwise
    /// 0.
    Binary,
}

impl Weighting {
    /// Returns whether the column `count` is read.
    pub fn reads_counts(self) -> bool {
        self != Weighting::None
    }

    /// Returns the factor of a pair's loss, from its `weight` (1 if there is no such column) and its `count`, if there is
    /// one. Both are finite and 0 or more. `None` if the factor does not fit 32 bits.
    pub fn weigh(self, weight: f64, count: Option<f64>) -> Option<f32> {
        let factor = self.factor(weight, count) as f32;
        factor.is_finite().then_some(factor)
    }

    /// Returns [`Weighting::weigh`] before it is rounded.
    fn factor(self, weight: f64, count: Option<f64>) -> f64 {
        let one_click = |number: f64| if number > 0.0 { 1.0 } else { 0.0 };
        let count_factor = count.map_or(1.0, |count| match self {
            Weighting::Log => count.ln_1p(),
            Weighting::Linear => count,
            Weighting::None => 1.0,
            Weighting::Binary => one_click(count),
        });
        match self {
            Weighting::Binary => one_click(weight * count_factor),
            Weighting::Log | Weighting::Linear | Weighting::None => weight * count_factor,
        }
    }
}
