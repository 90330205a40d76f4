//! Whatever file scores titles: a model, a trained ranker, or a fusion of such.

use std::path::Path;

use super::fusion::Fusion;
use super::{Neural, Ranker, Trained, file, fusion};
use crate::error::{Error, FileFault, Result};
use crate::model::Model;
use crate::tensor_file::TensorFile;

/// `kind` in the JSON value of a model's file.
const MODEL: &str = "model";

/// What a file holds.
pub enum Stored {
    /// A model that was trained.
    Model(Box<Model>),
    /// A ranker.
    Ranker(Box<dyn Trained>),
    /// Several of these as one.
    Fusion(Fusion),
}

impl Stored {
    /// Reads it, and what is next to it where it needs that; nothing in a file is trusted.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::File`] with one [`FileFault`] for each thing that can be wrong.
    pub fn load(path: &Path) -> Result<Stored> {
        Ok(match kind(path)? {
            Kind::Model => Stored::Model(Box::new(Model::load(path)?)),
            Kind::Ranker => Stored::Ranker(file::load(path)?.2),
            Kind::Fusion => Stored::Fusion(fusion::file::load(path)?),
        })
    }

    /// Under a name for tables.
    pub fn named(self, name: String) -> Box<dyn Ranker> {
        match self {
            Stored::Model(model) => Box::new(Neural::new(name, *model)),
            Stored::Ranker(ranker) => Box::new(Named::new(name, ranker)),
            Stored::Fusion(fusion) => Box::new(fusion.named(name)),
        }
    }
}

/// A ranker under a name of its own: the one that it was asked for by, parameters and all.
pub struct Named {
    name: String,
    ranker: Box<dyn Trained>,
}

impl Named {
    /// `ranker`, called `name` in tables.
    pub fn new(name: String, ranker: Box<dyn Trained>) -> Named {
        Named { name, ranker }
    }
}

impl Ranker for Named {
    fn name(&self) -> &str {
        &self.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        self.ranker.score(query, titles)
    }
}

/// What a file says that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A model.
    Model,
    /// A ranker.
    Ranker,
    /// A fusion.
    Fusion,
}

/// What the file says that it holds, by its head alone; [`Stored::load`] says whether that is so.
///
/// # Errors
/// [`Error::Io`], or [`Error::File`] for a file that holds something else.
pub fn kind(path: &Path) -> Result<Kind> {
    let file = TensorFile::open(path)?;
    let found = |fault| Error::File { path: path.to_owned(), fault };
    match file.kind().map_err(found)?.as_str() {
        MODEL => Ok(Kind::Model),
        file::KIND => Ok(Kind::Ranker),
        fusion::file::KIND => Ok(Kind::Fusion),
        other => Err(found(FileFault::Kind { expected: MODEL, found: other.to_owned() })),
    }
}

/// The fingerprint that the file says it has; whoever loads it checks that.
pub(crate) fn fingerprint(path: &Path) -> Result<String> {
    let file = TensorFile::open(path)?;
    file.fingerprint().map_err(|fault| Error::File { path: path.to_owned(), fault })
}
