//! What updates have changed since an index was made: segments that came, and titles that went. The engine writes them;
//! here they are read.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::folder::About;
use crate::error::{BadChanges, IndexFault, Result, shortened};
use crate::index::file::{self, Folder, PartKind};

/// The segments that were added, and the titles that are no longer there.
pub const CHANGES: PartKind = PartKind { name: "changes", kind: "segments", first_file: "changes.json" };

/// The changes that an index names, in `changes-N.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// The segments after the first, oldest first.
    pub segments: Vec<Segment>,
    /// For each segment, with the first, the positions of titles that were deleted or replaced, in order.
    pub deleted: Vec<Vec<u32>>,
}

/// A segment by its folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// The name of the folder in that of the index.
    pub folder: String,
    /// The fingerprint of its manifest.
    pub fingerprint: String,
}

impl Default for Changes {
    fn default() -> Changes {
        Changes { segments: Vec::new(), deleted: vec![Vec::new()] }
    }
}

impl Changes {
    /// What files and folders of updates begin with.
    pub const PREFIX: &str = file::CHANGES;

    /// Those of an index; none if it was never updated.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Index`] and [`crate::Error::Io`].
    pub fn of(folder: &Folder<About>) -> Result<Changes> {
        let Some(name) = Changes::file(folder) else { return Ok(Changes::default()) };
        let bad = |found| folder.fault(IndexFault::BadChanges { name: name.clone(), found });
        let changes = serde_json::from_slice(&folder.read(&CHANGES, &name)?);
        let changes: Changes = changes.map_err(|error| bad(BadChanges::Json(error.into())))?;
        let is_name = |segment: &&Segment| {
            let number = segment.folder.strip_prefix(Changes::PREFIX);
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
    pub fn file(folder: &Folder<About>) -> Option<String> {
        folder.parts().get(CHANGES.name).and_then(|part| part.files.keys().next().cloned())
    }

    /// The folders of the segments after the first, whose vectors the same model made. The titles that are deleted are
    /// among those of their segments.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Index`] and [`crate::Error::Io`].
    pub fn folders(&self, folder: &Folder<About>, known: &[PartKind]) -> Result<Vec<Folder<About>>> {
        let open = |segment: &Segment| {
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

    /// Whether each of the `titles` of a segment is still there.
    pub fn alive(&self, segment: usize, titles: usize) -> Vec<bool> {
        let mut alive = vec![true; titles];
        for &position in self.deleted.get(segment).into_iter().flatten() {
            if let Some(is_alive) = alive.get_mut(position as usize) {
                *is_alive = false;
            }
        }
        alive
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
