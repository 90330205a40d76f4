//! Gradients of an encoder's weights, and the working memory of the backward pass.

use super::{Tensor, TensorKind};
use crate::math::vector::add;
use crate::math::{Buffer, Matrix};
use crate::ranks::Chain;
use crate::text::batch::{Batch, Lists};
use rayon::prelude::*;

/// The ∂L/∂tensors of an encoder, with the working memory to compute them. Reused from call to call.
#[derive(Debug, Default)]
pub struct Gradients {
    /// One matrix for each of [`super::Encoder::tensors`]. It has the tensor's shape, except for an input matrix, whose
    /// rows are numbered by `table_rows`.
    pub tensors: Vec<Matrix>,
    /// For each of [`Batch::touched`], its row in the gradient of an input matrix. Trigrams that occur in one word only share that
    /// word's row.
    pub table_rows: Vec<u32>,
    /// Σ of the squares of the input matrices' gradients.
    pub(crate) table_squares: f64,
    pub(crate) scratch: Scratch,
}

/// Working memory of the backward pass.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// ∂L/∂(the projection that was read) at each packed row, or of each text, [rows, W]
    pub(crate) rows: Buffer,
    /// Σ of the squares of each row of an input matrix's gradient.
    pub(crate) squares: Vec<f64>,
    /// One for each block: its share of the dense gradients, and buffers.
    pub(crate) blocks: Vec<BlockScratch>,
    /// Transposes of weights.
    pub(crate) transposed: Vec<Buffer>,
    /// The occurrences of words in texts that were read from right to left, or by text.
    pub(crate) occurrences: Lists<u32>,
    /// The sums over the ranks that divide a batch, if it is divided.
    pub(crate) chain: Option<Chain>,
}

/// The memory that one block writes in the backward pass.
#[derive(Debug, Default)]
pub(crate) struct BlockScratch {
    pub(crate) dense: Vec<Matrix>,
    pub(crate) buffers: [Buffer; 3],
}

impl Gradients {
    /// Makes one matrix for each tensor: zeros of the tensor's shape, or uninitialised numbers for an input matrix.
    pub(crate) fn shape_like(&mut self, tensors: &[Tensor], batch: &Batch) {
        self.table_squares = 0.0;
        self.table_rows.clone_from(&batch.gradient_rows);
        self.tensors.resize_with(tensors.len(), Matrix::default);
        for (gradient, tensor) in self.tensors.iter_mut().zip(tensors) {
            match tensor.kind {
                // Every row will be overwritten.
                TensorKind::Input => {
                    gradient.reshape(batch.distinct_words() + batch.shared.len(), tensor.value.columns());
                }
                TensorKind::Dense | TensorKind::Bias => gradient.reset(tensor.value.rows(), tensor.value.columns()),
            }
        }
    }
}

impl Scratch {
    /// Makes room for this many blocks.
    pub(crate) fn shape_blocks(&mut self, blocks: usize) {
        self.blocks.resize_with(blocks.max(self.blocks.len()), BlockScratch::default);
    }
}

impl BlockScratch {
    /// Makes zeros for each dense tensor, and an empty matrix for an input matrix. Each block begins with this, so that its
    /// zeros are still in the cache.
    pub(crate) fn begin(&mut self, tensors: &[Tensor]) {
        self.dense.resize_with(tensors.len(), Matrix::default);
        for (gradient, tensor) in self.dense.iter_mut().zip(tensors) {
            if tensor.kind != TensorKind::Input {
                gradient.reset(tensor.value.rows(), tensor.value.columns());
            }
        }
    }
}

/// The number of values of a sum over blocks that one task computes.
const SUM_CHUNK: usize = 4096;

/// The number of values that a rank hands on at a time.
pub(crate) const SLICE: usize = 16 * SUM_CHUNK;

/// Adds up the blocks' shares of the dense gradients, in the order of the blocks.
pub(crate) fn reduce_blocks(
    blocks: &[BlockScratch],
    tensors: &[Tensor],
    gradients: &mut [Matrix],
    chain: Option<&mut Chain>,
) {
    let dense = tensors.iter().zip(gradients).enumerate().filter(|(_, (tensor, _))| tensor.kind != TensorKind::Input);
    let dense = dense.map(|(i, (_, gradient))| (i, gradient.data_mut()));
    let add_blocks = |i: usize, first: usize, sum: &mut [f32]| {
        sum.par_chunks_mut(SUM_CHUNK).enumerate().for_each(|(chunk, sum)| {
            for block in blocks {
                add(sum, &block.dense[i].data()[first + chunk * SUM_CHUNK..][..sum.len()]);
            }
        });
    };
    let Some(chain) = chain else {
        dense.for_each(|(i, sum)| add_blocks(i, 0, sum));
        return;
    };
    let (mut places, mut sums) = (Vec::new(), Vec::new());
    for (i, gradient) in dense {
        places.extend((0..gradient.len()).step_by(SLICE).map(|first| (i, first)));
        sums.extend(gradient.chunks_mut(SLICE));
    }
    chain.sum(sums, |number, so_far, sum| {
        // The first rank begins with the zeros that are there.
        sum[..so_far.len()].copy_from_slice(so_far);
        let (i, first) = places[number];
        add_blocks(i, first, sum);
        sum.to_vec()
    });
}
