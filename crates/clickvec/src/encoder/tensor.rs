//! Named weights.

use crate::math::{Matrix, sparse};
use crate::text::Feature;

/// Weights together in one matrix, input × output, so that one product serves them all.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// The optimiser's treatment of it.
    pub kind: TensorKind,
    /// The papers' matrices, which are side by side in `value`.
    pub groups: Vec<Group>,
    /// [inputs, Σ widths of the groups]
    pub value: Matrix,
    /// The drift of a table in training with momentum.
    pub(crate) motion: Option<Motion>,
}

/// The motion of a table's rows between the updates that have a gradient for them: row r is
/// value[r] + drift[r]·velocity[r]. It is added when a row is read, since writing every row that
/// a minibatch reads would double the memory traffic.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Motion {
    /// [inputs, Σ widths of the groups]
    pub(crate) velocity: Matrix,
    /// One for each row; up to date for the rows that [`crate::optimizer::Optimizer::prepare`] was told of.
    pub(crate) drift: Vec<f32>,
}

/// One of the papers' matrices inside a [`Tensor`]: a range of its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The papers' name: `w4`, `wrec3`, `b1` …
    pub name: String,
    /// Number of columns: the matrix's outputs.
    pub width: usize,
}

/// The optimiser's treatment of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorKind {
    /// One row for each trigram, of which a minibatch touches few.
    Table,
    /// Every number has a gradient in every minibatch.
    Dense,
    /// Dense too; initial weights that follow the sizes are zero.
    Bias,
}

impl Tensor {
    /// The weights `value`, whose columns belong to `groups`.
    pub fn new(kind: TensorKind, groups: Vec<Group>, value: Matrix) -> Tensor {
        Tensor { kind, groups, value, motion: None }
    }

    /// `sum` becomes Σ count·row over `items`.
    pub(crate) fn sum_rows(&self, items: &[Feature], sum: &mut [f32]) {
        match &self.motion {
            None => sparse::sum_rows(self.value.data(), items, sum),
            Some(Motion { velocity, drift }) => {
                sparse::sum_moving_rows(self.value.data(), velocity.data(), drift, items, sum);
            }
        }
    }

    /// A row as it is read.
    pub fn row(&self, row: usize) -> Vec<f32> {
        let mut out = vec![0.0; self.value.columns()];
        self.sum_rows(&[Feature { id: row as u32, count: 1 }], &mut out);
        out
    }

    /// A tensor of zeros: `inputs` rows, and the named groups, each `width` wide.
    pub(crate) fn zeros(kind: TensorKind, inputs: usize, names: &[&str], width: usize) -> Tensor {
        let groups = names.iter().map(|name| Group { name: (*name).to_owned(), width }).collect();
        Tensor::new(kind, groups, Matrix::zeros(inputs, names.len() * width))
    }

    /// A tensor of zeros with one group.
    pub(crate) fn named(name: &str, rows: usize, columns: usize) -> Tensor {
        Tensor::zeros(TensorKind::Dense, rows, &[name], columns)
    }

    /// The groups with the range of columns of each.
    pub fn ranges(&self) -> impl Iterator<Item = (&Group, std::ops::Range<usize>)> {
        let mut end = 0;
        self.groups.iter().map(move |group| {
            let start = end;
            end += group.width;
            (group, start..end)
        })
    }
}
