//! Titles with their vectors, a few thousand at once.

use std::io;
use std::path::Path;

use anyhow::Result;
use clickvec::Error;
use clickvec::model::{Embedder, Model, Side};
use clickvec::tables::Title;
use serde::Serialize;

use crate::{input, progress};

/// The number of titles that are encoded at once: enough for all threads.
const AT_ONCE: usize = 4096;

/// What is exported.
#[derive(Clone, Copy)]
pub(super) struct ExportedTitles<'a> {
    pub(super) model: &'a Model,
    /// The collection, and the column with its texts.
    pub(super) table: &'a Path,
    pub(super) field: &'a str,
}

/// How many titles were written.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Counts {
    pub(super) rows: u64,
    /// Titles that are left out because the model knows none of their words.
    pub(super) left_out: u64,
}

impl ExportedTitles<'_> {
    /// Passes titles on with their vectors, [titles, dimension]. `path` is what `write` writes to.
    pub(super) fn each(
        &self,
        path: &Path,
        mut write: impl FnMut(&[Title], &[f32]) -> io::Result<()>,
    ) -> Result<Counts> {
        let bar = progress::counter("encoding", "titles");
        let mut batch =
            Batch { embedder: self.model.embedder(Side::Title), waiting: Vec::new(), counts: Counts::default() };
        let mut write = |titles: &[Title], vectors: &[f32]| {
            write(titles, vectors).map_err(|source| Error::io(path, "write", source))
        };
        let read = input::each_title(self.table, self.field, |title| {
            batch.waiting.push(title);
            if batch.waiting.len() < AT_ONCE {
                return Ok(());
            }
            bar.inc(AT_ONCE as u64);
            batch.flush(&mut write)
        });
        let flushed = read.and_then(|()| Ok(batch.flush(&mut write)?));
        bar.finish_and_clear();
        flushed?;
        Ok(batch.counts)
    }
}

/// Titles that wait to be encoded.
struct Batch {
    embedder: Embedder,
    waiting: Vec<Title>,
    counts: Counts,
}

impl Batch {
    fn flush(&mut self, write: &mut impl FnMut(&[Title], &[f32]) -> clickvec::Result<()>) -> clickvec::Result<()> {
        let all = self.waiting.len();
        let dictionary = self.embedder.dictionary();
        self.waiting.retain(|title| dictionary.knows_a_word(&title.title));
        self.counts.left_out += (all - self.waiting.len()) as u64;
        self.counts.rows += self.waiting.len() as u64;
        let texts: Vec<&str> = self.waiting.iter().map(|title| title.title.as_str()).collect();
        write(&self.waiting, &self.embedder.embed(&texts))?;
        self.waiting.clear();
        Ok(())
    }
}
