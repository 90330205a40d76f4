//! Whether an index is searched by a fusion.

use std::path::Path;

use anyhow::Result;
use clickvec::internals::index::looks_like_index;
use clickvec_engine::Engine;

/// Whether an index was made with a fusion. A damaged one is not searched in another way.
pub(crate) fn keeps_fusion(index: &Path) -> Result<bool> {
    match Engine::kept(index) {
        Ok((has_fusion, _)) => Ok(has_fusion),
        // Opening reports what is not an index.
        Err(_) if !looks_like_index(index) => Ok(false),
        // As itself, so that advice is found for it.
        Err(clickvec_engine::Error::Library(error)) => Err(error.into()),
        Err(error) => Err(error.into()),
    }
}
