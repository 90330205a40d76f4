//! Word hashing: a word becomes counts of the letter trigrams of `#word#`, as in the papers.

use super::limit::JOINT;
use super::words::{TextConfig, WordBuffer};
use crate::math::sparse::RowCount;
use clickvec_tables::{Result, damaged};
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use xxhash_rust::xxh3::xxh3_64;

/// The mark on both sides of a word.
const BOUNDARY: char = '#';

/// Bits of a Unicode scalar value.
const BITS: u32 = 21;

/// Three Unicode scalar values of `#word#`, ordered by the first, then the second, then the third.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Trigram(u64);

impl Trigram {
    /// Returns the trigram of three characters.
    pub fn from_chars([a, b, c]: [char; 3]) -> Trigram {
        Trigram(u64::from(a) << (2 * BITS) | u64::from(b) << BITS | u64::from(c))
    }

    /// Returns the three characters.
    pub fn chars(self) -> [char; 3] {
        [2, 1, 0].map(|position| {
            let scalar = (self.0 >> (position * BITS)) as u32 & ((1 << BITS) - 1);
            // `from_chars` is the only constructor, so the replacement never occurs.
            char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER)
        })
    }
}

impl fmt::Display for Trigram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chars().iter().try_for_each(|c| write!(f, "{c}"))
    }
}

impl fmt::Debug for Trigram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trigram({self})")
    }
}

/// Calls `f` with each trigram of `#word#`, from left to right. An empty word has none. The words of a merged tail, with
/// a space between them, have theirs one word after the other.
pub fn for_each_trigram(word: &str, mut f: impl FnMut(Trigram)) {
    let mut chars = word.chars();
    while let Some(mut middle) = chars.next() {
        let mut first = BOUNDARY;
        loop {
            let last = chars.next().filter(|&last| last != JOINT);
            f(Trigram::from_chars([first, middle, last.unwrap_or(BOUNDARY)]));
            let Some(last) = last else { break };
            (first, middle) = (middle, last);
        }
    }
}

/// Returns the number of trigrams of a word or of a merged tail: one for each letter.
pub(crate) fn trigrams_in(word: &str) -> usize {
    word.chars().filter(|&c| c != JOINT).count()
}

/// A letter trigram of a word: its id in the dictionary and how often it occurs in the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Feature {
    /// Row of the input matrix.
    pub id: u32,
    /// Occurrences in the word.
    pub count: u32,
}

impl RowCount for Feature {
    fn row(self) -> usize {
        self.id as usize
    }
    fn count(self) -> f32 {
        self.count as f32
    }
}

/// A hash of a whole word, by which a dictionary knows it: XXH3 of its letters. The words themselves are not kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct WordHash(pub u64);

impl WordHash {
    /// Returns the hash of a word.
    pub fn new(word: &str) -> WordHash {
        WordHash(xxh3_64(word.as_bytes()))
    }
}

/// The known trigrams, numbered from 0, and the known whole words, if there are any, numbered after them: the rows of a
/// tower's input matrix.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    trigrams: Vec<Trigram>,
    ids: HashMap<Trigram, u32, BuildHasherDefault<FoldedHasher>>,
    words: Vec<WordHash>,
    /// The place of each word in `words`.
    word_positions: HashMap<WordHash, u32, BuildHasherDefault<FoldedHasher>>,
    /// How texts become words.
    text: TextConfig,
}

impl Dictionary {
    /// Returns the `max_trigrams` most frequent trigrams, most frequent first, ties in the order of the trigrams. The same
    /// counts in any order give the same ids. Counts of the same trigram add up.
    pub fn from_counts(counts: impl IntoIterator<Item = (Trigram, u64)>, max_trigrams: usize) -> Dictionary {
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_unstable();
        counts.dedup_by(|next, last| {
            let same = next.0 == last.0;
            if same {
                last.1 = last.1.saturating_add(next.1);
            }
            same
        });
        counts.sort_unstable_by_key(|&(trigram, count)| (std::cmp::Reverse(count), trigram));
        counts.truncate(max_trigrams);
        let trigrams: Vec<_> = counts.into_iter().map(|(trigram, _)| trigram).collect();
        let ids = trigrams.iter().copied().zip(0..).collect();
        Dictionary { trigrams, ids, ..Dictionary::default() }
    }

