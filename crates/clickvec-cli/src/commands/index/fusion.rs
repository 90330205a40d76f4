//! A fusion, in the place of a model or next to one.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clickvec_eval::internals::fusion_members;

use crate::{input, output};

/// The file of the one model of a fusion, if `path` is a fusion; `None` if it is anything else.
pub(super) fn model_of(path: &Path, fusion: Option<&Path>) -> Result<Option<PathBuf>> {
    if !input::is_fusion(path) {
        return Ok(None);
    }
    let shown = output::path(path);
    ensure!(fusion.is_none(), "{shown}: expected a model with `--fusion`, found a fusion too; give one of them");
    let mut models = fusion_members(path, &clickvec_eval::ranker::SYSTEMS)?
        .members
        .into_iter()
        .filter(|member| member.system.is_none());
    match (models.next(), models.next()) {
        (Some(model), None) => Ok(Some(model.path)),
        (None, _) => {
            bail!("{shown}: expected a fusion with a model, found one of rankers alone; an index needs vectors")
        }
        (Some(_), Some(_)) => bail!(
            "{shown}: expected a fusion with one model, found several; an index has the vectors of one. \
             `train --set encoder.members=N` makes one model of several"
        ),
    }
}

/// Refuses a `--fusion` that is no file: the name of a method, or the folder that has the file.
pub(super) fn refuse_no_file(path: &Path) -> Result<()> {
    let found = match path.metadata() {
        Ok(metadata) if metadata.is_dir() => "a folder",
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "no such file",
        // Reading it says whatever else is wrong.
        _ => return Ok(()),
    };
    bail!(
        "{}: expected a fusion that `evaluate --fusion METHOD --save-rankers FOLDER` wrote, such as FOLDER/fusion_linear.safetensors, \
         found {found}",
        output::path(path)
    )
}
