//! Words as numbers.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

/// The number of a word in an [`Interner`] or a log.
pub type WordId = u32;

/// Distinct words, numbered from 0 in the order of first sight.
#[derive(Debug, Clone, Default)]
pub struct Interner {
    /// A power of two of them, at most half full.
    slots: Vec<Slot>,
    hashes: Vec<u64>,
    letters: String,
    /// Where each word ends in `letters`.
    ends: Vec<usize>,
}

/// A place in the hash table. It holds, next to the number, what tells most words apart: looking elsewhere means waiting
/// for memory.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// The upper half of the hash; the lower half is where the slot is.
    tag: u32,
    /// id + 1, or 0 where there is no word.
    number: u32,
}

impl Slot {
    fn new(hash: u64, id: WordId) -> Slot {
        Slot { tag: tag(hash), number: id + 1 }
    }
}

fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

impl Interner {
    /// Allocates nothing until it holds `words` words of `bytes` bytes together.
    pub fn with_capacity(words: usize, bytes: usize) -> Interner {
        Interner {
            slots: vec![Slot::default(); (2 * words + 1).next_power_of_two()],
            hashes: Vec::with_capacity(words),
            letters: String::with_capacity(bytes),
            ends: Vec::with_capacity(words),
        }
    }

    /// Number of distinct words.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number of `word`, its hash, and whether it is new.
    pub fn intern(&mut self, word: &str) -> (WordId, u64, bool) {
        if self.ends.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let hash = xxh3_64(word.as_bytes());
        let slot = match self.find(word, hash) {
            Ok(id) => return (id, hash, false),
            Err(slot) => slot,
        };
        self.letters.push_str(word);
        self.ends.push(self.letters.len());
        self.hashes.push(hash);
        let id = self.ends.len() as u32 - 1;
        self.slots[slot] = Slot::new(hash, id);
        (id, hash, true)
    }

    /// The number of `word`, if it has one.
    pub fn get(&self, word: &str) -> Option<WordId> {
        if self.is_empty() { None } else { self.find(word, xxh3_64(word.as_bytes())).ok() }
    }

    /// The number of `word`, or the free slot where the search for it ended.
    #[inline(always)]
    fn find(&self, word: &str, hash: u64) -> Result<WordId, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                Slot { number: 0, .. } => return Err(slot),
                // As bytes: slicing a str would check the boundaries each time.
                Slot { tag: found, number } if found == tag(hash) && self.bytes_of(number - 1) == word.as_bytes() => {
                    return Ok(number - 1);
                }
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// The word with this number.
    ///
    /// # Panics
    /// If there is none.
    pub fn word(&self, id: WordId) -> &str {
        &self.letters[self.range(id)]
    }

    fn bytes_of(&self, id: WordId) -> &[u8] {
        &self.letters.as_bytes()[self.range(id)]
    }

    fn range(&self, id: WordId) -> Range<usize> {
        let start = if id == 0 { 0 } else { self.ends[id as usize - 1] };
        start..self.ends[id as usize]
    }

    /// Bytes of all words together.
    pub fn bytes(&self) -> usize {
        self.letters.len()
    }

    /// Forgets all words and keeps the memory.
    pub fn clear(&mut self) {
        self.slots.fill(Slot::default());
        self.hashes.clear();
        self.letters.clear();
        self.ends.clear();
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(1024);
        self.slots.clear();
        self.slots.resize(size, Slot::default());
        for (id, &hash) in (0..).zip(&self.hashes) {
            let mut slot = hash as usize & (size - 1);
            while self.slots[slot].number != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = Slot::new(hash, id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_one_number() {
        let mut interner = Interner::default();
        for round in 0..2 {
            for i in 0..5000u32 {
                let (id, _, new) = interner.intern(&format!("word{i}"));
                assert_eq!((id, new), (i, round == 0));
            }
        }
        assert_eq!((interner.len(), interner.word(0), interner.word(4999)), (5000, "word0", "word4999"));
        assert_eq!((interner.get("word4999"), interner.get("word5000")), (Some(4999), None));
        interner.clear();
        assert_eq!(interner.get("word0"), None);
        assert!(interner.is_empty());
        assert_eq!(interner.intern("").0, 0);
    }
}
