//! What is said when a log is too small for the encoder, or for two towers, as far as that was measured.

use clickvec::encoder::EncoderConfig;
use clickvec::train::TrainConfig;

use crate::output;

/// The pairs of the largest log on which other encoders ranked better (docs/explanation/claims.md).
const ENCODERS: u64 = 2_000_000;
/// The pairs of the largest log on which one tower ranked better, whatever the encoder (the same page).
const TOWERS: u64 = 20_000;

/// What ranked better on a log of this many pairs or more than what was asked for; `None` if nothing did.
pub(super) fn advice(config: &TrainConfig, pairs: u64) -> Option<String> {
    if pairs == 0 || pairs > ENCODERS {
        return None;
    }
    let encoder = match &config.encoder {
        EncoderConfig::Rnn(_) => Some("an rnn".to_owned()),
        EncoderConfig::Clsm(clsm) if clsm.window > 1 => Some(format!("a clsm with windows of {} words", clsm.window)),
        _ => None,
    };
    let encoder = encoder.map(|what| format!("few for {what}, where a dssm or an lstm ranked better"));
    let towers = (!config.shared_towers && pairs <= TOWERS)
        .then(|| "few for two towers, where one for both sides ranked better".to_owned());
    let most = if encoder.is_some() { ENCODERS } else { TOWERS };
    let found: Vec<String> = encoder.into_iter().chain(towers).collect();
    (!found.is_empty()).then(|| {
        format!(
            "{} {} {} (measured with up to {}: docs/explanation/claims.md)",
            output::counted(pairs, "pair"),
            output::agreeing(pairs, "is", "are"),
            found.join(", and "),
            output::counted(most, "pair")
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
        let said = "1,000 pairs are few for an rnn, where a dssm or an lstm ranked better (measured with up to \
                    2,000,000 pairs: docs/explanation/claims.md)";
        assert_eq!(advice(&rnn, 1_000).as_deref(), Some(said));
        assert_eq!((advice(&rnn, ENCODERS + 1), advice(&rnn, 0)), (None, None));
        assert_eq!(advice(&TrainConfig::default(), 1_000), None, "the default");
        let window = |window| TrainConfig {
            encoder: EncoderConfig::Clsm(ClsmConfig { window, ..ClsmConfig::default() }),
            ..TrainConfig::default()
        };
        assert_eq!(advice(&window(1), 1_000), None);
        assert!(advice(&window(3), 1_000).unwrap().contains("a clsm with windows of 3 words"));
        let both = TrainConfig { shared_towers: false, ..rnn };
        assert!(!advice(&both, TOWERS + 1).unwrap().contains("towers"));
        let towers = TrainConfig { shared_towers: false, ..TrainConfig::default() };
        assert!(advice(&towers, TOWERS).unwrap().contains("measured with up to 20,000 pairs"));
        assert_eq!(advice(&towers, TOWERS + 1), None);
        assert!(advice(&both, 1_000).unwrap().contains("ranked better, and few for two towers, where one"));
    }
}
