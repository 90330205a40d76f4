//! The projection of several members' vectors to fewer numbers: a principal component analysis of the vectors of titles,
//! fitted to the members of each epoch that has ended.
//!
//! It is not centred: the first components keep as much as possible of the titles' squared lengths, and with these of their
//! dot products, which is what a search computes. Subtracting a mean would change every dot product. Queries are
//! projected by the same matrix. What a query has outside of the titles' directions adds to no dot product with a title.

use std::sync::Arc;

use rayon::prelude::*;

use super::start::encoders;
use crate::clicks::{ClickLog, Storage};
use crate::encoder::{Encoder, Tensor};
use crate::math::eigen::Tridiagonal;
use crate::model::Embedder;
use crate::rng::Permutation;
use crate::settings::TrainConfig;
use clickvec_tables::Result;
use clickvec_tables::memory::room_for;

/// The largest number of titles to fit it to.
const MOST_TITLES: usize = 20_000;

/// The rows of the matrix of products that one task computes.
const ROWS: usize = 16;

/// The titles that a projection is fitted to, and its size.
pub(super) struct Projection {
    titles: Vec<String>,
    units: usize,
    dimension: usize,
}

impl Projection {
    /// Returns the projection of a run, if its encoder has one. The titles are a sample of those that are learnt, clicked or not,
    /// drawn with the seed. Each counts once.
    pub(super) fn new(config: &TrainConfig, log: &ClickLog, storage: Storage<'_>) -> Result<Option<Projection>> {
        let Some((units, dimension)) = config.encoder.projection() else { return Ok(None) };
        let distinct = log.distinct_titles(storage)?;
        let count = distinct.len().min(MOST_TITLES);
        // The vectors, and the matrix of products three times: itself, its reflections, and its eigenvectors.
        let numbers = |rows: usize, bytes: u64| (rows as u64).checked_mul(units as u64)?.checked_mul(bytes);
        let bytes =
            numbers(count, 4).zip(numbers(units, 24)).and_then(|(vectors, products)| vectors.checked_add(products));
        room_for("the projection of the members' vectors", bytes)?;
        let order = Permutation::new(distinct.len() as u64, config.seed, "titles to fit a projection to", 0);
        let title = |index: usize| {
            let [_, number] = distinct[order.at(index as u64) as usize];
            log.text(log.pair(number as usize).title_words)
        };
        Ok(Some(Projection { titles: (0..count).map(title).collect(), units, dimension }))
    }

    /// Returns encoders of members with these weights, and with the projection that fits them, one for each tower; and the share of
    /// the titles' variance that it keeps.
    pub(super) fn encoders(
        &self,
        config: &TrainConfig,
        log: &ClickLog,
        towers: Vec<Vec<Tensor>>,
    ) -> (Vec<Box<dyn Encoder>>, f64) {
        let title_tower = towers.last().into_iter().cloned().collect();
        let members = encoders(config, log, title_tower).pop().map(Arc::from).expect("one or two towers");
        let embedder = Embedder::new(members, Arc::new(log.dictionary().clone()), config.limit()).raw();
        let Principal { directions: components, share, .. } =
            principal(&embedder.embed(&self.titles), self.units, self.dimension);
        let projected = |tensors: Vec<Tensor>| {
            let mut encoder = config.encoder.build(log.dictionary().len());
            let (projection, members_only) = encoder.tensors_mut().split_last_mut().expect("an encoder has tensors");
            for (tensor, now) in members_only.iter_mut().zip(tensors) {
                tensor.value = now.value;
            }
            for (column, component) in components.iter().enumerate() {
                component.iter().enumerate().for_each(|(row, &x)| projection.value.row_mut(row)[column] = x as f32);
            }
            encoder
        };
        (towers.into_iter().map(projected).collect(), share)
    }
}

/// The principal components of some vectors.
pub(super) struct Principal {
    /// Orthogonal directions of length 1, those with the largest squares first.
    pub(super) directions: Vec<Vec<f64>>,
    /// The part of the vectors' squared lengths along each direction.
    pub(super) squares: Vec<f64>,
    /// The share of the variance, which is measured from the mean, that all directions keep: 1 if there is none.
    share: f64,
}

