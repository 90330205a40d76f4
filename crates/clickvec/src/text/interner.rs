//! Numbering of words.

use std::ops::Range;

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use clickvec_tables::memory::{NoRoom, reserve};

/// The number of a word in an [`Interner`] or a log.
pub type WordId = u32;

/// Distinct words, numbered from 0 in order of appearance.
#[derive(Debug, Clone, Default)]
pub struct Interner {
    /// Words by hash.
    ids: HashTable<WordId>,
    hashes: Vec<u64>,
    letters: String,
    /// The end of each word in `letters`.
    ends: Vec<usize>,
}

impl Interner {
    /// Creates an interner that allocates nothing until it has `words` words of `bytes` bytes together.
    pub fn with_capacity(words: usize, bytes: usize) -> Interner {
        Interner {
            ids: HashTable::with_capacity(words),
            hashes: Vec::with_capacity(words),
            letters: String::with_capacity(bytes),
            ends: Vec::with_capacity(words),
        }
    }

    /// Returns the number of distinct words.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the number of `word`, its hash, and whether it is new. Without memory the process ends: for vocabularies
    /// that are bounded.
    pub fn intern(&mut self, word: &str) -> (WordId, u64, bool) {
        let hash = xxh3_64(word.as_bytes());
        match self.find(word, hash) {
            Some(id) => (id, hash, false),
            None => (self.add(word, hash), hash, true),
        }
    }

    /// Like [`Interner::intern`] for vocabularies without a bound.
    ///
    /// # Errors
    ///
    /// [`NoRoom`].
    pub fn try_intern(&mut self, word: &str) -> Result<(WordId, u64, bool), NoRoom> {
        let hash = xxh3_64(word.as_bytes());
        if let Some(id) = self.find(word, hash) {
            return Ok((id, hash, false));
        }
        self.reserve_one(word)?;
        Ok((self.add(word, hash), hash, true))
    }

    /// Makes room for another word.
    fn reserve_one(&mut self, word: &str) -> Result<(), NoRoom> {
        const WHAT: &str = "the words of a vocabulary";
        reserve(&mut self.ends, 1, WHAT)?;
        reserve(&mut self.hashes, 1, WHAT)?;
        let fault = |bytes: usize| NoRoom { what: WHAT, bytes: Some(bytes as u64) };
        self.letters.try_reserve(word.len()).map_err(|_| fault(self.letters.len() + word.len()))?;
        let hashes = &self.hashes;
        self.ids
            .try_reserve(1, |&id| hashes[id as usize])
            .map_err(|_| fault((self.ids.len() + 1) * size_of::<WordId>()))
    }

    /// Adds a word that is not there.
    fn add(&mut self, word: &str, hash: u64) -> WordId {
        let id = self.ends.len() as u32;
        self.letters.push_str(word);
        self.ends.push(self.letters.len());
        self.hashes.push(hash);
        let hashes = &self.hashes;
        self.ids.insert_unique(hash, id, |&id| hashes[id as usize]);
        id
    }

    /// Returns the number of `word`, if it has been seen.
    pub fn get(&self, word: &str) -> Option<WordId> {
        self.find(word, xxh3_64(word.as_bytes()))
    }

    #[inline(always)]
    fn find(&self, word: &str, hash: u64) -> Option<WordId> {
        // Compare bytes, because slicing a str would check the boundaries each time.
        self.ids.find(hash, |&id| self.bytes_of(id) == word.as_bytes()).copied()
    }

    /// Returns the word with this number.
    ///
    /// # Panics
    /// If there is no such word.
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

    /// Returns the bytes of all words together.
    pub fn bytes(&self) -> usize {
        self.letters.len()
    }

    /// Forgets all words and keeps the memory.
    pub fn clear(&mut self) {
        self.ids.clear();
        self.hashes.clear();
        self.letters.clear();
        self.ends.clear();
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
                let word = format!("word{i}");
                let (id, _, new) =
                    if i % 2 == 0 { interner.intern(&word) } else { interner.try_intern(&word).unwrap() };
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
