//! Named weights.

use crate::math::Matrix;

/// Weights that lie together in one matrix, input × output, so that one product serves them all.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// How the optimiser treats it.
    pub kind: TensorKind,
    /// The papers' matrices that stand side by side in `value`.
    pub groups: Vec<Group>,
    /// [inputs, Σ widths of the groups]
    pub value: Matrix,
}

/// One of the papers' matrices inside a [`Tensor`]: a range of its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The papers' name: `w4`, `wrec3`, `b1` …
    pub name: String,
    /// Number of columns: the matrix's outputs.
    pub width: usize,
}

/// How the optimiser treats a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorKind {
    /// One row a trigram, of which a minibatch touches few.
    Table,
    /// Every number has a gradient in every minibatch.
    Dense,
}

impl Tensor {
    /// Zeros: `inputs` rows, and the named groups, each `width` wide.
    pub(crate) fn zeros(kind: TensorKind, inputs: usize, names: &[&str], width: usize) -> Tensor {
        Tensor {
            kind,
            groups: names.iter().map(|name| Group { name: (*name).to_owned(), width }).collect(),
            value: Matrix::zeros(inputs, names.len() * width),
        }
    }

    /// Zeros: one group.
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
