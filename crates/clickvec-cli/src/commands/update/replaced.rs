//! The index that an update replaces: what the new one gets of it.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Result, bail};
use clickvec::model::Model;
use clickvec::tables::Title;
use clickvec_index::{BuiltIndex, Fusion, Index, IndexBuilder, VectorFormat};

use crate::console;

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
    /// Reads the index at `path`, and says that its weights were chosen with another model.
    pub(super) fn tell(path: &Path) -> Result<Replaced> {
        let replaced = Replaced::read(path)?;
        if replaced.fusion.custom {
            console::note(format_args!(
                "{}: the weights of its fusion stay, though they were chosen with the old model",
                console::path(path)
            ));
        }
        Ok(replaced)
    }

    /// Reads the index at `path`.
    pub(super) fn read(path: &Path) -> Result<Replaced> {
        let before = Index::open(path)?;
        if let Some(shard) = before.shard() {
            bail!(
                "{}: expected an index of all titles, found shard {shard}, which would get the titles of the others too; join the \
                 shards first (`clickvec index --join`)",
                console::path(path)
            );
        }
        let (fields, format) = (before.stored_fields().to_vec(), before.vector_format());
        let fusion = before.fusion_with_known_titles()?;
        Ok(Replaced { field: before.field().to_owned(), fields, fusion, format })
    }

    /// Finishes an index with the same parts.
    pub(super) fn finish(&self, builder: IndexBuilder, model: &Model) -> clickvec_index::Result<BuiltIndex> {
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
