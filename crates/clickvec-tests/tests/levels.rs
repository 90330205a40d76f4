//! The instruction levels agree. There is a single test, because the level is that of the whole process.
//!
//! Levels differ only by rounding: fused or separate products, and sums in another order. A number may be off by 1e-5
//! of the largest of its tensor (some hundred roundings of 6e-8), and by 1e-4 in the loss after a training run of 18
//! updates, each of which starts from the previous one's rounding. Search results among given vectors are the same,
//! including the bits of the scores.

#[path = "library/support.rs"]
mod support;

use clickvec::encoder::EncoderConfig;
use clickvec::index::{FlatIndex, Hit, QuantizedIndex, SearchScratch};
use clickvec::internals::loss::NegativeRows;
use clickvec::internals::math::Level;
use clickvec::internals::math::activation::{exp_slice, sigmoid_slice, tanh_slice};
use clickvec::internals::math::gemm::{Left, gemm};
use clickvec::internals::math::vector::{add, add_scaled, dot, sum_of_squares};
use clickvec::train::OptimizerKind;
use clickvec::train::{Event, TrainConfig};
use support::*;

const TOLERANCE: f64 = 1e-5;
const AFTER_TRAINING: f64 = 1e-4;
const SAME_BITS: f64 = 0.0;

fn numbers(count: usize, seed: f32) -> Vec<f32> {
    (0..count).map(|i| ((i as f32 + seed) * 0.73).sin()).collect()
}

/// The result of every kernel at the current level, each with a name.
fn results() -> Vec<(String, Vec<f32>, f64)> {
    let mut all = Vec::new();
    for (m, n, k) in [(1, 1, 1), (7, 5, 3), (17, 50, 33), (64, 96, 96), (9, 289, 31)] {
        let (a, b, mut c) = (numbers(m * k, 1.0), numbers(k * n, 2.0), numbers(m * n, 3.0));
        gemm((m, n, k), Left::rows(&a, k), (&b, n), (&mut c, n));
        gemm((m, n, k), Left::transposed(&a, m), (&b, n), (&mut c, n));
        all.push((format!("gemm {m} × {n} × {k}"), c, TOLERANCE));
    }
    for (name, kernel) in [("tanh", tanh_slice as fn(&mut [f32])), ("sigmoid", sigmoid_slice), ("exp", exp_slice)] {
        for length in [1, 7, 1003] {
            let mut x: Vec<f32> = numbers(length, 4.0).iter().map(|x| 9.0 * x).collect();
            kernel(&mut x);
            all.push((format!("{name} of {length}"), x, 1e-6));
        }
    }
    for length in [1, 15, 16, 33, 300] {
        let (mut a, b) = (numbers(length, 5.0), numbers(length, 6.0));
        let sums = vec![dot(&a, &b), sum_of_squares(&a) as f32];
        all.push((format!("dot and squares of {length}"), sums, TOLERANCE));
        add(&mut a, &b);
        add_scaled(&mut a, 0.37, &b);
        all.push((format!("sums of {length}"), a, 1e-6));
    }
    for dimension in [1, 3, 17, 96, 97, 300] {
        let index = FlatIndex::new(dimension, numbers(500 * dimension, 7.0)).expect("vectors");
        let index = QuantizedIndex::new(index);
        let flat = index.flat().expect("floats");
        let queries = numbers(11 * dimension, 8.0);
        let mut ways = [index.search_batch(&queries, 10), flat.search_batch(&queries, 10)]
            .map(|found| found.expect("searched").concat())
            .to_vec();
        let mut scratch = SearchScratch::default();
        ways.resize(4, Vec::new());
        for query in queries.chunks_exact(dimension) {
            ways[2].extend_from_slice(index.search(query, 10, &mut scratch).expect("searched"));
            ways[3].extend_from_slice(flat.search(query, 10, &mut scratch).expect("searched"));
        }
        for hits in &ways {
            let pair = |hit: &Hit| [hit.position as f32, hit.score];
            all.push((format!("hits of {dimension} numbers"), hits.iter().flat_map(pair).collect(), SAME_BITS));
        }
    }
    let mut configs = all_encoders();
    configs.push(EncoderConfig::Lstm(lstm(33, true, clickvec::encoder::Peephole::Full)));
    for config in configs {
        let mut setting = Setting::new(&config);
        for negatives in 0..2 {
            if negatives == 1 {
                let but = [&[0][..], &[1, 3], &[2], &[5], &[5, 0], &[6]];
                setting.pairs.negatives = NegativeRows::AllBut(lists(but));
            }
            let outcome = setting.run();
            let name = |what: String| format!("{config:?}, {negatives}: {what}");
            all.push((name("loss".to_owned()), vec![outcome.loss as f32], TOLERANCE));
            for side in 0..2 {
                all.push((name(format!("embeddings {side}")), outcome.embeddings[side].clone(), TOLERANCE));
                for tensor in &outcome.gradients[side] {
                    let what = name(format!("gradient {side} of {}", tensor.groups[0].name));
                    all.push((what, tensor.value.data().to_vec(), TOLERANCE));
                }
            }
        }
    }
    let judged = judgments(1);
    for optimizer in [OptimizerKind::Nesterov, OptimizerKind::Sgd, OptimizerKind::Adam] {
        let place = Place::new(&log_rows(240, 1));
        let config = TrainConfig { ..small(optimizer) };
        let how = How { validation: Some(&judged), ..How::default() };
        let events = place.train(&config, how).expect("trained");
        let mut of_epochs = Vec::new();
        for event in events {
            if let Event::Epoch(report) = event {
                of_epochs.push(report.loss as f32);
                of_epochs.push(report.validation.and_then(|score| score.figure("ndcg@10")).expect("validated") as f32);
            }
        }
        all.push((format!("{optimizer:?}: loss and NDCG of each epoch"), of_epochs, AFTER_TRAINING));
        let model = clickvec::model::Model::load(&place.output()).expect("a model");
        assert_eq!(model.training().level, Level::current().name());
        let vectors = model.embedder(clickvec::model::Side::Title).embed(&["red leather shoe", "garden hose"]);
        all.push((format!("{optimizer:?}: trained vectors"), vectors, 10.0 * AFTER_TRAINING));
    }
    all
}

