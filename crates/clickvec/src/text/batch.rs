//! Texts prepared for an encoder: each distinct word once, and the words of all texts packed step by step, longest
//! text first, so that padding is never computed.

mod division;
mod lists;

use division::Division;
pub(crate) use lists::Lists;
use lists::invert;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::{Feature, WordId};
use crate::math::prefetch::prefetch_line;

/// The largest number of texts that an encoder processes together.
pub(crate) const BLOCK_TEXTS: usize = 128;

/// The number of words whose features are prefetched at the same time.
const ASKED_FOR: usize = 32;

/// Returns the number of texts in a block of a batch. A block is the unit of parallel work. Small batches are cut into small
/// blocks whatever the number of threads, so that results do not depend on it.
fn block_texts(texts: usize) -> usize {
    (texts / 8).next_multiple_of(8).clamp(16, BLOCK_TEXTS)
}

/// A source of the letter trigrams of words.
pub trait WordFeatures: Sync {
    /// Returns the word's trigram ids with their counts; empty for a word without a known trigram.
    fn features(&self, word: WordId) -> &[Feature];
}

/// At most [`BLOCK_TEXTS`] texts of similar length.
#[derive(Debug, Clone, Default)]
pub(crate) struct Block {
    /// The batch's number of the text at each place, longest text first.
    pub texts: Vec<u32>,
    /// The number of texts that have more than t words, for each step t.
    pub running: Vec<u32>,
    /// The packed row of the first text at step t, with one more entry than there are steps.
    pub start: Vec<u32>,
    /// For each packed row, the distinct word that is read there from left to right.
    pub words: Vec<u32>,
    /// For each packed row, the distinct word that is read there from right to left.
    pub reversed: Vec<u32>,
    /// The batch's number of this block's first packed row.
    pub first_row: u32,
}

impl Block {
    /// Returns the number of words of the longest text.
    pub(crate) fn steps(&self) -> usize {
        self.running.len()
    }

    /// Returns the number of packed rows, which are the words of all texts.
    pub(crate) fn rows(&self) -> usize {
        self.words.len()
    }

    /// Returns the number of words of the text at `position`.
    pub(crate) fn length(&self, position: usize) -> usize {
        // running falls with t, and the text at place has a word t as long as running[t] > place.
        self.running.partition_point(|&n| n as usize > position)
    }

    /// Returns the number of texts that have a word number `t`.
    pub(crate) fn running_at(&self, t: usize) -> usize {
        self.running.get(t).map_or(0, |&n| n as usize)
    }

    /// Returns the packed row of the text at `position`, step `t`.
    pub(crate) fn row(&self, position: usize, t: usize) -> usize {
        self.start[t] as usize + position
    }

    /// Returns the row of the text at `position` after its last word, of `rows` [packed rows, W].
    pub(crate) fn last<'r>(&self, rows: &'r [f32], position: usize, width: usize) -> &'r [f32] {
        let row = self.row(position, self.length(position) - 1);
        &rows[row * width..][..width]
    }
}

/// Texts prepared for an encoder. The buffers are reused each time it is filled.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    texts: usize,
    /// From distinct word to features.
    pub(crate) features: Lists<Feature>,
    /// From distinct word to the packed rows of the batch where it occurs, left to right.
    pub(crate) occurrences: Lists<u32>,
    /// The blocks. Texts without words are in none.
    pub(crate) blocks: Vec<Block>,
    spare_blocks: Vec<Block>,
    rows: usize,
    /// The trigrams of all distinct words, ascending: the rows of an input matrix that this batch reads.
    pub(crate) touched: Vec<u32>,
    /// From touched row to the distinct words with its trigram, as (word, count).
    pub(crate) words_of_touched: Lists<Feature>,
    /// The touched rows whose gradient is not that of a single word.
    pub(crate) shared: Vec<u32>,
    /// From touched row to row of the input matrix's gradient: the word's row if its trigram occurs there once and nowhere
    /// else; otherwise a row after the words' rows, in the order of `shared`.
    pub(crate) gradient_rows: Vec<u32>,
    /// The shares, if only one of several is left.
    pub(crate) division: Option<Division>,
    scratch: Scratch,
}

#[derive(Debug, Clone, Default)]
struct Scratch {
    distinct: DistinctWords,
    word_ids: Vec<WordId>,
    tokens: Vec<u32>,
    lengths: Vec<u32>,
    first_token: Vec<u32>,
    order: Vec<u32>,
    count_of: Vec<u32>,
    seen: Vec<u64>,
    slot_of_feature: Vec<u32>,
}

impl Batch {
    /// Creates an empty batch.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Returns the number of texts, including empty ones.
    pub fn texts(&self) -> usize {
        self.texts
    }

