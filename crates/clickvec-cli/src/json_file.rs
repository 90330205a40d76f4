//! JSON files that the program wrote earlier and that may have changed since.

use std::io::Read as _;
use std::path::Path;

use serde::de::DeserializeOwned;

/// A bound on a file that says what a folder is.
const MOST_MARK_BYTES: u64 = 1 << 20;

/// Returns what the file `path` of a folder says of it; `None` if it is not there or says something else.
pub(crate) fn mark<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let mut bytes = Vec::new();
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MOST_MARK_BYTES);
    let mut file = is_file.then(|| std::fs::File::open(path).ok()).flatten()?.take(MOST_MARK_BYTES);
    file.read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}
