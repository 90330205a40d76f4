//! Tests of the losses and their gradients.

use super::*;

pub(super) fn vectors(count: usize, dimension: usize, seed: f32) -> Vec<f32> {
    (0..count * dimension).map(|i| ((i as f32 + seed) * 1.7).sin()).collect()
}

pub(super) fn pairs(negatives: NegativeRows) -> Pairs {
    Pairs { positive: vec![0, 1, 2], weight: vec![1.0, 0.5, 2.0], negatives, ..Pairs::default() }
}

pub(super) fn lists(lists: &[&[u32]]) -> TitleLists {
    let mut out = TitleLists::default();
    lists.iter().for_each(|list| out.push(list.iter().copied()));
    out
}

#[test]
fn all_but_is_the_same_as_listing_the_rest() {
    let (queries, titles) = (vectors(3, 5, 0.0), vectors(4, 5, 9.0));
    let (mut a, mut b) = (Loss::default(), Loss::default());
    let listed = lists(&[&[1, 2, 3], &[0, 3], &[0, 1]]);
    let but = lists(&[&[0], &[1, 2], &[2, 3]]);
    let x = a.compute(10.0, &queries, &titles, 5, &pairs(NegativeRows::Listed(listed)));
    let y = b.compute(10.0, &queries, &titles, 5, &pairs(NegativeRows::AllBut(but)));
    assert!((x.loss - y.loss).abs() < 1e-5, "{x:?} {y:?}");
    for (x, y) in a.query_gradient.iter().zip(&b.query_gradient) {
        assert!((x - y).abs() < 1e-5);
    }
    for (x, y) in a.title_gradient.iter().zip(&b.title_gradient) {
        assert!((x - y).abs() < 1e-5);
    }
}

#[test]
fn a_pair_without_negatives_adds_nothing_and_is_counted() {
    let (queries, titles) = (vectors(3, 5, 0.0), vectors(3, 5, 9.0));
    let none = lists(&[&[], &[], &[]]);
    let all = lists(&[&[0, 1, 2], &[0, 1, 2], &[0, 1, 2]]);
    for negatives in [NegativeRows::Listed(none), NegativeRows::AllBut(all)] {
        let mut loss = Loss::default();
        let sum = loss.compute(10.0, &queries, &titles, 5, &pairs(negatives));
        assert_eq!(sum, LossSum { loss: 0.0, without_negatives: 3 });
        assert!(loss.query_gradient.iter().chain(&loss.title_gradient).all(|&g| g == 0.0));
    }
}

#[test]
fn a_zero_vector_has_cosine_zero_and_no_gradient() {
    let mut queries = vectors(3, 5, 0.0);
    queries[..5].fill(0.0);
    let titles = vectors(3, 5, 9.0);
    let mut loss = Loss::default();
    let listed = lists(&[&[1, 2], &[0, 2], &[0, 1]]);
    let sum = loss.compute(10.0, &queries, &titles, 5, &pairs(NegativeRows::Listed(listed)));
    assert!(sum.loss.is_finite());
    assert_eq!(loss.query_gradient[..5], [0.0; 5]);
    assert!(loss.query_gradient.iter().chain(&loss.title_gradient).all(|g| g.is_finite()));
}

/// Returns the teacher's cosines of three pairs and some titles.
fn targets(shares: [f32; 3], known: &[bool]) -> Targets {
    let cosines = (0..3 * known.len()).map(|i| (i as f32 * 0.9).cos()).collect();
    Targets { gamma: 7.0, shares: shares.to_vec(), known: known.to_vec(), cosines, ..Targets::default() }
}