/// Returns the `count` orthogonal directions that keep most of the squared lengths of `vectors` [texts, n].
pub(super) fn principal(vectors: &[f32], n: usize, count: usize) -> Principal {
    let mut products = vec![0.0; n * n];
    // Each number is one sum over the texts in their order, at any number of threads. Only the upper half is summed.
    products.par_chunks_mut(ROWS * n).enumerate().for_each(|(block, rows)| {
        for vector in vectors.chunks_exact(n) {
            for (index, row) in rows.chunks_exact_mut(n).enumerate() {
                let first = block * ROWS + index;
                let x = f64::from(vector[first]);
                row[first..].iter_mut().zip(&vector[first..]).for_each(|(sum, &y)| *sum += x * f64::from(y));
            }
        }
    });
    for row in 0..n {
        (0..row).for_each(|column| products[row * n + column] = products[column * n + row]);
    }
    let mut sums = vec![0.0; n];
    for vector in vectors.chunks_exact(n) {
        sums.iter_mut().zip(vector).for_each(|(sum, &x)| *sum += f64::from(x));
    }
    let texts = (vectors.len() / n).max(1) as f64;
    // Σ (x − mean)² along a direction is Σ x² − (Σ x)² / texts.
    let lengths: f64 = (0..n).map(|i| products[i * n + i]).sum();
    let all = lengths - sums.iter().map(|sum| sum * sum).sum::<f64>() / texts;
    let matrix = Tridiagonal::new(products, n);
    let (mut squares, _) = matrix.values(0);
    let directions = matrix.vectors(count);
    let along = |direction: &[f64]| direction.iter().zip(&sums).map(|(x, sum)| x * sum).sum::<f64>();
    let retained: f64 =
        directions.iter().zip(&squares).map(|(direction, square)| square - along(direction).powi(2) / texts).sum();
    // What rounding leaves of no variance is no variance.
    let share = if all > 1e-9 * lengths { (retained / all).clamp(0.0, 1.0) } else { 1.0 };
    squares.truncate(count);
    Principal { directions, squares, share }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use rand::RngExt as _;

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    fn wide(vector: &[f32]) -> Vec<f64> {
        vector.iter().map(|&x| f64::from(x)).collect()
    }

    /// Returns a vector's numbers along these directions.
    fn projected(vector: &[f32], directions: &[Vec<f64>]) -> Vec<f64> {
        directions.iter().map(|direction| dot(direction, &wide(vector))).collect()
    }

    /// Returns Σ (x − mean)² over all numbers of all vectors.
    fn deviation(vectors: &[Vec<f64>]) -> f64 {
        let mean = |i: usize| vectors.iter().map(|vector| vector[i]).sum::<f64>() / vectors.len() as f64;
        (0..vectors[0].len()).map(|i| vectors.iter().map(|vector| (vector[i] - mean(i)).powi(2)).sum::<f64>()).sum()
    }

    #[test]
    fn known_directions_come_in_the_order_of_their_squares() {
        // Lengths 3, 2 and 1 along three axes that are no coordinates, each in both directions, so the mean is zero.
        let axes = [[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]];
        let ends = [(0, 3.0f32), (0, -3.0), (2, 1.0), (1, 2.0), (2, -1.0), (1, -2.0)];
        let vectors: Vec<f32> = ends.iter().flat_map(|&(axis, by)| axes[axis].map(|x| x * by)).collect();
        for (count, expected) in [(1, 9.0 / 14.0), (2, 13.0 / 14.0), (3, 1.0)] {
            let Principal { directions, share, .. } = principal(&vectors, 3, count);
            assert_eq!(directions.len(), count);
            assert!((share - expected).abs() < 1e-6, "{count}: {share}");
            for (direction, axis) in directions.iter().zip(&axes) {
                assert!((dot(direction, &wide(axis)).abs() - 1.0).abs() < 1e-6, "{direction:?} {axis:?}");
            }
        }
    }

    #[test]
    fn the_share_is_of_the_variance_and_not_of_the_mean() {
        // The mean has nearly all of the squares and none of the variance.
        let vectors: Vec<f32> = [1.0f32, -1.0, 1.0, -1.0].iter().flat_map(|&x| [10.0, x]).collect();
        let Principal { directions, share, .. } = principal(&vectors, 2, 1);
        assert!((directions[0][0].abs() - 1.0).abs() < 1e-9 && share < 1e-9, "{directions:?} {share}");
        assert_eq!(principal(&vectors, 2, 2).share, 1.0);
        for alike in [[0.0f32, 0.0].repeat(3), [0.3, 0.4].repeat(3), vec![0.3, 0.4], Vec::new()] {
            assert_eq!(principal(&alike, 2, 1).share, 1.0, "{alike:?}");
        }
    }

    #[test]
    fn directions_are_orthogonal_and_no_others_keep_more() {
        let (n, texts) = (37, 200);
        let mut random = stream(1, "projection", 0);
        let mut vectors = Vec::new();
        for _ in 0..texts {
            // Some numbers vary more than others, and have means of their own.
            vectors
                .extend((0..n).map(|i| random.random_range(-1.0f32..1.0) / (1 + i % 7) as f32 + (i % 3) as f32 / 9.0));
        }
        let rows: Vec<&[f32]> = vectors.chunks_exact(n).collect();
        let squares = |rows: &[Vec<f64>]| rows.iter().map(|row| dot(row, row)).sum::<f64>();
        let whole: Vec<Vec<f64>> = rows.iter().map(|row| wide(row)).collect();
        let mut before = 0.0;
        for count in [1, 5, 20, n] {
            let Principal { directions, share, .. } = principal(&vectors, n, count);
            for (i, a) in directions.iter().enumerate() {
                for (j, b) in directions.iter().enumerate() {
                    assert!((dot(a, b) - f64::from(u8::from(i == j))).abs() < 1e-10, "{i} {j}");
                }
            }
            let found: Vec<Vec<f64>> = rows.iter().map(|row| projected(row, &directions)).collect();
            assert!((deviation(&found) / deviation(&whole) - share).abs() < 1e-9, "{count}: {share}");
            // As many of the coordinates as they are keep less.
            let coordinates: Vec<Vec<f64>> = whole.iter().map(|row| row[..count].to_vec()).collect();
            assert!(squares(&found) >= squares(&coordinates) - 1e-9, "{count}");
            assert!(share > before, "{count}: {share} after {before}");
            before = share;
            // Going back loses what is not retained, and all directions together lose nothing, dot products included.
            let lost: f64 = (whole.iter().zip(&found))
                .map(|(row, numbers)| {
                    let back =
                        |i: usize| numbers.iter().zip(&directions).map(|(x, direction)| x * direction[i]).sum::<f64>();
                    (0..n).map(|i| (row[i] - back(i)).powi(2)).sum::<f64>()
                })
                .sum();
            assert!((lost - (squares(&whole) - squares(&found))).abs() < 1e-9 * squares(&whole), "{count}: {lost}");
            if count == n {
                assert!((share - 1.0).abs() < 1e-12);
                for (a, b) in [(0, 1), (3, 90), (7, 7)] {
                    assert!((dot(&whole[a], &whole[b]) - dot(&found[a], &found[b])).abs() < 1e-10);
                }
            }
        }
    }
}
