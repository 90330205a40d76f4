//! What was chosen when an index was made: whether it is searched by a fusion, what it does to words, and whether it stores columns.

use std::path::Path;

use anyhow::Result;
use clickvec::internals::index::looks_like_index;
use clickvec_index::{Choices, Engine};

/// Whether an index was made with a fusion. A damaged one is not searched in another way.
pub(crate) fn keeps_fusion(index: &Path) -> Result<bool> {
    // Opening reports what is not an index.
    Ok(looks_like_index(index) && choices(index)?.has_fusion)
}

/// Whether an index stores columns besides id and title.
pub(crate) fn stores_fields(index: &Path) -> Result<bool> {
    Ok(looks_like_index(index) && Engine::stores_fields(index).map_err(as_itself)?)
}

/// What was chosen when an index was made.
pub(crate) fn choices(index: &Path) -> Result<Choices> {
    Engine::choices(index).map_err(as_itself)
}

/// A library's error, so that advice is found for it.
fn as_itself(error: clickvec_index::Error) -> anyhow::Error {
    match error {
        clickvec_index::Error::Library(error) => error.into(),
        error => error.into(),
    }
}
