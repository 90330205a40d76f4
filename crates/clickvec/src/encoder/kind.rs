//! The interface of the kinds of encoder, and the limits of sizes.

use clickvec_tables::Result;

use super::{Description, Encoder};
use crate::fields::Rule;

/// Statistics of the texts that an encoder will read, for its initial weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextStatistics {
    /// Mean number of letter trigrams of a word.
    pub trigrams_per_word: f64,
    /// Mean number of words of a text.
    pub words_per_text: f64,
}

/// A kind of encoder with its sizes. Each encoder's file implements it.
pub(super) trait EncoderKind {
    /// Returns a description of the sizes.
    fn sizes(&self) -> String;

    /// Checks conditions beyond the bounds of single sizes.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Returns an encoder with all weights zero, over `features` trigrams.
    fn build(&self, features: usize) -> Box<dyn Encoder>;

    /// Returns the number of weights over `features` trigrams; `None` if it cannot be counted.
    fn parameters(&self, features: u64) -> Option<u64>;

    /// Returns the number of words whose trigrams are inputs of one number of the input layer, each with weights of its own.
    fn input_places(&self) -> usize {
        1
    }

    /// Returns the number of trigrams that one number of the input layer sums on average.
    fn active_inputs(&self, texts: TextStatistics) -> f64 {
        texts.trigrams_per_word
    }

    /// Describes how it reads a text, and its states.
    fn description(&self) -> Description;

    /// Returns whether the published per-gate error signals are defined for it: for LSTMs that read words.
    fn has_published_signals(&self) -> bool {
        false
    }

    /// Returns whether it adds up what its words put in, as long as its other weights are small.
    fn adds_up(&self) -> bool {
        false
    }
}

/// Limits on what a configuration may have, so that a hostile file cannot exhaust memory.
pub(super) const MAX_LAYERS: usize = 16;
pub(super) const UNIT_RANGE: [f64; 2] = [1.0, 16_384.0];
pub(super) const UNITS: Rule = Rule::Within(UNIT_RANGE[0], UNIT_RANGE[1]);
pub(super) const LAYERS: Rule = Rule::List([1, MAX_LAYERS], UNIT_RANGE);

/// Returns the number of weights of a layer with a bias; `None` if it cannot be counted.
pub(super) fn layer_parameters(inputs: u64, units: u64) -> Option<u64> {
    inputs.checked_add(1)?.checked_mul(units)
}
