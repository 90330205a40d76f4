//! The input layer, which all encoders share: the sum of a word's trigram rows.
//!
//! Each distinct word of a batch is projected once, and its gradient is gathered once.

use super::gradients::SLICE;
use super::{Direction, Scratch, Tensor, reduce_blocks};
use crate::math::sparse::{RowCount, add_rows, sum_rows};
use crate::math::vector::{add, sum_of_squares};
use crate::math::{Buffer, Matrix};
use crate::ranks::Chain;
use crate::text::Feature;
use crate::text::batch::{Batch, Lists};
use rayon::prelude::*;

/// The number of words or rows in a task: enough to be worth a task.
const CHUNK: usize = 64;

/// The number of values of a bias's gradient in a task.
const BIAS_CHUNK: usize = 96;

/// An input layer: a matrix with a row for each trigram, and a bias that is added to each word.
#[derive(Clone, Copy)]
pub struct Input<'e> {
    /// [trigrams, W]
    pub(crate) weights: &'e Tensor,
    /// [1, W]
    pub(crate) bias: Option<&'e Tensor>,
}

impl Input<'_> {
    /// Returns W, the width of a projected word.
    pub fn width(self) -> usize {
        self.weights.value.columns()
    }

    /// Sets `projected` [W] to Σ count·row over a word's trigrams, plus the bias.
    pub(crate) fn project(self, features: &[Feature], projected: &mut [f32]) {
        self.weights.sum_rows(features, projected);
        if let Some(bias) = self.bias {
            add(projected, bias.value.data());
        }
    }

    /// Sets `projected` [distinct words, W] to the projections of all words of a batch.
    pub(crate) fn project_all(self, batch: &Batch, projected: &mut Buffer) {
        let width = self.width();
        projected.resize(batch.distinct_words() * width);
        projected.par_chunks_mut(CHUNK * width).enumerate().for_each(|(chunk, out)| {
            for (i, projected) in out.chunks_exact_mut(width).enumerate() {
                let word = chunk * CHUNK + i;
                // Its rows are far apart in a matrix that no cache holds.
                if word + 1 < batch.distinct_words() {
                    self.weights.prefetch_rows(batch.features.get(word + 1));
                }
                if !batch.leaves_out(word) {
                    self.project(batch.features.get(word), projected);
                }
            }
        });
    }
}

/// Sets `gradient` to ∂L/∂weights, from `rows` [rows, W], ∂L/∂(projection) of what `occurrences` numbers: packed rows, or texts
/// if each word of a text has the same. Returns the sum of its squares.
///
/// The gradient has two parts. The first has a row for each distinct word, ∂L/∂(its projection). The second has a row
/// for each trigram that occurs in several words, the sum of their rows. A trigram that occurs in one word only uses
/// that word's row. `batch.gradient_rows` gives the row of each trigram.
pub(crate) fn gather_gradient(
    batch: &Batch,
    occurrences: &Lists<u32>,
    rows: &[f32],
    gradient: &mut Matrix,
    squares: &mut Vec<f64>,
    chain: Option<&mut Chain>,
) -> f64 {
    let (width, words) = (gradient.columns(), batch.distinct_words());
    squares.clear();
    squares.resize(gradient.rows(), 0.0);
    let (word_rows, shared_rows) = gradient.data_mut().split_at_mut(words * width);
    let (word_squares, shared_squares) = squares.split_at_mut(words);
    match chain {
        None => gather(rows, width, word_rows, word_squares, |word| occurrences.get(word)),
        Some(chain) => gather_over_ranks(batch, occurrences, rows, width, word_rows, word_squares, chain),
    }
    let word_rows = &*word_rows;
    gather(word_rows, width, shared_rows, shared_squares, |i| batch.words_of_touched.get(batch.shared[i] as usize));
    batch.gradient_rows.iter().map(|&row| squares[row as usize]).sum()
}

/// Sets each row of `sums` to the sum of the rows in its list, and adds up their squares.
fn gather<'a, I: RowCount + Sync + 'a>(
    rows: &[f32],
    width: usize,
    sums: &mut [f32],
    squares: &mut [f64],
    list: impl Fn(usize) -> &'a [I] + Sync,
) {
    let chunks = sums.par_chunks_mut(CHUNK * width).zip(squares.par_chunks_mut(CHUNK));
    chunks.enumerate().for_each(|(chunk, (sums, squares))| {
        for (i, (sum, squares)) in sums.chunks_exact_mut(width).zip(squares).enumerate() {
            sum_rows(rows, list(chunk * CHUNK + i), sum);
            *squares = sum_of_squares(sum);
        }
    });
}

