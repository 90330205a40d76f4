//! The index that an update replaces: what the new one gets of it.

use std::collections::HashSet;
use std::path::Path;

use clickvec::model::Model;
use clickvec::tables::Title;
use clickvec_index::{BuiltIndex, Fusion, Index, IndexBuilder, VectorFormat};
use clickvec_tables::shown::shown;
use clickvec_tables::{Error, ErrorKind, Result};

use crate::Watcher;

/// What the index to replace has that the new one gets too.
#[derive(Debug, PartialEq)]
pub(super) struct Replaced {
    /// The column that the texts come from.
    pub(super) field: String,
    /// The stored fields.
    pub(super) fields: Vec<String>,
    fusion: Fusion,
    format: VectorFormat,
}

impl Replaced {
    /// Reads the index at `path`, and notes that its weights were chosen with another model.
    pub(super) fn noted(path: &Path, watch: &dyn Watcher) -> Result<Replaced> {
        let replaced = Replaced::read(path)?;
        if replaced.fusion.custom {
            let path = shown(path);
            watch.note(format!("{path}: keeps its fusion weights, which were chosen with the old model"));
        }
        Ok(replaced)
    }

    /// Reads the index at `path`.
    pub(super) fn read(path: &Path) -> Result<Replaced> {
        let before = Index::open(path)?;
        if let Some(shard) = before.shard() {
            let found = format!("shard {shard}, which would get the titles of the others too");
            let error = Error::expected(ErrorKind::Setting, "an index of all titles", found);
            return Err(error.help("join the shards first").at(path));
        }
        if !before.links().is_empty() {
            let found = "one that links to others";
            let error = Error::expected(ErrorKind::Setting, "an index with titles of its own", found);
            return Err(error.help("join those that it links to first, without links").at(path));
        }
        let (fields, format) = (before.stored_fields().to_vec(), before.vector_format());
        let fusion = before.fusion_with_known_titles()?;
        Ok(Replaced { field: before.field().to_owned(), fields, fusion, format })
    }

    /// Finishes an index with the same parts.
    pub(super) fn finish(&self, builder: IndexBuilder, model: &Model) -> Result<BuiltIndex> {
        clickvec_index::finish(builder, model, &self.fusion, self.format)
    }
}

/// Returns the titles of the index at `path` that have none of the ids `listed`, with their stored values.
pub(super) fn unlisted(path: &Path, listed: &HashSet<String>) -> Result<Vec<(Title, Vec<String>)>> {
    let index = Index::open(path)?;
    // Otherwise damaged titles would get a checksum that says they are sound.
    index.check()?;
    let mut titles = Vec::new();
    index.for_each_title(|mut title| {
        if !listed.contains(&title.id) {
            let values = index.stored_fields().iter().map(|name| title.fields.remove(name).unwrap_or_default());
            let values = values.collect();
            titles.push((Title { id: title.id, title: title.title }, values));
        }
        Ok(())
    })?;
    Ok(titles)
}
