//! Ridge regression by conjugate gradients, a few columns at a time.
//!
//! Each task solves its own columns from the first number to the last, so the result is the same at any number of threads.

use super::{Design, Item};
use crate::ragged::Ragged;

/// The columns of a task: a cache line of numbers.
pub const LANES: usize = 16;

/// A number for each column.
pub type Row = [f32; LANES];

/// The steps of conjugate gradients. After 20, rankings no longer change (docs/explanation/defaults.md).
const STEPS: usize = 30;

/// The solution for a few columns.
pub struct Solved {
    /// For each feature, its weights.
    pub weights: Vec<Row>,
    /// The sum of the targets' squares.
    pub squares: f64,
    /// The sum of the errors' squares.
    pub errors: f64,
    /// The sum of the squares of the outputs, which are the sums of the weights of a text's features, with the text not scaled.
    pub outputs: f64,
}

/// Returns the weights that come closest to the targets of each text; `ridge` is λ, the weight of the rows' squared lengths.
pub fn solve(texts: &Design, targets: &[Row], ridge: f32) -> Solved {
    let mut working = Working::new(texts);
    // Aᵀ t, of which what the solution explains is subtracted step by step; A = (counts · factors) / length.
    let mut residual = vec![[0.0; LANES]; texts.factors.len()];
    working.texts.copy_from_slice(targets);
    working.scale_texts(texts, |scale| scale);
    working.multiply_transposed(texts, &mut residual);
    let mut weights = vec![[0.0f32; LANES]; residual.len()];
    // The matrix's diagonal divides residuals: columns of A that are long do not need as much.
    let divisors: Vec<f32> = texts.squares.iter().map(|square| square + ridge).collect();
    let mut divided = residual.clone();
    divide(&mut divided, &residual, &divisors);
    let mut direction = divided.clone();
    let mut product = vec![[0.0f32; LANES]; residual.len()];
    let mut before = dots(&residual, &divided);
    for _ in 0..STEPS {
        working.multiply(texts, &direction);
        working.scale_texts(texts, |scale| scale * scale);
        working.multiply_transposed(texts, &mut product);
        add(&mut product, &[ridge; LANES], &direction);
        let steps = quotients(&before, &dots(&direction, &product));
        add(&mut weights, &steps, &direction);
        add(&mut residual, &steps.map(|step| -step), &product);
        divide(&mut divided, &residual, &divisors);
        let now = dots(&residual, &divided);
        let keep = quotients(&now, &before);
        for (direction, divided) in direction.iter_mut().zip(&divided) {
            direction.iter_mut().zip(divided).zip(keep).for_each(|((x, y), keep)| *x = y + keep * *x);
        }
        before = now;
    }
    working.multiply(texts, &weights);
    let outputs = sum_of_squares(&working.texts);
    working.scale_texts(texts, |scale| scale);
    add(&mut working.texts, &[-1.0; LANES], targets);
    for (row, factor) in weights.iter_mut().zip(&texts.factors) {
        row.iter_mut().for_each(|x| *x *= factor);
    }
    Solved { weights, squares: sum_of_squares(targets), errors: sum_of_squares(&working.texts), outputs }
}

/// Numbers for each word and each text.
struct Working {
    words: Vec<Row>,
    texts: Vec<Row>,
}

impl Working {
    fn new(texts: &Design) -> Working {
        Working { words: vec![[0.0; LANES]; texts.features.len()], texts: vec![[0.0; LANES]; texts.len()] }
    }

    /// Sets each text to the sum of its features' numbers times their factors.
    fn multiply(&mut self, texts: &Design, features: &[Row]) {
        let scaled = |feature: &Item| texts.factors[feature.number as usize] * feature.count as f32;
        sums(&texts.features, features, scaled, &mut self.words);
        sums(&texts.words, &self.words, |word| word.count as f32, &mut self.texts);
    }

    /// Sets each feature to the sum of its texts' numbers, times its factor.
    fn multiply_transposed(&mut self, texts: &Design, features: &mut [Row]) {
        sums(&texts.by_word, &self.texts, |text| text.count as f32, &mut self.words);
        sums(&texts.by_feature, &self.words, |word| word.count as f32, features);
        for (row, factor) in features.iter_mut().zip(&texts.factors) {
            row.iter_mut().for_each(|x| *x *= factor);
        }
    }

    /// Multiplies each text's numbers by a function of its scale.
    fn scale_texts(&mut self, texts: &Design, of: impl Fn(f32) -> f32) {
        for (row, &scale) in self.texts.iter_mut().zip(&texts.scales) {
            row.iter_mut().for_each(|x| *x *= of(scale));
        }
    }
}

/// Sets each of `out` to the weighted sum of the rows in its list.
fn sums(lists: &Ragged<Item>, rows: &[Row], weight: impl Fn(&Item) -> f32, out: &mut [Row]) {
    for (list, out) in lists.iter().zip(out) {
        let mut sum = [0.0; LANES];
        for item in list {
            let weight = weight(item);
            sum.iter_mut().zip(&rows[item.number as usize]).for_each(|(sum, x)| *sum += weight * x);
        }
        *out = sum;
    }
}

/// Adds `factors` · `from` to `to`, with a factor for each column.
fn add(to: &mut [Row], factors: &Row, from: &[Row]) {
    for (to, from) in to.iter_mut().zip(from) {
        to.iter_mut().zip(from).zip(factors).for_each(|((to, from), factor)| *to += factor * from);
    }
}

/// Sets `to` to `rows`, each divided by a number.
fn divide(to: &mut [Row], rows: &[Row], by: &[f32]) {
    for ((to, row), by) in to.iter_mut().zip(rows).zip(by) {
        *to = row.map(|x| x / by);
    }
}

/// Returns the dot product of each column.
fn dots(a: &[Row], b: &[Row]) -> [f64; LANES] {
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (x, y))| *sum += f64::from(x * y));
    }
    sums
}

/// Returns a / b; 0 for a column that is solved already.
fn quotients(a: &[f64; LANES], b: &[f64; LANES]) -> Row {
    std::array::from_fn(|lane| if b[lane] > 0.0 { (a[lane] / b[lane]) as f32 } else { 0.0 })
}

fn sum_of_squares(rows: &[Row]) -> f64 {
    dots(rows, rows).iter().sum()
}
