//! Initial weights.

use super::clsm::PADDING_NAME;
use super::{Encoder, EncoderConfig, State, TensorKind, TextStatistics};
use crate::fields::number_or;
use crate::rng;
use rand::RngExt as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The range of the initial weights.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum InitRange {
    /// Uniform in ±√(6 / (fan-in + fan-out)), where the fans are the numbers of inputs and outputs of a matrix; biases 0. The
    /// formula of Huang et al. 2013 and Shen et al. 2014.
    #[default]
    Fan,
    /// The same, but the fan-in of an input matrix is the mean number of active trigrams.
    ActiveFan,
    /// Uniform in ± this number, biases too: the papers' small random numbers.
    Uniform(f32),
}

const FAN: &str = "fan";
const ACTIVE_FAN: &str = "active-fan";

impl Serialize for InitRange {
    /// Writes the number, `fan` or `active-fan`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            InitRange::Uniform(range) => range.serialize(serializer),
            InitRange::Fan => serializer.serialize_str(FAN),
            InitRange::ActiveFan => serializer.serialize_str(ACTIVE_FAN),
        }
    }
}

impl<'de> Deserialize<'de> for InitRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<InitRange, D::Error> {
        Ok(match number_or::read(&[FAN, ACTIVE_FAN], deserializer)? {
            Ok(range) => InitRange::Uniform(range.as_f64().unwrap_or(f64::NAN) as f32),
            Err(FAN) => InitRange::Fan,
            Err(_) => InitRange::ActiveFan,
        })
    }
}

/// Fills the weights of `encoder` from streams named after `side` and each tensor, and adds `forget_bias` to the biases of forget
/// gates. A GRU forgets by its update gate, from whose biases it is subtracted.
pub fn initialize(
    encoder: &mut dyn Encoder,
    config: &EncoderConfig,
    side: &str,
    statistics: TextStatistics,
    range: InitRange,
    forget_bias: f32,
    seed: u64,
) {
    let active = config.active_inputs(statistics);
    let forgets = config.description().gates.iter().find_map(|gate| match gate {
        State::ForgetGate => Some(("b2", forget_bias)),
        State::UpdateGate => Some(("bz", -forget_bias)),
        _ => None,
    });
    let features = encoder
        .tensors()
        .iter()
        .find(|tensor| tensor.kind == TensorKind::Input)
        .map_or(0, |tensor| tensor.value.rows());
    let input_fan_in = match range {
        InitRange::ActiveFan => active,
        InitRange::Fan | InitRange::Uniform(_) => features as f64 * config.input_places() as f64,
    };
    // A CLSM's input matrix has one group for each place in the window; its fan-out is that of one group.
    for tensor in encoder.tensors_mut() {
        let inputs = tensor.value.rows();
        let ranges: Vec<_> = tensor.ranges().map(|(group, columns)| (group.clone(), columns)).collect();
        for (group, columns) in ranges {
            let is_input = tensor.kind == TensorKind::Input || group.name.starts_with(PADDING_NAME);
            let fan_in = if is_input { input_fan_in } else { inputs as f64 };
            let bound = match range {
                InitRange::Uniform(bound) => bound,
                _ if tensor.kind == TensorKind::Bias => 0.0,
                InitRange::Fan | InitRange::ActiveFan => (6.0 / (fan_in + group.width as f64)).sqrt() as f32,
            };
            if let Some((_, bias)) =
                forgets.filter(|(name, _)| tensor.kind == TensorKind::Bias && group.name.ends_with(name))
            {
                tensor.value.row_mut(0)[columns.clone()].fill(bias);
            }
            if bound == 0.0 {
                continue;
            }
            let mut stream = rng::stream(seed, &format!("{side}.{}", group.name), 0);
            for row in 0..inputs {
                for x in &mut tensor.value.row_mut(row)[columns.clone()] {
                    *x += bound * (2.0 * stream.random::<f32>() - 1.0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::{ClsmConfig, GruConfig, LstmConfig, Tensor};

    const TEXTS: TextStatistics = TextStatistics { trigrams_per_word: 6.0, words_per_text: 5.0 };

    fn initialized(config: &EncoderConfig, range: InitRange, forget_bias: f32) -> Vec<Tensor> {
        let mut encoder = config.build(2000);
        initialize(&mut *encoder, config, "query", TEXTS, range, forget_bias, 1);
        encoder.tensors().to_vec()
    }

    fn largest(tensor: &Tensor) -> f32 {
        tensor.value.data().iter().fold(0.0, |largest, x| largest.max(x.abs()))
    }

    #[test]
    fn the_fan_in_of_a_convolution_is_the_trigrams_of_its_window() {
        let config = EncoderConfig::Clsm(ClsmConfig { window: 3, ..ClsmConfig::papers() });
        for (range, fan_in) in [(InitRange::Fan, 3.0 * 2000.0), (InitRange::ActiveFan, 3.0 * 6.0)] {
            let tensors = initialized(&config, range, 0.0);
            let bound = (6.0_f32 / (fan_in + 300.0)).sqrt();
            // The word before and after a text has weights of its own in the same matrix.
            for tensor in &tensors[..2] {
                let found = largest(tensor);
                assert!(found <= bound && found > 0.99 * bound, "{range:?}: {found} {bound}");
            }
        }
    }

    #[test]
    fn forget_gates_begin_open() {
        let gated = EncoderConfig::Lstm(LstmConfig { cells: 4, forget_gate: true, ..LstmConfig::default() });
        let gru = EncoderConfig::Gru(GruConfig { cells: 4 });
        for (config, group, expected) in [(gated, "b2", 3.0), (gru, "bz", -3.0)] {
            let [open, half] = [3.0, 0.0].map(|bias| initialized(&config, InitRange::Uniform(0.01), bias));
            for (open, half) in open.iter().zip(&half) {
                for (named, columns) in open.ranges() {
                    let added = if named.name == group { expected } else { 0.0 };
                    let mut pairs = open.value.row(0)[columns.clone()].iter().zip(&half.value.row(0)[columns]);
                    assert!(pairs.all(|(open, half)| (open - half - added).abs() < 1e-6), "{}", named.name);
                }
            }
        }
    }
}
