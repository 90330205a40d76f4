//! Whether an index is searched by a fusion, and what it does to words.

use std::path::Path;

use anyhow::Result;
use clickvec::internals::index::looks_like_index;
use clickvec::internals::text::Analysis;
use clickvec_engine::Engine;

/// Whether an index was made with a fusion. A damaged one is not searched in another way.
pub(crate) fn keeps_fusion(index: &Path) -> Result<bool> {
    match Engine::choices(index) {
        Ok(choices) => Ok(choices.has_fusion),
        // Opening reports what is not an index.
        Err(_) if !looks_like_index(index) => Ok(false),
        // As itself, so that advice is found for it.
        Err(clickvec_engine::Error::Library(error)) => Err(error.into()),
        Err(error) => Err(error.into()),
    }
}

/// What an index does to words before it compares them.
pub(crate) fn analysis_of(index: &Path) -> Result<Analysis> {
    match Engine::choices(index) {
        Ok(choices) => Ok(choices.analysis),
        Err(clickvec_engine::Error::Library(error)) => Err(error.into()),
        Err(error) => Err(error.into()),
    }
}
