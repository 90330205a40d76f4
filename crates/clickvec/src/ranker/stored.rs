//! Whatever file scores titles: a model, a trained ranker, or a fusion of such.

use std::path::Path;

use super::{Neural, Ranker, file, fusion};
use crate::error::{Error, FileFault, Result};
use crate::model::Model;
use crate::tensor_file::TensorFile;

/// `kind` in the JSON value of a model's file.
const MODEL: &str = "model";

/// The ranker in a file, and in those next to it where it needs them; nothing in a file is trusted.
///
/// # Errors
/// [`Error::Io`], or [`Error::File`] with one [`FileFault`] for each thing that can be wrong.
pub fn load(path: &Path) -> Result<Box<dyn Ranker>> {
    Ok(match FileKind::of(path)? {
        FileKind::Model => Box::new(Neural::new(MODEL.to_owned(), Model::load(path)?)),
        FileKind::Ranker => file::load(path)?.2,
        FileKind::Fusion => Box::new(fusion::file::load(path)?),
    })
}

/// What a file of a ranker says that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A model that was trained on clicks.
    Model,
    /// One of [`super::SYSTEMS`].
    Ranker,
    /// Several of these as one.
    Fusion,
}

impl FileKind {
    /// The kind that a file says it is of, by its head alone; [`load`] says whether that is so.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::File`] for a file that holds something else.
    pub fn of(path: &Path) -> Result<FileKind> {
        let file = TensorFile::open(path)?;
        let found = |fault| Error::File { path: path.to_owned(), fault };
        match file.kind().map_err(found)?.as_str() {
            MODEL => Ok(FileKind::Model),
            file::KIND => Ok(FileKind::Ranker),
            fusion::file::KIND => Ok(FileKind::Fusion),
            other => Err(found(FileFault::Kind { expected: MODEL, found: other.to_owned() })),
        }
    }
}

/// The fingerprint that the file says it has; whoever loads it checks that.
pub(crate) fn fingerprint(path: &Path) -> Result<String> {
    let file = TensorFile::open(path)?;
    file.fingerprint().map_err(|fault| Error::File { path: path.to_owned(), fault })
}
