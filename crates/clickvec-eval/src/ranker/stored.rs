//! Loading a ranker from a file that contains one: a model or a trained ranker.

pub(crate) mod ranker;

use std::path::Path;

use super::{Neural, Ranker, SYSTEMS, System};
use clickvec::internals::tensor_file::TensorFile;
use clickvec::model::Model;
use clickvec_tables::{Result, damaged};

/// `kind` in the JSON value of a model's file.
const MODEL: &str = "model";

/// Loads the ranker in a file. Nothing in a file is trusted.
///
/// # Errors
/// `ErrorKind::Io`, or an error for a file that is damaged or of another kind.
pub fn load(path: &Path) -> Result<Box<dyn Ranker>> {
    load_with(path, &SYSTEMS)
}

/// Loads the ranker in a file, as [`load`] does, where a trained ranker is of one of these systems.
///
/// # Errors
/// Those of [`load`].
pub fn load_with(path: &Path, systems: &[&'static System]) -> Result<Box<dyn Ranker>> {
    Ok(match FileKind::read(path)? {
        FileKind::Model => Box::new(Neural::new(MODEL.to_owned(), Model::load(path)?)),
        FileKind::Ranker => ranker::load(path, systems)?.2,
    })
}

/// The kind of ranker that a file claims to contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A model trained on clicks.
    Model,
    /// A trained ranker of a [`System`].
    Ranker,
}

impl FileKind {
    /// The kind that a file's header gives. [`load`] checks whether it is true.
    ///
    /// # Errors
    /// `ErrorKind::Io`, or an error for a file with anything else.
    pub fn read(path: &Path) -> Result<FileKind> {
        let file = TensorFile::open(path)?;
        let found = |fault: clickvec_tables::Error| fault.at(path);
        match file.kind().map_err(found)?.as_str() {
            MODEL => Ok(FileKind::Model),
            ranker::KIND => Ok(FileKind::Ranker),
            other => Err(found(damaged::other_kind(MODEL, other))),
        }
    }
}

/// The fingerprint that the file gives. Loading the file checks it.
///
/// # Errors
///
/// `ErrorKind::Io`; an error if it is not one of clickvec's.
pub fn fingerprint(path: &Path) -> Result<String> {
    let file = TensorFile::open(path)?;
    file.fingerprint().map_err(|fault| fault.at(path))
}
