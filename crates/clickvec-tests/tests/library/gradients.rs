//! The gradient of the loss through every encoder, compared with differences of the loss.

use super::support::*;
use clickvec::encoder::{Bptt, ClsmConfig, EncoderConfig, Peephole, RnnConfig, Signals};
use clickvec::internals::encoder::Tensor;
use clickvec::internals::loss::NegativeRows;
use clickvec::internals::rng;
use clickvec::internals::text::WordId;
use rand::RngExt as _;

/// The step. The loss is a sum of f32 cosines, accurate to about 1e-6, which the four-point formula divides by 1/64,
/// giving 1e-4. The error of the formula is of the order of the fourth power of the step.
const STEP: f32 = 1.0 / 64.0;

/// The step where there is a maximum: so short that no other word wins it (at 1/512 one does).
const STEP_WITH_MAXIMUM: f32 = 1.0 / 2048.0;

/// Relative to the norm of the tensor's gradient. A wrong column of any tensor here would exceed it.
const TOLERANCE: f64 = 3e-3;

/// The same for the shorter step, by which the loss's error of 1e-6 is divided.
const TOLERANCE_WITH_MAXIMUM: f64 = 1e-2;

/// (dL/dstep at 0 by four losses) for a move of one tensor along `direction`.
fn slope(setting: &mut Setting, side: usize, tensor: usize, direction: &[f32], step: f32) -> f64 {
    let before = setting.towers[side].tensors()[tensor].value.clone();
    let mut at = |steps: f32| {
        let moved = &mut setting.towers[side].tensors_mut()[tensor].value;
        for ((x, &x0), &d) in moved.data_mut().iter_mut().zip(before.data()).zip(direction) {
            *x = x0 + steps * step * d;
        }
        setting.loss()
    };
    let (near, far) = (at(1.0) - at(-1.0), at(2.0) - at(-2.0));
    setting.towers[side].tensors_mut()[tensor].value = before;
    (8.0 * near - far) / (12.0 * f64::from(step))
}

fn check(setting: &mut Setting, what: &str, no_padding: bool) {
    let (step, tolerance) =
        if what.starts_with("Clsm") { (STEP_WITH_MAXIMUM, TOLERANCE_WITH_MAXIMUM) } else { (STEP, TOLERANCE) };
    let gradients = setting.run().gradients;
    let mut stream = rng::stream(3, "directions", 0);
    for (side, gradients) in gradients.iter().enumerate() {
        for (number, gradient) in gradients.iter().enumerate() {
            let gradient = gradient.value.data();
            let norm = gradient.iter().map(|&g| f64::from(g).powi(2)).sum::<f64>().sqrt();
            if no_padding && number == 1 {
                assert_eq!(norm, 0.0, "a window of one word never holds the padding word");
                continue;
            }
            assert!(norm > 1e-3, "{what}: side {side}, tensor {number} has no gradient to check");
            let largest = (0..gradient.len()).max_by(|&a, &b| gradient[a].abs().total_cmp(&gradient[b].abs()));
            let mut directions: Vec<Vec<f32>> = (0..4)
                .map(|_| gradient.iter().map(|_| if stream.random::<bool>() { 1.0 } else { -1.0 }).collect())
                .collect();
            directions.push((0..gradient.len()).map(|i| f32::from(Some(i) == largest)).collect());
            for direction in directions {
                // The larger the move, the smaller the step.
                let length = direction.iter().map(|d| d * d).sum::<f32>().sqrt();
                let expected: f64 = gradient.iter().zip(&direction).map(|(&g, &d)| f64::from(g) * f64::from(d)).sum();
                let found = slope(setting, side, number, &direction, step / length.sqrt());
                assert!(
                    (found - expected).abs() <= tolerance * norm * f64::from(length).sqrt(),
                    "{what}: side {side}, tensor {number}: slope {found}, gradient says {expected}, norm {norm}"
                );
            }
        }
    }
}

#[test]
fn every_encoder_against_differences() {
    for config in all_encoders() {
        let mut setting = Setting::new(&config);
        check(
            &mut setting,
            &format!("{config:?}"),
            matches!(config, EncoderConfig::Clsm(ClsmConfig { window: 1, .. })),
        );
    }
}

#[test]
fn all_negatives_against_differences() {
    let mut setting = Setting::new(&EncoderConfig::Lstm(lstm(5, true, Peephole::Full)));
    let but = [&[0][..], &[1, 3], &[2], &[5], &[5, 0], &[6]];
    setting.pairs.negatives = NegativeRows::AllBut(lists(but));
    check(&mut setting, "all negatives", false);
}

#[test]
fn noise_contrastive_estimation_against_differences() {
    let mut setting = Setting::new(&EncoderConfig::Lstm(lstm(5, true, Peephole::Full)));
    setting.pairs.noise = Some(vec![-1.0, -0.25, -2.0, -0.5, -1.5, -3.0, -0.75]);
    check(&mut setting, "listed negatives", false);
    let but = [&[0][..], &[1, 3], &[2], &[5], &[5, 0], &[6]];
    setting.pairs.negatives = NegativeRows::AllBut(lists(but));
    check(&mut setting, "all negatives", false);
}

#[test]
fn a_long_text_against_differences() {
    let config = EncoderConfig::Lstm(lstm(5, true, Peephole::Diagonal));
    let mut setting = Setting::new(&config);
    let words = words(12, FEATURES as u32, 5);
    let long: Vec<Vec<WordId>> = texts(&[40, 1, 13, 27, 9, 2], 12, 8);
    setting.batches[0] = batch_of(&long, &words, FEATURES);
    check(&mut setting, "a long text", false);
}

