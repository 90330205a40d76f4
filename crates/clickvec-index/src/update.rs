//! Updates of an index: titles are added, replaced and deleted in one step, and deleted ones are cleared away.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clickvec::model::Model;
use clickvec::tables::Title;
use clickvec_tables::files::{Claim, resolved, write_bytes_atomically};
use serde::Serialize;

use crate::answer::Document;
use crate::build::{BuiltIndex, IndexBuilder};
use crate::changes::{Changes, Named, names, next, sweep};
use crate::check::replaced;
use crate::error::Result;
use crate::folder::{Folder, put_part};
use crate::fusion::Fusion;
use crate::manifests;
use crate::open::{Index, is_overdue, is_worth_compacting};
use crate::parts::vectors::VectorFormat;
use crate::search::unknown_field;
use crate::segment::Segment;
use crate::segment::complete::{Recipe, complete};

/// Finishes an index: writes all other parts, with its vectors in a format, and moves it to its place.
///
/// # Errors
///
/// Those of [`IndexBuilder::add`]. An index at the path is then untouched.
pub fn finish(builder: IndexBuilder, model: &Model, fusion: &Fusion, format: VectorFormat) -> Result<BuiltIndex> {
    builder.finish_with(|folder| complete(folder, &Recipe::new(model, fusion, format)))
}

/// An update of an index. Nothing of it is seen before [`Updater::commit`], and all of it afterwards; if it is dropped or
/// killed earlier, the index stays as it was.
///
/// While it lives, no other process can change the index; searches go on.
pub struct Updater {
    path: PathBuf,
    index: Index,
    changes: Changes,
    number: u64,
    builder: Option<IndexBuilder>,
    /// The last change of each id.
    last: HashMap<String, Last>,
    puts: u64,
    _claim: Claim,
}

/// The last change of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// It was added or replaced.
    Put,
    Deleted,
}

/// The result of an update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Updated {
    /// Titles with ids that the index did not have.
    pub added: u64,
    /// Titles in the place of others with their ids.
    pub replaced: u64,
    /// Titles that were deleted.
    pub deleted: u64,
    /// Added titles without a vector, because the model knows none of their words. Words find them.
    pub without_vector: u64,
    /// Those of them that have no words either. Nothing finds them but their ids.
    pub without_words: u64,
    /// Ids to delete that the index did not have.
    pub missing: u64,
    /// The first of these ids in the order of their bytes, at most [`Updated::MISSING_IDS`].
    pub missing_ids: Vec<String>,
    /// The number of titles that can be found now.
    pub titles: u64,
    /// The number of segments now.
    pub segments: usize,
    /// The fingerprint of the index now.
    pub fingerprint: String,
    /// Whether [`compact`] would make searches faster or the index much smaller.
    pub is_worth_compacting: bool,
    /// Whether compaction should not wait: more than 64 segments, or more than half of the titles deleted.
    pub is_compaction_overdue: bool,
}

impl Updated {
    /// At most this many of the ids that the index did not have are named.
    pub const MISSING_IDS: usize = 3;
}

impl Updater {
    /// Begins an update of the index at `path`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) if another process changes it; those of [`Index::open`].
    pub fn open(path: &Path) -> Result<Updater> {
        let path = resolved(path);
        let claim = Claim::new(&path)?;
        let folder = Folder::open(&path)?;
        manifests::refuse(&folder)?;
        let changes = Changes::read(&folder)?;
        sweep(&changes, &path, Changes::file(&folder).as_deref());
        let number = next(&changes, &folder);
        let index = Index::open(&path)?;
        let last = HashMap::new();
        Ok(Updater { path, index, changes, number, builder: None, last, puts: 0, _claim: claim })
    }

    /// Returns the index as it was before the update.
    pub fn before(&self) -> &Index {
        &self.index
    }

    /// Adds a title, or replaces the one with its id. A field that it lacks is empty.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`](crate::ErrorKind::Setting) for a field that the index does not store; those of [`IndexBuilder::add`].
    pub fn put(&mut self, document: &Document) -> Result<()> {
        let stored = self.index.stored_fields();
        if let Some(unknown) = document.fields.keys().find(|name| !stored.contains(name)) {
            return Err(unknown_field("fields", unknown, stored));
        }
        let values: Vec<&str> =
            stored.iter().map(|name| document.fields.get(name).map_or("", String::as_str)).collect();
        let builder = match &mut self.builder {
            Some(builder) => builder,
            empty => {
                let folder = self.path.join(&names(self.number)[1]);
                empty.insert(IndexBuilder::segment(&self.index.model.model, &folder, stored)?)
            }
        };
        builder.add_with_fields(Title { id: document.id.clone(), title: document.title.clone() }, &values)?;
        self.puts += 1;
        self.last.insert(document.id.clone(), Last::Put);
        Ok(())
    }

