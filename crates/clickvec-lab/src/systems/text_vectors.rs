//! Vectors of whole texts, looked up by the texts' words.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use clickvec::internals::text::{Interner, WordBuffer, WordId, for_each_word};
use clickvec::internals::vector_file::MAX_DIMENSION;
use clickvec_eval::internals::{Numbers, RankerState, UNKNOWN};
use clickvec_tables::damaged;
use clickvec_tables::memory::{NoRoom, reserve};

const KEYS: &str = "text_keys";
const VECTORS: &str = "text_vectors";

/// A reader of texts that returns the words in a vocabulary, and a key that is unique to the text.
#[derive(Debug, Default)]
pub(super) struct TextReader {
    buffer: WordBuffer,
    joined: String,
    words: Vec<WordId>,
}

impl TextReader {
    /// The key of `text`, made of all its words, and those words that are in `vocabulary`.
    pub(super) fn read(&mut self, vocabulary: &Interner, text: &str) -> (u64, &[WordId]) {
        let TextReader { buffer, joined, words } = self;
        joined.clear();
        words.clear();
        for_each_word(text, buffer, |word| {
            push(joined, word);
            words.extend(vocabulary.get(word));
        });
        (xxh3_64(joined.as_bytes()), words)
    }

    /// The key of a text given as word numbers; `None` for a text without words.
    pub(super) fn key(&mut self, vocabulary: &Interner, text: &[WordId]) -> Option<u64> {
        self.joined.clear();
        text.iter().for_each(|&word| push(&mut self.joined, vocabulary.word(word)));
        if text.is_empty() { None } else { Some(xxh3_64(self.joined.as_bytes())) }
    }
}

/// Joins words with a line end, which no word contains, so that different texts give different strings.
fn push(joined: &mut String, word: &str) {
    joined.push_str(word);
    joined.push('\n');
}

/// A vector for each of some texts.
///
/// Texts are identified by 64-bit hashes of their words, and a hit is not verified. Among a million texts the
/// probability of any collision is 3 in 10⁸.
#[derive(Debug, Clone, Default)]
pub(super) struct TextVectors {
    positions: HashMap<u64, u32>,
    keys: Vec<u64>,
    dimension: usize,
    /// [texts, dimension]
    vectors: Vec<f32>,
}

impl TextVectors {
    /// Creates a table of vectors with this many numbers, without any.
    pub(super) fn new(dimension: usize) -> TextVectors {
        TextVectors { dimension, ..TextVectors::default() }
    }

    /// The number of texts.
    #[allow(clippy::len_without_is_empty, reason = "no caller asks whether it is empty")]
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Adds a text. Returns `false` and changes nothing if it is there already.
    ///
    /// # Errors
    ///
    /// [`NoRoom`].
    ///
    /// # Panics
    /// If the vector has another dimension.
    pub(super) fn insert(&mut self, key: u64, vector: &[f32]) -> Result<bool, NoRoom> {
        assert_eq!(vector.len(), self.dimension);
        if self.positions.contains_key(&key) || self.keys.len() >= UNKNOWN as usize {
            return Ok(false);
        }
        reserve(&mut self.vectors, vector.len(), "vectors of texts")?;
        self.positions.insert(key, self.keys.len() as u32);
        self.keys.push(key);
        self.vectors.extend_from_slice(vector);
        Ok(true)
    }

    /// The vector of the text with this key.
    pub(super) fn get(&self, key: u64) -> Option<&[f32]> {
        self.positions.get(&key).map(|&position| &self.vectors[position as usize * self.dimension..][..self.dimension])
    }

    /// The vectors, text by text.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[f32]> {
        self.vectors.chunks_exact(self.dimension.max(1))
    }

    /// The contents of a file with the texts added. The names of its tensors begin with `prefix`.
    pub(super) fn write(&self, state: RankerState, prefix: &str) -> RankerState {
        // A file has 32-bit integers: the lower half comes first, then the upper.
        let halves = self.keys.iter().flat_map(|&key| [key as u32, (key >> 32) as u32]).collect();
        state.with(&format!("{prefix}{KEYS}"), &[self.len(), 2], Numbers::U32(halves)).with(
            &format!("{prefix}{VECTORS}"),
            &[self.len(), self.dimension],
            Numbers::F32(self.vectors.clone()),
        )
    }

    /// The texts that [`TextVectors::write`] added.
    pub(super) fn restore(
        state: &RankerState,
        prefix: &str,
        dimension: usize,
    ) -> Result<TextVectors, clickvec_tables::Error> {
        let [names, numbers] = [KEYS, VECTORS].map(|name| format!("{prefix}{name}"));
        let keys = state.u32s(&names, &[None, Some(2)])?;
        let vectors = state.f32s(&numbers, &[Some(keys.len() / 2), Some(dimension)])?;
        let mut texts = TextVectors::new(dimension);
        reserve(&mut texts.vectors, vectors.len(), "vectors of texts")?;
        // With dimension 0 the keys would have no rows.
        if dimension == 0 && !keys.is_empty() {
            return Err(damaged::dimension(numbers, MAX_DIMENSION, 0));
        }
        let rows = keys.as_chunks::<2>().0.iter().zip(vectors.chunks_exact(dimension.max(1)));
        for (row, (halves, vector)) in rows.enumerate() {
            let key = u64::from(halves[0]) | u64::from(halves[1]) << 32;
            if let Some(&first) = texts.positions.get(&key) {
                return Err(damaged::repeated_text(names, first as usize, row));
            }
            texts.insert(key, vector)?;
        }
        Ok(texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_of_all_words_and_of_nothing_else() {
        let mut vocabulary = Interner::default();
        for word in ["red", "door"] {
            vocabulary.intern(word);
        }
        let mut reader = TextReader::default();
        let mut read = |text: &str| {
            let (key, words) = reader.read(&vocabulary, text);
            (key, words.to_vec())
        };
        let (key, words) = read("Red, sofa DOOR!");
        assert_eq!(words, [0, 1]);
        assert_eq!(read("red sofa door").0, key);
        for other in ["red door", "red lamp door", "redsofa door", "door sofa red", ""] {
            assert_ne!(read(other).0, key, "{other}");
        }
        assert_eq!(Some(read("door red").0), TextReader::default().key(&vocabulary, &[1, 0]));
        assert_eq!(TextReader::default().key(&vocabulary, &[]), None);
    }

    #[test]
    fn a_file_keeps_vectors_and_damage_is_seen() {
        let mut texts = TextVectors::new(2);
        let wide = u64::from(u32::MAX) << 7;
        let mut insert = |key, vector: &[f32]| texts.insert(key, vector).unwrap();
        assert!(insert(7, &[1.0, 2.0]) && insert(wide, &[3.0, 4.0]) && !insert(7, &[5.0, 6.0]));
        let state = texts.write(RankerState::default(), "");
        let restored = TextVectors::restore(&state, "", 2).unwrap();
        assert_eq!(
            (restored.get(7), restored.get(wide), restored.get(8)),
            (Some(&[1.0, 2.0][..]), Some(&[3.0, 4.0][..]), None)
        );
        assert!(TextVectors::restore(&state, "", 3).is_err());
        let twice = state.clone().with(KEYS, &[2, 2], Numbers::U32(vec![7, 0, 7, 0]));
        let fault = TextVectors::restore(&twice, "", 2).unwrap_err();
        assert!(fault.to_string().contains("expected each text once, found that of row 0 again in row 1"), "{fault}");
        let fewer = state.with(KEYS, &[1, 2], Numbers::U32(vec![7, 0]));
        assert!(TextVectors::restore(&fewer, "", 2).is_err());
    }
}
