//! The index of a new model: made beside the old one for the comparison, then in its place.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clickvec::index::Hit;
use clickvec::model::Model;
use clickvec::tables::{Title, Titles, for_each_document};
use clickvec_build::IndexCandidates;
use clickvec_eval::update::DEPTH;
use clickvec_eval::{Collection, SearchQuery, search_all};
use clickvec_index::{Index, IndexBuilder, looks_like_index};
use clickvec_tables::files::{folder_of, remove_abandoned, resolved};
use clickvec_tables::{Error, ErrorKind, Result};

use super::replaced::{Replaced, unlisted};
use crate::{Watcher, inputs};

/// An index that is updated.
pub(super) struct Target<'a> {
    pub(super) path: &'a Path,
    pub(super) replaced: Replaced,
    pub(super) table: Titles,
    /// The index with the new titles and the old model.
    pub(super) old: Index,
    /// Where an index of the new model is made for the comparison.
    scratch: PathBuf,
}

impl<'a> Target<'a> {
    /// The index at `path`, whose titles have been brought to those of the table.
    pub(super) fn new(path: &'a Path, table: Titles) -> Result<Target<'a>> {
        let target = resolved(path);
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let scratch = folder_of(&target).join(format!(".{name}.update"));
        let replaced = Replaced::read(path)?;
        let target = Target { path, replaced, table, old: Index::open(path)?, scratch };
        // A killed update may have left it.
        target.remove_scratch();
        Ok(target)
    }

    /// Searches the old index, or one of the new model.
    pub(super) fn search(
        &self,
        model: &Model,
        (set, queries): (&Collection, &[SearchQuery]),
        watch: &dyn Watcher,
    ) -> Result<Vec<Vec<Hit>>> {
        if model.fingerprint() == self.old.model().fingerprint() {
            return search_all(&IndexCandidates::new(&self.old, set), queries, DEPTH, &mut |_| ());
        }
        let mut builder = IndexBuilder::new(model, &self.scratch)?.with_field(&self.replaced.field);
        let mut done = 0;
        for_each_document(&self.table, &self.replaced.field, &[], |title, _| {
            builder.add(title)?;
            done += 1;
            watch.progress("encoding with the new model", "titles", done, None)
        })?;
        self.replaced.finish(builder, model)?;
        let index = Index::open(&self.scratch)?;
        let lists = search_all(&IndexCandidates::new(&index, set), queries, DEPTH, &mut |_| ());
        self.remove_scratch();
        lists
    }

    /// Puts an index of the new model in the place of the old one, unless `watch` stops it before.
    pub(super) fn write(&self, new: &Model, watch: &dyn Watcher) -> Result<()> {
        let Target { path, replaced, table, .. } = self;
        let mut builder = IndexBuilder::with_fields(new, path, &replaced.fields)?.with_field(&replaced.field);
        let mut listed = HashSet::new();
        for_each_document(table, &replaced.field, &replaced.fields, |title: Title, values: &[&str]| {
            listed.insert(title.id.clone());
            builder.add_with_fields(title, values)?;
            watch.progress("encoding", "titles", listed.len() as u64, None)
        })?;
        // The builder has claimed the index, so no other process changes it from now on; titles may have been added during training.
        if Replaced::read(path)? != *replaced {
            let expected = "the index as it was when the update began";
            let found = "one rebuilt since then with other settings";
            let error = Error::expected(ErrorKind::Mismatch, expected, found);
            return Err(error.help("nothing was replaced; update again").at(path));
        }
        for (title, values) in unlisted(path, &listed)? {
            builder.add_with_fields(title, &values)?;
        }
        if watch.is_stopped() {
            return Err(Error::interrupted());
        }
        let built = replaced.finish(builder, new)?;
        inputs::note_without_vector(built.without_vector, built.without_words, watch);
        Ok(())
    }

    /// Removes the index that was made for the comparison. Anything else with its name stays.
    fn remove_scratch(&self) {
        remove_abandoned(&self.scratch);
        if looks_like_index(&self.scratch) {
            let _ = std::fs::remove_dir_all(&self.scratch);
        }
    }
}
