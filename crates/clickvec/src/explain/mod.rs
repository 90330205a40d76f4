//! Explanations: why two texts are similar, which words are keywords, what a unit represents.
//!
//! All numbers are read from the states of the forward pass that computes the score, through
//! [`crate::encoder::StateReader`]; no formula of an encoder is repeated here. The explained score equals the score of
//! a search bit for bit.
//!
//! Types that programs print as JSON derive `Serialize` here. It counts cells and units from 1 and words from 0.

pub(crate) mod keywords;
mod matching;
pub(crate) mod one_based;
mod report;
pub(crate) mod text;

pub use keywords::{DirectionCounts, Evidence, KeywordOptions, Keywords, Winner};
pub use matching::{Match, SharedUnit, WordPair, WordShares};
pub use report::{MatchReport, TextReport, WordReport};
pub use text::{Panel, TextView, Word};

use crate::encoder::{EncoderConfig, TextStates};
use crate::model::{Model, Side};
use crate::text::{Feature, JOINT, WordBuffer, Words, for_each_trigram};

/// An explainer of a model, which it borrows.
#[derive(Clone, Copy)]
pub struct Explainer<'m> {
    model: &'m Model,
}

/// Bound on the embedder's cache. It can be small because explanations read few texts.
const CACHE_BYTES: usize = 1 << 20;

impl<'m> Explainer<'m> {
    /// Creates an explainer of `model`.
    pub fn new(model: &'m Model) -> Explainer<'m> {
        Explainer { model }
    }

    /// Returns the encoder's kind and sizes.
    pub fn encoder_config(&self) -> &'m EncoderConfig {
        self.model.encoder_config()
    }

    /// Calls `read` with the states of each text, in order.
    pub fn read<S: Words>(&self, side: Side, texts: &[S], read: impl FnMut(usize, TextStates<'_>)) {
        self.model.embedder(side).with_cache_bytes(CACHE_BYTES).read_states_of(texts, read);
    }

    /// Returns the words that the encoder gets of a text, and the number of words that the text has.
    pub fn words(&self, text: &str, buffer: &mut WordBuffer) -> (Vec<Word>, usize) {
        let mut words = Vec::new();
        let all = self.model.training().config.limit().for_each_word(text, buffer, |word| {
            let (parts, mut known) = (word.matches(JOINT).count() + 1, false);
            for_each_trigram(word, |trigram| known |= self.model.dictionary().get(trigram).is_some());
            words.push(Word { text: word.to_owned(), known, parts });
        });
        (words, all)
    }

    /// Returns whether the model knows any letter trigram of a word.
    pub fn knows(&self, word: &str) -> bool {
        self.model.dictionary().knows_a_word(word)
    }

    /// Returns a text with everything that the encoder computed for it.
    pub fn text(&self, side: Side, text: &str) -> TextView {
        let mut views = self.texts(side, &[text]);
        views.pop().expect("one text gives one view")
    }

    /// Returns the sums of the word's rows in every input matrix, one after the other.
    pub fn input_sums(&self, side: Side, word: &str) -> Vec<f32> {
        let mut features: Vec<Feature> = Vec::new();
        self.model.dictionary().hash_word(word, &mut features);
        let mut sums = Vec::new();
        for input in self.model.encoder(side).inputs() {
            let start = sums.len();
            sums.resize(start + input.width(), 0.0);
            input.weights.sum_rows(&features, &mut sums[start..]);
        }
        sums
    }

    /// Returns vectors of unit length.
    pub fn unit_vectors<S: Words>(&self, side: Side, texts: &[S]) -> Vec<Vec<f32>> {
        let mut vectors = Vec::with_capacity(texts.len());
        self.read(side, texts, |_, states| vectors.push(text::unit(states.embedding())));
        vectors
    }
}
