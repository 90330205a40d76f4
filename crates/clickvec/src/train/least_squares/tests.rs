//! The targets that weights are fitted to, against plain formulas.

use super::texts::Texts;
use super::{MOST_NUMBERS, Sketch, Targets, rotation};
use crate::ragged::Ragged;
use crate::ridge::{Design, Row};
use crate::rng::stream;
use rand::RngExt as _;

/// Texts with these vectors, whose features do not matter.
fn texts(vectors: &[Vec<f32>]) -> Texts<'_> {
    let mut words = Ragged::default();
    vectors.iter().for_each(|_| words.push([]));
    let design = Design::new(words, Ragged::default(), 0).unwrap();
    Texts { vectors: vectors.iter().map(Vec::as_slice).collect(), design }
}

fn vectors(count: usize, dimension: usize) -> Vec<Vec<f32>> {
    let mut random = stream(5, "vectors", 0);
    (0..count).map(|_| (0..dimension).map(|_| random.random_range(-1.0f32..1.0)).collect()).collect()
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
    let texts = texts(&vectors);
    let targets = Targets::new(&texts, 6);
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
            let (found, expected) = (dot(&sketch.project(a), &sketch.project(b)), dot(a, b));
            assert!((found - expected).abs() < 0.15, "{found} {expected}");
        }
    }
    let wide = |vector: &[f32]| vector.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let back = sketch.back(&wide(&sketch.project(&vectors[0])));
    let found: f64 = back.iter().zip(wide(&vectors[1])).map(|(x, y)| x * y).sum();
    assert!((found - dot(&sketch.project(&vectors[0]), &sketch.project(&vectors[1]))).abs() < 1e-4);
    let small = Sketch::new(5);
    assert_eq!(small.project(&[1.0, 2.0, 3.0, 4.0, 5.0]), [1.0, 2.0, 3.0, 4.0, 5.0]);
}
