//! Initial weights from a teacher's vectors: those of the model without a network that comes closest to them.
//!
//! Such a model adds up a row of weights for each feature of a text, letter trigrams and whole words. The rows are the solution
//! of a ridge regression: over the titles i, with the features' counts c and the teacher's vector t, they minimise
//! Σ_i ‖Σ_f c_if s_f x_f / n_i − t_i‖² + λ Σ_f ‖x_f‖², where s_f is √(ln(titles / titles with f)), so that a rare feature says
//! more, and n_i is the length of the text's numbers c_if s_f. An LSTM whose gates do little yet adds up the input y_g of its words,
//! so with these rows as W₄ it begins as that model, and what it learns comes on top.
//!
//! The teacher's vectors are centred, and each principal component is divided by the fourth root of its standard deviation,
//! because a few components would outweigh the rest otherwise.

mod solve;
#[cfg(test)]
mod tests;
mod texts;

use rayon::prelude::*;

use self::solve::{LANES, Row, solve};
use self::texts::Texts;
use super::projection::{Principal, principal};
use crate::clicks::ClickLog;
use crate::encoder::{Encoder, EncoderConfig, TensorKind};
use crate::error::Result;
use crate::math::vector::{scale_to_unit, sum_of_squares};
use crate::memory::room_for;
use crate::rng::stream;
use crate::settings::{TeacherStart, TrainConfig};
use rand::RngExt as _;

/// The largest number of titles that weights are fitted to.
const MOST_TITLES: usize = 100_000;

/// The largest number of titles that principal components are taken from.
const MOST_FOR_COMPONENTS: usize = 20_000;

/// λ, the weight of the rows' squared lengths.
pub(super) const RIDGE: f32 = 0.3;

/// The power of its standard deviation that a component is divided by.
const EVEN: f64 = 0.25;

/// What a run starts from, if not from random numbers.
pub(super) struct Start {
    /// For each member, W₄ of the features in the dictionary's order: [features, width], row by row. The width is at most the
    /// number of cells.
    members: Vec<(usize, Vec<f32>)>,
    pub(super) report: StartReport,
}

/// The figures of a start from a teacher's vectors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StartReport {
    /// The distinct titles that the weights were fitted to.
    pub titles: u64,
    /// How much of the variance of the teacher's vectors, as the weights should give them, they explain: 1 − the sum of squared
    /// errors divided by that of squares.
    pub explained: f64,
    /// Wall time in seconds.
    pub seconds: f64,
}

impl Start {
    /// The start of a run, if its teacher has vectors of at least two titles and its settings ask for one.
    pub(super) fn of(config: &TrainConfig, log: &ClickLog) -> Result<Option<Start>> {
        let begun = std::time::Instant::now();
        let asked = config.teacher.is_some_and(|teacher| teacher.start == TeacherStart::LeastSquares);
        let Some(taught) = log.taught().filter(|_| asked) else { return Ok(None) };
        let (members, cells) = match config.encoder.without_projection() {
            EncoderConfig::Lstm(config) => (1, config.cells),
            EncoderConfig::Members(config) => (config.members, config.lstm.cells),
            _ => return Ok(None),
        };
        let features = log.dictionary().len();
        // The weights, and what a task works with: five numbers for each feature, word and text.
        let blocks = (members * cells).div_ceil(LANES).min(rayon::current_num_threads());
        let working = 5 * LANES * blocks * (features + MOST_TITLES);
        let bytes = (members as u64 * cells as u64).checked_mul(features as u64).map(|numbers| 4 * numbers);
        room_for("a start from the teacher's vectors", bytes.and_then(|bytes| bytes.checked_add(4 * working as u64)))?;
        let texts = Texts::of(log, taught, config.seed, MOST_TITLES);
        if texts.len() < 2 {
            return Ok(None);
        }
        let targets = Targets::of(&texts, taught.dimension());
        let columns = targets.columns(members, cells, config.seed);
        let blocks: Vec<&[Vec<f64>]> = columns.chunks(LANES).collect();
        let solved: Vec<_> = blocks.par_iter().map(|columns| solve(&texts, &targets.block(&texts, columns))).collect();
        let sum = |of: fn(&solve::Solved) -> f64| solved.iter().map(of).sum::<f64>();
        let (squares, errors, outputs) = (sum(|s| s.squares), sum(|s| s.errors), sum(|s| s.outputs));
        if !(squares > 0.0 && outputs > 0.0 && outputs.is_finite()) {
            return Ok(None);
        }
        // What the words of a title put in adds up to 1, in root mean square: large enough for tanh to bound the largest.
        let scale = (texts.len() as f64 * columns.len() as f64 / outputs).sqrt() as f32;
        let width = columns.len() / members;
        let member = |member: usize| {
            let row = |feature: usize| {
                let place = member * width..(member + 1) * width;
                place.map(move |column| (column / LANES, feature, column % LANES))
            };
            let numbers = (0..features).flat_map(row);
            (width, numbers.map(|(block, feature, lane)| scale * solved[block].weights[feature][lane]).collect())
        };
        let report = StartReport {
            titles: texts.len() as u64,
            explained: 1.0 - errors / squares,
            seconds: begun.elapsed().as_secs_f64(),
        };
        Ok(Some(Start { members: (0..members).map(member).collect(), report }))
    }

