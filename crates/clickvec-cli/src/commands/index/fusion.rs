//! A fusion in the place of a model.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clickvec::internals::ranker::fusion_members;

use crate::{input, output};

/// The file of the one model of a fusion, if `path` is a fusion; `None` if it is anything else.
pub(super) fn model_of(path: &Path, fusion: Option<&Path>) -> Result<Option<PathBuf>> {
    if !input::is_fusion(path) {
        return Ok(None);
    }
    let shown = output::path(path);
    ensure!(fusion.is_none(), "{shown}: expected a model with `--fusion`, found a fusion too; give one of them");
    let mut models = fusion_members(path)?.members.into_iter().filter(|member| member.system.is_none());
    match (models.next(), models.next()) {
        (Some(model), None) => Ok(Some(model.path)),
        (None, _) => {
            bail!("{shown}: expected a fusion with a model, found one of rankers alone; an index needs vectors")
        }
        (Some(_), Some(_)) => bail!(
            "{shown}: expected a fusion with one model, found several; an index has the vectors of one. \
             `search --model` searches any fusion, and `train --members` makes one model of several"
        ),
    }
}
