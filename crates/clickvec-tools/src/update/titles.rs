//! The titles of an index, brought to those of a table.

use std::collections::HashMap;
use std::path::Path;

use clickvec::tables::Titles;
use clickvec_index::{Document, Updater};
use clickvec_tables::shown::{count, counted, first_of, printable, shown};
use clickvec_tables::{Error, ErrorKind, Result};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use super::change;
use crate::{Watcher, inputs};

/// The largest number of ids to show of titles that a table lacks.
const SHOWN: usize = 3;

/// What became of the titles of an index.
#[derive(Debug, Serialize)]
pub struct Refreshed {
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
    pub(super) fn new(path: &Path, table: &Titles, watch: &dyn Watcher) -> Result<Refreshed> {
        let mut updater = change::in_turn(path, watch, || Updater::open(path))?;
        let mut before = HashMap::new();
        updater.before().for_each_title(|document| {
            let hash = hash_of(&document);
            before.insert(document.id, hash);
            Ok(())
        })?;
        let (fields, field) = (updater.before().stored_fields().to_vec(), updater.before().field().to_owned());
        let model = updater.before().model().clone();
        let had = before.len();
        let (mut read, mut found, mut is_changed) = (0, 0, false);
        inputs::each_document(table, &field, &fields, watch, |title, values| {
            read += 1;
            watch.progress("looking for new titles", "titles", read, None)?;
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
        let mut gone: Vec<&String> = before.keys().collect();
        gone.sort_unstable();
        let first = first_of(gone.iter().take(SHOWN).map(|id| format!("`{}`", printable(id))), gone.len() as u64);
        if found == 0 && had > 0 {
            let expected = format!("an index of the titles in {}", shown(&table.path));
            let none = format!("none of its {} ({first}) there", counted(had as u64, "title"));
            let error = Error::expected(ErrorKind::Mismatch, expected, none);
            return Err(error.help("give the titles or the index of the same collection").at(path));
        }
        if gone.is_empty() && !is_changed {
            return Ok(Refreshed { added: 0, replaced: 0, deleted: 0 });
        }
        if !gone.is_empty() {
            let titles = counted(gone.len() as u64, "title");
            let (path, table) = (shown(path), shown(&table.path));
            watch.note(format!("{path}: deleted {titles} that {table} does not have ({first})"));
        }
        gone.into_iter().for_each(|id| updater.delete(id));
        let updated = updater.commit()?;
        change::compact_if_overdue(path, &updated, watch);
        Ok(Refreshed { added: updated.added, replaced: updated.replaced, deleted: updated.deleted })
    }

    /// Returns a line of the report.
    pub fn line(&self) -> String {
        let [added, replaced, deleted] = [self.added, self.replaced, self.deleted].map(count);
        format!("titles        {added} added to the index, {replaced} replaced, {deleted} deleted\n")
    }
}

/// Returns the hash of what an index stores of a title.
fn hash_of(document: &Document) -> u128 {
    let mut fields: Vec<_> = document.fields.iter().collect();
    fields.sort_unstable();
    xxh3_128(format!("{:?}{fields:?}", document.title).as_bytes())
}