/// The norm for clipping a gradient, which the backward pass computes on its way.
#[test]
fn the_norm_is_that_of_all_numbers() {
    for config in all_encoders() {
        let outcome = Setting::new(&config).run();
        for (norm, gradients) in outcome.norms.iter().zip(&outcome.gradients) {
            let numbers = gradients.iter().flat_map(|tensor| tensor.value.data());
            let expected = numbers.map(|&g| f64::from(g).powi(2)).sum::<f64>().sqrt();
            // Squares are summed in f32 lanes.
            assert!((norm - expected).abs() < 1e-6 * expected, "{config:?}: {norm} against {expected}");
        }
    }
}

fn numbers(gradients: &[Vec<Tensor>; 2]) -> Vec<f32> {
    gradients.iter().flatten().flat_map(|tensor| tensor.value.data().iter().copied()).collect()
}

#[test]
fn truncation_beyond_the_text_changes_nothing() {
    for config in all_encoders() {
        if !config.is_recurrent() {
            continue;
        }
        let mut setting = Setting::new(&config);
        let per_gate = config.has_published_signals();
        for signals in if per_gate { &[Signals::Exact, Signals::PerGate][..] } else { &[Signals::Exact] } {
            let mut run = |words| {
                setting.bptt = Bptt { words, signals: *signals };
                numbers(&setting.run().gradients)
            };
            let whole = run(None);
            // The longest text has seven words.
            assert_eq!(whole, run(Some(7)), "{config:?} {signals:?}");
            assert_eq!(whole, run(Some(usize::MAX)), "{config:?} {signals:?}");
            let cut = run(Some(2));
            assert!(relative_difference(&cut, &whole) > 1e-3, "{config:?} {signals:?}: truncation did nothing");
        }
    }
}

/// If errors flow through the last word only, earlier words act as if they had no weights: the input matrix's gradient
/// is that of the last words' trigrams.
#[test]
fn truncation_to_one_word_leaves_earlier_words_out() {
    for config in [EncoderConfig::Rnn(RnnConfig { hidden: 5 }), EncoderConfig::Lstm(lstm(5, true, Peephole::Full))] {
        let mut setting = Setting::new(&config);
        let words = words(12, FEATURES as u32, 5);
        let queries = texts(&[3, 1, 2, 6, 2, 4], 12, 6);
        setting.batches[0] = batch_of(&queries, &words, FEATURES);
        setting.bptt.words = Some(1);
        let gradient = &setting.run().gradients[0][0];
        for row in 0..FEATURES {
            let in_last = |text: &Vec<WordId>| {
                words.0[*text.last().expect("a word") as usize].iter().any(|feature| feature.id as usize == row)
            };
            // Pair 5 has no negative, so query 5 has no error.
            let expected = queries[..5].iter().any(in_last);
            assert_eq!(gradient.value.row(row).iter().any(|&g| g != 0.0), expected, "{config:?}, trigram {row}");
        }
    }
}

#[test]
fn per_gate_signals_are_exact_for_one_word_and_not_for_more() {
    for forget in [false, true] {
        for bilstm in [false, true] {
            // With a peephole the new cell state reaches the output gate within one word, on a path that the published
            // signals leave out.
            let config = lstm(5, forget, Peephole::None);
            let config = if bilstm { EncoderConfig::Bilstm(config) } else { EncoderConfig::Lstm(config) };
            let mut setting = Setting::new(&config);
            let both = |setting: &mut Setting| {
                [Signals::Exact, Signals::PerGate].map(|signals| {
                    setting.bptt.signals = signals;
                    numbers(&setting.run().gradients)
                })
            };
            let [exact, per_gate] = both(&mut setting);
            let difference = relative_difference(&per_gate, &exact);
            assert!(difference > 1e-3, "{config:?}: {difference:e} on longer texts");

            let words = words(12, FEATURES as u32, 5);
            for (batch, count) in setting.batches.iter_mut().zip([6, 7]) {
                *batch = batch_of(&texts(&vec![1; count], 12, 8), &words, FEATURES);
            }
            let [exact, per_gate] = both(&mut setting);
            let difference = relative_difference(&per_gate, &exact);
            // The same products in another order: a few roundings of 6e-8.
            assert!(difference < 1e-6, "{config:?}: {difference:e} on texts of one word");
        }
    }
}

#[test]
fn a_weight_of_two_is_twice_the_gradient() {
    let mut setting = Setting::new(&EncoderConfig::Lstm(lstm(5, false, Peephole::None)));
    for all in [false, true] {
        if all {
            setting.pairs.negatives = NegativeRows::AllBut(lists([&[0][..], &[1, 3], &[2], &[5], &[5, 0], &[6]]));
        }
        setting.pairs.weight.fill(1.0);
        let one = setting.run();
        setting.pairs.weight.fill(2.0);
        let two = setting.run();
        // A factor of two rounds nothing.
        assert_eq!(two.loss, 2.0 * one.loss);
        let doubled: Vec<f32> = numbers(&one.gradients).iter().map(|g| 2.0 * g).collect();
        assert_eq!(numbers(&two.gradients), doubled);
        setting.pairs.weight = vec![0.0, 0.0, 0.0, 0.0, 3.0, 0.0];
        let single = setting.run();
        setting.pairs.weight[4] = 0.0;
        let none = setting.run();
        assert!(single.loss > 0.0 && numbers(&single.gradients).iter().any(|&g| g != 0.0));
        assert!(none.loss == 0.0 && numbers(&none.gradients).iter().all(|&g| g == 0.0));
    }
}
