//! Encoding titles, a few thousand at once, so that no more of them are ever in memory.

use clickvec::model::{Embedder, Model, Side};
use clickvec::tables::Title;

use crate::error::Result;

/// The number of titles that are encoded at once: enough for all threads.
const TITLES_AT_ONCE: usize = 4096;

/// A receiver of the titles that can be found, in order, with the rest of their lines and their vectors [titles,
/// dimension].
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
    left_out: u64,
}

impl TitleEncoder {
    pub(crate) fn new(model: &Model) -> TitleEncoder {
        let embedder = model.embedder(Side::Title);
        let waiting = Vec::with_capacity(TITLES_AT_ONCE);
        TitleEncoder { embedder, waiting, rests: Vec::new(), vectors: Vec::new(), left_out: 0 }
    }

    /// Adds a title. It is left out if the model knows none of its words, because its vector would mean nothing.
    pub(crate) fn add(&mut self, title: Title, rest: String, sink: &mut impl Sink) -> Result<()> {
        self.waiting.push(title);
        self.rests.push(rest);
        if self.waiting.len() == TITLES_AT_ONCE { self.flush(sink) } else { Ok(()) }
    }

    /// Encodes and passes on the titles that wait.
    pub(crate) fn flush(&mut self, sink: &mut impl Sink) -> Result<()> {
        let all = self.waiting.len();
        let texts: Vec<&str> = self.waiting.iter().map(|title| title.title.as_str()).collect();
        let known = self.embedder.embed_known(&texts, &mut self.vectors);
        let mut each = known.iter();
        self.waiting.retain(|_| *each.next().expect("one for each"));
        let mut each = known.iter();
        self.rests.retain(|_| *each.next().expect("one for each"));
        self.left_out += (all - self.waiting.len()) as u64;
        sink.take(&self.waiting, &self.rests, &self.vectors)?;
        self.waiting.clear();
        self.rests.clear();
        Ok(())
    }

    /// The number of titles that were left out.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }
}
