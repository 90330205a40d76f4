//! What a crate needs that makes parts of an index of its own.

use std::path::Path;

use super::{BuiltIndex, IndexBuilder, Output, Parts, rest_of_line};
use crate::error::{Error, IndexFault, Result};
use crate::model::Model;
use crate::search::encode::TitleEncoder;
use crate::tables::Title;

/// What an index is made of in addition to its titles.
pub trait BuilderParts: Sized {
    /// The builder of a part of an index, which has no model of its own.
    ///
    /// # Errors
    ///
    /// Those of [`IndexBuilder::with_fields`].
    fn segment(model: &Model, path: &Path, fields: &[String]) -> Result<IndexBuilder>;

    /// Adds a title whose vector, of unit length, is known. All titles must come in this way, or none.
    ///
    /// # Errors
    ///
    /// Those of [`IndexBuilder::add_with_fields`].
    ///
    /// # Panics
    ///
    /// If there is not one value for each field, or the vector has another size.
    fn add_encoded(&mut self, title: &Title, values: &[impl AsRef<str>], vector: &[f32]) -> Result<()>;

    /// [`IndexBuilder::finish`] with more parts, which `complete` writes into the folder once titles and vectors are in it.
    /// It returns their files, whose names may lead into a folder. An index can be read without these parts, except for
    /// the vectors, which may be brought into another form.
    ///
    /// # Errors
    ///
    /// Those of [`IndexBuilder::finish`], and what `complete` returns.
    fn finish_with<E: From<Error>>(self, complete: impl FnOnce(&Path) -> Result<Parts, E>) -> Result<BuiltIndex, E>;
}

impl BuilderParts for IndexBuilder {
    fn segment(model: &Model, path: &Path, fields: &[String]) -> Result<IndexBuilder> {
        let output = Output::new(path, model.fingerprint(), model.dimension(), fields, false)?;
        Ok(IndexBuilder { encoder: TitleEncoder::new(model), output, fields: fields.len(), given_up: false })
    }

    fn add_encoded(&mut self, title: &Title, values: &[impl AsRef<str>], vector: &[f32]) -> Result<()> {
        assert_eq!((values.len(), vector.len()), (self.fields, self.output.dimension), "fields and numbers of a title");
        let write = |output: &mut Output| {
            output.write_title(&title.id, &title.title, &rest_of_line(values)?)?;
            output.write_vectors(vector)
        };
        let added = write(&mut self.output);
        self.given_up |= added.is_err();
        added
    }

    fn finish_with<E: From<Error>>(
        mut self,
        complete: impl FnOnce(&Path) -> Result<Parts, E>,
    ) -> Result<BuiltIndex, E> {
        if self.given_up {
            return Err(self.output.folder.fault(IndexFault::GivenUp).into());
        }
        self.encoder.flush(&mut self.output)?;
        self.output.finish(self.encoder.left_out(), complete)
    }
}
