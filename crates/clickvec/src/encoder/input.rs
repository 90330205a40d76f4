//! The input layer, which all encoders share: the sum of a word's trigram rows.
//!
//! Each distinct word of a batch is projected once, and its gradient is gathered once.

use crate::math::Matrix;
use crate::math::sparse::sum_rows;
use crate::math::vector::sum_of_squares;
use crate::text::batch::{Batch, Lists};
use rayon::prelude::*;

/// Words or rows that one task takes: enough to be worth handing over.
const CHUNK: usize = 64;

/// `projected` [distinct words, W] becomes Σ count·row over each word's trigrams.
pub(crate) fn project(table: &Matrix, batch: &Batch, projected: &mut Vec<f32>) {
    let width = table.columns();
    resize(projected, batch.distinct_words() * width);
    projected.par_chunks_mut(CHUNK * width).enumerate().for_each(|(chunk, out)| {
        for (i, sum) in out.chunks_exact_mut(width).enumerate() {
            sum_rows(table.data(), batch.features.get(chunk * CHUNK + i), sum);
        }
    });
}

/// `words` [distinct words, W] becomes the sum of `rows` [packed rows, W] over the places where
/// each word stands.
pub(crate) fn gather_words(occurrences: &Lists<u32>, width: usize, rows: &[f32], words: &mut Vec<f32>) {
    resize(words, occurrences.len() * width);
    words.par_chunks_mut(CHUNK * width).enumerate().for_each(|(chunk, out)| {
        for (i, sum) in out.chunks_exact_mut(width).enumerate() {
            sum_rows(rows, occurrences.get(chunk * CHUNK + i), sum);
        }
    });
}

/// `gradient` [touched rows, W] becomes the table's gradient: Σ count·`words` over the words that
/// hold each trigram. Returns Σ of its squares.
pub(crate) fn gather_rows(batch: &Batch, words: &[f32], gradient: &mut Matrix) -> f64 {
    let width = gradient.columns();
    let squares: Vec<f64> = gradient
        .data_mut()
        .par_chunks_mut(CHUNK * width)
        .enumerate()
        .map(|(chunk, out)| {
            let mut squares = 0.0;
            for (i, sum) in out.chunks_exact_mut(width).enumerate() {
                sum_rows(words, batch.words_of_touched.get(chunk * CHUNK + i), sum);
                squares += sum_of_squares(sum);
            }
            squares
        })
        .collect();
    squares.iter().sum()
}

/// Cuts `rows` [packed rows, W] at the blocks' borders.
pub(crate) fn split_by_block<'a>(batch: &Batch, width: usize, mut rows: &'a mut [f32]) -> Vec<&'a mut [f32]> {
    let mut parts = Vec::with_capacity(batch.blocks.len());
    for block in &batch.blocks {
        let (part, rest) = rows.split_at_mut(block.rows() * width);
        parts.push(part);
        rows = rest;
    }
    parts
}

/// Makes the buffer this long; what is in it is overwritten by the caller.
pub(crate) fn resize(buffer: &mut Vec<f32>, length: usize) {
    if buffer.len() > length {
        buffer.truncate(length);
    } else {
        buffer.resize(length, 0.0);
    }
}

/// Writes each text's vector, which a block holds at its place, to the text's row of
/// `embeddings` [texts, L]; rows of texts without words become zero.
pub(crate) fn place_embeddings<'a>(
    batch: &Batch,
    dimension: usize,
    embeddings: &mut Vec<f32>,
    of_block: impl Fn(usize, usize) -> &'a [f32],
) {
    resize(embeddings, batch.texts() * dimension);
    embeddings.fill(0.0);
    for (b, block) in batch.blocks.iter().enumerate() {
        for (place, &text) in block.texts.iter().enumerate() {
            embeddings[text as usize * dimension..][..dimension].copy_from_slice(of_block(b, place));
        }
    }
}
