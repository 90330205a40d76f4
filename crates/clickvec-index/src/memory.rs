//! An index in memory: titles with their vectors and words, and no folder.

use std::path::PathBuf;
use std::sync::Arc;

use clickvec::index::FlatIndex;
use clickvec::model::Model;
use clickvec::tables::Title;
use clickvec_tables::memory::{NoRoom, reserve};

use crate::confidence::Confidence;
use crate::encode::{Sink, TitleEncoder, is_zero};
use crate::error::Result;
use crate::fusion::Fusion;
use crate::open::{Index, Opened, Towers, Written};
use crate::segment::Segment;
use crate::titles::{HEADER, TitleLines, write_line};

/// Titles that were encoded.
struct Encoded {
    /// Lines as in the file of titles.
    table: String,
    vectors: Vec<f32>,
}

impl Sink for Encoded {
    fn take(&mut self, titles: &[Title], _: &[String], vectors: &[f32]) -> Result<()> {
        for Title { id, title } in titles {
            let (what, more) = ("titles", id.len() + title.len() + 2);
            self.table.try_reserve(more).map_err(|_| NoRoom { what, bytes: Some(more as u64) })?;
            write_line(&mut self.table, id, title, "")?;
        }
        reserve(&mut self.vectors, vectors.len(), "the vectors of titles")?;
        self.vectors.extend_from_slice(vectors);
        Ok(())
    }
}

impl Index {
    /// Encodes titles into an index in memory, which answers like one on disk that has the default fusion.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if an id or a title has a tab or a line end;
    /// [`ErrorKind::Memory`](crate::ErrorKind::Memory).
    pub fn in_memory(model: &Model, titles: impl IntoIterator<Item = Title>) -> Result<Index> {
        Index::in_memory_with(model, titles, Fusion::for_model(model))
    }

    /// Encodes titles into an index in memory, with a fusion of vectors and words.
    ///
    /// # Errors
    ///
    /// Those of [`Index::in_memory`].
    pub fn in_memory_with(model: &Model, titles: impl IntoIterator<Item = Title>, fusion: Fusion) -> Result<Index> {
        let mut encoder = TitleEncoder::new(model);
        let mut encoded = Encoded { table: HEADER.to_owned(), vectors: Vec::new() };
        for title in titles {
            encoder.add(title, String::new(), &mut encoded)?;
        }
        encoder.flush(&mut encoded)?;
        let of_titles = encoded.vectors.chunks_exact(model.dimension());
        let without_vector = of_titles.filter(|vector| is_zero(vector)).count() as u64;
        let vectors = FlatIndex::from_unit(model.dimension(), encoded.vectors)?;
        let titles = TitleLines::from_table(encoded.table.into_bytes().into(), "the index in memory".as_ref())?;
        let segment = Segment::in_memory(titles, vectors, fusion.clone())?;
        let confidence = Confidence::measure(&[(&segment.vectors, &segment.titles, None)], model)?;
        let segment = Arc::new(segment);
        let segments = vec![Opened { segment, first: 0, alive: None, dead: 0 }];
        let written = Written {
            fingerprint: String::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            made: None,
            model_made: None,
            field: "title".to_owned(),
            shard: None,
            links: Vec::new(),
            without_vector,
        };
        let model = Arc::new(Towers::new(model.clone()));
        Ok(Index::new(PathBuf::new(), written, model, fusion, confidence, segments))
    }
}
