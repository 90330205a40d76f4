//! The titles of an index, brought to those of a table.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Result, ensure};
use clickvec::tables::Titles;
use clickvec_index::{Document, Updater};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use super::change;
use crate::{console, input, progress};

/// The largest number of ids to show of titles that a table lacks.
const SHOWN: usize = 3;

/// What became of the titles of an index.
#[derive(Debug, Serialize)]
pub(super) struct Refreshed {
    added: u64,
    replaced: u64,
    deleted: u64,
}

impl Refreshed {
    /// Adds the titles of a table to the index at `path`, replaces those with other texts or values, and deletes those that the table
    /// lacks, with the model that the index has. Searches find all of this at once.
    ///
    /// # Errors
    ///
    /// Those of reading both; the table has none of the index's titles, so it is another collection's.
    pub(super) fn new(path: &Path, table: &Titles) -> Result<Refreshed> {
        let mut updater = change::in_turn(path, || Updater::open(path))?;
        let mut before = HashMap::new();
        updater.before().for_each_title(|document| {
            let hash = hash_of(&document);
            before.insert(document.id, hash);
            Ok(())
        })?;
        let (fields, field) = (updater.before().stored_fields().to_vec(), updater.before().field().to_owned());
        let model = updater.before().model().clone();
        let had = before.len();
        let bar = progress::counter("looking for new titles", "titles");
        let (mut found, mut is_changed) = (0, false);
        input::each_document(table, &field, &fields, |title, values| {
            bar.inc(1);
            let values = values.iter().map(|value| (*value).to_owned());
            let document =
                Document { id: title.id, title: title.title, fields: fields.iter().cloned().zip(values).collect() };
            let was = before.remove(&document.id);
            found += u64::from(was.is_some());
            // A title without a known word is not in the index, and would be new every day.
            let is_new = was.is_none() && model.dictionary().knows_a_word(&document.title);
            if is_new || was.is_some_and(|was| was != hash_of(&document)) {
                is_changed = true;
                updater.put(&document)?;
            }
            Ok(())
        })?;
        bar.finish_and_clear();
        let mut gone: Vec<&String> = before.keys().collect();
        gone.sort_unstable();
        let first = console::first_of(
            gone.iter().take(SHOWN).map(|id| format!("`{}`", console::printable(id))),
            gone.len() as u64,
        );
        ensure!(
            found > 0 || had == 0,
            "{}: expected an index of the titles in {}, found none of its {} ({first}) there; give the titles or the index of the \
             same collection",
            console::path(path),
            console::path(&table.path),
            console::counted(had as u64, "title")
        );
        if gone.is_empty() && !is_changed {
            return Ok(Refreshed { added: 0, replaced: 0, deleted: 0 });
        }
        if !gone.is_empty() {
            let titles = console::counted(gone.len() as u64, "title");
            console::note(format_args!("{}: {titles} that `--titles` lacks ({first}): deleted", console::path(path)));
        }
        gone.into_iter().for_each(|id| updater.delete(id));
        let updated = updater.commit()?;
        change::compact_if_overdue(path, &updated);
        Ok(Refreshed { added: updated.added, replaced: updated.replaced, deleted: updated.deleted })
    }

    /// Returns a line of the report.
    pub(super) fn line(&self) -> String {
        let [added, replaced, deleted] = [self.added, self.replaced, self.deleted].map(console::count);
        format!("titles        {added} added to the index, {replaced} replaced, {deleted} deleted\n")
    }
}

/// Returns the hash of what an index stores of a title.
fn hash_of(document: &Document) -> u128 {
    let mut fields: Vec<_> = document.fields.iter().collect();
    fields.sort_unstable();
    xxh3_128(format!("{:?}{fields:?}", document.title).as_bytes())
}
