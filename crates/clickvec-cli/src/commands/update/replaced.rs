//! The index that an update replaces: what the new one gets of it.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Result, bail};
use clickvec::model::Model;
use clickvec::tables::Title;
use clickvec_index::{BuiltIndex, Fusion, Index, IndexBuilder, VectorFormat};

use crate::commands::index;
use crate::output;

/// The largest number of ids to show of titles that a catalogue lacks.
const SHOWN: usize = 3;

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

/// The titles of an index that a catalogue lacks: added to the index after the catalogue was written, or no longer sold.
#[derive(Debug, Default)]
pub(super) struct Unlisted {
    /// How many there are.
    pub(super) count: u64,
    /// Whether the index has no other title.
    pub(super) is_all: bool,
    /// The ids of the first few.
    pub(super) first: Vec<String>,
    /// All of them with their stored values, if they are needed.
    pub(super) titles: Vec<(Title, Vec<String>)>,
}

impl Unlisted {
    /// Reads the titles of the index at `path` that have none of the ids `listed`. Their texts and values are read only if they are
    /// `needed`.
    pub(super) fn read(path: &Path, listed: &HashSet<String>, needed: bool) -> Result<Unlisted> {
        let mut unlisted = Unlisted::default();
        let index = Index::open(path)?;
        if needed {
            // Otherwise damaged titles would get a checksum that says they are sound.
            index.check()?;
        }
        let mut all = 0;
        index.for_each_title(|mut title| {
            all += 1;
            if listed.contains(&title.id) {
                return Ok(());
            }
            unlisted.count += 1;
            if unlisted.first.len() < SHOWN {
                unlisted.first.push(title.id.clone());
            }
            if needed {
                let values = index.stored_fields().iter().map(|name| title.fields.remove(name).unwrap_or_default());
                let values = values.collect();
                unlisted.titles.push((Title { id: title.id, title: title.title }, values));
            }
            Ok(())
        })?;
        unlisted.is_all = all > 0 && unlisted.count == all;
        Ok(unlisted)
    }
}

impl Replaced {
    /// Reads the index at `path`, and says that its weights were chosen with another model.
    pub(super) fn tell(path: &Path) -> Result<Replaced> {
        let replaced = Replaced::read(path)?;
        if replaced.fusion.custom {
            output::note(format_args!(
                "{}: the weights of its fusion stay, though they were chosen with the old model",
                output::path(path)
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
                output::path(path)
            );
        }
        let (fields, format) = (before.stored_fields().to_vec(), before.vector_format());
        let fusion = before.fusion_with_known_titles()?;
        Ok(Replaced { field: before.field().to_owned(), fields, fusion, format })
    }

    pub(super) fn finish(&self, builder: IndexBuilder, model: &Model) -> Result<BuiltIndex> {
        index::finish(builder, model, &self.fusion, self.format)
    }
}