    /// Returns the number of packed rows, which are the words of all texts.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of distinct words.
    pub fn distinct_words(&self) -> usize {
        self.features.len()
    }

    /// Returns the rows of an input matrix (trigram ids) that this batch reads, ascending; filled by [`Batch::plan_rows`].
    pub fn touched(&self) -> &[u32] {
        &self.touched
    }

    /// Replaces the contents. `texts` are ids of words that `words` knows. A small batch is cut into small blocks, so that
    /// several threads can process it.
    pub fn fill<'a>(&mut self, texts: impl Iterator<Item = &'a [WordId]>, words: &impl WordFeatures) {
        self.fill_words(texts, words);
        self.pack(block_texts);
    }

    /// Fills it like [`Batch::fill`], for an encoder whose threads have other work: blocks are as large as possible, because
    /// products of few rows are slow.
    pub(crate) fn fill_all<'a>(&mut self, texts: impl Iterator<Item = &'a [WordId]>, words: &impl WordFeatures) {
        self.fill_words(texts, words);
        self.pack(|_| BLOCK_TEXTS);
    }

    /// Replaces the words, and puts those of the texts into `scratch`.
    fn fill_words<'a>(&mut self, texts: impl Iterator<Item = &'a [WordId]>, words: &impl WordFeatures) {
        let s = &mut self.scratch;
        s.tokens.clear();
        s.lengths.clear();
        s.first_token.clear();
        s.word_ids.clear();
        s.distinct.clear();
        for text in texts {
            s.first_token.push(s.tokens.len() as u32);
            s.lengths.push(text.len() as u32);
            for &word in text {
                s.tokens.push(s.distinct.index_of(word, &mut s.word_ids));
            }
        }
        self.features.items.clear();
        self.features.start.clear();
        self.features.start.push(0);
        // They are at random places of a possibly large file, so request many before waiting for the first.
        for some in s.word_ids.chunks(ASKED_FOR) {
            let mut features = [&[][..]; ASKED_FOR];
            for (features, &word) in features.iter_mut().zip(some) {
                *features = words.features(word);
                prefetch_line(features.as_ptr());
            }
            for features in &features[..some.len()] {
                self.features.items.extend_from_slice(features);
                self.features.start.push(self.features.items.len() as u32);
            }
        }
    }

    /// Replaces the contents by texts of words that the caller projects. A word is the number of its row. This is for
    /// [`Encoder::forward_projected`](crate::encoder::Encoder::forward_projected), and the batch is not cut into
    /// smaller blocks for other threads.
    pub fn fill_projected<'a>(&mut self, texts: impl Iterator<Item = &'a [u32]>) {
        let s = &mut self.scratch;
        s.tokens.clear();
        s.lengths.clear();
        s.first_token.clear();
        for text in texts {
            s.first_token.push(s.tokens.len() as u32);
            s.lengths.push(text.len() as u32);
            s.tokens.extend_from_slice(text);
        }
        self.features.items.clear();
        self.features.start.truncate(1);
        self.pack(|_| BLOCK_TEXTS);
    }

    /// Sorts the texts in `scratch` by length and packs them into blocks. `block_texts` gives the number of texts in a
    /// block for a number of texts.
    fn pack(&mut self, block_texts: impl Fn(usize) -> usize) {
        let s = &mut self.scratch;
        self.texts = s.lengths.len();
        // Longest first; equal lengths keep their order.
        let longest = s.lengths.iter().copied().max().unwrap_or(0) as usize;
        s.count_of.clear();
        s.count_of.resize(longest + 2, 0);
        for &length in &s.lengths {
            s.count_of[longest - length as usize + 1] += 1;
        }
        for i in 1..s.count_of.len() {
            s.count_of[i] += s.count_of[i - 1];
        }
        s.order.clear();
        s.order.resize(self.texts, 0);
        for (text, &length) in s.lengths.iter().enumerate() {
            let position = &mut s.count_of[longest - length as usize];
            s.order[*position as usize] = text as u32;
            *position += 1;
        }
        let with_words = s.lengths.iter().filter(|&&length| length > 0).count();

        self.spare_blocks.append(&mut self.blocks);
        let mut first_row = 0;
        for texts in s.order[..with_words].chunks(block_texts(with_words)) {
            let mut block = self.spare_blocks.pop().unwrap_or_default();
            block.pack(texts, &s.lengths, &s.first_token, &s.tokens);
            block.first_row = first_row;
            first_row += block.rows() as u32;
            self.blocks.push(block);
        }
        self.rows = first_row as usize;
        self.division = None;
        self.touched.clear();
    }

    /// Prepares for the backward pass: where each distinct word occurs, and which words touch which rows.
    /// `features` is the number of rows of the input matrix.
    pub fn plan_rows(&mut self, features: usize) {
        let words = self.distinct_words();
        invert(&mut self.occurrences, words, self.blocks.iter().map(|b| (b.first_row, &b.words[..])));

        // A bitmap gives the touched rows in ascending order, so that tasks can share out the matrix.
        let Scratch { seen, slot_of_feature: slot_of, count_of: counts, .. } = &mut self.scratch;
        seen.resize(features.div_ceil(64).max(seen.len()), 0);
        slot_of.resize(features.max(slot_of.len()), 0);
        for feature in &self.features.items {
            seen[feature.id as usize / 64] |= 1 << (feature.id % 64);
        }
        self.touched.clear();
        for (i, bits) in seen.iter_mut().enumerate() {
            while *bits != 0 {
                let feature = i as u32 * 64 + bits.trailing_zeros();
                slot_of[feature as usize] = self.touched.len() as u32;
                self.touched.push(feature);
                *bits &= *bits - 1;
            }
        }
        counts.clear();
        counts.resize(self.touched.len(), 0);
        for feature in &self.features.items {
            counts[slot_of[feature.id as usize] as usize] += 1;
        }
        let lists = &mut self.words_of_touched;
        lists.start.clear();
        lists.start.push(0);
        let mut end = 0;
        for count in counts.iter_mut() {
            let first = end;
            end += *count;
            lists.start.push(end);
            *count = first;
        }
        lists.items.clear();
        lists.items.resize(self.features.items.len(), Feature::default());
        for word in 0..words {
            for feature in self.features.get(word) {
                let next = &mut counts[slot_of[feature.id as usize] as usize];
                lists.items[*next as usize] = Feature { id: word as u32, count: feature.count };
                *next += 1;
            }
        }
        self.shared.clear();
        self.gradient_rows.clear();
        for row in 0..self.touched.len() {
            self.gradient_rows.push(match self.words_of_touched.get(row) {
                &[Feature { id: word, count: 1 }] => word,
                _ => {
                    self.shared.push(row as u32);
                    (words + self.shared.len() - 1) as u32
                }
            });
        }
    }

    /// Sets `occurrences` to the packed rows where each distinct word occurs in texts read from right to left.
    pub(crate) fn occurrences_reversed(&self, occurrences: &mut Lists<u32>) {
        invert(occurrences, self.distinct_words(), self.blocks.iter().map(|b| (b.first_row, &b.reversed[..])));
    }

    /// Sets `occurrences` to the texts in which each distinct word occurs, each as often as it has the word, in the order
    /// of [`Batch::occurrences`]. Texts are numbered in the order of the blocks and of the places in a block.
    pub(crate) fn occurrences_by_text(&self, occurrences: &mut Lists<u32>) {
        let mut text_of_row: Vec<u32> = Vec::with_capacity(self.rows);
        let mut first = 0;
        for block in &self.blocks {
            for &running in &block.running {
                text_of_row.extend(first..first + running);
            }
            first += block.texts.len() as u32;
        }
        occurrences.start.clone_from(&self.occurrences.start);
        occurrences.items.clear();
        occurrences.items.extend(self.occurrences.items.iter().map(|&row| text_of_row[row as usize]));
    }
}

