//! The bidirectional LSTM: two LSTMs, one of which reads a text from right to left.

use super::joined::Joined;
use super::kind::EncoderKind;
use super::trace::Direction;
use super::{Description, Encoder, LstmConfig};
use crate::fields::Field;

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
        let lstms = [("forward.", Direction::Forward), ("backward.", Direction::Backward)];
        Box::new(Joined::new(features, self.0, lstms.map(|(prefix, direction)| (prefix.to_owned(), direction))))
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
