//! The changes of an index: which segments it has after the first, and which titles of each are no longer there. Updates write them.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::Path;

use clickvec::error::{BadChanges, IndexFault, Result};
use clickvec::internals::error::shortened;
use serde::{Deserialize, Serialize};

pub use crate::folder::CHANGES as CHANGES_PREFIX;
use crate::folder::{Folder, PartKind, is_of_updates};
use crate::layout::{About, CHANGES};

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
    /// Those of an index; none if it was never updated.
    ///
    /// # Errors
    ///
    /// [`clickvec::Error::Index`] and [`clickvec::Error::Io`].
    pub(crate) fn of(folder: &Folder<About>) -> Result<Changes> {
        let Some(name) = Changes::file(folder) else { return Ok(Changes::default()) };
        let bad = |found| folder.fault(IndexFault::BadChanges { name: name.clone(), found });
        let changes = serde_json::from_slice(&folder.read(&CHANGES, &name)?);
        let changes: Changes = changes.map_err(|error| bad(BadChanges::Json(error.into())))?;
        let is_name = |segment: &&Named| {
            let number = segment.folder.strip_prefix(CHANGES_PREFIX);
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let (segments, found) = (changes.segments.len() + 1, changes.deleted.len());
        if found != segments {
            return Err(bad(BadChanges::Deleted { segments, found }));
        }
        if let Some(segment) = changes.segments.iter().find(|segment| !is_name(segment)) {
            return Err(bad(BadChanges::Folder { folder: shortened(&segment.folder) }));
        }
        let mut seen = HashSet::new();
        match changes.segments.iter().find(|segment| !seen.insert(&segment.folder)) {
            None => Ok(changes),
            Some(segment) => Err(bad(BadChanges::Twice { folder: segment.folder.clone() })),
        }
    }

    /// The name of the file, if there were changes.
    pub(crate) fn file(folder: &Folder<About>) -> Option<String> {
        folder.parts().get(CHANGES.name).and_then(|part| part.files.keys().next().cloned())
    }

    /// The folders of the segments after the first, whose vectors the same model made. The titles that are deleted are
    /// among those of their segments.
    ///
    /// # Errors
    ///
    /// [`clickvec::Error::Index`] and [`clickvec::Error::Io`].
    pub(crate) fn folders(&self, folder: &Folder<About>, known: &[PartKind]) -> Result<Vec<Folder<About>>> {
        let open = |segment: &Named| {
            let inner = Folder::<About>::open(&folder.path().join(&segment.folder), known)?;
            if inner.fingerprint() != segment.fingerprint {
                let (expected, found) = (segment.fingerprint.clone(), inner.fingerprint().to_owned());
                return Err(folder.fault(IndexFault::Segment { folder: segment.folder.clone(), expected, found }));
            }
            let (expected, found) = (folder.about(), inner.about());
            if found.model != expected.model {
                let (expected, found) = (expected.model.clone(), found.model.clone());
                return Err(inner.fault(IndexFault::OtherModel { expected, found }));
            }
            if found.dimension != expected.dimension {
                let (expected, found) = (expected.dimension, found.dimension);
                return Err(inner.fault(IndexFault::Dimension { expected, found }));
            }
            Ok(inner)
        };
        let added = self.segments.iter().map(open).collect::<Result<Vec<_>>>()?;
        for (segment, (inner, deleted)) in std::iter::once(folder).chain(&added).zip(&self.deleted).enumerate() {
            if let Some(position) = misplaced(deleted, inner.about().titles) {
                let found = BadChanges::Position { segment, titles: inner.about().titles, position };
                let name = Changes::file(folder).unwrap_or_else(|| CHANGES.first_file.to_owned());
                return Err(folder.fault(IndexFault::BadChanges { name, found }));
            }
        }
        Ok(added)
    }
}

/// The first of the positions that is not below `titles` or not above the one before it.
fn misplaced(positions: &[u32], titles: u64) -> Option<u32> {
    let mut next = 0;
    positions.iter().copied().find(|&position| {
        let is_misplaced = u64::from(position) < next || u64::from(position) >= titles;
        next = u64::from(position) + 1;
        is_misplaced
    })
}

/// The file and the folder of the update with this number.
pub(crate) fn names(number: u64) -> [String; 2] {
    let prefix = CHANGES_PREFIX;
    [format!("{prefix}{number:06}.json"), format!("{prefix}{number:06}")]
}

/// A number that no update of this index has had.
pub(crate) fn next(changes: &Changes, folder: &Folder<About>) -> u64 {
    let names = changes.segments.iter().map(|segment| segment.folder.clone()).chain(Changes::file(folder));
    let number = |name: String| name.strip_prefix(CHANGES_PREFIX)?.trim_end_matches(".json").parse::<u64>().ok();
    names.filter_map(number).max().unwrap_or(0) + 1
}

/// Removes what no manifest names: files of earlier updates, and what a killed one left. The caller holds the claim.
pub(crate) fn sweep(changes: &Changes, path: &Path, file: Option<&str>) {
    let mut kept: BTreeSet<&str> = changes.segments.iter().map(|segment| segment.folder.as_str()).collect();
    kept.extend(file);
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !is_of_updates(&name) || kept.contains(name.as_str()) {
            continue;
        }
        // What cannot be removed now, the next update tries again.
        let _ = if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            fs::remove_dir_all(entry.path())
        } else {
            fs::remove_file(entry.path())
        };
    }
}
