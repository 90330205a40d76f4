//! Tests of noise-contrastive estimation.

use super::super::tests::{agrees_with, lists, pairs, vectors};
use super::super::{NegativeRows, TitleLists};
use super::*;

const NOISE: [f32; 4] = [-0.5, -3.0, -1.25, -7.0];

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Returns Σ l_r at a given c, by the formula, in 64 bits.
fn naive_at(c: f64, queries: &[f32], titles: &[f32], negatives: &[Vec<u32>], pairs: &Pairs) -> f64 {
    let wide = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let noise = pairs.noise.as_ref().expect("noise");
    let mut total = 0.0;
    for (r, query) in queries.chunks_exact(5).enumerate().filter(|(r, _)| !negatives[*r].is_empty()) {
        let delta = |title: u32| {
            let vector = &titles[title as usize * 5..][..5];
            let cosine = wide(query, vector) / (wide(query, query) * wide(vector, vector)).sqrt();
            let expected = negatives[r].len() as f64 * f64::from(noise[title as usize]).exp();
            10.0 * cosine + c - expected.ln()
        };
        let of_negatives = negatives[r].iter().map(|&title| (1.0 - logistic(delta(title))).ln());
        total -= f64::from(pairs.weight[r]) * (logistic(delta(pairs.positive[r])).ln() + of_negatives.sum::<f64>());
    }
    total
}

/// Returns the least Σ l_r of any c, found by cutting an interval in three.
fn naive(queries: &[f32], titles: &[f32], negatives: &[Vec<u32>], pairs: &Pairs) -> f64 {
    let (mut low, mut high) = (-30.0, 30.0);
    for _ in 0..100 {
        let (a, b) = ((2.0 * low + high) / 3.0, (low + 2.0 * high) / 3.0);
        let of = |c| naive_at(c, queries, titles, negatives, pairs);
        if of(a) < of(b) { high = b } else { low = a }
    }
    naive_at(low, queries, titles, negatives, pairs)
}

fn noisy(negatives: NegativeRows, noise: &[f32]) -> Pairs {
    Pairs { noise: Some(noise.to_vec()), ..pairs(negatives) }
}

/// Returns both forms of the same negatives.
fn both(listed: &[&[u32]], titles: u32) -> [NegativeRows; 2] {
    let but = listed.iter().map(|list| (0..titles).filter(|title| !list.contains(title)));
    let mut exceptions = TitleLists::default();
    exceptions.clear();
    but.for_each(|list| exceptions.push(list));
    [NegativeRows::Listed(lists(listed)), NegativeRows::AllBut(exceptions)]
}

#[test]
fn the_loss_is_the_formula_and_its_gradient_the_finite_difference() {
    let (queries, titles) = (vectors(3, 5, 0.0), vectors(4, 5, 9.0));
    for listed in [[&[1, 2, 3][..], &[0, 3], &[0, 1]], [&[2], &[], &[3, 0]]] {
        let negatives: Vec<Vec<u32>> = listed.iter().map(|list| list.to_vec()).collect();
        for rows in both(&listed, 4) {
            let pairs = noisy(rows, &NOISE);
            let formula = |queries: &[f32], titles: &[f32]| naive(queries, titles, &negatives, &pairs);
            agrees_with(&pairs, &queries, &titles, &formula);
        }
    }
}

#[test]
fn a_factor_of_the_noise_changes_nothing_but_its_shape_does() {
    let (queries, titles) = (vectors(3, 5, 0.0), vectors(4, 5, 9.0));
    let run = |noise: &[f32]| {
        let mut loss = Loss::default();
        let negatives = NegativeRows::AllBut(lists(&[&[0], &[1, 2], &[2, 3]]));
        (loss.compute(10.0, &queries, &titles, 5, &noisy(negatives, noise)).loss, loss.title_gradient)
    };
    let (plain, same, other) = (run(&NOISE), run(&NOISE.map(|x| x + 5.0)), run(&[0.0; 4]));
    assert!((plain.0 - same.0).abs() < 1e-4 && (plain.0 - other.0).abs() > 1e-2, "{plain:?} {same:?} {other:?}");
    assert!(plain.1.iter().zip(&same.1).all(|(x, y)| (x - y).abs() < 1e-4));
}

#[test]
fn what_has_no_negative_or_no_weight_adds_nothing() {
    let (queries, titles) = (vectors(3, 5, 0.0), vectors(4, 5, 9.0));
    for none in both(&[&[], &[], &[]], 4) {
        let mut loss = Loss::default();
        let sum = loss.compute(10.0, &queries, &titles, 5, &noisy(none, &NOISE));
        assert_eq!(sum, LossSum { loss: 0.0, without_negatives: 3 });
        assert!(loss.query_gradient.iter().chain(&loss.title_gradient).all(|&g| g == 0.0));
    }
    for some in both(&[&[1, 2], &[0], &[1, 3]], 4) {
        let mut loss = Loss::default();
        let mut pairs = noisy(some.clone(), &NOISE);
        pairs.weight = vec![1.0, 0.0, 2.0];
        let without = loss.compute(10.0, &queries, &titles, 5, &pairs);
        assert!(loss.query_gradient[5..10].iter().all(|&g| g == 0.0));
        pairs.weight.fill(0.0);
        assert_eq!(Loss::default().compute(10.0, &queries, &titles, 5, &pairs).loss, 0.0);
        assert!(without.loss > 0.0 && without.without_negatives == 0);
    }
    let empty = Pairs { noise: Some(Vec::new()), negatives: NegativeRows::AllBut(lists(&[])), ..Pairs::default() };
    assert_eq!(Loss::default().compute(10.0, &[], &[], 5, &empty), LossSum::default());
}