/// Returns Σ of both losses, by the formulas, in 64 bits.
fn naive(gamma: f64, queries: &[f32], titles: &[f32], exceptions: &[&[u32]], pairs: &Pairs) -> f64 {
    let wide = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let cosine = |a: &[f32], b: &[f32]| {
        let (a, b) = (wide(a), wide(b));
        a.iter().zip(&b).map(|(a, b)| a * b).sum::<f64>() / (length(&a) * length(&b))
    };
    let targets = pairs.targets.as_ref().expect("a teacher");
    let mut total = 0.0;
    for (r, query) in queries.chunks_exact(5).enumerate() {
        let cosines: Vec<f64> = titles.chunks_exact(5).map(|title| cosine(query, title)).collect();
        let positive = cosines[pairs.positive[r] as usize];
        let others = (0..cosines.len()).filter(|&title| !exceptions[r].contains(&(title as u32)));
        let own = (1.0 + others.map(|title| (gamma * (cosines[title] - positive)).exp()).sum::<f64>()).ln();
        let known: Vec<usize> = (0..cosines.len()).filter(|&title| targets.known[title]).collect();
        let softmax = |of: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let all: Vec<f64> = known.iter().map(|&title| (f64::from(targets.gamma) * of(title)).exp()).collect();
            all.iter().map(|x| x / all.iter().sum::<f64>()).collect()
        };
        let p = softmax(&|title| f64::from(targets.cosines[r * cosines.len() + title]));
        let q = softmax(&|title| cosines[title]);
        let divergence: f64 = p.iter().zip(&q).map(|(p, q)| p * (p / q).ln()).sum();
        let share = f64::from(targets.shares[r]);
        total += f64::from(pairs.weight[r]) * ((1.0 - share) * own + share * divergence);
    }
    total
}

/// Checks that the loss of these pairs is `formula`, and its gradient the finite difference.
pub(super) fn agrees_with(pairs: &Pairs, queries: &[f32], titles: &[f32], formula: &dyn Fn(&[f32], &[f32]) -> f64) {
    let mut loss = Loss::default();
    let found = loss.compute(10.0, queries, titles, 5, pairs).loss;
    let expected = formula(queries, titles);
    assert!((found - expected).abs() < 1e-4 * expected, "{found} {expected}");
    let step = 1e-3;
    for side in 0..2 {
        let gradient = [&loss.query_gradient, &loss.title_gradient][side];
        for (i, &gradient) in gradient.iter().enumerate() {
            let at = |by: f32| {
                let mut both = [queries.to_vec(), titles.to_vec()];
                both[side][i] += by;
                formula(&both[0], &both[1])
            };
            let difference = (at(step) - at(-step)) / f64::from(2.0 * step);
            assert!((difference - f64::from(gradient)).abs() < 2e-3, "{side} {i}: {difference} {gradient}");
        }
    }
}

#[test]
fn a_teachers_loss_is_the_formula_and_its_gradient_the_finite_difference() {
    let (queries, titles) = (vectors(3, 5, 0.0), vectors(4, 5, 9.0));
    let exceptions: [&[u32]; 3] = [&[0], &[1, 2], &[2, 3]];
    for (shares, known) in [
        ([0.3, 0.0, 0.6], [true, true, false, true]),
        ([1.0, 1.0, 1.0], [true; 4]),
        ([1.0, 0.0, 0.5], [false, true, true, false]),
    ] {
        let mut pairs = pairs(NegativeRows::AllBut(lists(&exceptions)));
        pairs.targets = Some(targets(shares, &known));
        let formula = |queries: &[f32], titles: &[f32]| naive(10.0, queries, titles, &exceptions, &pairs);
        agrees_with(&pairs, &queries, &titles, &formula);
    }
}

