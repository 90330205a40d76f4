//! The teacher of an index: vectors of titles that another model made.
//!
//! A *transformer* is in the index with its files and encodes titles and queries. Of *vectors from a file* only the vectors of titles are
//! known, as the ranker `vectors` of a fusion has them; a query's vector is in its file, or is fitted to those of the titles. The ranker
//! is a file of the index, and what is searched is made from it in memory, because the ranker has nearly all of it already.

mod recent;
mod transformer;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clickvec::index::QuantizedIndex;
use clickvec::internals::index::Codes;
use clickvec::model::Side;
use clickvec_eval::internals::{WordVectors, stored_fingerprint};
use clickvec_eval::ranker::Ranker as _;

use self::transformer::Encoder;
use crate::error::Result;
use crate::folder::{Folder, FolderWriter};
use crate::titles::TitleLines;

pub(crate) use self::transformer::TitleVectors;

/// The vectors of a file, and what gives a query one.
const RANKER_FILE: &str = "teacher.safetensors";
/// What the names of all files of a teacher begin with.
pub(crate) const TEACHER_FILES: &str = "teacher";

/// The teacher of an index.
#[derive(Debug, Clone)]
pub struct Teacher(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Ranker {
        ranker: Arc<WordVectors>,
        /// That of the ranker's file.
        fingerprint: String,
    },
    Transformer(Encoder),
}

/// Compares the fingerprints of the files.
impl PartialEq for Teacher {
    fn eq(&self, other: &Teacher) -> bool {
        self.fingerprint() == other.fingerprint()
    }
}

impl Teacher {
    /// Loads the trained `vectors` in a file.
    pub(crate) fn load(path: &Path) -> Result<Teacher> {
        let (ranker, fingerprint) = (Arc::new(WordVectors::load(path)?), stored_fingerprint(path)?);
        Ok(Teacher(Kind::Ranker { ranker, fingerprint }))
    }

    /// Loads a transformer from a folder that sentence-transformers saved.
    ///
    /// # Errors
    ///
    /// Those of [`clickvec_transformer::Transformer::load`].
    pub fn transformer(path: &Path) -> Result<Teacher> {
        Encoder::load(path).map(|encoder| Teacher(Kind::Transformer(encoder)))
    }

    /// Opens the teacher of an index. A transformer is loaded when the first query needs it.
    pub(crate) fn open(folder: &Folder) -> Result<Teacher> {
        match folder.parts().get("teacher").map(|part| part.kind.as_str()) {
            Some(transformer::KIND) => Encoder::open(folder).map(|encoder| Teacher(Kind::Transformer(encoder))),
            _ => Teacher::load(&folder.file(RANKER_FILE)?),
        }
    }

    /// Writes what a segment has of the teacher: the vectors of its titles, unless they follow from a ranker, and the teacher itself into
    /// the first one.
    pub(crate) fn write(&self, folder: &mut FolderWriter, titles: &TitleLines, is_first: bool) -> Result<()> {
        match &self.0 {
            Kind::Ranker { ranker, .. } if is_first => {
                ranker.save(&folder.file(RANKER_FILE))?;
                folder.part("teacher", "ranker", &[RANKER_FILE]);
                Ok(())
            }
            Kind::Ranker { .. } => Ok(()),
            Kind::Transformer(encoder) => encoder.write(folder, titles, is_first),
        }
    }

    /// This teacher with vectors of titles that a transformer then need not encode.
    ///
    /// # Errors
    ///
    /// Whatever `each` returns, which passes on texts with their vectors of unit length.
    pub fn knowing(&self, each: impl FnOnce(&mut dyn FnMut(&str, &[f32])) -> Result<()>) -> Result<Teacher> {
        match &self.0 {
            Kind::Transformer(encoder) => Ok(Teacher(Kind::Transformer(encoder.knowing(each)?))),
            Kind::Ranker { .. } => Ok(self.clone()),
        }
    }

    /// Loads a transformer now, if that was not done yet.
    pub(crate) fn prepare(&self) -> Result<()> {
        match &self.0 {
            Kind::Transformer(encoder) => encoder.prepare(),
            Kind::Ranker { .. } => Ok(()),
        }
    }

    /// Returns the vectors of texts by a transformer, [texts, dimension], of unit length; `None` if the teacher is none.
    ///
    /// # Errors
    ///
    /// Those of loading it.
    pub fn encode<S: AsRef<str> + Sync>(&self, side: Side, texts: &[S]) -> Result<Option<Vec<f32>>> {
        match &self.0 {
            Kind::Transformer(encoder) => encoder.encode(side, texts).map(Some),
            Kind::Ranker { .. } => Ok(None),
        }
    }

    /// Returns the vector of a query, if it has one. A transformer takes no more than half of the time to the deadline, so that the other
    /// parts can answer; the query then has none.
    pub(crate) fn vector(&self, query: &str, deadline: Option<Instant>) -> Result<Option<Arc<[f32]>>> {
        match &self.0 {
            Kind::Ranker { ranker, .. } => Ok(ranker.unit(Side::Query, query).map(Arc::from)),
            Kind::Transformer(encoder) => encoder.vector(query, deadline),
        }
    }

    /// Returns the score of a title for a query; 0 if one of them has no vector.
    pub(crate) fn score(&self, query: &str, title: &str) -> Result<f32> {
        match &self.0 {
            Kind::Ranker { ranker, .. } => Ok(ranker.score(query, &[title])[0] as f32),
            Kind::Transformer(encoder) => encoder.score(query, title),
        }
    }

    /// Returns the size of a vector.
    pub fn dimension(&self) -> usize {
        match &self.0 {
            Kind::Ranker { ranker, .. } => ranker.dimension(),
            Kind::Transformer(encoder) => encoder.dimension(),
        }
    }

    /// Returns whether it is a transformer, so that each segment has the vectors of its titles.
    pub fn is_transformer(&self) -> bool {
        matches!(self.0, Kind::Transformer(_))
    }

    pub(crate) fn fingerprint(&self) -> &str {
        match &self.0 {
            Kind::Ranker { fingerprint, .. } => fingerprint,
            Kind::Transformer(encoder) => encoder.fingerprint(),
        }
    }
}

/// The vectors of a segment's titles that follow from a ranker. They are made when the first search needs them: an index that is only
/// changed does not.
#[derive(Default)]
pub(crate) struct RankerVectors(OnceLock<QuantizedIndex>);

impl RankerVectors {
    /// Returns the vectors, which are made now if they are not there. Two callers at once both make them: one must not wait for the
    /// other, which may need its thread. A title without a vector has the score 0.
    pub(crate) fn made(&self, teacher: &Teacher, titles: &TitleLines) -> Result<&QuantizedIndex> {
        if let Some(index) = self.0.get() {
            return Ok(index);
        }
        let Kind::Ranker { ranker, .. } = &teacher.0 else { return Err(transformer::no_vectors()) };
        let vectors = ranker.index_titles(titles.len(), |position| titles.text(position as u32))?;
        Codes::room(vectors.dimension(), vectors.len())?;
        let index = QuantizedIndex::new(vectors);
        Ok(self.0.get_or_init(|| index))
    }
}