#[test]
fn threads_change_nothing() {
    let (queries, titles) = (vectors(300, 5, 0.0), vectors(290, 5, 9.0));
    let noise: Vec<f32> = (0..290).map(|i| -((i % 7) as f32)).collect();
    let listed: Vec<Vec<u32>> = (0..300).map(|r| (0..r % 9).map(|i| (r + 1 + i * 31) % 290).collect()).collect();
    let listed: Vec<&[u32]> = listed.iter().map(Vec::as_slice).collect();
    for negatives in both(&listed, 290) {
        let pairs = Pairs {
            positive: (0..300).map(|r| r % 290).collect(),
            weight: (0..300).map(|r| (r % 5) as f32).collect(),
            ..noisy(negatives, &noise)
        };
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            let mut loss = Loss::default();
            let sum = pool.install(|| loss.compute(10.0, &queries, &titles, 5, &pairs));
            (sum, loss.query_gradient, loss.title_gradient)
        };
        let one = run(1);
        assert!(one.0.loss.is_finite() && one == run(2) && one == run(3));
    }
}

#[test]
fn nan_is_not_hidden() {
    let (mut queries, titles) = (vectors(3, 5, 0.0), vectors(4, 5, 9.0));
    queries[7] = f32::NAN;
    for negatives in both(&[&[1, 2], &[0, 2], &[0, 1]], 4) {
        assert!(Loss::default().compute(10.0, &queries, &titles, 5, &noisy(negatives, &NOISE)).loss.is_nan());
    }
}

#[test]
fn any_gamma_has_its_least_loss() {
    let (queries, titles) = (vectors(3, 5, 0.0), vectors(4, 5, 9.0));
    for gamma in [1e-6, 0.1, 30.0, 1e3, 1e6, 1e20] {
        for negatives in both(&[&[1, 2, 3], &[0, 3], &[0, 1]], 4) {
            let mut loss = Loss::default();
            let sum = loss.compute(gamma, &queries, &titles, 5, &noisy(negatives, &NOISE));
            assert!(sum.loss.is_finite() && sum.loss >= 0.0, "{gamma}: {sum:?}");
            assert!(loss.title_gradient.iter().all(|g| g.is_finite()), "{gamma}");
            let of_weights: f64 = 3.5 * 8.0 + 3.5 * f64::from(gamma);
            assert!(sum.loss < 4.0 * of_weights, "{gamma}: {sum:?}");
        }
    }
}

#[test]
fn a_few_steps_find_c() {
    // Trained and untrained: the clicked titles at this much more than the others.
    for above in [0.0, 3.0, 15.0, 60.0] {
        let contrast = Contrast { clicked: vec![above; 300], weight: vec![1.0; 300] };
        let deltas: Vec<f32> = (0..300 * 40).map(|i| (i as f32 * 0.37).sin() * 4.0).collect();
        let run = |r: usize| r * 40..(r + 1) * 40;
        let c = contrast.normalizer(&deltas, &run);
        let Sums { clicked, negatives } = contrast.sums(c, &deltas, &run);
        assert!((negatives[0] / clicked[0] - 1.0).abs() < 1e-3, "{above}: {clicked:?} {negatives:?}");
    }
}

#[test]
fn kernels_are_accurate_at_every_length() {
    for length in [0usize, 1, 15, 16, 17, 255, 256, 257, 600] {
        let x: Vec<f32> = (0..length).map(|i| (i as f32 * 0.7).sin() * 40.0).collect();
        let shifted = x.iter().map(|&x| f64::from(x) + 1.5);
        let (mut sum, mut slope, mut losses) = (0.0, 0.0, 0.0);
        for y in shifted.clone() {
            sum += logistic(y);
            slope += logistic(y) * logistic(-y);
            losses += y.max(0.0) + (-y.abs()).exp().ln_1p();
        }
        let close = |found: f64, expected: f64| (found - expected).abs() <= 1e-5 * expected;
        let [found, of_slope] = logistic_sums(&x, 1.5);
        assert!(close(found, sum) && close(of_slope, slope), "{length}: {found} {sum} {of_slope} {slope}");
        let mut slopes = x.clone();
        let found = logistic_losses(&mut slopes, 1.5, 2.0);
        assert!(close(found, losses), "{length}: {found} {losses}");
        assert!(slopes.iter().zip(shifted).all(|(&x, y)| (f64::from(x) - 2.0 * logistic(y)).abs() < 1e-6));
    }
    let mut values = [f32::NEG_INFINITY, -100.0, 100.0];
    assert_eq!(logistic_losses(&mut values, 0.0, 1.0), 100.0);
    assert_eq!(values, [0.0, 0.0, 1.0]);
}