    /// Replaces the random W₄ of an encoder that [adds up](EncoderConfig::adds_up). Features without a title keep their random numbers.
    pub(super) fn set(&self, encoder: &mut dyn Encoder) {
        let inputs = encoder.tensors_mut().iter_mut().filter(|tensor| tensor.kind == TensorKind::Input);
        for (tensor, (width, weights)) in inputs.zip(&self.members) {
            let found = tensor.ranges().find(|(group, _)| group.name.ends_with("w4")).map(|(_, columns)| columns);
            let columns = found.expect("an LSTM has W4");
            for (row, weights) in weights.chunks_exact(*width).enumerate() {
                if weights.iter().any(|&x| x != 0.0) {
                    tensor.value.row_mut(row)[columns.clone()][..*width].copy_from_slice(weights);
                }
            }
        }
    }
}

/// The teacher's vectors as they are to be approached.
struct Targets {
    mean: Vec<f32>,
    /// For each text, 1 divided by the length of its centred vector; 0 if that is 0.
    scales: Vec<f32>,
    principal: Principal,
}

impl Targets {
    fn of(texts: &Texts<'_>, dimension: usize) -> Targets {
        let mut sums = vec![0.0f64; dimension];
        for vector in &texts.vectors {
            sums.iter_mut().zip(*vector).for_each(|(sum, &x)| *sum += f64::from(x));
        }
        let mean: Vec<f32> = sums.iter().map(|sum| (sum / texts.len() as f64) as f32).collect();
        let centred = |vector: &[f32]| -> Vec<f32> { vector.iter().zip(&mean).map(|(x, mean)| x - mean).collect() };
        let scale = |vector: &&[f32]| {
            let length = sum_of_squares(&centred(vector)).sqrt();
            // What rounding leaves of the mean itself has no direction.
            if length > 1e-6 { (1.0 / length) as f32 } else { 0.0 }
        };
        let scales = texts.vectors.par_iter().map(scale).collect();
        let sample = &texts.vectors[..texts.len().min(MOST_FOR_COMPONENTS)];
        let unit = |vector: &&[f32]| {
            let mut unit = centred(vector);
            scale_to_unit(&mut unit);
            unit
        };
        let sample: Vec<f32> = sample.iter().flat_map(unit).collect();
        Targets { principal: principal(&sample, dimension, dimension), mean, scales }
    }

    /// The directions whose products with a centred vector are the cells' targets: for each member in turn, as many as it has
    /// cells or the vectors have components.
    ///
    /// Together the members have each of the first components once, mixed at random, so that each cell gets a similar share. If
    /// they have more cells than there are components, each has its own mixture of all.
    fn columns(&self, members: usize, cells: usize, seed: u64) -> Vec<Vec<f64>> {
        let Principal { directions, squares, .. } = &self.principal;
        let largest = squares.first().copied().unwrap_or_default();
        // A component that rounding alone made would be divided by almost nothing.
        let known = squares.iter().take_while(|&&square| square > 1e-6 * largest).count();
        let count = known.min(members * cells);
        let scaled: Vec<Vec<f64>> = (directions.iter().zip(squares).take(count))
            .map(|(direction, square)| {
                let by = (square / largest).powf(-EVEN / 2.0);
                direction.iter().map(|x| x * by).collect()
            })
            .collect();
        let mixed = |rotation: &[Vec<f64>]| -> Vec<Vec<f64>> {
            let sum = |factors: &Vec<f64>| {
                let mut sum = vec![0.0; self.mean.len()];
                for (direction, factor) in scaled.iter().zip(factors) {
                    sum.iter_mut().zip(direction).for_each(|(sum, x)| *sum += factor * x);
                }
                sum
            };
            rotation.iter().map(sum).collect()
        };
        if members * cells <= count {
            return mixed(&rotation(count, seed, 0));
        }
        let width = cells.min(count);
        (0..members).flat_map(|member| mixed(&rotation(count, seed, member as u64)[..width])).collect()
    }

    /// For each text, its targets in these columns.
    fn block(&self, texts: &Texts<'_>, columns: &[Vec<f64>]) -> Vec<Row> {
        let mut by_number = vec![[0.0f32; LANES]; self.mean.len()];
        for (lane, column) in columns.iter().enumerate() {
            by_number.iter_mut().zip(column).for_each(|(row, &x)| row[lane] = x as f32);
        }
        let target = |(vector, scale): (&&[f32], &f32)| {
            let mut sum = [0.0f32; LANES];
            for ((x, mean), row) in vector.iter().zip(&self.mean).zip(&by_number) {
                let x = (x - mean) * scale;
                sum.iter_mut().zip(row).for_each(|(sum, y)| *sum += x * y);
            }
            sum
        };
        texts.vectors.iter().zip(&self.scales).map(target).collect()
    }
}

/// `n` orthogonal directions of length 1 in as many dimensions, drawn at random.
fn rotation(n: usize, seed: u64, number: u64) -> Vec<Vec<f64>> {
    let mut stream = stream(seed, "rotation of a teacher's components", number);
    let mut found: Vec<Vec<f64>> = Vec::with_capacity(n);
    while found.len() < n {
        // A sum of uniform numbers is nearly normal, and so has no preferred direction.
        let mut next: Vec<f64> = (0..n).map(|_| (0..6).map(|_| stream.random::<f64>() - 0.5).sum()).collect();
        // Twice, because rounding leaves some of the others after the first time.
        for _ in 0..2 {
            for other in &found {
                let along: f64 = next.iter().zip(other).map(|(x, y)| x * y).sum();
                next.iter_mut().zip(other).for_each(|(x, y)| *x -= along * y);
            }
        }
        let length = next.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > 1e-6 {
            next.iter_mut().for_each(|x| *x /= length);
            found.push(next);
        }
    }
    found
}
