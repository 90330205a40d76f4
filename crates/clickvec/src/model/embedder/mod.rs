//! From texts to vectors: one text at once on the calling thread, many on all threads.

mod words;

use std::sync::Mutex;

use crate::encoder::{Encoder, TextStates, Trace};
use crate::text::batch::Batch;
use crate::text::{Dictionary, WordBuffer, for_each_word};
use rayon::prelude::*;
use words::ProjectedWords;

/// Texts that go through the encoder together: enough for the products of matrices, and few enough
/// that what an encoder writes stays in the second-level cache.
const TEXTS_AT_ONCE: usize = 32;

/// Embeds texts of one side of a model; its memory is reused from call to call.
///
/// Words that were seen before are looked up, with the sum of their trigrams' rows. Each thread that
/// takes part has a bounded cache of them ([`Embedder::with_cache_bytes`]). Once a thread's cache is
/// made, and its buffers have grown to the longest text, nothing is allocated. Up to 32 texts stay
/// on the calling thread.
pub struct Embedder<'m> {
    encoder: &'m dyn Encoder,
    dictionary: &'m Dictionary,
    max_words: usize,
    cache_bytes: usize,
    /// One for each thread that was ever needed.
    workers: Vec<Worker<'m>>,
    vectors: Vec<f32>,
}

impl<'m> Embedder<'m> {
    /// The bound on a thread's cache if no other is given: 55,000 words with an LSTM of 96 cells.
    pub const CACHE_BYTES: usize = 64 << 20;

    pub(crate) fn new(encoder: &'m dyn Encoder, dictionary: &'m Dictionary, max_words: usize) -> Embedder<'m> {
        let cache_bytes = Embedder::CACHE_BYTES;
        Embedder { encoder, dictionary, max_words, cache_bytes, workers: Vec::new(), vectors: Vec::new() }
    }

    /// Bounds the cache of each thread to `bytes`; the text that fills it may still go beyond. When a
    /// cache is full all its words are forgotten.
    pub fn with_cache_bytes(self, bytes: usize) -> Embedder<'m> {
        Embedder { cache_bytes: bytes, workers: Vec::new(), ..self }
    }

    /// The vectors of `texts`, [texts, dimension], row by row, as the encoder gives them (not of
    /// unit length). A text without a word is a zero vector.
    ///
    /// The vector of a text is the same bit for bit, whatever was embedded before or stands beside
    /// it, at any number of threads.
    pub fn embed<S: AsRef<str> + Sync>(&mut self, texts: &[S]) -> &[f32] {
        let dimension = self.dimension();
        self.vectors.resize(texts.len() * dimension, 0.0);
        // To ask for the number of threads makes them, which a single query should not wait for.
        let parts = texts.len().div_ceil(TEXTS_AT_ONCE);
        let threads = if parts > 1 { rayon::current_num_threads().min(parts) } else { 1 };
        self.make_workers(threads);
        match &mut self.workers[..threads] {
            [worker] => worker.embed(texts, &mut self.vectors),
            workers => {
                let vectors = self.vectors.chunks_mut(TEXTS_AT_ONCE * dimension);
                let parts = Mutex::new(texts.chunks(TEXTS_AT_ONCE).zip(vectors));
                let next = || parts.lock().expect("no worker panics here").next();
                workers.par_iter_mut().with_max_len(1).for_each(|worker| {
                    while let Some((texts, vectors)) = next() {
                        worker.embed(texts, vectors);
                    }
                });
            }
        }
        &self.vectors
    }

    /// So many workers at least.
    fn make_workers(&mut self, threads: usize) {
        while self.workers.len() < threads {
            self.workers.push(Worker {
                encoder: self.encoder,
                words: ProjectedWords::new(self.encoder, self.dictionary, self.cache_bytes),
                max_words: self.max_words,
                buffer: WordBuffer::default(),
                tokens: Vec::new(),
                ends: Vec::new(),
                batch: Batch::new(),
                trace: Trace::default(),
            });
        }
    }

    /// Runs `texts` through what [`Embedder::embed`] runs, on the calling thread, and shows `read` the states of each,
    /// in order, with its number. Its embedding has the same bits.
    pub fn read_states<S: AsRef<str>>(&mut self, texts: &[S], mut read: impl FnMut(usize, TextStates<'_>)) {
        self.make_workers(1);
        self.workers[0].read_states(texts, &mut read);
    }

    /// The size of a vector.
    pub fn dimension(&self) -> usize {
        self.encoder.dimension()
    }
}

/// What one thread needs.
struct Worker<'m> {
    encoder: &'m dyn Encoder,
    words: ProjectedWords<'m>,
    max_words: usize,
    buffer: WordBuffer,
    /// The words of all texts, as numbers in `words`, and where each text ends.
    tokens: Vec<u32>,
    ends: Vec<usize>,
    batch: Batch,
    trace: Trace,
}

impl Worker<'_> {
    /// Fills `vectors` [texts, dimension].
    fn embed<S: AsRef<str>>(&mut self, mut texts: &[S], mut vectors: &mut [f32]) {
        while !texts.is_empty() {
            let taken = self.forward(texts);
            let (done, rest) = vectors.split_at_mut(self.trace.embeddings.len());
            done.copy_from_slice(&self.trace.embeddings);
            (texts, vectors) = (&texts[taken..], rest);
        }
    }

    /// Shows the states of each text.
    fn read_states<S: AsRef<str>>(&mut self, texts: &[S], read: &mut impl FnMut(usize, TextStates<'_>)) {
        let mut done = 0;
        while done < texts.len() {
            let taken = self.forward(&texts[done..]);
            let reader = self.trace.reader(&self.batch).expect("a forward pass over this batch");
            (0..taken).for_each(|text| read(done + text, reader.text(text)));
            done += taken;
        }
    }

    /// Runs the first of `texts` through the encoder, at least one; returns how many.
    fn forward<S: AsRef<str>>(&mut self, texts: &[S]) -> usize {
        let taken = self.look_up(texts);
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let tokens = starts.zip(&self.ends).map(|(start, &end)| &self.tokens[start..end]);
        self.batch.fill_projected(tokens);
        self.encoder.forward_projected(&self.batch, self.words.rows(), &mut self.trace);
        taken
    }

    /// Takes the words of texts, at least one, until there are enough or the cache is full; returns
    /// how many it took.
    fn look_up<S: AsRef<str>>(&mut self, texts: &[S]) -> usize {
        if self.words.is_full() {
            self.words.clear();
        }
        self.tokens.clear();
        self.ends.clear();
        for text in texts.iter().take(TEXTS_AT_ONCE) {
            let (start, words, tokens) = (self.tokens.len(), &mut self.words, &mut self.tokens);
            for_each_word(text.as_ref(), &mut self.buffer, |word| {
                if tokens.len() - start < self.max_words {
                    tokens.push(words.number(word));
                }
            });
            self.ends.push(self.tokens.len());
            if self.words.is_full() {
                break;
            }
        }
        self.ends.len()
    }
}
