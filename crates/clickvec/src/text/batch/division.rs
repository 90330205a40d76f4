//! A batch whose texts several processes divide.

use super::{Batch, Lists};

/// The shares of a divided batch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Division {
    /// The texts with words of each share, in the order of the blocks.
    pub(crate) texts: Lists<u32>,
    /// For each distinct word, the first share that reads it.
    pub(crate) first: Vec<u32>,
}

impl Batch {
    /// Leaves only one of `shares` shares of the blocks, which have about as many words each. What is known of all distinct words
    /// stays. Must come before [`Batch::plan_rows`].
    pub(crate) fn keep_share(&mut self, share: usize, shares: usize) {
        let all = self.rows;
        let mut division = Division { first: vec![u32::MAX; self.distinct_words()], ..Division::default() };
        self.rows = 0;
        let mut ended = 0;
        for mut block in std::mem::take(&mut self.blocks) {
            // That in which the middle of the block is.
            let of = (2 * block.first_row as usize + block.rows()) * shares / (2 * all);
            (ended..of).for_each(|_| division.texts.end_list());
            ended = of;
            division.texts.items.extend_from_slice(&block.texts);
            for &word in &block.words {
                let first = &mut division.first[word as usize];
                *first = (*first).min(of as u32);
            }
            if of == share {
                block.first_row = self.rows as u32;
                self.rows += block.rows();
                self.blocks.push(block);
            } else {
                self.spare_blocks.push(block);
            }
        }
        (ended..shares).for_each(|_| division.texts.end_list());
        self.division = Some(division);
    }

    /// Returns whether the forward pass may leave out a distinct word, because only other shares read it.
    pub(crate) fn leaves_out(&self, word: usize) -> bool {
        self.division.is_some() && self.occurrences.get(word).is_empty()
    }
}
