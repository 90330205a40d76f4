//! What updates have changed since an index was made: segments that came, and titles that went.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use clickvec::internals::files::TEMPORARY_PREFIX;
use clickvec::internals::index::{About, Folder};
use serde::{Deserialize, Serialize};

use crate::error::{EngineFault, Error, Result};
use crate::segment::parts::CHANGES;

/// What files and folders of updates begin with.
const PREFIX: &str = "changes-";

/// The changes that an index names, in `changes-N.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Changes {
    /// The segments after the first, oldest first.
    pub(crate) segments: Vec<Named>,
    /// For each segment, with the first, the positions of titles that were deleted or replaced, in order.
    pub(crate) deleted: Vec<Vec<u32>>,
}

/// A segment by its folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Named {
    pub(crate) folder: String,
    /// The fingerprint of its manifest.
    pub(crate) fingerprint: String,
}

/// The file and the folder of the update with this number.
pub(crate) fn names(number: u64) -> [String; 2] {
    [format!("{PREFIX}{number:06}.json"), format!("{PREFIX}{number:06}")]
}

impl Changes {
    /// Those of an index.
    pub(crate) fn of(folder: &Folder<About>) -> Result<Changes> {
        let Some(name) = Changes::file(folder) else {
            return Ok(Changes { segments: Vec::new(), deleted: vec![Vec::new()] });
        };
        let form = || {
            let expected = "the changes of an index";
            Error::index(folder.path(), EngineFault::Form { name: name.clone(), expected })
        };
        let changes: Changes = serde_json::from_slice(&folder.read(&CHANGES, &name)?).map_err(|_| form())?;
        let is_name = |named: &Named| {
            named.folder.strip_prefix(PREFIX).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        match changes.deleted.len() == changes.segments.len() + 1 && changes.segments.iter().all(is_name) {
            true => Ok(changes),
            false => Err(form()),
        }
    }

    /// The name of the file, if there were changes.
    pub(crate) fn file(folder: &Folder<About>) -> Option<String> {
        folder.parts().get(CHANGES.name).and_then(|part| part.files.keys().next().cloned())
    }

    /// A number that no update of this index has had.
    pub(crate) fn next(&self, folder: &Folder<About>) -> u64 {
        let names = self.segments.iter().map(|named| named.folder.clone()).chain(Changes::file(folder));
        let number = |name: String| name.strip_prefix(PREFIX)?.trim_end_matches(".json").parse::<u64>().ok();
        names.filter_map(number).max().unwrap_or(0) + 1
    }

    /// Removes what no manifest names: files of earlier updates, and what a killed one left. The caller holds the claim.
    pub(crate) fn sweep(&self, path: &Path, file: Option<&str>) {
        let mut kept: BTreeSet<&str> = self.segments.iter().map(|named| named.folder.as_str()).collect();
        kept.extend(file);
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_ours = [PREFIX, TEMPORARY_PREFIX].iter().any(|start| name.starts_with(start));
            if !is_ours || kept.contains(name.as_str()) {
                continue;
            }
            // What cannot be removed now, the next update tries again.
            let _ = match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => fs::remove_dir_all(entry.path()),
                false => fs::remove_file(entry.path()),
            };
        }
    }
}
