//! JSON files that the program wrote earlier and somebody may have changed since.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Result, bail};
use clickvec::Error;
use clickvec::error::JsonFault;
use clickvec::internals::files;
use serde::de::DeserializeOwned;

use crate::output;

/// A bound on the report of an evaluation. That of a hundred systems, with tests between all of them, has some 5 MB.
const MOST_REPORT_BYTES: u64 = 64 << 20;
/// A bound on a file that says what a folder is.
const MOST_MARK_BYTES: u64 = 1 << 20;

/// What a report of `evaluate --json` says.
pub(crate) fn report<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let mut bytes = Vec::new();
    let mut source = files::open(path)?.take(MOST_REPORT_BYTES + 1);
    source.read_to_end(&mut bytes).map_err(|source| Error::io(path, "read", source))?;
    let found = if bytes.len() as u64 > MOST_REPORT_BYTES {
        format!("more than {} MiB", MOST_REPORT_BYTES >> 20)
    } else {
        match serde_json::from_slice(&bytes) {
            Ok(report) => return Ok(report),
            Err(error) => JsonFault::from(error).to_string(),
        }
    };
    let shown = output::path(path);
    bail!(
        "{shown}: expected the report of `clickvec evaluate --json`, found {found}; make it with `clickvec evaluate … --json > {shown}`"
    )
}

/// What the file `path` of a folder says of it; `None` if it is not there or says something else.
pub(crate) fn mark<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let mut bytes = Vec::new();
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MOST_MARK_BYTES);
    let mut file = is_file.then(|| std::fs::File::open(path).ok()).flatten()?.take(MOST_MARK_BYTES);
    file.read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}