/// Does for the words of a divided batch what [`gather`] does: each rank continues the sums of the ranks before it. A word's row is
/// handed on from the first rank that reads it.
fn gather_over_ranks(
    batch: &Batch,
    occurrences: &Lists<u32>,
    rows: &[f32],
    width: usize,
    sums: &mut [f32],
    squares: &mut [f64],
    chain: &mut Chain,
) {
    let Some(division) = &batch.division else { unreachable!("a chain without a divided batch") };
    let ((place, is_last), words) = (chain.place(), (SLICE / width).max(1));
    chain.sum(sums.chunks_mut(words * width).collect(), |slice, so_far, sums| {
        let first_word = slice * words;
        let first = &division.first[first_word..][..sums.len() / width];
        let mut so_far = so_far.chunks_exact(width);
        for (sum, &first) in sums.chunks_exact_mut(width).zip(first) {
            match if (first as usize) < place { so_far.next() } else { None } {
                Some(before) => sum.copy_from_slice(before),
                None => sum.fill(0.0),
            }
        }
        sums.par_chunks_mut(CHUNK * width).enumerate().for_each(|(chunk, sums)| {
            for (i, sum) in sums.chunks_exact_mut(width).enumerate() {
                add_rows(rows, occurrences.get(first_word + chunk * CHUNK + i), sum);
            }
        });
        if is_last {
            return sums.to_vec();
        }
        let mut handed_on = Vec::with_capacity(sums.len());
        let read_so_far = sums.chunks_exact(width).zip(first).filter(|&(_, &first)| first as usize <= place);
        read_so_far.for_each(|(sum, _)| handed_on.extend_from_slice(sum));
        handed_on
    });
    let chunks = sums.par_chunks(CHUNK * width).zip(squares.par_chunks_mut(CHUNK));
    chunks.for_each(|(sums, squares)| {
        squares.iter_mut().zip(sums.chunks_exact(width)).for_each(|(squares, sum)| *squares = sum_of_squares(sum));
    });
}

/// Computes the gradient of a bias that is added at every packed row from that of the weights, since every packed row is an
/// occurrence of some word. `gradients` are those of the input matrix, the recurrent weights and the bias.
fn bias_gradient(batch: &Batch, gradients: &mut [Matrix]) {
    let [input, _, bias, ..] = gradients else { unreachable!("input, recurrent, bias") };
    let (width, words) = (bias.columns(), batch.distinct_words());
    bias.data_mut().par_chunks_mut(BIAS_CHUNK).enumerate().for_each(|(chunk, sum)| {
        for word in input.data().chunks_exact(width).take(words) {
            add(sum, &word[chunk * BIAS_CHUNK..][..sum.len()]);
        }
    });
}

impl Scratch {
    /// Adds up what the blocks of a recurrent layer left here, and what flows to words and biases: `rows` [packed rows, W] is
    /// ∂L/∂(the projection that was read). Returns the sum of the squares of the input matrix's gradient.
    pub(crate) fn sum_layer(
        &mut self,
        batch: &Batch,
        tensors: &[Tensor],
        direction: Direction,
        rows: &[f32],
        gradients: &mut [Matrix],
    ) -> f64 {
        let Scratch { squares, blocks, occurrences, chain, .. } = self;
        reduce_blocks(&blocks[..batch.blocks.len()], tensors, gradients, chain.as_mut());
        let occurrences = match direction {
            Direction::Forward => &batch.occurrences,
            Direction::Backward => {
                batch.occurrences_reversed(occurrences);
                &*occurrences
            }
        };
        let sum = gather_gradient(batch, occurrences, rows, &mut gradients[0], squares, chain.as_mut());
        bias_gradient(batch, gradients);
        sum
    }
}

/// Returns the pieces of `rows` [packed rows, W], cut at the borders of the blocks.
pub(crate) fn split_by_block<'a>(batch: &Batch, width: usize, rows: &'a mut [f32]) -> Vec<&'a mut [f32]> {
    split(batch.blocks.iter().map(|block| block.rows() * width), rows)
}

/// Returns the pieces of `rows` [texts with words, W], in the order of the blocks, cut at the borders of the blocks.
pub(crate) fn split_texts_by_block<'a>(batch: &Batch, width: usize, rows: &'a mut [f32]) -> Vec<&'a mut [f32]> {
    split(batch.blocks.iter().map(|block| block.texts.len() * width), rows)
}

fn split(lengths: impl Iterator<Item = usize>, mut rows: &mut [f32]) -> Vec<&mut [f32]> {
    let cut = |length| rows.split_off_mut(..length).expect("rows for every block");
    lengths.map(cut).collect()
}

/// Copies each text's vector from its slot in a block to the text's row of `embeddings` [texts, L]. Rows of texts
/// without words become zero.
pub(crate) fn place_embeddings<'a>(
    batch: &Batch,
    dimension: usize,
    embeddings: &mut Vec<f32>,
    vector: impl Fn(usize, usize) -> &'a [f32],
) {
    embeddings.clear();
    embeddings.resize(batch.texts() * dimension, 0.0);
    for (b, block) in batch.blocks.iter().enumerate() {
        for (slot, &text) in block.texts.iter().enumerate() {
            embeddings[text as usize * dimension..][..dimension].copy_from_slice(vector(b, slot));
        }
    }
}
