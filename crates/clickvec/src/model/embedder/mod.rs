//! From texts to vectors: a single text on the calling thread, many texts on all threads.

mod words;

use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex};

use crate::encoder::{Encoder, TextStates, Trace};
use crate::math::vector::scale_to_unit;
use crate::pool::Pool;
use crate::text::batch::Batch;
use crate::text::{Dictionary, WordBuffer, WordLimit, Words};
use clickvec_tables::Stop;
use rayon::prelude::*;
use words::ProjectedWords;

/// The number of texts that go through the encoder together: enough for fast matrix products, and few enough that the
/// encoder's output stays in the second-level cache.
const TEXTS_AT_ONCE: usize = 32;

/// An encoder of texts for one side of a model. It owns the half of the model that it needs, and any number of threads may use
/// it at the same time.
///
/// Vectors have unit length, so their dot product is the score of `search`. [`Embedder::raw`] returns them as the
/// encoder computes them.
///
/// Words that were seen before are looked up in a cache that holds the sum of their trigrams' rows. Each thread has a
/// bounded cache ([`Embedder::with_cache_bytes`]). Once a thread has its cache, and its buffers fit the longest text,
/// nothing more is allocated. Up to 32 texts stay on the calling thread.
pub struct Embedder {
    tower: Tower,
    unit: bool,
    cache_bytes: usize,
    workers: Pool<Worker>,
    /// That of the work which made it. Vectors of many texts take long.
    stop: Stop,
}

/// The part of a model that an embedder needs.
struct Tower {
    encoder: Arc<dyn Encoder>,
    dictionary: Arc<Dictionary>,
    limit: WordLimit,
}

impl Embedder {
    /// The default size of a thread's cache: 55,000 words with an LSTM of 96 cells.
    pub const CACHE_BYTES: usize = 64 << 20;

    pub(crate) fn new(encoder: Arc<dyn Encoder>, dictionary: Arc<Dictionary>, limit: WordLimit) -> Embedder {
        let tower = Tower { encoder, dictionary, limit };
        let (cache_bytes, workers) = (Embedder::CACHE_BYTES, Pool::default());
        Embedder { tower, unit: true, cache_bytes, workers, stop: Stop::of_thread() }
    }

    /// Returns an embedder of the encoder's own vectors, of any length.
    pub fn raw(self) -> Embedder {
        Embedder { unit: false, ..self }
    }

    /// This embedder with at most `bytes` of cache for each thread. The text that fills the cache may exceed the limit.
    /// A full cache forgets all its words.
    pub fn with_cache_bytes(self, bytes: usize) -> Embedder {
        Embedder { cache_bytes: bytes, workers: Pool::default(), ..self }
    }

    /// Returns the vectors of `texts`, [texts, dimension], row by row. A text without words gives a zero vector.
    ///
    /// The vector of a text is the same bit for bit, whatever was embedded before or together with it, at any number
    /// of threads.
    pub fn embed<S: AsRef<str> + Sync>(&self, texts: &[S]) -> Vec<f32> {
        let mut vectors = Vec::new();
        self.embed_into(texts, &mut vectors);
        vectors
    }

    /// Embeds texts like [`Embedder::embed`], into memory that the caller reuses: the contents of `vectors` are replaced.
    ///
    /// # Panics
    ///
    /// Without a message, if the work that made this embedder should [stop](Stop).
    pub fn embed_into<S: AsRef<str> + Sync>(&self, texts: &[S], vectors: &mut Vec<f32>) {
        let dimension = self.dimension();
        vectors.resize(texts.len() * dimension, 0.0);
        // Asking for the number of threads starts the pool, and a single query should not wait for that.
        let parts = texts.len().div_ceil(TEXTS_AT_ONCE);
        if parts <= 1 {
            return self.with_worker(|worker| worker.embed(&self.tower, self.unit, texts, vectors));
        }
        let parts = Mutex::new(texts.chunks(TEXTS_AT_ONCE).zip(vectors.chunks_mut(TEXTS_AT_ONCE * dimension)));
        let next = || parts.lock().expect("no worker panics here").next().filter(|_| !self.stop.is_set());
        let threads = rayon::current_num_threads().min(texts.len().div_ceil(TEXTS_AT_ONCE));
        (0..threads).into_par_iter().with_max_len(1).for_each(|_| {
            self.with_worker(|worker| {
                while let Some((texts, vectors)) = next() {
                    worker.embed(&self.tower, self.unit, texts, vectors);
                }
            });
        });
        self.stop.unwind_if_set();
    }

