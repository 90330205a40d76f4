//! How much the new model differs from the old one.

use serde::Serialize;

use crate::ranker::Neural;
use clickvec::index::Hit;
use clickvec::model::{Model, Side};

/// The length of result lists: the titles that users look at.
pub(super) const SHOWN: usize = 10;
/// The largest number of titles for aligning two models.
const MOST_ALIGNED: usize = 5_000;
/// The largest number of steps towards the nearest rotation. Each step at least halves the remaining error.
const MOST_STEPS: usize = 100;
/// The error below which a matrix counts as a rotation.
const NEAR: f64 = 1e-10;

/// The changes from the old model to the new one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drift {
    /// The number of queries whose result lists are compared.
    pub queries: usize,
    /// The share of queries with another first title.
    pub other_first: f64,
    /// The share of queries whose first ten titles are not the same ten.
    pub changed_lists: f64,
    /// The mean share of the first ten titles that were not among the old ten.
    pub new_titles: f64,
    /// How close the titles' new vectors are to the old ones. `None` if the models' dimensions differ, or there are no
    /// titles.
    pub vectors: Option<Alignment>,
}

/// Cosines of the titles' old and new vectors, after the new ones were rotated to fit the old ones as well as possible
/// (orthogonal Procrustes problem, Schönemann 1966).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Alignment {
    /// The number of titles.
    pub titles: usize,
    /// The mean cosine.
    pub mean: f64,
    /// The 5th percentile: the cosines of a twentieth of the titles are lower.
    pub fifth_percentile: f64,
    /// The lowest cosine.
    pub least: f64,
}

/// Returns the changes from the old to the new result list of each query. `vectors` becomes part of the result.
pub(super) fn drift_of<'h>(lists: impl Iterator<Item = (&'h [Hit], &'h [Hit])>, vectors: Option<Alignment>) -> Drift {
    let (mut queries, mut first, mut changed, mut new_titles) = (0, 0u64, 0u64, 0.0);
    for (old, new) in lists {
        let [old, new] = [old, new].map(|hits| &hits[..hits.len().min(SHOWN)]);
        queries += 1;
        first += u64::from(old.first().map(|hit| hit.position) != new.first().map(|hit| hit.position));
        let fresh = new.iter().filter(|hit| old.iter().all(|other| other.position != hit.position)).count();
        changed += u64::from(fresh > 0 || old.len() != new.len());
        new_titles += fresh as f64 / new.len().max(1) as f64;
    }
    let share = |count: f64| count / f64::max(queries as f64, 1.0);
    let (other_first, changed_lists) = (share(first as f64), share(changed as f64));
    Drift { queries, other_first, changed_lists, new_titles: share(new_titles), vectors }
}

/// Returns how close the vectors of both models are, over the titles in which both know at least one word.
pub(super) fn alignment([old, new]: [&Neural<&Model>; 2], texts: &[&str]) -> Option<Alignment> {
    let (old, new) = (old.model(), new.model());
    let dimension = old.dimension();
    if new.dimension() != dimension {
        return None;
    }
    let step = texts.len().div_ceil(MOST_ALIGNED).max(1);
    let known = |text: &&str| old.dictionary().knows_a_word(text) && new.dictionary().knows_a_word(text);
    let texts: Vec<&str> = texts.iter().copied().step_by(step).filter(known).collect();
    let [old, new] = [old, new].map(|model| model.embedder(Side::Title).embed(&texts));
    aligned(&old, &new, dimension)
}

/// Returns the cosines of unit vectors [texts, dimension] after rotating `new`.
fn aligned(old: &[f32], new: &[f32], dimension: usize) -> Option<Alignment> {
    // The rotation nearest to newᵀ · old is the one that maps new to old best.
    let mut product = vec![0.0; dimension * dimension];
    for (old, new) in old.chunks_exact(dimension).zip(new.chunks_exact(dimension)) {
        for (row, &x) in product.chunks_exact_mut(dimension).zip(new) {
            row.iter_mut().zip(old).for_each(|(sum, &y)| *sum += f64::from(x) * f64::from(y));
        }
    }
    let rotation = nearest_rotation(product, dimension);
    let mut cosines: Vec<f64> = old
        .chunks_exact(dimension)
        .zip(new.chunks_exact(dimension))
        .map(|(old, new)| {
            let rows = rotation.chunks_exact(dimension).zip(new);
            rows.map(|(row, &x)| f64::from(x) * row.iter().zip(old).map(|(r, &y)| r * f64::from(y)).sum::<f64>()).sum()
        })
        .collect();
    cosines.sort_unstable_by(f64::total_cmp);
    let (least, titles) = (*cosines.first()?, cosines.len());
    let mean = cosines.iter().sum::<f64>() / titles as f64;
    Some(Alignment { titles, mean, fifth_percentile: cosines[titles / 20], least })
}

