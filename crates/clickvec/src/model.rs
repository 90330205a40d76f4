//! Two towers and the cosine: what training makes and everything else uses.

use crate::encoder::{Encoder, EncoderConfig, Trace};
use crate::settings::TrainingRecord;
use crate::text::batch::{Batch, WordFeatures};
use crate::text::{Dictionary, Feature, Interner, WordBuffer, WordId, for_each_word};

/// Which tower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The tower that reads queries.
    Query,
    /// The tower that reads titles (documents).
    Title,
}

/// A trained model; it never changes.
pub struct Model {
    pub(crate) dictionary: Dictionary,
    /// The query tower and the title tower, or one for both.
    pub(crate) towers: Vec<Box<dyn Encoder>>,
    pub(crate) training: TrainingRecord,
    pub(crate) fingerprint: String,
}

impl Model {
    /// L: size of the embeddings.
    pub fn dimension(&self) -> usize {
        self.towers[0].dimension()
    }

    /// The kind of encoder and its sizes.
    pub fn encoder_config(&self) -> &EncoderConfig {
        &self.training.config.encoder
    }

    /// Whether queries and titles share one tower.
    pub fn shared_towers(&self) -> bool {
        self.towers.len() == 1
    }

    /// The letter trigrams the model knows.
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// What the model says of its training.
    pub fn training(&self) -> &TrainingRecord {
        &self.training
    }

    /// Of dictionary, weights and settings: models with equal fingerprints embed alike.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The encoder of a side.
    pub fn encoder(&self, side: Side) -> &dyn Encoder {
        match side {
            Side::Query => &*self.towers[0],
            Side::Title => &**self.towers.last().expect("one or two towers"),
        }
    }

    /// Name, rows (inputs) and columns (outputs) of each of the papers' matrices.
    pub fn tensors(&self) -> impl Iterator<Item = (String, usize, usize)> {
        self.prefixes().into_iter().zip(&self.towers).flat_map(|(prefix, tower)| {
            tower.tensors().iter().flat_map(move |tensor| {
                let rows = tensor.value.rows();
                tensor.groups.iter().map(move |group| (format!("{prefix}{}", group.name), rows, group.width))
            })
        })
    }

    /// Number of weights.
    pub fn parameters(&self) -> u64 {
        self.tensors().map(|(_, rows, columns)| rows as u64 * columns as u64).sum()
    }

    /// What stands before a tensor's name, for each tower.
    pub(crate) fn prefixes(&self) -> Vec<&'static str> {
        prefixes(self.shared_towers())
    }

    /// Embeds texts of one side.
    pub fn embedder(&self, side: Side) -> Embedder<'_> {
        Embedder {
            encoder: self.encoder(side),
            words: Words::new(&self.dictionary),
            max_words: self.training.config.max_words,
            buffer: WordBuffer::default(),
            tokens: Vec::new(),
            ends: Vec::new(),
            batch: Batch::new(),
            trace: Trace::default(),
            vectors: Vec::new(),
        }
    }
}

pub(crate) fn prefixes(shared: bool) -> Vec<&'static str> {
    if shared { vec!["shared."] } else { vec!["query.", "document."] }
}

/// The half of a model that searching needs: the tower that reads queries, without the one that reads titles.
pub struct QueryModel {
    /// With the query tower alone; that is what makes this a type of its own.
    pub(crate) half: Model,
}

impl QueryModel {
    /// L: size of the embeddings.
    pub fn dimension(&self) -> usize {
        self.half.dimension()
    }

    /// The kind of encoder and its sizes.
    pub fn encoder_config(&self) -> &EncoderConfig {
        self.half.encoder_config()
    }

    /// The letter trigrams the model knows.
    pub fn dictionary(&self) -> &Dictionary {
        self.half.dictionary()
    }

    /// That of the whole model.
    pub fn fingerprint(&self) -> &str {
        self.half.fingerprint()
    }

    /// Embeds queries, bit for bit as the whole model does.
    pub fn embedder(&self) -> Embedder<'_> {
        self.half.embedder(Side::Query)
    }
}

/// Embeds texts of one side of a model; its memory, a cache of words among it, is reused from call
/// to call.
pub struct Embedder<'m> {
    encoder: &'m dyn Encoder,
    words: Words<'m>,
    max_words: usize,
    buffer: WordBuffer,
    tokens: Vec<WordId>,
    ends: Vec<usize>,
    batch: Batch,
    trace: Trace,
    vectors: Vec<f32>,
}

/// Texts that go through the encoder together.
const TEXTS_AT_ONCE: usize = 2048;

/// Words that are remembered with their trigrams; beyond, all are forgotten.
const REMEMBERED_WORDS: usize = 1 << 17;
const REMEMBERED_BYTES: usize = 16 << 20;

impl Embedder<'_> {
    /// The vectors of `texts`, [texts, dimension], row by row, as the encoder gives them (not of
    /// unit length). A text without a word is a zero vector.
    pub fn embed<S: AsRef<str>>(&mut self, texts: &[S]) -> &[f32] {
        self.vectors.clear();
        for texts in texts.chunks(TEXTS_AT_ONCE) {
            if self.words.interner.len() > REMEMBERED_WORDS || self.words.interner.bytes() > REMEMBERED_BYTES {
                self.words.clear();
            }
            self.tokens.clear();
            self.ends.clear();
            for text in texts {
                let (start, words, tokens) = (self.tokens.len(), &mut self.words, &mut self.tokens);
                for_each_word(text.as_ref(), &mut self.buffer, |word| {
                    if tokens.len() - start < self.max_words {
                        tokens.push(words.id(word));
                    }
                });
                self.ends.push(self.tokens.len());
            }
            let starts = std::iter::once(0).chain(self.ends.iter().copied());
            let texts = starts.zip(&self.ends).map(|(start, &end)| &self.tokens[start..end]);
            self.batch.fill(texts, &self.words);
            self.encoder.forward(&self.batch, &mut self.trace);
            self.vectors.extend_from_slice(&self.trace.embeddings);
        }
        &self.vectors
    }

    /// The size of a vector.
    pub fn dimension(&self) -> usize {
        self.encoder.dimension()
    }
}

/// A bounded cache of words with their trigram counts.
struct Words<'m> {
    dictionary: &'m Dictionary,
    interner: Interner,
    features: Vec<Feature>,
    ends: Vec<usize>,
    of_word: Vec<Feature>,
}

impl<'m> Words<'m> {
    fn new(dictionary: &'m Dictionary) -> Words<'m> {
        Words { dictionary, interner: Interner::default(), features: Vec::new(), ends: Vec::new(), of_word: Vec::new() }
    }

    fn id(&mut self, word: &str) -> WordId {
        let (id, _, new) = self.interner.intern(word);
        if new {
            self.dictionary.hash_word(word, &mut self.of_word);
            self.features.extend_from_slice(&self.of_word);
            self.ends.push(self.features.len());
        }
        id
    }

    fn clear(&mut self) {
        self.interner.clear();
        self.features.clear();
        self.ends.clear();
    }
}

impl WordFeatures for Words<'_> {
    fn features(&self, word: WordId) -> &[Feature] {
        let start = if word == 0 { 0 } else { self.ends[word as usize - 1] };
        &self.features[start..self.ends[word as usize]]
    }
}
