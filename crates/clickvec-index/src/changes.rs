//! The files of updates: their names, and what is no longer needed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use clickvec::internals::index::{About, Changes, Folder, is_of_updates};

/// The file and the folder of the update with this number.
pub(crate) fn names(number: u64) -> [String; 2] {
    let prefix = Changes::PREFIX;
    [format!("{prefix}{number:06}.json"), format!("{prefix}{number:06}")]
}

/// A number that no update of this index has had.
pub(crate) fn next(changes: &Changes, folder: &Folder<About>) -> u64 {
    let names = changes.segments.iter().map(|segment| segment.folder.clone()).chain(Changes::file(folder));
    let number = |name: String| name.strip_prefix(Changes::PREFIX)?.trim_end_matches(".json").parse::<u64>().ok();
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
        let _ = match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => fs::remove_dir_all(entry.path()),
            false => fs::remove_file(entry.path()),
        };
    }
}
