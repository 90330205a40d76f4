//! Titles added to an index, replaced and deleted; compaction.

use std::path::Path;
use std::time::{Duration, Instant};

use clickvec::tables::Titles;
use clickvec_index::{Compacted, Document, Updated, Updater};
use clickvec_tables::shown::shown;
use clickvec_tables::{ErrorKind, Result};

use crate::{Watcher, inputs};

/// How long another process may take that changes the index: compacting ten million titles takes about as long.
const LONGEST: Duration = Duration::from_secs(600);
/// How often it is tried whether the other process is done.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Adds and replaces titles of an index, and deletes those with the ids `delete`. Searches find all of it at once.
///
/// # Errors
///
/// Those of reading and writing; `watch` stops it.
pub fn change(
    index: &Path,
    add: Option<&Titles>,
    delete: impl IntoIterator<Item = Result<String>>,
    watch: &dyn Watcher,
) -> Result<Updated> {
    let mut updater = in_turn(index, watch, || Updater::open(index))?;
    for id in delete {
        updater.delete(&id?);
    }
    if let Some(table) = add {
        let fields = updater.before().stored_fields().to_vec();
        let field = updater.before().field().to_owned();
        let mut done = 0;
        inputs::each_document(table, &field, &fields, watch, |title, values| {
            let values = values.iter().map(|value| (*value).to_owned());
            let fields = fields.iter().cloned().zip(values).collect();
            updater.put(&Document { id: title.id, title: title.title, fields })?;
            done += 1;
            watch.progress("encoding", "titles", done, None)
        })?;
    }
    updater.commit()
}

/// Clears away what updates of an index left behind.
///
/// # Errors
///
/// Those of writing.
pub fn compact(index: &Path, watch: &dyn Watcher) -> Result<Compacted> {
    in_turn(index, watch, || clickvec_index::compact(index))
}

/// [`compact`] if it is too much. A fault is noted only: the update is what was wanted, and it is done.
pub fn compact_if_overdue(index: &Path, updated: &Updated, watch: &dyn Watcher) -> Option<Compacted> {
    if !updated.is_compaction_overdue {
        return None;
    }
    compact(index, watch).map_err(|error| watch.warn(format!("not compacted: {error}"))).ok()
}

/// Waits for its turn if another process changes the index.
pub(super) fn in_turn<T>(index: &Path, watch: &dyn Watcher, change: impl Fn() -> Result<T>) -> Result<T> {
    let begun = Instant::now();
    let mut was_told = false;
    loop {
        match change() {
            Err(error) if error.kind() == ErrorKind::Busy && begun.elapsed() < LONGEST && !watch.is_stopped() => {
                if !std::mem::replace(&mut was_told, true) {
                    watch.note(format!("{}: waiting for another process that changes it", shown(index)));
                }
                std::thread::sleep(POLL_INTERVAL);
            }
            other => return other,
        }
    }
}
