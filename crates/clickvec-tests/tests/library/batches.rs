//! A text's embedding does not depend on the other texts of its batch.

use super::support::*;
use clickvec::encoder::{ClsmConfig, EncoderConfig};
use clickvec::internals::encoder::Trace;
use clickvec::internals::text::WordId;
use rand::RngExt as _;

/// More than two blocks of texts, with repeated lengths, one long text, empty texts and unknown words.
fn three_hundred() -> Vec<Vec<WordId>> {
    let mut stream = clickvec::internals::rng::stream(2, "lengths", 0);
    let mut lengths: Vec<usize> = (0..300).map(|_| stream.random_range(0..9)).collect();
    lengths[150] = 40;
    let mut all = texts(&lengths, 30, 9);
    all[7] = vec![];
    all[8] = vec![0];
    all[9] = vec![0, 0, 0];
    all
}

#[test]
fn alone_among_many_and_in_any_order() {
    let words = words(30, FEATURES as u32, 4);
    let all = three_hundred();
    let mut order: Vec<usize> = (0..all.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, clickvec::internals::rng::stream(1, "order", i as u64).random_range(0..=i));
    }
    for config in all_encoders() {
        let encoder = random_encoder(&config, FEATURES, 0.5, 21);
        let dimension = encoder.dimension();
        let mut trace = Trace::default();
        let mut embed = |texts: &[Vec<WordId>]| {
            encoder.forward(&batch_of(texts, &words, FEATURES), &mut trace);
            trace.embeddings.clone()
        };
        let many = embed(&all);
        assert_eq!(many.len(), 300 * dimension);
        let shuffled: Vec<Vec<WordId>> = order.iter().map(|&text| all[text].clone()).collect();
        let shuffled = embed(&shuffled);
        for (place, &text) in order.iter().enumerate() {
            let expected = &many[text * dimension..][..dimension];
            assert_eq!(&shuffled[place * dimension..][..dimension], expected, "{config:?}: text {text} at {place}");
            if text % 7 == 0 || text < 12 {
                assert_eq!(embed(&all[text..=text]), expected, "{config:?}: text {text} alone");
            }
        }
        assert!(many[7 * dimension..][..dimension].iter().all(|&x| x == 0.0), "{config:?}: the empty text");
        for unknown in [8, 9] {
            let vector = &many[unknown * dimension..][..dimension];
            // Words without a known trigram are read too; only the biases (and the CLSM's padding) contribute.
            assert!(vector.iter().all(|x| x.is_finite()), "{config:?}");
            let silent = matches!(config, EncoderConfig::Clsm(ClsmConfig { window: 1, bias: false, .. }));
            assert_eq!(vector.iter().all(|&x| x == 0.0), silent, "{config:?}: unknown words");
        }
        assert_eq!(embed(&[]), [0.0f32; 0]);
    }
}

/// Sums over a batch follow the order of its blocks, so gradients may differ by rounding: 1e-5 of the largest number
/// for sums of some hundred terms.
#[test]
fn the_gradient_does_not_depend_on_the_order() {
    for config in all_encoders() {
        let words = words(30, FEATURES as u32, 4);
        let encoder = random_encoder(&config, FEATURES, 0.5, 21);
        let dimension = encoder.dimension();
        let all = three_hundred();
        let gradient = |order: &[usize]| {
            let texts: Vec<Vec<WordId>> = order.iter().map(|&text| all[text].clone()).collect();
            let batch = batch_of(&texts, &words, FEATURES);
            let mut trace = Trace::default();
            encoder.forward(&batch, &mut trace);
            let grad: Vec<f32> = order
                .iter()
                .flat_map(|&text| (0..dimension).map(move |i| ((text * 31 + i * 17) as f32 * 0.37).sin()))
                .collect();
            let mut gradients = clickvec::internals::encoder::Gradients::default();
            encoder.backward(&batch, &mut trace, &grad, Default::default(), &mut gradients);
            dense(&*encoder, &gradients, &batch)
        };
        let forwards: Vec<usize> = (0..all.len()).collect();
        let backwards: Vec<usize> = (0..all.len()).rev().collect();
        for (a, b) in gradient(&forwards).iter().zip(&gradient(&backwards)) {
            let difference = relative_difference(a.value.data(), b.value.data());
            assert!(difference < 1e-5, "{config:?}: {:?} differs by {difference:e}", a.groups);
        }
    }
}
