//! What is said when a log is too small for the encoder, or for two towers, as far as that was measured.

use clickvec::encoder::EncoderConfig;
use clickvec::train::TrainConfig;

use crate::output;

/// The pairs of the log on which encoders and towers were compared (docs/explanation/defaults.md). Larger logs were not tried,
/// so nothing is said about them.
const MEASURED: u64 = 22_639;

/// What ranked better on a log of this many pairs or more than what was asked for; `None` if nothing did.
pub(super) fn advice(config: &TrainConfig, pairs: u64) -> Option<String> {
    if pairs == 0 || pairs > MEASURED {
        return None;
    }
    let encoder = match &config.encoder {
        EncoderConfig::Rnn(_) => Some("an rnn".to_owned()),
        EncoderConfig::Clsm(clsm) if clsm.window > 1 => Some(format!("a clsm with windows of {} words", clsm.window)),
        _ => None,
    };
    let encoder = encoder.map(|what| format!("few for {what}, where a dssm or an lstm ranked better"));
    let towers =
        (!config.shared_towers).then(|| "few for two towers, where one for both sides ranked better".to_owned());
    let found: Vec<String> = encoder.into_iter().chain(towers).collect();
    (!found.is_empty()).then(|| {
        format!(
            "{} {} {} (measured on {}: docs/explanation/defaults.md)",
            output::counted(pairs, "pair"),
            output::agreeing(pairs, "is", "are"),
            found.join(", and "),
            output::counted(MEASURED, "pair")
        )
    })
}

#[cfg(test)]
mod tests {
    use clickvec::encoder::{ClsmConfig, RnnConfig};

    use super::*;

    #[test]
    fn only_what_was_measured_is_said() {
        let rnn = TrainConfig { encoder: EncoderConfig::Rnn(RnnConfig::default()), ..TrainConfig::default() };
        let said = "1,000 pairs are few for an rnn, where a dssm or an lstm ranked better (measured on 22,639 pairs: \
                    docs/explanation/defaults.md)";
        assert_eq!(advice(&rnn, 1_000).as_deref(), Some(said));
        assert_eq!((advice(&rnn, MEASURED + 1), advice(&rnn, 0)), (None, None));
        assert_eq!(advice(&TrainConfig::default(), 1_000), None, "the default");
        let window = |window| TrainConfig {
            encoder: EncoderConfig::Clsm(ClsmConfig { window, ..ClsmConfig::default() }),
            ..TrainConfig::default()
        };
        assert_eq!(advice(&window(1), 1_000), None);
        assert!(advice(&window(3), 1_000).unwrap().contains("a clsm with windows of 3 words"));
        let both = TrainConfig { shared_towers: false, ..rnn };
        assert!(advice(&both, 1_000).unwrap().contains("ranked better, and few for two towers, where one"));
    }
}
