//! A bounded cache of words, each with the output of the input layer.

use crate::encoder::{Encoder, Input, Tensor};
use crate::math::Buffer;
use crate::math::prefetch::prefetch;
use crate::text::{Dictionary, Feature, Interner, WordId};

/// The memory that a word takes apart from its rows: its letters, counted as 16 bytes, and its place in the interner.
const LETTERS: usize = 16;
const PLACE: usize = 32;

/// Words beyond the limit for which there is room: those of the text that fills the cache.
const SPARE: usize = 64;

/// Words with the sums of their trigrams' rows, so that looking up a word hashes no trigram.
pub(super) struct ProjectedWords {
    layers: Vec<Layer>,
    interner: Interner,
    /// For each input layer, [words, W].
    rows: Vec<Buffer>,
    most: usize,
    /// The features of one word.
    features: Vec<Feature>,
}

/// The positions of an input layer's tensors among those of its encoder.
#[derive(Clone, Copy)]
struct Layer {
    weights: usize,
    bias: Option<usize>,
    width: usize,
}

impl Layer {
    fn new(input: Input<'_>, tensors: &[Tensor]) -> Layer {
        let index = |wanted: &Tensor| {
            let index = tensors.iter().position(|tensor| std::ptr::eq(tensor, wanted));
            index.expect("an encoder's input layers are of its tensors")
        };
        Layer { weights: index(input.weights), bias: input.bias.map(index), width: input.width() }
    }

    fn input(self, tensors: &[Tensor]) -> Input<'_> {
        Input { weights: &tensors[self.weights], bias: self.bias.map(|bias| &tensors[bias]) }
    }
}

impl ProjectedWords {
    /// Creates a cache of `bytes` bytes. It is allocated at once, which costs nothing until it is used, so that no later word
    /// waits for an allocation.
    pub(super) fn new(encoder: &dyn Encoder, bytes: usize) -> ProjectedWords {
        let layers: Vec<Layer> =
            encoder.inputs().into_iter().map(|input| Layer::new(input, encoder.tensors())).collect();
        let width: usize = layers.iter().map(|layer| layer.width).sum();
        let most = (bytes / (width * size_of::<f32>() + LETTERS + PLACE)).max(1);
        let capacity = most + SPARE;
        ProjectedWords {
            interner: Interner::with_capacity(capacity, capacity * LETTERS),
            rows: layers.iter().map(|layer| Buffer::with_capacity(capacity * layer.width)).collect(),
            layers,
            most,
            features: Vec::new(),
        }
    }

    /// Returns the number of a word: its row in each of [`ProjectedWords::rows`]. `encoder` must be the one that this cache
    /// was made for.
    pub(super) fn number(&mut self, encoder: &dyn Encoder, dictionary: &Dictionary, word: &str) -> WordId {
        let (number, _, new) = self.interner.intern(word);
        if new {
            dictionary.hash_word(word, &mut self.features);
            for (layer, rows) in self.layers.iter().zip(&mut self.rows) {
                let start = rows.len();
                rows.grow(start + layer.width);
                layer.input(encoder.tensors()).project(&self.features, &mut rows[start..]);
            }
        } else {
            // Most words are rare, so their rows are not in a nearby cache, and the encoder reads them soon.
            for (layer, rows) in self.layers.iter().zip(&self.rows) {
                prefetch(&rows[number as usize * layer.width..][..layer.width]);
            }
        }
        number
    }

    /// Returns the rows of all words, for each input layer.
    pub(super) fn rows(&self) -> &[Buffer] {
        &self.rows
    }

    pub(super) fn is_full(&self) -> bool {
        self.interner.len() >= self.most || self.interner.bytes() >= self.most * LETTERS
    }

    pub(super) fn clear(&mut self) {
        self.interner.clear();
        self.rows.iter_mut().for_each(|rows| rows.resize(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::{EncoderConfig, LstmConfig};
    use crate::text::for_each_trigram;

    #[test]
    fn the_cache_is_bounded_and_forgets_nothing_that_matters() {
        let mut trigrams = Vec::new();
        for_each_trigram("banana", |trigram| trigrams.push((trigram, 1)));
        let dictionary = Dictionary::from_counts(trigrams, 99);
        let mut encoder = EncoderConfig::Bilstm(LstmConfig::default()).build(dictionary.len());
        for (i, tensor) in encoder.tensors_mut().iter_mut().enumerate() {
            tensor.value.data_mut().fill(i as f32 + 1.0);
        }
        let mut words = ProjectedWords::new(&*encoder, 10_000);
        let places = |words: &ProjectedWords| words.rows.iter().map(|rows| rows.as_ptr()).collect::<Vec<_>>();
        let before = places(&words);
        assert_eq!(words.most, 4);
        for round in 0..3 {
            let numbers = ["banana", "x", "banana"].map(|word| words.number(&*encoder, &dictionary, word));
            assert_eq!(numbers, [0, 1, 0], "{round}");
            // #ba ban ana nan ana na# in two matrices, the first tensor and the fourth; the third and the sixth are
            // biases.
            assert_eq!(words.rows()[0][..], [[9.0; 288], [3.0; 288]].concat());
            assert_eq!(words.rows()[1][..], [[30.0; 288], [6.0; 288]].concat());
            assert!(!words.is_full());
            words.number(&*encoder, &dictionary, "y");
            words.number(&*encoder, &dictionary, "z");
            assert!(words.is_full());
            words.clear();
        }
        assert_eq!(places(&words), before, "no buffer has grown");
        words.number(&*encoder, &dictionary, &"long".repeat(100));
        assert!(words.is_full());
    }
}