    /// Returns the vectors of those texts in which the model knows a word, as [`Embedder::embed_into`] writes them, and for
    /// each text whether it is one of them. The vectors of the others would say nothing.
    pub fn embed_known<S: AsRef<str> + Sync>(&self, texts: &[S], vectors: &mut Vec<f32>) -> Vec<bool> {
        let of = |text: &S| self.dictionary().knows_a_word(text.as_ref());
        let is_known: Vec<bool> = match texts.len() {
            ..=TEXTS_AT_ONCE => texts.iter().map(of).collect(),
            _ => texts.par_iter().map(of).collect(),
        };
        let known = texts.iter().zip(&is_known).filter(|&(_, &is_known)| is_known);
        self.embed_into(&known.map(|(text, _)| text.as_ref()).collect::<Vec<&str>>(), vectors);
        is_known
    }

    /// Runs `texts` as [`Embedder::embed`] does, on the calling thread, and passes the states of each text to `read`
    /// with the text's number, in order, before and after their activations. The embeddings in them have the same bits.
    pub fn read_states<S: AsRef<str>>(&self, texts: &[S], read: impl FnMut(usize, TextStates<'_>)) {
        self.read_states_of(texts, read);
    }

    /// Runs [`Embedder::read_states`] for texts, or for words that an encoder read of them.
    pub(crate) fn read_states_of<S: Words>(&self, texts: &[S], mut read: impl FnMut(usize, TextStates<'_>)) {
        self.with_worker(|worker| worker.read_states(&self.tower, texts, &mut read));
    }

    /// Returns the size of a vector.
    pub fn dimension(&self) -> usize {
        self.tower.encoder.dimension()
    }

    /// The letter trigrams that the model knows.
    // Its type is in `internals`, which promises nothing.
    #[doc(hidden)]
    pub fn dictionary(&self) -> &Dictionary {
        &self.tower.dictionary
    }

    fn with_worker(&self, work: impl FnOnce(&mut Worker)) {
        let make = || Worker {
            words: ProjectedWords::new(&*self.tower.encoder, self.cache_bytes),
            buffer: WordBuffer::default(),
            tokens: Vec::new(),
            ends: Vec::new(),
            batch: Batch::new(),
            trace: Trace::default(),
        };
        self.workers.with(make, work);
    }
}

impl Debug for Embedder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Embedder");
        out.field("dimension", &self.dimension()).field("unit", &self.unit).field("cache_bytes", &self.cache_bytes);
        out.finish_non_exhaustive()
    }
}

/// The working memory of one thread.
struct Worker {
    words: ProjectedWords,
    buffer: WordBuffer,
    /// The words of all texts, as numbers of `words`, and where each text ends.
    tokens: Vec<u32>,
    ends: Vec<usize>,
    batch: Batch,
    trace: Trace,
}

impl Worker {
    /// Writes the vectors of `texts` to `vectors`, [texts, dimension].
    fn embed<S: Words>(&mut self, tower: &Tower, unit: bool, mut texts: &[S], mut vectors: &mut [f32]) {
        let dimension = tower.encoder.dimension();
        self.trace.keep_inputs = false;
        while !texts.is_empty() {
            let taken = self.forward(tower, texts);
            let (done, rest) = vectors.split_at_mut(self.trace.embeddings.len());
            done.copy_from_slice(&self.trace.embeddings);
            if unit {
                done.chunks_exact_mut(dimension).for_each(scale_to_unit);
            }
            (texts, vectors) = (&texts[taken..], rest);
        }
    }

    /// Passes the states of each text, before and after their activations, to `read`.
    fn read_states<S: Words>(&mut self, tower: &Tower, texts: &[S], read: &mut impl FnMut(usize, TextStates<'_>)) {
        let mut done = 0;
        self.trace.keep_inputs = true;
        while done < texts.len() {
            let taken = self.forward(tower, &texts[done..]);
            let reader = self.trace.reader(&self.batch).expect("a forward pass over this batch");
            (0..taken).for_each(|text| read(done + text, reader.text(text)));
            done += taken;
        }
    }

    /// Runs at least one, and as many as fit, of the first texts through the encoder. Returns how many.
    fn forward<S: Words>(&mut self, tower: &Tower, texts: &[S]) -> usize {
        let taken = self.look_up(tower, texts);
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let tokens = starts.zip(&self.ends).map(|(start, &end)| &self.tokens[start..end]);
        self.batch.fill_projected(tokens);
        tower.encoder.forward_projected(&self.batch, self.words.rows(), &mut self.trace);
        taken
    }

    /// Looks up the words of at least one text, until there are enough texts or the cache is full. Returns the number
    /// of texts.
    fn look_up<S: Words>(&mut self, tower: &Tower, texts: &[S]) -> usize {
        if self.words.is_full() {
            self.words.clear();
        }
        self.tokens.clear();
        self.ends.clear();
        for text in texts.iter().take(TEXTS_AT_ONCE) {
            let (words, tokens) = (&mut self.words, &mut self.tokens);
            text.for_each_word(tower.limit, &mut self.buffer, |word| {
                tokens.push(words.number(&*tower.encoder, &tower.dictionary, word));
            });
            self.ends.push(self.tokens.len());
            if self.words.is_full() {
                break;
            }
        }
        self.ends.len()
    }
}
