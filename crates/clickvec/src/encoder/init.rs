//! Initial weights.

use super::{Encoder, EncoderConfig, TensorKind};
use crate::fields::number_or;
use crate::rng;
use rand::RngExt as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Statistics of the texts that an encoder will read, for its initial weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextStatistics {
    /// Mean number of letter trigrams of a word.
    pub trigrams_per_word: f64,
    /// Mean number of words of a text.
    pub words_per_text: f64,
}

/// The range of the initial weights.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum InitRange {
    /// Uniform in ±√(6 / (fan-in + fan-out)), biases 0; the fan-in of an input matrix is the mean
    /// number of active trigrams.
    #[default]
    Fan,
    /// Uniform in ± this number, biases too: the papers' small random numbers.
    Uniform(f32),
}

impl Serialize for InitRange {
    /// Writes the number, or `fan`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let range = match self {
            InitRange::Uniform(range) => Some(range),
            InitRange::Fan => None,
        };
        number_or::write(range, "fan", serializer)
    }
}

impl<'de> Deserialize<'de> for InitRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<InitRange, D::Error> {
        let range = number_or::read("fan", deserializer)?.and_then(|range| range.as_f64());
        Ok(range.map_or(InitRange::Fan, |range| InitRange::Uniform(range as f32)))
    }
}

/// Fills the weights of `encoder` from streams named after `side` and each tensor.
pub fn initialize(
    encoder: &mut dyn Encoder,
    config: &EncoderConfig,
    side: &str,
    statistics: TextStatistics,
    range: InitRange,
    seed: u64,
) {
    let active = config.fan_in(statistics);
    // A CLSM's input matrix has one group for each place in the window; its fan-out is that of one group.
    for tensor in encoder.tensors_mut() {
        let inputs = tensor.value.rows();
        let ranges: Vec<_> = tensor.ranges().map(|(group, columns)| (group.clone(), columns)).collect();
        for (group, columns) in ranges {
            let fan_in = match tensor.kind {
                TensorKind::Input => active,
                TensorKind::Dense | TensorKind::Bias => inputs as f64,
            };
            let bound = match range {
                InitRange::Uniform(bound) => bound,
                InitRange::Fan if tensor.kind == TensorKind::Bias => 0.0,
                InitRange::Fan => (6.0 / (fan_in + group.width as f64)).sqrt() as f32,
            };
            if bound == 0.0 {
                continue;
            }
            let mut stream = rng::stream(seed, &format!("{side}.{}", group.name), 0);
            for row in 0..inputs {
                for x in &mut tensor.value.row_mut(row)[columns.clone()] {
                    *x = bound * (2.0 * stream.random::<f32>() - 1.0);
                }
            }
        }
    }
}
