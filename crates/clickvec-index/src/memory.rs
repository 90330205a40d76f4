//! An index in memory: titles with their vectors and words, and no folder.

use std::path::PathBuf;
use std::sync::Arc;

use clickvec::index::FlatIndex;
use clickvec::model::Model;
use clickvec::tables::Title;
use clickvec_tables::memory::{NoRoom, reserve};

use crate::encode::{Sink, TitleEncoder};
use crate::error::Result;
use crate::open::{Both, Index, Opened, Written, facts};
use crate::segment::{Segment, TitleLines};
use crate::table::{HEADER, write_line};

/// Titles that were encoded.
struct Encoded {
    /// As in the file of titles.
    table: String,
    /// Where each line begins, and where the last one ends.
    starts: Vec<u64>,
    vectors: Vec<f32>,
}

impl Sink for Encoded {
    fn take(&mut self, titles: &[Title], _: &[String], vectors: &[f32]) -> clickvec::Result<()> {
        for Title { id, title } in titles {
            let (what, more) = ("titles", id.len() + title.len() + 2);
            reserve(&mut self.starts, 1, what)?;
            self.table.try_reserve(more).map_err(|_| NoRoom { what, bytes: Some(more as u64) })?;
            write_line(&mut self.table, id, title, "")?;
            self.starts.push(self.table.len() as u64);
        }
        reserve(&mut self.vectors, vectors.len(), "the vectors of titles")?;
        self.vectors.extend_from_slice(vectors);
        Ok(())
    }
}

impl Index {
    /// Encodes titles into an index in memory, which answers like one on disk that has no fitted fusion. A title is left out if the
    /// model knows none of its words, because its vector would mean nothing.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Library`] if there are too many titles, if an id or a title has a tab or a line end, or without memory.
    pub fn in_memory(model: &Model, titles: impl IntoIterator<Item = Title>) -> Result<Index> {
        let mut encoder = TitleEncoder::new(model);
        let (table, starts) = (HEADER.to_owned(), vec![HEADER.len() as u64]);
        let mut encoded = Encoded { table, starts, vectors: Vec::new() };
        for title in titles {
            encoder.add(title, String::new(), &mut encoded)?;
        }
        encoder.flush(&mut encoded)?;
        let vectors = FlatIndex::from_unit(model.dimension(), encoded.vectors)?;
        let titles = TitleLines::new(encoded.table.into_bytes().into(), Some(encoded.starts.into()));
        let segment = Segment::in_memory(titles.expect("begins with the header"), vectors)?;
        let segment = Opened { segment: Arc::new(segment), first: 0, alive: None, dead: 0, teacher: Arc::default() };
        let (model, segments) = (Arc::new(Both::new(model.clone())), vec![segment]);
        let written = Written { fingerprint: String::new(), version: env!("CARGO_PKG_VERSION").to_owned(), made: None };
        let facts = facts(written, encoder.left_out(), &model.model, &segments)?;
        Ok(Index { path: PathBuf::new(), field: "title".to_owned(), shard: None, model, segments, facts })
    }
}
