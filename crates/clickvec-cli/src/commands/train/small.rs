//! What is said when a log is too small for the encoder, for two towers or for a network, or negatives are few, as far as
//! that was measured on simulated logs (docs/explanation/claims.md, bench/notes/log-size.json).

use clickvec::encoder::EncoderConfig;
use clickvec::train::{Negatives, TrainConfig};

use crate::output;

/// The pairs of the largest log: other encoders still ranked better there, and few negatives still cost as much.
const MOST: u64 = 2_000_000;
/// The pairs of the largest log on which one tower ranked better: for every network that was tried, and for an rnn, a clsm and
/// a dssm.
const TOWERS_OF_ALL: u64 = 20_000;
const TOWERS: u64 = 200_000;
/// Letter trigrams ranked better than every network with 20,000 pairs and not with 200,000; in between nothing was tried.
const TRIGRAMS: u64 = 100_000;
/// The negatives that were called few.
const FEW: usize = 4;

/// What ranked better on logs like this one than what was asked for; `None` if nothing did.
pub(super) fn advice(config: &TrainConfig, pairs: u64) -> Option<String> {
    if pairs == 0 || pairs > MOST {
        return None;
    }
    let encoder = match &config.encoder {
        EncoderConfig::Rnn(_) => Some("an rnn".to_owned()),
        EncoderConfig::Clsm(clsm) if clsm.window > 1 => Some(format!("a clsm with windows of {} words", clsm.window)),
        _ => None,
    };
    let encoder = encoder
        .map(|what| format!("with up to {} pairs a dssm and an lstm ranked better than {what}", output::count(MOST)));
    let bound = match config.encoder {
        EncoderConfig::Rnn(_) | EncoderConfig::Clsm(_) | EncoderConfig::Dssm(_) => TOWERS,
        _ => TOWERS_OF_ALL,
    };
    let towers = (!config.shared_towers && pairs <= bound)
        .then(|| format!("with up to {} pairs one tower ranked better than two", output::count(bound)));
    let few = matches!(config.negatives, Negatives::Sampled(negatives) if negatives <= FEW);
    let negatives = few.then(|| {
        format!("with logs of every size {FEW} negatives in place of 63 cost a clsm and an rnn .03 to .06 in NDCG@1")
    });
    let trigrams = (pairs < TRIGRAMS && config.titles.is_none()).then(|| {
        "with 20,000 pairs letter trigrams alone ranked better than every network; a fusion with them may help, or \
         `--titles`"
            .to_owned()
    });
    let found: Vec<String> = [encoder, towers, negatives, trigrams].into_iter().flatten().collect();
    (!found.is_empty()).then(|| {
        format!(
            "{}; on simulated logs (docs/explanation/claims.md) {}",
            output::counted(pairs, "pair"),
            found.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use clickvec::encoder::{ClsmConfig, DssmConfig, RnnConfig};

    use super::*;

    fn of(encoder: EncoderConfig) -> TrainConfig {
        TrainConfig { encoder, ..TrainConfig::default() }
    }

    fn window(window: usize) -> TrainConfig {
        of(EncoderConfig::Clsm(ClsmConfig { window, ..ClsmConfig::default() }))
    }

    #[test]
    fn each_part_has_its_own_bound() {
        let rnn = of(EncoderConfig::Rnn(RnnConfig::default()));
        let few = "with up to 2,000,000 pairs a dssm and an lstm ranked better than an rnn";
        let expected = format!("{}; on simulated logs (docs/explanation/claims.md) {few}", "2,000,000 pairs");
        assert_eq!(advice(&rnn, MOST), Some(expected));
        assert_eq!((advice(&rnn, MOST + 1), advice(&rnn, 0)), (None, None));
        assert_eq!(advice(&window(1), TRIGRAMS), None);
        assert!(advice(&window(3), MOST).unwrap().contains("a clsm with windows of 3 words"));
        let both = TrainConfig { shared_towers: false, ..rnn };
        let towers = "; with up to 200,000 pairs one tower ranked better than two";
        assert!(advice(&both, TOWERS).unwrap().ends_with(&format!("{few}{towers}")));
        assert!(!advice(&both, TOWERS + 1).unwrap().contains("tower"));
    }

    #[test]
    fn two_towers_of_an_lstm_were_worse_on_the_smallest_log_only() {
        let two = |config: TrainConfig| TrainConfig { shared_towers: false, ..config };
        let says = |config: &TrainConfig, pairs| advice(config, pairs).is_some_and(|said| said.contains("one tower"));
        let lstm = two(TrainConfig::default());
        assert!(says(&lstm, TOWERS_OF_ALL) && !says(&lstm, TOWERS_OF_ALL + 1));
        assert!(advice(&lstm, 1_000).unwrap().contains("with up to 20,000 pairs one tower"));
        for other in [two(of(EncoderConfig::Dssm(DssmConfig::default()))), two(window(1))] {
            assert!(says(&other, TOWERS) && !says(&other, TOWERS + 1));
        }
    }

    #[test]
    fn few_negatives_and_few_clicks_are_told() {
        let default = TrainConfig::default();
        let trigrams = |config: &TrainConfig, pairs| advice(config, pairs).is_some_and(|said| said.contains("letter"));
        assert!(trigrams(&default, TRIGRAMS - 1) && advice(&default, TRIGRAMS).is_none());
        assert!(!trigrams(&TrainConfig::with_titles(), 1_000), "titles are what helps");
        let sampled = |negatives| TrainConfig { negatives: Negatives::Sampled(negatives), ..TrainConfig::default() };
        assert!(advice(&sampled(FEW), MOST).unwrap().contains("4 negatives in place of 63 cost a clsm and an rnn"));
        assert_eq!((advice(&sampled(FEW + 1), MOST), advice(&sampled(FEW), MOST + 1)), (None, None));
    }
}
