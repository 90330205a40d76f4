//! Encoding titles, a few thousand at once, so that no more of them are ever in memory.

use clickvec::model::{Embedder, Model, Side};
use clickvec::tables::Title;

use crate::error::Result;

/// The number of titles that are encoded at once: enough for all threads.
const TITLES_AT_ONCE: usize = 4096;

/// A receiver of titles, in order, with the rest of their lines and their vectors [titles, dimension].
pub(crate) trait Sink {
    fn take(&mut self, titles: &[Title], rests: &[String], vectors: &[f32]) -> Result<()>;
}

/// An encoder of titles, which takes title by title.
pub(crate) struct TitleEncoder {
    embedder: Embedder,
    waiting: Vec<Title>,
    /// The stored fields of each, as they follow the title in a table.
    rests: Vec<String>,
    vectors: Vec<f32>,
}

impl TitleEncoder {
    pub(crate) fn new(model: &Model) -> TitleEncoder {
        let embedder = model.embedder(Side::Title);
        let waiting = Vec::with_capacity(TITLES_AT_ONCE);
        TitleEncoder { embedder, waiting, rests: Vec::new(), vectors: Vec::new() }
    }

    /// Adds a title. Its vector is zero if the model knows none of its words, so that only its words find it.
    pub(crate) fn add(&mut self, title: Title, rest: String, sink: &mut impl Sink) -> Result<()> {
        self.waiting.push(title);
        self.rests.push(rest);
        if self.waiting.len() == TITLES_AT_ONCE { self.flush(sink) } else { Ok(()) }
    }

    /// Encodes and passes on the titles that wait.
    pub(crate) fn flush(&mut self, sink: &mut impl Sink) -> Result<()> {
        let texts: Vec<&str> = self.waiting.iter().map(|title| title.title.as_str()).collect();
        let known = self.embedder.embed_known(&texts, &mut self.vectors);
        if known.contains(&false) {
            self.vectors = with_zeros(&self.vectors, &known, self.embedder.dimension());
        }
        sink.take(&self.waiting, &self.rests, &self.vectors)?;
        self.waiting.clear();
        self.rests.clear();
        Ok(())
    }
}

/// Returns vectors [titles, dimension] with zeros for each title that is not known, from the vectors of the others.
fn with_zeros(vectors: &[f32], known: &[bool], dimension: usize) -> Vec<f32> {
    let mut vectors = vectors.chunks_exact(dimension);
    let zeros = vec![0.0; dimension];
    known.iter().flat_map(|&is_known| if is_known { vectors.next() } else { None }.unwrap_or(&zeros)).copied().collect()
}

/// Returns whether a title has no vector.
pub(crate) fn is_zero(vector: &[f32]) -> bool {
    vector.iter().all(|&number| number == 0.0)
}
