//! The teacher of an index: vectors of titles that another program made, a transformer say, as a fusion with the ranker `vectors`
//! has them. A query's vector is in its file, or is fitted to those of the titles.
//!
//! The ranker is a file of the index. What is searched, a vector for each title, is made from it in memory, because the ranker has
//! nearly all of it already.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use clickvec::index::QuantizedIndex;
use clickvec::internals::index::Codes;
use clickvec::model::Side;
use clickvec_eval::internals::{WordVectors, stored_fingerprint};
use clickvec_eval::ranker::Ranker as _;

use crate::error::Result;
use crate::folder::{Folder, FolderWriter};
use crate::titles::TitleLines;

/// The vectors, and what gives a query one.
pub(crate) const TEACHER_FILE: &str = "teacher.safetensors";

/// The teacher of an index.
#[derive(Debug, Clone)]
pub struct Teacher {
    ranker: Arc<WordVectors>,
    /// That of the ranker's file.
    fingerprint: String,
}

/// Compares the fingerprints of the files.
impl PartialEq for Teacher {
    fn eq(&self, other: &Teacher) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl Teacher {
    /// Loads the trained `vectors` in a file.
    pub(crate) fn load(path: &Path) -> Result<Teacher> {
        Ok(Teacher { ranker: Arc::new(WordVectors::load(path)?), fingerprint: stored_fingerprint(path)? })
    }

    /// Opens the teacher of an index.
    pub(crate) fn open(folder: &Folder) -> Result<Teacher> {
        Teacher::load(&folder.file(TEACHER_FILE)?)
    }

    /// Writes the teacher into the first segment of an index.
    pub(crate) fn write(&self, folder: &mut FolderWriter) -> Result<()> {
        self.ranker.save(&folder.file(TEACHER_FILE))?;
        folder.part("teacher", "ranker", &[TEACHER_FILE]);
        Ok(())
    }

    /// Returns the vector of a query, if it has one.
    pub(crate) fn vector(&self, query: &str) -> Option<Vec<f32>> {
        self.ranker.unit(Side::Query, query)
    }

    /// Returns the score of a title for a query; 0 if one of them has no vector.
    pub(crate) fn score(&self, query: &str, title: &str) -> f32 {
        self.ranker.score(query, &[title])[0] as f32
    }

    pub(crate) fn dimension(&self) -> usize {
        self.ranker.dimension()
    }
}

/// The teacher's vectors of a segment's titles. They are made when the first search needs them: an index that is only changed does
/// not.
#[derive(Default)]
pub(crate) struct TeacherVectors(OnceLock<QuantizedIndex>);

impl TeacherVectors {
    /// Returns the vectors, which are made now if they are not there. Two callers at once both make them: one must not wait for the
    /// other, which may need its thread. A title without a vector has the score 0.
    pub(crate) fn made(&self, teacher: &Teacher, titles: &TitleLines) -> Result<&QuantizedIndex> {
        if let Some(index) = self.0.get() {
            return Ok(index);
        }
        let vectors = teacher.ranker.index_titles(titles.len(), |position| titles.text(position as u32))?;
        Codes::room(vectors.dimension(), vectors.len())?;
        let index = QuantizedIndex::new(vectors);
        Ok(self.0.get_or_init(|| index))
    }
}