#[test]
fn the_loss_of_scores_is_the_formula_and_its_gradient_the_finite_difference() {
    let (queries, titles) = (vectors(3, 5, 0.0), vectors(4, 5, 9.0));
    let exceptions: [&[u32]; 3] = [&[0, 1, 3], &[1, 2], &[2, 0, 1, 3]];
    let scored: [&[u32]; 3] = [&[0, 3, 1], &[], &[2, 1]];
    let scores = [1.5, -0.5, 0.25, 2.0, 1.75];
    for (share, shares) in [(0.4, [0.0; 3]), (1.0, [0.0; 3]), (0.3, [0.5, 0.5, 0.0])] {
        let mut pairs = pairs(NegativeRows::AllBut(lists(&exceptions)));
        pairs.targets = Some(targets(shares, &[true; 4]));
        pairs.margins = Some(Margins { gamma: 3.0, share, titles: lists(&scored), scores: scores.to_vec() });
        let formula = |queries: &[f32], titles: &[f32]| {
            // What is left of each pair's loss, and the mean of half the squared differences of margins.
            let mut rest = pairs.clone();
            let mut sum = 0.0;
            let mut start = 0;
            for (r, list) in scored.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
                let share = f64::from(share);
                rest.weight[r] *= 1.0 - share as f32;
                let query = &queries[r * 5..][..5];
                let own = |i: usize| {
                    let title = &titles[list[i] as usize * 5..][..5];
                    let wide =
                        |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
                    let cosine = wide(query, title) / (wide(query, query) * wide(title, title)).sqrt();
                    3.0 * cosine - f64::from(scores[start + i])
                };
                let mut squares = 0.0;
                for i in 0..list.len() {
                    for j in 0..list.len() {
                        squares += (own(i) - own(j)).powi(2) / 2.0;
                    }
                }
                sum += share * f64::from(pairs.weight[r]) * squares / (list.len() as f64).powi(2);
                start += list.len();
            }
            sum + naive(10.0, queries, titles, &exceptions, &rest)
        };
        agrees_with(&pairs, &queries, &titles, &formula);
    }
}

#[test]
fn a_teacher_that_is_the_model_or_knows_nothing_adds_nothing() {
    let (queries, titles) = (vectors(3, 5, 0.0), vectors(4, 5, 9.0));
    let mut pairs = pairs(NegativeRows::AllBut(lists(&[&[0], &[1], &[2]])));
    let plain = Loss::default().compute(10.0, &queries, &titles, 5, &pairs);
    pairs.targets = Some(targets([0.0; 3], &[true; 4]));
    assert_eq!(Loss::default().compute(10.0, &queries, &titles, 5, &pairs), plain);
    let unit = |vectors: &[f32]| {
        let mut unit = Unit::default();
        unit.fill(vectors, 5);
        unit.vectors
    };
    let (of_queries, of_titles) = (unit(&queries), unit(&titles));
    let rows = of_queries.chunks_exact(5);
    let cosines = rows.flat_map(|query| of_titles.chunks_exact(5).map(|title| dot(query, title))).collect();
    pairs.targets = Some(Targets { cosines, ..targets([1.0; 3], &[true; 4]) });
    let mut loss = Loss::default();
    let sum = loss.compute(10.0, &queries, &titles, 5, &pairs);
    assert!(sum.loss.abs() < 1e-5, "{sum:?}");
    assert!(loss.query_gradient.iter().chain(&loss.title_gradient).all(|g| g.abs() < 1e-4));
}

#[test]
fn nan_is_not_hidden_by_a_teacher() {
    let (mut queries, titles) = (vectors(3, 5, 0.0), vectors(4, 5, 9.0));
    queries[7] = f32::NAN;
    let mut pairs = pairs(NegativeRows::AllBut(lists(&[&[0], &[1], &[2]])));
    pairs.targets = Some(targets([1.0; 3], &[true, false, true, true]));
    assert!(Loss::default().compute(10.0, &queries, &titles, 5, &pairs).loss.is_nan());
}

#[test]
fn a_huge_gamma_does_not_overflow() {
    let mut x = [3000.0, -2000.0, f32::NEG_INFINITY];
    let (loss, positive) = softplus_of_sum(&mut x, 1.0);
    assert!((loss - 3000.0).abs() < 1e-3);
    assert_eq!((x, positive), ([1.0, 0.0, 0.0], -1.0));
}

#[test]
fn nan_is_not_hidden() {
    let mut queries = vectors(3, 5, 0.0);
    queries[7] = f32::NAN;
    let titles = vectors(3, 5, 9.0);
    for negatives in
        [NegativeRows::Listed(lists(&[&[1, 2], &[0, 2], &[0, 1]])), NegativeRows::AllBut(lists(&[&[0], &[1], &[2]]))]
    {
        let sum = Loss::default().compute(10.0, &queries, &titles, 5, &pairs(negatives));
        assert!(sum.loss.is_nan());
    }
}
