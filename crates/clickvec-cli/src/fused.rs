//! What was chosen when an index was made: whether it is searched by a fusion, and what it does to words.

use std::path::Path;

use anyhow::Result;
use clickvec_index::looks_like_index;
use clickvec_index::{Choices, Index};

/// Whether an index was made with a fusion. A damaged one is not searched in another way.
pub(crate) fn keeps_fusion(index: &Path) -> Result<bool> {
    // Opening reports what is not an index.
    Ok(looks_like_index(index) && choices(index)?.has_fusion)
}

/// What was chosen when an index was made.
pub(crate) fn choices(index: &Path) -> Result<Choices> {
    Index::choices(index).map_err(as_itself)
}

/// A library's error, so that advice is found for it.
pub(crate) fn as_itself(error: clickvec_index::Error) -> anyhow::Error {
    match error {
        clickvec_index::Error::Library(error) => error.into(),
        error => error.into(),
    }
}