    /// Deletes the title with this id, if there is one.
    pub fn delete(&mut self, id: &str) {
        self.last.insert(id.to_owned(), Last::Deleted);
    }

    /// Writes the update, which is then durable and visible.
    ///
    /// # Errors
    ///
    /// Those of [`IndexBuilder::add`] and [`Index::open`]; the index then stays as it was.
    pub fn commit(self) -> Result<Updated> {
        let Updater { path, index, mut changes, number, builder, last, .. } = self;
        let [file, name] = names(number);
        let recipe = Recipe::for_update(&index.model.model, &index.fusion, index.vector_format());
        let built = builder.map(|builder| builder.finish_with(|folder| complete(folder, &recipe))).transpose()?;
        let new = match &built {
            None => None,
            Some(built) => {
                changes.segments.push(Named { folder: name.clone(), fingerprint: built.fingerprint.clone() });
                changes.deleted.push(Vec::new());
                Some(Segment::open(&Folder::open(&path.join(&name))?)?)
            }
        };
        let [mut added, mut replaced, mut deleted] = [0u64; 3];
        let mut missing: Vec<&String> = Vec::new();
        for (id, last) in &last {
            let was = index.find(id);
            if let Some((segment, position)) = was {
                changes.deleted[segment].push(position);
            }
            match (last, was) {
                (Last::Put, None) => added += 1,
                (Last::Put, Some(_)) => replaced += 1,
                (Last::Deleted, Some(_)) => deleted += 1,
                (Last::Deleted, None) => missing.push(id),
            }
            let Some(new) = &new else { continue };
            let mut positions = new.ids.find(id, &new.titles);
            if *last == Last::Put {
                positions.pop();
            }
            changes.deleted.last_mut().expect("one for each segment").extend(positions);
        }
        changes.deleted.iter_mut().for_each(|positions| {
            positions.sort_unstable();
            positions.dedup();
        });
        let bytes = serde_json::to_vec(&changes).expect("names for keys");
        write_bytes_atomically(&path.join(&file), &bytes)?;
        let fingerprint = put_part(&path, "changes", "segments", &[&file])?;
        sweep(&changes, &path, Some(&file));
        missing.sort_unstable();
        let dead: usize = changes.deleted.iter().map(Vec::len).sum();
        let all = index.all_titles() + new.as_ref().map_or(0, Segment::len);
        let segments = changes.segments.len() + 1;
        Ok(Updated {
            added,
            replaced,
            deleted,
            without_vector: built.as_ref().map_or(0, |built| built.without_vector),
            without_words: built.as_ref().map_or(0, |built| built.without_words),
            missing: missing.len() as u64,
            missing_ids: missing.into_iter().take(Updated::MISSING_IDS).cloned().collect(),
            titles: (all - dead) as u64,
            segments,
            fingerprint,
            is_worth_compacting: is_worth_compacting(segments, dead, all),
            is_compaction_overdue: is_overdue(segments, dead, all),
        })
    }
}

/// The result of compacting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Compacted {
    /// The number of titles that can be found.
    pub titles: u64,
    /// The number of titles that were gone and no longer take space.
    pub cleared: u64,
    /// The number of segments that became one.
    pub segments: usize,
    /// The fingerprint of the index now.
    pub fingerprint: String,
}

/// Merges all segments, dropping deleted titles. Searches go on, and find the old index or the new one.
///
/// # Errors
///
/// [`ErrorKind::Busy`](crate::ErrorKind::Busy) if another process changes it; those of [`Index::open`] and [`Index::check`]. The index
/// then stays as it was.
pub fn compact(path: &Path) -> Result<Compacted> {
    let path = &resolved(path);
    manifests::refuse(&Folder::open(path)?)?;
    let before = Index::open(path)?;
    let mut builder =
        IndexBuilder::with_fields(&before.model.model, path, before.stored_fields())?.with_field(before.field());
    // What was a shard still joins with the others.
    if let Some(shard) = before.shard() {
        builder = builder.with_shard(shard);
    }
    // From here on no other process can change it; one may have, before.
    let index = match before.reopened()? {
        None => before,
        Some(now)
            if now.facts().model == before.facts().model
                && now.stored_fields() == before.stored_fields()
                && now.field() == before.field() =>
        {
            now
        }
        Some(_) => return Err(replaced(path, &before.written.fingerprint)),
    };
    // A damaged file would come out with a checksum that says it is sound.
    index.check()?;
    let mut titles = 0;
    index.for_each_alive(|line, vector| {
        titles += 1;
        let title = Title { id: line.id.to_owned(), title: line.title.to_owned() };
        let values: Vec<&str> = line.values().collect();
        builder.add_encoded(&title, &values, vector)
    })?;
    let built = finish(builder, &index.model.model, &index.fusion_with_known_titles()?, index.vector_format())?;
    let cleared = index.all_titles() as u64 - titles;
    Ok(Compacted { titles, cleared, segments: index.facts().segments, fingerprint: built.fingerprint })
}