/// Returns the orthogonal matrix nearest to a matrix [n, n], by the Newton-Schulz iteration X ← X · (3 − Xᵀ·X) / 2. It moves every
/// singular value to 1, except that a value of 0 stays 0.
fn nearest_rotation(mut x: Vec<f64>, n: usize) -> Vec<f64> {
    // An upper bound of the largest singular value.
    let length = x.iter().map(|number| number * number).sum::<f64>().sqrt();
    if length == 0.0 {
        return x;
    }
    x.iter_mut().for_each(|number| *number /= length);
    let mut gram = vec![0.0; n * n];
    let mut next = vec![0.0; n * n];
    for _ in 0..MOST_STEPS {
        gram.fill(0.0);
        for row in x.chunks_exact(n) {
            for (gram, &a) in gram.chunks_exact_mut(n).zip(row) {
                gram.iter_mut().zip(row).for_each(|(sum, b)| *sum += a * b);
            }
        }
        next.fill(0.0);
        for (next, row) in next.chunks_exact_mut(n).zip(x.chunks_exact(n)) {
            for (gram, &a) in gram.chunks_exact(n).zip(row) {
                next.iter_mut().zip(gram).for_each(|(sum, b)| *sum += a * b);
            }
            next.iter_mut().zip(row).for_each(|(cubed, &a)| *cubed = 1.5 * a - 0.5 * *cubed);
        }
        let moved = next.iter().zip(&x).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        std::mem::swap(&mut x, &mut next);
        if moved < NEAR {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use clickvec::internals::math::vector::scale_to_unit;
    use clickvec::internals::rng;
    use rand::RngExt as _;

    fn unit_vectors(count: usize, dimension: usize) -> Vec<f32> {
        let mut rng = rng::stream(1, "test", 0);
        let mut vectors: Vec<f32> = (0..count * dimension).map(|_| rng.random::<f32>() - 0.4).collect();
        vectors.chunks_exact_mut(dimension).for_each(scale_to_unit);
        vectors
    }

    #[test]
    fn a_rotation_changes_nothing() {
        let (count, dimension) = (200, 12);
        let old = unit_vectors(count, dimension);
        // Axes in another order, some turned round, and two of them rotated.
        let mut new = old.clone();
        for (old, new) in old.chunks_exact(dimension).zip(new.chunks_exact_mut(dimension)) {
            for axis in 0..dimension {
                new[(axis * 5 + 3) % dimension] = if axis % 3 == 0 { -old[axis] } else { old[axis] };
            }
            (new[0], new[1]) = (0.6 * new[0] - 0.8 * new[1], 0.8 * new[0] + 0.6 * new[1]);
        }
        let found = aligned(&old, &new, dimension).unwrap();
        assert_eq!(found.titles, count);
        assert!(found.least > 1.0 - 1e-5 && found.mean <= 1.0 + 1e-5, "{found:?}");
        // Other vectors are no rotation of them.
        new[..dimension].iter_mut().for_each(|x| *x = -*x);
        let found = aligned(&old, &new, dimension).unwrap();
        assert!(found.least < -0.5 && found.mean < 1.0 && found.fifth_percentile > 0.9, "{found:?}");
        assert_eq!(aligned(&[], &[], 3), None);
    }

    #[test]
    fn vectors_in_a_plane_are_aligned_too() {
        // Rank 2 of 5 dimensions.
        let flat = |angle: f32| -> Vec<f32> {
            (0..40).flat_map(|i| [(i as f32 + angle).cos(), (i as f32 + angle).sin(), 0.0, 0.0, 0.0]).collect()
        };
        let found = aligned(&flat(0.0), &flat(1.0), 5).unwrap();
        assert!(found.least > 1.0 - 1e-5, "{found:?}");
        let nothing = aligned(&[0.0; 10], &[0.0; 10], 5).unwrap();
        assert_eq!((nothing.mean, nothing.titles), (0.0, 2));
    }

    #[test]
    fn lists_are_compared() {
        let hits = |positions: &[u32]| -> Vec<Hit> {
            positions.iter().map(|&position| Hit { position, score: 1.0 }).collect()
        };
        let lists = [
            (hits(&[1, 2, 3, 4]), hits(&[1, 2, 3, 4])),
            (hits(&[1, 2, 3, 4]), hits(&[2, 1, 3, 4])),
            (hits(&[1, 2, 3, 4]), hits(&[1, 2, 9, 8])),
            (hits(&[]), hits(&[])),
        ];
        let drift = drift_of(lists.iter().map(|(old, new)| (&old[..], &new[..])), None);
        assert_eq!((drift.queries, drift.other_first, drift.changed_lists), (4, 0.25, 0.25));
        assert_eq!(drift.new_titles, 0.125);
    }
}