impl Block {
    fn pack(&mut self, texts: &[u32], lengths: &[u32], first_token: &[u32], tokens: &[u32]) {
        self.texts.clear();
        self.texts.extend_from_slice(texts);
        let steps = lengths[texts[0] as usize] as usize;
        self.running.clear();
        self.start.clear();
        self.words.clear();
        self.reversed.clear();
        let mut running = texts.len();
        for t in 0..steps {
            while lengths[texts[running - 1] as usize] as usize <= t {
                running -= 1;
            }
            self.running.push(running as u32);
            self.start.push(self.words.len() as u32);
            for &text in &texts[..running] {
                let (first, length) = (first_token[text as usize] as usize, lengths[text as usize] as usize);
                self.words.push(tokens[first + t]);
                self.reversed.push(tokens[first + length - 1 - t]);
            }
        }
        self.start.push(self.words.len() as u32);
    }
}

/// From word id to index among the distinct words.
#[derive(Debug, Clone, Default)]
struct DistinctWords(HashTable<u32>);

impl DistinctWords {
    fn clear(&mut self) {
        self.0.clear();
    }

    fn index_of(&mut self, word: WordId, words: &mut Vec<WordId>) -> u32 {
        let index = words.len() as u32;
        let is_it = |&index: &u32| words[index as usize] == word;
        match self.0.entry(spread(word), is_it, |&index| spread(words[index as usize])) {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(position) => {
                position.insert(index);
                words.push(word);
                index
            }
        }
    }
}

/// Mixes a number so that its upper bits depend on its lower bits.
fn spread(word: WordId) -> u64 {
    u64::from(word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests;
