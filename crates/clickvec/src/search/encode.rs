//! From titles to their vectors, a few thousand at once: no more of them are ever in memory than that.

use rayon::prelude::*;

use crate::Result;
use crate::model::{Embedder, Model, Side};
use crate::tables::Title;

/// Titles that are encoded at once: enough for all threads.
const TITLES_AT_ONCE: usize = 4096;

/// What becomes of the titles that can be found, in their order: titles, and their vectors [titles, dimension].
pub(super) trait Sink {
    fn take(&mut self, titles: &[Title], vectors: &[f32]) -> Result<()>;
}

/// Encodes titles as they come.
pub(super) struct TitleEncoder {
    embedder: Embedder,
    waiting: Vec<Title>,
    vectors: Vec<f32>,
    left_out: u64,
}

impl TitleEncoder {
    pub(super) fn new(model: &Model) -> TitleEncoder {
        let embedder = model.embedder(Side::Title);
        TitleEncoder { embedder, waiting: Vec::with_capacity(TITLES_AT_ONCE), vectors: Vec::new(), left_out: 0 }
    }

    /// One more title. One of which the model knows no word would have a vector that says nothing: it is left out.
    pub(super) fn add(&mut self, title: Title, sink: &mut impl Sink) -> Result<()> {
        self.waiting.push(title);
        if self.waiting.len() == TITLES_AT_ONCE { self.flush(sink) } else { Ok(()) }
    }

    /// Hands over the titles that wait.
    pub(super) fn flush(&mut self, sink: &mut impl Sink) -> Result<()> {
        let all = self.waiting.len();
        let dictionary = self.embedder.dictionary();
        let known = |title: &Title| dictionary.knows_a_word(&title.title);
        let mut known = self.waiting.par_iter().map(known).collect::<Vec<bool>>().into_iter();
        self.waiting.retain(|_| known.next().expect("one for each"));
        self.left_out += (all - self.waiting.len()) as u64;
        let texts: Vec<&str> = self.waiting.iter().map(|title| title.title.as_str()).collect();
        self.embedder.embed_into(&texts, &mut self.vectors);
        sink.take(&self.waiting, &self.vectors)?;
        self.waiting.clear();
        Ok(())
    }

    /// Titles that were left out.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }
}
