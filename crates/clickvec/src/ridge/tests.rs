//! The fitted rows against plain formulas.

use super::{Design, Item, LANES, Row, solve};
use crate::ragged::Ragged;
use crate::rng::stream;
use rand::RngExt as _;

const FEATURES: usize = 9;

/// The features of each word, with their counts. Feature 8 has no word, and every text has feature 0.
const WORDS: [&[(u32, u32)]; 6] = [
    &[(0, 1), (1, 2)],
    &[(0, 1), (2, 1), (3, 1)],
    &[(0, 2), (4, 1)],
    &[(0, 1), (5, 1), (6, 3)],
    &[(0, 1), (7, 1)],
    &[(0, 1)],
];

/// Returns the features of `count` texts, and the words of each.
fn design(count: usize) -> (Design, Vec<Vec<u32>>) {
    let mut random = stream(3, "texts", 0);
    let (mut words, mut features, mut drawn) = (Ragged::default(), Ragged::default(), Vec::new());
    for word in WORDS {
        features.push(word.iter().map(|&(number, count)| Item { number, count }));
    }
    for _ in 0..count {
        // Some words twice.
        let of_text: Vec<u32> = (0..4).map(|_| random.random_range(0..6)).collect();
        words.push(of_text.iter().map(|&number| Item { number, count: 1 }));
        drawn.push(of_text);
    }
    (Design::new(words, features, FEATURES).unwrap(), drawn)
}

/// x of A x = b, by Gaussian elimination.
fn eliminated(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for pivot in 0..n {
        for row in pivot + 1..n {
            let factor = a[row][pivot] / a[pivot][pivot];
            (pivot..n).for_each(|column| a[row][column] -= factor * a[pivot][column]);
            b[row] -= factor * b[pivot];
        }
    }
    for pivot in (0..n).rev() {
        let known: f64 = (pivot + 1..n).map(|column| a[pivot][column] * b[column]).sum();
        b[pivot] = (b[pivot] - known) / a[pivot][pivot];
    }
    b
}

/// The formulas of the module, one after another in f64.
#[test]
fn weights_are_those_of_ridge_regression() {
    const RIDGE: f32 = 0.3;
    let (design, drawn) = design(40);
    let mut random = stream(7, "targets", 0);
    let targets: Vec<Row> = drawn.iter().map(|_| std::array::from_fn(|_| random.random_range(-1.0f32..1.0))).collect();
    let counts: Vec<Vec<f64>> = (drawn.iter())
        .map(|words| {
            let mut counts = vec![0.0; FEATURES];
            for &(id, count) in words.iter().flat_map(|&word| WORDS[word as usize]) {
                counts[id as usize] += f64::from(count);
            }
            counts
        })
        .collect();
    let factor = |feature: usize| {
        let holders = counts.iter().filter(|counts| counts[feature] > 0.0).count();
        if holders == 0 { 0.0 } else { (40.0 / holders as f64).ln().sqrt() }
    };
    let factors: Vec<f64> = (0..FEATURES).map(factor).collect();
    assert!(factors[0] == 0.0 && factors[8] == 0.0 && factors[1] > 0.0, "{factors:?}");
    let scaled: Vec<Vec<f64>> = (counts.iter())
        .map(|counts| {
            let numbers: Vec<f64> = counts.iter().zip(&factors).map(|(count, factor)| count * factor).collect();
            let length = numbers.iter().map(|x| x * x).sum::<f64>().sqrt();
            numbers.iter().map(|x| if length > 0.0 { x / length } else { 0.0 }).collect()
        })
        .collect();
    let product = |i: usize, j: usize| scaled.iter().map(|row| row[i] * row[j]).sum::<f64>();
    let matrix: Vec<Vec<f64>> = (0..FEATURES)
        .map(|i| (0..FEATURES).map(|j| product(i, j) + if i == j { f64::from(RIDGE) } else { 0.0 }).collect())
        .collect();
    let found = solve(&design, &targets, RIDGE);
    let (mut squares, mut errors, mut outputs) = (0.0, 0.0, 0.0);
    for lane in 0..LANES {
        let target = |text: usize| f64::from(targets[text][lane]);
        let right = |i: usize| scaled.iter().enumerate().map(|(text, row)| row[i] * target(text)).sum::<f64>();
        let expected = eliminated(matrix.clone(), (0..FEATURES).map(right).collect());
        for (feature, x) in expected.iter().enumerate() {
            let found = f64::from(found.weights[feature][lane]);
            assert!((found - x * factors[feature]).abs() < 1e-4, "{feature} {lane}: {found} {x}");
        }
        for (text, row) in scaled.iter().enumerate() {
            let fitted: f64 = row.iter().zip(&expected).map(|(a, x)| a * x).sum();
            squares += target(text).powi(2);
            errors += (fitted - target(text)).powi(2);
            let whole = counts[text].iter().zip(&factors).zip(&expected);
            outputs += whole.map(|((count, factor), x)| count * factor * x).sum::<f64>().powi(2);
        }
    }
    for (found, expected) in [(found.squares, squares), (found.errors, errors), (found.outputs, outputs)] {
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
    }
}
