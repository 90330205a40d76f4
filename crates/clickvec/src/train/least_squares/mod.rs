//! Initial weights from a teacher's vectors: those of the model without a network that comes closest to them.
//!
//! Such a model adds up a row of weights for each feature of a text, letter trigrams and whole words: the rows of a
//! [ridge regression](crate::ridge) from titles to targets. An LSTM whose gates do little yet adds up the input y_g of its words, so
//! with these rows as W₄ it begins as that model, and what it learns comes on top.
//!
//! The targets are the teacher's vectors, centred, of length 1, and partly whitened: each principal component is divided by the
//! fourth root of its standard deviation, because a few components would outweigh the rest otherwise.

#[cfg(test)]
mod tests;
mod texts;

use rayon::prelude::*;

use self::texts::Texts;
use super::projection::{Principal, principal};
use crate::clicks::{ClickLog, Storage};
use crate::encoder::{Encoder, EncoderConfig, TensorKind};
use crate::math::vector::sum_of_squares;
use crate::ridge::{LANES, MOST_TEXTS, Row, Solved, solve};
use crate::rng::stream;
use crate::settings::{TeacherStart, TrainConfig};
use clickvec_tables::Result;
use clickvec_tables::memory::room_for_numbers;
use rand::RngExt as _;

/// The largest number of titles that principal components are taken from.
const MOST_FOR_COMPONENTS: usize = 20_000;

/// The largest number of numbers that principal components are taken of. The time grows with its cube.
const MOST_NUMBERS: usize = 1024;

/// λ, the weight of the rows' squared lengths.
const RIDGE: f32 = 0.3;

/// The power of its standard deviation that a component is divided by. With 1 all would vary alike.
const WHITENING: f64 = 0.25;

/// The initial weights of a run, if they are not random.
pub(super) struct Start {
    /// The weights, [`LANES`] columns each. The first columns are those of the first member, and so on.
    solved: Vec<Solved>,
    /// The columns of each member: one for each cell, or fewer.
    width: usize,
    /// The factor of all weights.
    scale: f32,
    pub(super) report: StartReport,
}

/// The figures of a start from a teacher's vectors.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct StartReport {
    /// The distinct titles that the weights were fitted to.
    pub titles: u64,
    /// The share of the variance of these titles' targets that the weights explain: 1 − the sum of squared errors divided by that of
    /// squares.
    pub explained: f64,
    /// Wall time in seconds.
    pub seconds: f64,
}

impl Start {
    /// Returns whether a run's settings ask for weights that are fitted, and its teacher has vectors.
    pub(super) fn is_configured(config: &TrainConfig, log: &ClickLog) -> bool {
        config.teacher.is_some_and(|teacher| teacher.start == TeacherStart::LeastSquares) && log.taught().is_some()
    }

    /// Returns the start of a run; `None` if its encoder does not add up, or if the teacher's vectors say too little: if they are of less
    /// than half of the titles, or would leave more than half of the cells random.
    pub(super) fn fit(config: &TrainConfig, log: &ClickLog, storage: Storage<'_>) -> Result<Option<Start>> {
        let begun = std::time::Instant::now();
        let (members, cells) = match &config.encoder {
            EncoderConfig::Lstm(config) => (1, config.cells),
            EncoderConfig::Members(config) => (config.members, config.cells),
            _ => return Ok(None),
        };
        let Some(taught) = log.taught().filter(|_| config.encoder.adds_up()) else { return Ok(None) };
        let Some(texts) = Texts::new(log, taught, config.seed, MOST_TEXTS, storage)? else { return Ok(None) };
        let (features, dimension) = (log.dictionary().len(), taught.dimension());
        let tasks = (members * cells).div_ceil(LANES).min(rayon::current_num_threads());
        let numbers = dimension.min(MOST_NUMBERS);
        room_for_numbers::<f32>(
            "a start from the teacher's vectors",
            &[
                &[members * cells, features + dimension],
                &texts.design.working(tasks),
                &[texts.vectors.len().min(MOST_FOR_COMPONENTS), numbers],
                // In f64: the matrix of products, its reflections, and its eigenvectors.
                &[6, numbers, numbers],
            ],
        )?;
        let targets = Targets::new(&texts, dimension);
        let columns = targets.columns(members, cells, config.seed);
        let width = columns.len() / members;
        if 2 * width < cells {
            return Ok(None);
        }
        let blocks: Vec<&[Vec<f64>]> = columns.chunks(LANES).collect();
        let solved: Vec<_> =
            blocks.par_iter().map(|columns| solve(&texts.design, &targets.block(&texts, columns), RIDGE)).collect();
        let sum = |of: fn(&Solved) -> f64| solved.iter().map(of).sum::<f64>();
        let (squares, errors, outputs) = (sum(|s| s.squares), sum(|s| s.errors), sum(|s| s.outputs));
        if !(squares > 0.0 && outputs > 0.0 && outputs.is_finite()) {
            return Ok(None);
        }
        // What the words of a title put in adds up to 1, in root mean square: large enough for tanh to bound the largest.
        let scale = (texts.vectors.len() as f64 * columns.len() as f64 / outputs).sqrt() as f32;
        let report = StartReport {
            titles: texts.vectors.len() as u64,
            explained: 1.0 - errors / squares,
            seconds: begun.elapsed().as_secs_f64(),
        };
        Ok(Some(Start { solved, width, scale, report }))
    }

