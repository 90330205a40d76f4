//! Tests of batches.

use super::*;

/// Word w has the features w and w + 1.
struct Pairs;
static TABLE: [[Feature; 2]; 8] = {
    let mut table = [[Feature { id: 0, count: 1 }, Feature { id: 0, count: 2 }]; 8];
    let mut w = 0;
    while w < 8 {
        table[w][0].id = w as u32;
        table[w][1].id = w as u32 + 1;
        w += 1;
    }
    table
};
impl WordFeatures for Pairs {
    fn features(&self, word: WordId) -> &[Feature] {
        &TABLE[word as usize]
    }
}

#[test]
fn words_are_packed_step_by_step() {
    let feature = |(id, count)| Feature { id, count };
    let texts: [&[u32]; 4] = [&[3], &[], &[1, 2, 3], &[2, 2]];
    let mut batch = Batch::new();
    for _ in 0..2 {
        batch.fill(texts.into_iter(), &Pairs);
        batch.plan_rows(9);
    }
    assert_eq!(batch.texts(), 4);
    assert_eq!(batch.distinct_words(), 3);
    let block = &batch.blocks[0];
    assert_eq!(block.texts, [2, 3, 0]);
    assert_eq!(block.running, [3, 2, 1]);
    assert_eq!(block.start, [0, 3, 5, 6]);
    // Distinct words in order of appearance: 3 → 0, 1 → 1, 2 → 2.
    assert_eq!(block.words, [1, 2, 0, 2, 2, 0]);
    assert_eq!(block.reversed, [0, 2, 0, 2, 2, 1]);
    assert_eq!((block.length(0), block.length(1), block.length(2)), (3, 2, 1));
    assert_eq!(batch.occurrences.get(2), [1, 3, 4]);
    let mut reversed = Lists::default();
    batch.occurrences_reversed(&mut reversed);
    assert_eq!(reversed.get(1), [5]);
    let mut by_text = Lists::default();
    batch.occurrences_by_text(&mut by_text);
    assert_eq!(by_text.get(2), [1, 0, 1]);
    assert_eq!(by_text.get(0), [2, 0]);
    assert_eq!(batch.touched(), [1, 2, 3, 4]);
    // Feature 3: the first of word 3 (index 0), the second of word 2 (index 2).
    assert_eq!(batch.words_of_touched.get(2), [(0, 1), (2, 2)].map(feature));
    assert_eq!(batch.words_of_touched.get(1), [(1, 2), (2, 1)].map(feature));
}

#[test]
fn nothing_at_all() {
    let mut batch = Batch::new();
    batch.fill([].into_iter(), &Pairs);
    batch.plan_rows(9);
    assert_eq!((batch.texts(), batch.rows(), batch.blocks.len()), (0, 0, 0));
    batch.fill([&[][..]].into_iter(), &Pairs);
    assert_eq!((batch.texts(), batch.rows(), batch.blocks.len()), (1, 0, 0));
}
