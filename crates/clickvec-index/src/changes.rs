//! The changes of an index: which segments it has after the first, and which titles of each are no longer there. Updates write them.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::Path;

use clickvec_tables::shown::shortened;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, damaged, malformed, mismatch};

pub use crate::folder::CHANGES as CHANGES_PREFIX;
use crate::folder::{Folder, is_update_file};

/// The changes that an index names, in `changes-N.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Changes {
    /// The segments after the first, oldest first.
    pub(crate) segments: Vec<Named>,
    /// For each segment, with the first, the positions of titles that were deleted or replaced, in order.
    pub(crate) deleted: Vec<Vec<u32>>,
}

/// A segment by its folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Named {
    /// The name of the folder in that of the index.
    pub(crate) folder: String,
    /// The fingerprint of its manifest.
    pub(crate) fingerprint: String,
}

impl Default for Changes {
    fn default() -> Changes {
        Changes { segments: Vec::new(), deleted: vec![Vec::new()] }
    }
}

impl Changes {
    /// Reads those of an index; none if it was never updated.
    pub(crate) fn read(folder: &Folder) -> Result<Changes> {
        let Some(name) = Changes::file(folder) else { return Ok(Changes::default()) };
        let changes: Changes = folder.json(&name)?;
        let bad = |found| bad_changes(folder, found);
        let is_name = |segment: &&Named| {
            let number = segment.folder.strip_prefix(CHANGES_PREFIX);
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let (segments, lists) = (changes.segments.len() + 1, changes.deleted.len());
        if lists != segments {
            return Err(bad(format!("{lists} lists of deleted titles for {segments} segments")));
        }
        if let Some(segment) = changes.segments.iter().find(|segment| !is_name(segment)) {
            return Err(bad(format!("a segment in the folder `{}`", shortened(&segment.folder))));
        }
        let mut seen = HashSet::new();
        match changes.segments.iter().find(|segment| !seen.insert(&segment.folder)) {
            None => Ok(changes),
            Some(segment) => Err(bad(format!("the segment `{}` twice", segment.folder))),
        }
    }

    /// Returns the name of the file, if there were changes.
    pub(crate) fn file(folder: &Folder) -> Option<String> {
        folder.parts().get("changes").and_then(|part| part.files.keys().next().cloned())
    }

    /// Opens the folders of the segments after the first, whose vectors the same model made. The titles that are deleted are
    /// among those of their segments.
    pub(crate) fn folders(&self, folder: &Folder) -> Result<Vec<Folder>> {
        let open = |segment: &Named| {
            let inner = Folder::open(&folder.path().join(&segment.folder))?;
            if inner.fingerprint() != segment.fingerprint {
                let expected = format!("a segment with the fingerprint {}", segment.fingerprint);
                return Err(damaged(inner.path(), expected, inner.fingerprint().to_owned()));
            }
            let (expected, found) = (folder.about(), inner.about());
            if (&found.model, found.dimension) != (&expected.model, expected.dimension) {
                let expected = format!("vectors of {} numbers by the model {}", expected.dimension, expected.model);
                let found = format!("{} by {}", found.dimension, found.model);
                return Err(mismatch(inner.path(), expected, found));
            }
            Ok(inner)
        };
        let added = self.segments.iter().map(open).collect::<Result<Vec<_>>>()?;
        for (segment, (inner, deleted)) in std::iter::once(folder).chain(&added).zip(&self.deleted).enumerate() {
            let titles = inner.about().titles;
            if let Some(position) = misplaced(deleted, titles) {
                return Err(bad_changes(
                    folder,
                    format!(
                        "{position} among the deleted titles of segment {segment}, which has {titles}; positions begin at 0 and rise"
                    ),
                ));
            }
        }
        Ok(added)
    }
}

fn bad_changes(folder: &Folder, found: String) -> Error {
    malformed(&folder.path().join(Changes::file(folder).unwrap_or_default()), "the changes of an index", found)
}

/// Returns the first of the positions that is not below `titles` or not above the one before it.
fn misplaced(positions: &[u32], titles: u64) -> Option<u32> {
    let mut next = 0;
    positions.iter().copied().find(|&position| {
        let is_misplaced = u64::from(position) < next || u64::from(position) >= titles;
        next = u64::from(position) + 1;
        is_misplaced
    })
}

/// Returns the names of the file and the folder of the update with this number.
pub(crate) fn names(number: u64) -> [String; 2] {
    let prefix = CHANGES_PREFIX;
    [format!("{prefix}{number:06}.json"), format!("{prefix}{number:06}")]
}

/// Returns a number that no update of this index has had.
pub(crate) fn next(changes: &Changes, folder: &Folder) -> u64 {
    let names = changes.segments.iter().map(|segment| segment.folder.clone()).chain(Changes::file(folder));
    let number = |name: String| name.strip_prefix(CHANGES_PREFIX)?.trim_end_matches(".json").parse::<u64>().ok();
    names.filter_map(number).max().unwrap_or(0) + 1
}

/// Removes files that no manifest names: those of earlier updates and of killed ones. The caller holds the claim.
pub(crate) fn sweep(changes: &Changes, path: &Path, file: Option<&str>) {
    let mut named: BTreeSet<&str> = changes.segments.iter().map(|segment| segment.folder.as_str()).collect();
    named.extend(file);
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !is_update_file(&name) || named.contains(name.as_str()) {
            continue;
        }
        // The next update tries again to remove any that remain.
        let _ = if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            fs::remove_dir_all(entry.path())
        } else {
            fs::remove_file(entry.path())
        };
    }
}
