//! The input layer, which all encoders share: the sum of a word's trigram rows.
//!
//! Each distinct word of a batch is projected once, and its gradient is gathered once.

use crate::math::Matrix;
use crate::math::vector::{add, add_scaled};
use crate::text::batch::{Batch, Lists};
use rayon::prelude::*;

/// Words or rows that one task takes: enough to be worth handing over.
const CHUNK: usize = 64;

/// `projected` [distinct words, W] becomes Σ count·row over each word's trigrams. Only the first
/// `table.columns()` = W columns exist, so the whole width is summed.
pub(crate) fn project(table: &Matrix, batch: &Batch, projected: &mut Vec<f32>) {
    let width = table.columns();
    resize(projected, batch.distinct_words() * width);
    projected.par_chunks_mut(CHUNK * width).enumerate().for_each(|(chunk, out)| {
        for (i, sum) in out.chunks_exact_mut(width).enumerate() {
            let features = batch.features.get(chunk * CHUNK + i);
            let Some((first, rest)) = features.split_first() else {
                sum.fill(0.0);
                continue;
            };
            sum.copy_from_slice(table.row(first.id as usize));
            if first.count != 1 {
                let count = first.count as f32;
                sum.iter_mut().for_each(|x| *x *= count);
            }
            for feature in rest {
                if feature.count == 1 {
                    add(sum, table.row(feature.id as usize));
                } else {
                    add_scaled(sum, feature.count as f32, table.row(feature.id as usize));
                }
            }
        }
    });
}

/// `words` [distinct words, W] becomes the sum of `rows` [packed rows, W] over the places where
/// each word stands.
pub(crate) fn gather_words(occurrences: &Lists<u32>, width: usize, rows: &[f32], words: &mut Vec<f32>) {
    resize(words, occurrences.len() * width);
    words.par_chunks_mut(CHUNK * width).enumerate().for_each(|(chunk, out)| {
        for (i, sum) in out.chunks_exact_mut(width).enumerate() {
            sum.fill(0.0);
            for &row in occurrences.get(chunk * CHUNK + i) {
                add(sum, &rows[row as usize * width..][..width]);
            }
        }
    });
}

/// `gradient` [touched rows, W] becomes the table's gradient: Σ count·`words` over the words that
/// hold each trigram.
pub(crate) fn gather_rows(batch: &Batch, words: &[f32], gradient: &mut Matrix) {
    let width = gradient.columns();
    gradient.data_mut().par_chunks_mut(CHUNK * width).enumerate().for_each(|(chunk, out)| {
        for (i, sum) in out.chunks_exact_mut(width).enumerate() {
            for &(word, count) in batch.words_of_touched.get(chunk * CHUNK + i) {
                let word = &words[word as usize * width..][..width];
                if count == 1 {
                    add(sum, word);
                } else {
                    add_scaled(sum, count as f32, word);
                }
            }
        }
    });
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
