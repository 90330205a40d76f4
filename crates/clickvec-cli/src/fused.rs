//! What was chosen when an index was made: whether it is searched by a fusion, and what it does to words.

use std::path::Path;

use anyhow::Result;
use clickvec::internals::index::looks_like_index;
use clickvec_engine::{Choices, Engine};

/// Whether an index was made with a fusion. A damaged one is not searched in another way.
pub(crate) fn keeps_fusion(index: &Path) -> Result<bool> {
    // Opening reports what is not an index.
    Ok(looks_like_index(index) && choices(index)?.has_fusion)
}

/// What was chosen when an index was made.
pub(crate) fn choices(index: &Path) -> Result<Choices> {
    Engine::choices(index).map_err(|error| match error {
        // As itself, so that advice is found for it.
        clickvec_engine::Error::Library(error) => error.into(),
        error => error.into(),
    })
}