    /// This dictionary with the most frequent of `counts` that it lacks after its own trigrams, up to `max_trigrams`
    /// trigrams in all. Its words stay.
    pub(crate) fn grown(&self, counts: impl IntoIterator<Item = (Trigram, u64)>, max_trigrams: usize) -> Dictionary {
        let lacking = counts.into_iter().filter(|(trigram, _)| !self.ids.contains_key(trigram));
        let new = Dictionary::from_counts(lacking, max_trigrams.saturating_sub(self.trigrams.len()));
        let mut grown = self.clone();
        grown.ids.extend(new.trigrams.iter().copied().zip(self.trigrams.len() as u32..));
        grown.trigrams.extend(new.trigrams);
        grown
    }

    /// This dictionary with the most frequent of `counts` that it lacks after its own words, up to `max_words` words in
    /// all; ties in the order of the hashes.
    pub fn with_words(mut self, counts: impl IntoIterator<Item = (WordHash, u64)>, max_words: usize) -> Dictionary {
        let lacking = counts.into_iter().filter(|(word, _)| !self.word_positions.contains_key(word));
        let mut new: Vec<(WordHash, u64)> = lacking.collect();
        new.sort_unstable_by_key(|&(word, count)| (std::cmp::Reverse(count), word));
        new.truncate(max_words.saturating_sub(self.words.len()));
        self.word_positions.extend(new.iter().map(|&(word, _)| word).zip(self.words.len() as u32..));
        self.words.extend(new.into_iter().map(|(word, _)| word));
        self
    }

    /// Returns the dictionary in which `trigrams[i]` has the id `i`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] if a trigram occurs twice.
    pub fn from_trigrams(trigrams: Vec<Trigram>) -> Result<Dictionary> {
        let mut ids = HashMap::with_capacity_and_hasher(trigrams.len(), BuildHasherDefault::default());
        for (id, &trigram) in (0u32..).zip(&trigrams) {
            if let Some(first) = ids.insert(trigram, id) {
                let found = format_args!("`{trigram}` at {first} and again at {id}");
                return Err(damaged::file("distinct trigrams", found));
            }
        }
        Ok(Dictionary { trigrams, ids, ..Dictionary::default() })
    }

    /// This dictionary, which has no words yet, with `words`, numbered in their order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] if a word occurs twice.
    pub fn followed_by(mut self, words: Vec<WordHash>) -> Result<Dictionary> {
        self.word_positions.reserve(words.len());
        for (position, &word) in (0u32..).zip(&words) {
            if let Some(first) = self.word_positions.insert(word, position) {
                let found = format_args!("the same hash at {first} and again at {position}");
                return Err(damaged::file("distinct words", found));
            }
        }
        self.words = words;
        Ok(self)
    }

    /// This dictionary for texts that become words in this way.
    pub(crate) fn with_texts(self, text: TextConfig) -> Dictionary {
        Dictionary { text, ..self }
    }

    /// Returns the number of trigrams and words (V in the papers, which have no words).
    pub fn len(&self) -> usize {
        self.trigrams.len() + self.words.len()
    }

    /// Returns whether there are no trigrams and no words.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the id of a trigram.
    pub fn get(&self, trigram: Trigram) -> Option<u32> {
        self.ids.get(&trigram).copied()
    }

    /// Returns the trigrams in the order of their ids.
    pub fn trigrams(&self) -> &[Trigram] {
        &self.trigrams
    }

    /// Returns the whole words in the order of their ids, which follow those of the trigrams.
    pub fn words(&self) -> &[WordHash] {
        &self.words
    }

