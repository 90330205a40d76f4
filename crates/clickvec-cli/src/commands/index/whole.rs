//! The last step of an index: with the search service, everything that it wants; without, the vectors alone.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clickvec::model::Model;
use clickvec::search::{BuiltIndex, IndexBuilder};

/// How an index is finished.
pub(super) struct Finish<'m> {
    #[cfg(feature = "serve")]
    model: &'m Model,
    #[cfg(feature = "serve")]
    fusion: Option<clickvec_engine::Fusion>,
    #[cfg(not(feature = "serve"))]
    model: std::marker::PhantomData<&'m Model>,
}

#[cfg(feature = "serve")]
impl<'m> Finish<'m> {
    /// For an index with this model. A shard gets the rest as it is joined with others.
    pub(super) fn new(model: &'m Model, fusion: Option<&Path>, is_shard: bool) -> Result<Finish<'m>> {
        let fusion = (!is_shard).then(|| fusion_of(fusion, model.fingerprint())).transpose()?;
        Ok(Finish { model, fusion })
    }

    pub(super) fn finish(self, builder: IndexBuilder) -> Result<BuiltIndex> {
        let step = crate::progress::step("indexing words and vectors");
        let built = match self.fusion {
            Some(fusion) => clickvec_engine::finish(builder, self.model, &fusion)?,
            None => builder.finish()?,
        };
        step.finish_and_clear();
        Ok(built)
    }
}

/// Joins indexes.
#[cfg(feature = "serve")]
pub(super) fn join(indexes: &[PathBuf], output: &Path, fusion: Option<&Path>) -> Result<BuiltIndex> {
    let first = indexes.first().ok_or(clickvec::Error::NothingToJoin)?;
    // The faults of the first index have messages of their own.
    let path = first.join("model.safetensors");
    if !path.is_file() {
        return Ok(clickvec::search::join_indexes(indexes, output)?);
    }
    let model = Model::load(&path)?;
    let fusion = fusion_of(fusion, model.fingerprint())?;
    Ok(clickvec_engine::join(indexes, output, &model, &fusion)?)
}

#[cfg(feature = "serve")]
fn fusion_of(path: Option<&Path>, model: &str) -> Result<clickvec_engine::Fusion> {
    let Some(path) = path else { return Ok(clickvec_engine::Fusion::default()) };
    let fusion = clickvec_engine::Fusion::read(path, model)?;
    if let Some((k1, b)) = fusion.fitted_at {
        crate::output::note(format_args!(
            "{}: the weights were fitted with bm25:k1={k1},b={b}, and an index has k1=1.2 and b=0.75; for the numbers of \
             `evaluate`, fit them with bm25:k1=1.2,b=0.75",
            crate::output::path(path)
        ));
    }
    Ok(fusion)
}

#[cfg(not(feature = "serve"))]
impl<'m> Finish<'m> {
    pub(super) fn new(_: &'m Model, fusion: Option<&Path>, _: bool) -> Result<Finish<'m>> {
        refuse(fusion)?;
        Ok(Finish { model: std::marker::PhantomData })
    }

    pub(super) fn finish(self, builder: IndexBuilder) -> Result<BuiltIndex> {
        note();
        Ok(builder.finish()?)
    }
}

/// Joins indexes.
#[cfg(not(feature = "serve"))]
pub(super) fn join(indexes: &[PathBuf], output: &Path, fusion: Option<&Path>) -> Result<BuiltIndex> {
    refuse(fusion)?;
    note();
    Ok(clickvec::search::join_indexes(indexes, output)?)
}

#[cfg(not(feature = "serve"))]
fn refuse(fusion: Option<&Path>) -> Result<()> {
    anyhow::ensure!(
        fusion.is_none(),
        "expected a program that can fuse, found one that was built without the feature `serve`; build it with"
    );
    Ok(())
}

#[cfg(not(feature = "serve"))]
fn note() {
    crate::output::note("vectors only: this program was built without the feature `serve`, so there are no words");
}
