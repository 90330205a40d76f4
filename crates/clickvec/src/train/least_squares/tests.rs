//! The fitted weights, and the targets that they are fitted to, against plain formulas.

use super::solve::{LANES, Row, solve};
use super::texts::{Item, Texts};
use super::{MOST_NUMBERS, RIDGE, Sketch, Targets, rotation};
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

fn texts(vectors: &[Vec<f32>]) -> (Texts<'_>, Vec<Vec<u32>>) {
    let mut random = stream(3, "texts", 0);
    let (mut words, mut features, mut drawn) = (Ragged::default(), Ragged::default(), Vec::new());
    for word in WORDS {
        features.push(word.iter().map(|&(number, count)| Item { number, count }));
    }
    for _ in vectors {
        // Some words twice.
        let of_text: Vec<u32> = (0..4).map(|_| random.random_range(0..6)).collect();
        words.push(of_text.iter().map(|&number| Item { number, count: 1 }));
        drawn.push(of_text);
    }
    (Texts::new(vectors.iter().map(Vec::as_slice).collect(), words, features, FEATURES).unwrap(), drawn)
}

fn vectors(count: usize, dimension: usize) -> Vec<Vec<f32>> {
    let mut random = stream(5, "vectors", 0);
    (0..count).map(|_| (0..dimension).map(|_| random.random_range(-1.0f32..1.0)).collect()).collect()
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
    let vectors = vectors(40, 3);
    let (texts, drawn) = texts(&vectors);
    let mut random = stream(7, "targets", 0);
    let targets: Vec<Row> =
        vectors.iter().map(|_| std::array::from_fn(|_| random.random_range(-1.0f32..1.0))).collect();
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
    let found = solve(&texts, &targets);
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

#[test]
fn a_rotation_keeps_lengths_and_angles() {
    let directions = rotation(23, 23, 1, 0);
    for (i, a) in directions.iter().enumerate() {
        for (j, b) in directions.iter().enumerate() {
            let product: f64 = a.iter().zip(b).map(|(x, y)| x * y).sum();
            assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12, "{i} {j}: {product}");
        }
    }
    assert_eq!(directions[..5], rotation(23, 5, 1, 0));
    assert_ne!(directions, rotation(23, 23, 2, 0));
    assert_ne!(directions, rotation(23, 23, 1, 1));
}

/// Together, the members' targets are the centred vectors of length 1, each component divided by the fourth root of its standard
/// deviation: the dot products are the same, however many members share them.
#[test]
fn targets_are_the_teachers_vectors_made_even() {
    let mut vectors = vectors(60, 6);
    // A mean, and numbers that vary more than others.
    vectors
        .iter_mut()
        .for_each(|vector| vector.iter_mut().enumerate().for_each(|(i, x)| *x = *x / (i + 1) as f32 + 0.4));
    let (texts, _) = texts(&vectors);
    let targets = Targets::of(&texts, 6);
    let products = |members: usize, cells: usize| -> Vec<f32> {
        let columns = targets.columns(members, cells, 1);
        assert_eq!(columns.len(), members * cells.min(6));
        let rows = targets.block(&texts, &columns);
        let dot = |a: &Row, b: &Row| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
        rows.iter().map(|row| dot(row, &rows[0])).collect()
    };
    let one = products(1, 6);
    for (members, cells, times) in [(2, 3, 1.0), (3, 2, 1.0), (1, 9, 1.0), (2, 6, 2.0)] {
        for (found, expected) in products(members, cells).iter().zip(&one) {
            assert!((found - times * expected).abs() < 1e-4, "{members} of {cells}: {found} {expected}");
        }
    }
    // In the same way, but in the components' own directions.
    let principal = &targets.principal;
    let of = |text: usize| -> Vec<f64> {
        let centred: Vec<f64> = vectors[text].iter().zip(&targets.mean).map(|(x, mean)| f64::from(x - mean)).collect();
        let length = centred.iter().map(|x| x * x).sum::<f64>().sqrt();
        let along = |direction: &Vec<f64>| direction.iter().zip(&centred).map(|(x, y)| x * y).sum::<f64>() / length;
        let by = |square: &f64| (square / principal.squares[0]).sqrt().powf(0.25);
        principal.directions.iter().map(along).zip(&principal.squares).map(|(x, square)| x / by(square)).collect()
    };
    for (text, found) in one.iter().enumerate() {
        let expected: f64 = of(text).iter().zip(of(0)).map(|(x, y)| x * y).sum();
        assert!((f64::from(*found) - expected).abs() < 1e-4, "{text}: {found} {expected}");
    }
    // Two members of four cells share six components: each has a mixture of its own.
    let (two, single) = (targets.columns(2, 4, 1), targets.columns(1, 4, 1));
    assert_eq!((two.len(), single.len()), (8, 4));
    assert_ne!(two[..4], two[4..]);
    // With fewer cells than components, the first components are kept.
    for column in targets.columns(2, 2, 1) {
        for direction in &principal.directions[4..] {
            let along: f64 = column.iter().zip(direction).map(|(x, y)| x * y).sum();
            assert!(along.abs() < 1e-6, "{along}");
        }
    }
}

/// The products of many vectors' sketches differ from those of the vectors by about 1 / √numbers.
#[test]
fn a_sketch_keeps_dot_products_nearly() {
    let dimension = 3 * MOST_NUMBERS + 7;
    let sketch = Sketch::new(dimension);
    let mut vectors = vectors(8, dimension);
    vectors.iter_mut().for_each(|vector| {
        crate::math::vector::scale_to_unit(vector);
    });
    // Some that are alike.
    let (first, rest) = vectors.split_first_mut().unwrap();
    rest[..3].iter_mut().for_each(|vector| vector.iter_mut().zip(&*first).for_each(|(x, y)| *x = 0.6 * *x + 0.8 * y));
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(x * y)).sum::<f64>();
    for a in &vectors {
        for b in &vectors {
            let (found, expected) = (dot(&sketch.of(a), &sketch.of(b)), dot(a, b));
            assert!((found - expected).abs() < 0.15, "{found} {expected}");
        }
    }
    let wide = |vector: &[f32]| vector.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let back = sketch.back(&wide(&sketch.of(&vectors[0])));
    let found: f64 = back.iter().zip(wide(&vectors[1])).map(|(x, y)| x * y).sum();
    assert!((found - dot(&sketch.of(&vectors[0]), &sketch.of(&vectors[1]))).abs() < 1e-4);
    let small = Sketch::new(5);
    assert_eq!(small.of(&[1.0, 2.0, 3.0, 4.0, 5.0]), [1.0, 2.0, 3.0, 4.0, 5.0]);
}