    /// Replaces the random W₄ of an encoder that [adds up](EncoderConfig::adds_up). Rows of features that no title
    /// has, or every title, stay random.
    pub(super) fn set(&self, encoder: &mut dyn Encoder) {
        let inputs = encoder.tensors_mut().iter_mut().filter(|tensor| tensor.kind == TensorKind::Input);
        for (member, tensor) in inputs.enumerate() {
            let found = tensor.ranges().find(|(group, _)| group.name.ends_with("w4")).map(|(_, columns)| columns);
            let first = found.expect("an LSTM has W4").start;
            for feature in 0..tensor.value.rows() {
                let row = &mut tensor.value.row_mut(feature)[first..];
                for (cell, x) in row[..self.width].iter_mut().enumerate() {
                    let column = member * self.width + cell;
                    let weight = self.scale * self.solved[column / LANES].weights[feature][column % LANES];
                    if weight != 0.0 {
                        *x = weight;
                    }
                }
            }
        }
    }
}

/// The teacher's vectors as targets.
struct Targets {
    mean: Vec<f32>,
    /// For each text, 1 divided by the length of its centred vector; 0 if that is 0.
    scales: Vec<f32>,
    sketch: Sketch,
    /// The principal components of the vectors' sketches.
    principal: Principal,
}

impl Targets {
    fn new(texts: &Texts<'_>, dimension: usize) -> Targets {
        let mut sums = vec![0.0f64; dimension];
        for vector in &texts.vectors {
            sums.iter_mut().zip(*vector).for_each(|(sum, &x)| *sum += f64::from(x));
        }
        let mean: Vec<f32> = sums.iter().map(|sum| (sum / texts.vectors.len() as f64) as f32).collect();
        let centred = |vector: &[f32]| -> Vec<f32> { vector.iter().zip(&mean).map(|(x, mean)| x - mean).collect() };
        let scale = |vector: &&[f32]| {
            let length = sum_of_squares(&centred(vector)).sqrt();
            // What rounding leaves of the mean itself has no direction.
            if length > 1e-6 { (1.0 / length) as f32 } else { 0.0 }
        };
        let scales: Vec<f32> = texts.vectors.par_iter().map(scale).collect();
        let sketch = Sketch::new(dimension);
        let sample = texts.vectors.iter().zip(&scales).take(MOST_FOR_COMPONENTS);
        let sample: Vec<f32> = sample
            .flat_map(|(vector, scale)| {
                let unit: Vec<f32> = centred(vector).iter().map(|x| x * scale).collect();
                sketch.project(&unit)
            })
            .collect();
        let principal = principal(&sample, sketch.numbers, sketch.numbers);
        Targets { principal, sketch, mean, scales }
    }

    /// Returns the directions whose products with a centred vector are the cells' targets: for each member in turn, as many as it has
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
                let by = (square / largest).powf(-WHITENING / 2.0);
                self.sketch.back(direction).iter().map(|x| x * by).collect()
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
            return mixed(&rotation(count, members * cells, seed, 0));
        }
        let width = cells.min(count);
        (0..members).flat_map(|member| mixed(&rotation(count, width, seed, member as u64))).collect()
    }

    /// Returns, for each text, its targets in these columns.
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

/// Vectors of many numbers in fewer: each number is added to one of the fewer ones or subtracted from it, as if by chance, which
/// keeps dot products nearly as they are (Charikar, Chen and Farach-Colton 2002).
struct Sketch {
    /// The number of numbers of a sketch.
    numbers: usize,
    /// For each number of a vector, where it goes and its sign.
    targets: Vec<(usize, f32)>,
}

impl Sketch {
    /// Creates the sketch of vectors with this dimension; the vectors themselves up to [`MOST_NUMBERS`].
    fn new(dimension: usize) -> Sketch {
        if dimension <= MOST_NUMBERS {
            return Sketch { numbers: dimension, targets: (0..dimension).map(|number| (number, 1.0)).collect() };
        }
        let mut stream = stream(0, "sketch of a teacher's vectors", 0);
        let sign = |is_negative: bool| if is_negative { -1.0 } else { 1.0 };
        let targets = (0..dimension).map(|number| (number % MOST_NUMBERS, sign(stream.random()))).collect();
        Sketch { numbers: MOST_NUMBERS, targets }
    }

    fn project(&self, vector: &[f32]) -> Vec<f32> {
        let mut sketch = vec![0.0; self.numbers];
        vector.iter().zip(&self.targets).for_each(|(x, &(target, sign))| sketch[target] += sign * x);
        sketch
    }

    /// Returns the direction whose product with a vector is that of `direction` with its sketch.
    fn back(&self, direction: &[f64]) -> Vec<f64> {
        self.targets.iter().map(|&(target, sign)| f64::from(sign) * direction[target]).collect()
    }
}

/// Returns the first `count` of `n` orthogonal directions of length 1 in n dimensions, drawn at random.
fn rotation(n: usize, count: usize, seed: u64, number: u64) -> Vec<Vec<f64>> {
    let mut stream = stream(seed, "rotation of a teacher's components", number);
    let mut found: Vec<Vec<f64>> = Vec::with_capacity(count);
    while found.len() < count {
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