    /// Returns whether it has at least one trigram of the text's words. Otherwise the text's vector means nothing.
    pub fn knows_a_word(&self, text: &str) -> bool {
        let mut known = false;
        self.text.for_each_word(text, &mut WordBuffer::default(), |word| {
            if !known {
                for_each_trigram(word, |trigram| known |= self.ids.contains_key(&trigram));
            }
        });
        known
    }

    /// Replaces `features` by the word's trigram counts, in the order of the ids, and the word itself if it is known.
    ///
    /// Trigrams that are not in the dictionary are dropped. A word with none left has no features.
    pub fn hash_word(&self, word: &str, features: &mut Vec<Feature>) {
        features.clear();
        for_each_trigram(word, |trigram| features.extend(self.get(trigram).map(|id| Feature { id, count: 1 })));
        if !self.words.is_empty() {
            // A merged tail has several words.
            let known = word.split(JOINT).filter_map(|part| self.word_positions.get(&WordHash::new(part)));
            features.extend(known.map(|position| Feature { id: self.trigrams.len() as u32 + position, count: 1 }));
        }
        features.sort_unstable_by_key(|feature| feature.id);
        features.dedup_by(|next, last| {
            let same = next.id == last.id;
            if same {
                last.count = last.count.saturating_add(next.count);
            }
            same
        });
    }
}

impl PartialEq for Dictionary {
    fn eq(&self, other: &Dictionary) -> bool {
        self.trigrams == other.trigrams && self.words == other.words
    }
}

impl Eq for Dictionary {}

/// A hash by folded multiplication. A trigram is one integer, for which the standard hasher is ten times too slow.
#[derive(Default)]
struct FoldedHasher(u64);

