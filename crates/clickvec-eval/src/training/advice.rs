//! Advice for logs that are too small for the encoder, for two towers or for a network, and for few negatives, as far as that was
//! measured on simulated logs (docs/explanation/claims.md, bench/notes/log-size.json).

use clickvec::encoder::EncoderConfig;
use clickvec::train::{Negatives, TrainConfig};

/// The pairs of the largest log: other encoders still ranked better there, and few negatives still cost as much.
const MOST: u64 = 2_000_000;
/// The pairs of the smallest log, the only one on which one tower ranked better than two for every network, and letter trigrams
/// better than any.
const SMALLEST: u64 = 20_000;
/// The pairs of the largest log on which one tower ranked better for an rnn, a clsm and a dssm.
const TOWERS: u64 = 200_000;
/// The negatives that were called few.
const FEW: usize = 4;

/// Returns the settings that ranked better than these on logs like this one: the encoder, the towers, the negatives, and whether
/// to train a network at all.
pub(super) fn advice(config: &TrainConfig, pairs: u64) -> Vec<String> {
    if pairs == 0 || pairs > MOST {
        return Vec::new();
    }
    let (bound, better, what) = match &config.encoder {
        EncoderConfig::Rnn(_) => (MOST, "a dssm and an lstm", "an rnn".to_owned()),
        EncoderConfig::Clsm(clsm) if clsm.window > 1 => {
            (MOST, "a dssm and an lstm", format!("a clsm with windows of {} words", clsm.window))
        }
        EncoderConfig::Clsm(_) => (SMALLEST, "a dssm", "a clsm with windows of one word".to_owned()),
        _ => (0, "", String::new()),
    };
    let encoder =
        (pairs <= bound).then(|| format!("with up to {} pairs {better} ranked better than {what}", shown(bound)));
    let bound = match config.encoder {
        EncoderConfig::Rnn(_) | EncoderConfig::Clsm(_) | EncoderConfig::Dssm(_) => TOWERS,
        _ => SMALLEST,
    };
    let towers = (!config.shared_towers && pairs <= bound)
        .then(|| format!("with up to {} pairs one tower ranked better than two", shown(bound)));
    let few = matches!(config.negatives, Negatives::Sampled(negatives) if negatives <= FEW);
    let cost = match &config.encoder {
        EncoderConfig::Rnn(_) => Some("an rnn .04 to .06"),
        EncoderConfig::Clsm(clsm) if clsm.window > 1 => Some("a clsm with windows of 3 words .03 to .05"),
        _ => None,
    };
    let negatives = cost
        .filter(|_| few)
        .map(|cost| format!("with logs of every size {FEW} negatives in place of 63 cost {cost} in NDCG@1"));
    let trigrams = (pairs <= SMALLEST && config.titles.is_none()).then(|| {
        "with 20,000 pairs letter trigrams alone ranked better than every network; a fusion with them may help, or \
         learning from titles"
            .to_owned()
    });
    [encoder, towers, negatives, trigrams].into_iter().flatten().collect()
}

/// Shows one of the bounds.
fn shown(bound: u64) -> &'static str {
    match bound {
        MOST => "2,000,000",
        TOWERS => "200,000",
        _ => "20,000",
    }
}

#[cfg(test)]
mod tests {
    use clickvec::encoder::{ClsmConfig, DssmConfig, RnnConfig};

    use super::*;

    fn with_encoder(encoder: EncoderConfig) -> TrainConfig {
        TrainConfig { encoder, ..TrainConfig::default() }
    }

    fn window(window: usize) -> TrainConfig {
        with_encoder(EncoderConfig::Clsm(ClsmConfig { window, ..ClsmConfig::default() }))
    }

    fn says(config: &TrainConfig, pairs: u64, part: &str) -> bool {
        advice(config, pairs).iter().any(|said| said.contains(part))
    }

    #[test]
    fn an_encoder_has_a_bound_of_its_own() {
        let rnn = with_encoder(EncoderConfig::Rnn(RnnConfig::default()));
        let worse = "with up to 2,000,000 pairs a dssm and an lstm ranked better than an rnn";
        assert_eq!(advice(&rnn, MOST), [worse]);
        let nothing: [&str; 0] = [];
        assert_eq!((advice(&rnn, MOST + 1), advice(&rnn, 0)), (nothing.map(String::from).to_vec(), Vec::new()));
        assert!(says(&window(3), MOST, "a dssm and an lstm ranked better than a clsm with windows of 3 words"));
        let said = "with up to 20,000 pairs a dssm ranked better than a clsm with windows of one word";
        assert!(says(&window(1), SMALLEST, said) && !says(&window(1), SMALLEST + 1, "ranked better than a"));
        assert!(!says(&TrainConfig::default(), 1_000, "ranked better than a"));
    }

    #[test]
    fn two_towers_of_an_lstm_were_worse_on_the_smallest_log_only() {
        let two = |config: TrainConfig| TrainConfig { shared_towers: false, ..config };
        let tower = "one tower ranked better than two";
        let lstm = two(TrainConfig::default());
        assert!(
            says(&lstm, SMALLEST, &format!("with up to 20,000 pairs {tower}")) && !says(&lstm, SMALLEST + 1, tower)
        );
        for other in [
            two(with_encoder(EncoderConfig::Rnn(RnnConfig::default()))),
            two(with_encoder(EncoderConfig::Dssm(DssmConfig::default()))),
            two(window(1)),
        ] {
            assert!(
                says(&other, TOWERS, &format!("with up to 200,000 pairs {tower}")) && !says(&other, TOWERS + 1, tower)
            );
        }
    }

    #[test]
    fn few_negatives_and_few_clicks_are_told() {
        let default = TrainConfig::default();
        assert!(says(&default, SMALLEST, "letter trigrams") && advice(&default, SMALLEST + 1).is_empty());
        assert!(!says(&TrainConfig::with_titles(), 1_000, "letter"), "titles are what helps");
        let sampled = |negatives, config| TrainConfig { negatives: Negatives::Sampled(negatives), ..config };
        let few = "4 negatives in place of 63 cost a clsm with windows of 3 words .03 to .05";
        assert!(says(&sampled(FEW, window(3)), MOST, few) && !says(&sampled(FEW + 1, window(3)), MOST, "negatives"));
        assert!(says(
            &sampled(FEW, with_encoder(EncoderConfig::Rnn(RnnConfig::default()))),
            MOST,
            "cost an rnn .04 to .06"
        ));
        // Their cost elsewhere has not been measured.
        assert!(advice(&sampled(FEW, default), MOST).is_empty());
        assert!(advice(&sampled(FEW, window(3)), MOST + 1).is_empty());
    }
}