#[test]
fn every_level_gives_the_same_numbers() {
    assert_eq!(Level::limit(Level::Plain), Level::Plain);
    let plain = results();
    for level in [Level::Avx2, Level::Avx512] {
        if Level::limit(level) != level {
            println!("{level:?} is not compared: this processor does not have it");
            continue;
        }
        assert_eq!(Level::current(), level);
        let mut differs = false;
        for ((name, found, tolerance), (_, expected, _)) in results().iter().zip(&plain) {
            let difference = relative_difference(found, expected);
            if *tolerance == SAME_BITS {
                let bits = |numbers: &[f32]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(found), bits(expected), "{level:?}: {name}");
            }
            assert!(difference <= *tolerance, "{level:?}: {name}: off by {difference:e}, allowed {tolerance:e}");
            differs |= difference > 0.0;
        }
        assert!(differs, "{level:?} rounds like plain code everywhere: was it used at all?");
    }
    // A checkpoint of one level is refused at another.
    let place = Place::new(&log_rows(240, 1));
    let how = How { checkpoint_every: Some(2), resume: true, ..How::default() };
    let config = small(OptimizerKind::Adam);
    let strongest = Level::limit(Level::Avx512);
    place.interrupt(&config, how, 5);
    Level::limit(Level::Plain);
    if strongest != Level::Plain {
        let error = place.train(&config, how).expect_err("another level");
        assert!(
            error.to_string().contains(&format!("level {}, as in the run to resume, found plain", strongest.name())),
            "{error}"
        );
    }
    Level::limit(strongest);
    place.train(&config, how).expect("resumed");
}
