//! Named weights.

use crate::math::prefetch::prefetch;
use crate::math::{Matrix, sparse};
use crate::text::Feature;

/// The most rows of a word to prefetch. Few words have more trigrams.
const PREFETCHED: usize = 8;

/// Weights in one matrix, input × output, so that a single product computes all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// The treatment of this tensor by the optimiser.
    pub kind: TensorKind,
    /// The papers' matrices, which are next to each other in `value`.
    pub groups: Vec<Group>,
    /// [inputs, Σ widths of the groups]
    pub value: Matrix,
    /// The drift of an input matrix in training with momentum.
    pub(crate) motion: Option<Motion>,
}

/// The motion of an input matrix's rows between updates that have a gradient for them. Row r is value[r] +
/// drift[r]·velocity[r]. The sum is computed when a row is read, because writing every row that a minibatch reads
/// would double the memory traffic.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Motion {
    /// [inputs, Σ widths of the groups]
    pub(crate) velocity: Matrix,
    /// One value for each row, valid for the rows passed to [`crate::optimizer::Optimizer::prepare`].
    pub(crate) drift: Vec<f32>,
}

/// A matrix of the papers inside a [`Tensor`]: a range of its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The name in the papers: `w4`, `wrec3`, `b1` and so on.
    pub name: String,
    /// The number of columns, which are the matrix's outputs.
    pub width: usize,
}

/// The kind of a tensor, by which the optimiser treats it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorKind {
    /// One row for each trigram. A minibatch touches few rows.
    Input,
    /// Every number has a gradient in every minibatch.
    Dense,
    /// Dense, with initial weights that are zero if the range depends on the sizes.
    Bias,
}

impl Tensor {
    /// Creates the weights `value`, whose columns belong to `groups`.
    pub fn new(kind: TensorKind, groups: Vec<Group>, value: Matrix) -> Tensor {
        Tensor { kind, groups, value, motion: None }
    }

    /// Sets `sum` to Σ count·row over `items`.
    pub(crate) fn sum_rows(&self, items: &[Feature], sum: &mut [f32]) {
        match &self.motion {
            None => sparse::sum_rows(self.value.data(), items, sum),
            Some(Motion { velocity, drift }) => {
                sparse::sum_moving_rows(self.value.data(), velocity.data(), drift, items, sum);
            }
        }
    }

    /// Prefetches the first few rows that a later [`Tensor::sum_rows`] reads.
    pub(crate) fn prefetch_rows(&self, items: &[Feature]) {
        for item in items.iter().take(PREFETCHED) {
            let row = item.id as usize;
            prefetch(self.value.row(row));
            if let Some(Motion { velocity, drift }) = &self.motion
                && drift[row] != 0.0
            {
                prefetch(velocity.row(row));
            }
        }
    }

    /// Returns a row, including its drift.
    pub fn row(&self, row: usize) -> Vec<f32> {
        let mut out = vec![0.0; self.value.columns()];
        self.sum_rows(&[Feature { id: row as u32, count: 1 }], &mut out);
        out
    }

    /// Creates a tensor of zeros: `inputs` rows, and the named groups, each `width` wide.
    pub(crate) fn zeros(kind: TensorKind, inputs: usize, names: &[&str], width: usize) -> Tensor {
        let groups = names.iter().map(|name| Group { name: (*name).to_owned(), width }).collect();
        Tensor::new(kind, groups, Matrix::zeros(inputs, names.len() * width))
    }

    /// Returns a tensor of zeros with one group.
    pub(crate) fn named(name: &str, rows: usize, columns: usize) -> Tensor {
        Tensor::zeros(TensorKind::Dense, rows, &[name], columns)
    }

    /// Returns the groups with the range of columns of each.
    pub fn ranges(&self) -> impl Iterator<Item = (&Group, std::ops::Range<usize>)> {
        let mut end = 0;
        self.groups.iter().map(move |group| {
            let start = end;
            end += group.width;
            (group, start..end)
        })
    }
}