impl Hasher for FoldedHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        // An odd constant without a pattern: 2⁶⁴ divided by the golden ratio.
        let product = u128::from(self.0 ^ value) * 0x9E37_79B9_7F4A_7C15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigrams(word: &str) -> Vec<Trigram> {
        let mut trigrams = Vec::new();
        for_each_trigram(word, |trigram| trigrams.push(trigram));
        trigrams
    }

    fn shown(word: &str) -> Vec<String> {
        trigrams(word).iter().map(Trigram::to_string).collect()
    }

    #[test]
    fn words_fall_into_trigrams() {
        assert_eq!(shown("boy"), ["#bo", "boy", "oy#"]);
        assert_eq!(shown("a"), ["#a#"]);
        assert_eq!(shown("学"), ["#学#"]);
        assert_eq!(shown("a boy 学"), ["#a#", "#bo", "boy", "oy#", "#学#"]);
        assert!(shown("").is_empty());
        for word in ["boy", "a boy 学", "学", ""] {
            assert_eq!(trigrams_in(word), shown(word).len(), "{word}");
        }
    }

    #[test]
    fn a_trigram_keeps_its_characters_and_their_order() {
        let parts = ['\0', '#', 'a', 'é', '学', '\u{10FFFF}'];
        let mut all = Vec::new();
        for a in parts {
            for b in parts {
                all.extend(parts.map(|c| [a, b, c]));
            }
        }
        for x in &all {
            assert_eq!(Trigram::from_chars(*x).chars(), *x);
            for y in &all {
                assert_eq!(Trigram::from_chars(*x).cmp(&Trigram::from_chars(*y)), x.cmp(y));
            }
        }
    }

    #[test]
    fn the_most_frequent_come_first_and_ties_go_by_trigram() {
        let [boy, oy, bo] = ["boy", "oy#", "#bo"].map(|t| {
            let mut chars = t.chars();
            Trigram::from_chars(std::array::from_fn(|_| chars.next().unwrap()))
        });
        let forward = Dictionary::from_counts([(boy, 2), (oy, 3), (bo, 2), (boy, 0)], 10);
        assert_eq!(forward.trigrams(), [oy, bo, boy]);
        let parts = Dictionary::from_counts([(bo, 1), (oy, 1), (boy, 2), (bo, 1), (oy, 2)], 10);
        assert_eq!(parts, forward);
        let cut = Dictionary::from_counts([(boy, 2), (oy, 3), (bo, 2)], 2);
        assert_eq!(cut.trigrams(), [oy, bo]);
        assert_eq!((cut.get(bo), cut.get(boy)), (Some(1), None));
    }

    #[test]
    fn a_trigram_given_twice_is_an_error() {
        let [a, b] = [trigrams("a")[0], trigrams("b")[0]];
        assert_eq!(Dictionary::from_trigrams(vec![a, b]).unwrap().get(b), Some(1));
        let fault = Dictionary::from_trigrams(vec![a, b, a]).unwrap_err();
        assert!(fault.to_string().contains("`#a#` at 0 and again at 2"), "{fault}");
    }

    #[test]
    fn known_words_are_features_after_the_trigrams() {
        let [nana, pear, kiwi, fig] = ["nana", "pear", "kiwi", "fig"].map(WordHash::new);
        let plain = Dictionary::from_trigrams(trigrams("nana")).unwrap(); // #na nan ana na#
        let dictionary = plain.clone().with_words([(pear, 2), (nana, 3), (kiwi, 1)], 2);
        assert_eq!((dictionary.words(), dictionary.len(), plain.len()), (&[nana, pear][..], 6, 4));
        let features = |dictionary: &Dictionary, word| {
            let mut features = Vec::new();
            dictionary.hash_word(word, &mut features);
            features.into_iter().map(|Feature { id, count }| (id, count)).collect::<Vec<_>>()
        };
        assert_eq!(features(&dictionary, "nana"), [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1)]);
        assert_eq!(features(&dictionary, "pear"), [(5, 1)]);
        assert_eq!(features(&dictionary, "banana"), features(&plain, "banana"), "a word that is not known");
        // New trigrams come before the words, and new words after the known ones.
        let grown = dictionary.grown(trigrams("fig").into_iter().map(|trigram| (trigram, 1)), 9);
        let grown = grown.with_words([(fig, 9), (nana, 9)], 9);
        assert_eq!((grown.trigrams().len(), grown.words()), (7, &[nana, pear, fig][..]));
        assert_eq!(features(&grown, "pear"), [(8, 1)]);
        assert_ne!(grown, dictionary);
        let same = plain.clone().followed_by(vec![nana, pear]).unwrap();
        assert_eq!((&same, features(&same, "pear")), (&dictionary, vec![(5, 1)]));
        let fault = plain.followed_by(vec![nana, pear, nana]).unwrap_err();
        assert!(fault.to_string().contains("the same hash at 0 and again at 2"), "{fault}");
    }

    #[test]
    fn a_word_becomes_sorted_counts() {
        // #ba ban ana nan ana na#
        let dictionary = Dictionary::from_trigrams(trigrams("nana")).unwrap(); // #na nan ana na#
        let mut features = vec![Feature { id: 9, count: 9 }];
        dictionary.hash_word("banana", &mut features);
        assert_eq!(features, [(1, 1), (2, 2), (3, 1)].map(|(id, count)| Feature { id, count }));
        dictionary.hash_word("zzz", &mut features);
        assert!(features.is_empty());
        Dictionary::default().hash_word("banana", &mut features);
        assert!(features.is_empty());
    }

    #[test]
    fn a_long_word_is_hashed_at_once() {
        let word = "abcdefghij".repeat(300_000);
        let dictionary = Dictionary::from_counts(trigrams("abcdefghijab").into_iter().map(|t| (t, 1)), 99);
        let mut features = Vec::new();
        dictionary.hash_word(&word, &mut features);
        assert_eq!(features.iter().map(|feature| feature.count).sum::<u32>(), 3_000_000 - 1);
        assert!(features.is_sorted_by_key(|feature| feature.id));
    }
}
