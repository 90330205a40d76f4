//! Access for fuzz targets.

use crate::build::{BuiltIndex, IndexBuilder};
use clickvec::model::Model;

use crate::error::Result;
use crate::fusion::Fusion;
use crate::parts::vectors::VectorFormat;
use crate::segment::complete::{Recipe, complete};

/// Finishes an index like [`crate::finish`], with lists of vectors however few there are.
///
/// # Errors
///
/// Those of [`crate::finish`].
pub fn finish_with_lists(builder: IndexBuilder, model: &Model) -> Result<BuiltIndex> {
    let fusion = Fusion::default();
    builder.finish_with(|folder| {
        complete(folder, &Recipe { lists_from: 0, ..Recipe::new(model, &fusion, VectorFormat::F32) })
    })
}
