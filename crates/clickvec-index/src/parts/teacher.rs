//! The teacher of an index: vectors of titles that another program made, a transformer say, as a fusion with the ranker `vectors`
//! has them. A query's vector is in its file, or is fitted to those of the titles.
//!
//! The ranker is a file of the index. What is searched, a vector for each title, is made from it in memory, because the ranker has
//! nearly all of it already.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use clickvec::index::{Hit, QuantizedIndex, SearchScratch};
use clickvec::internals::index::{Codes, Scope};
use clickvec::model::Side;
use clickvec_eval::internals::{WordVectors, stored_fingerprint};
use clickvec_eval::ranker::Ranker as _;

use super::{Finder, Question};
use crate::error::Result;
use crate::facts::{PartFacts, TeacherFacts};
use crate::folder::Folder;
use crate::fusion::Fusion;
use crate::open::{Index, Opened, bytes};
use crate::segment::{Target, TitleLines};

/// The vectors, and what gives a query one.
const TEACHER_FILE: &str = "teacher.safetensors";

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
    pub(crate) fn write(&self, target: &mut Target<'_>) -> Result<()> {
        self.ranker.save(&target.path(TEACHER_FILE))?;
        target.part("teacher", "ranker", vec![TEACHER_FILE.to_owned()]);
        Ok(())
    }

    /// Returns the vector of a query, if it has one.
    pub(crate) fn vector(&self, query: &str) -> Option<Vec<f32>> {
        self.ranker.unit(Side::Query, query)
    }
}

/// Search by the cosine of the teacher's vectors.
pub(super) struct ByTeacher;

impl Finder for ByTeacher {
    fn is_in(&self, fusion: &Fusion) -> bool {
        fusion.teacher.is_some()
    }

    fn search(&self, index: &Index, question: &Question<'_>) -> Result<Vec<Hit>> {
        let Some(teacher) = &index.fusion.teacher else { return Ok(Vec::new()) };
        let Some(vector) = teacher.vector(question.text) else { return Ok(Vec::new()) };
        question.over_segments(index, |opened, allowed| {
            let scope = Scope { allowed: allowed.as_deref(), blocks: None };
            let vectors = opened.teacher.made(teacher, &opened.segment.titles)?;
            Ok(vectors.search_in(&vector, question.k, &scope, &mut SearchScratch::default())?.to_vec())
        })
    }

    /// 0 if the query or the title has no vector.
    fn score(&self, index: &Index, query: &str, title: &str) -> Result<f32> {
        let teacher = index.fusion.teacher.as_ref();
        Ok(teacher.map_or(0.0, |teacher| teacher.ranker.score(query, &[title])[0] as f32))
    }

    fn facts(&self, fusion: &Fusion, segments: &[Opened]) -> PartFacts {
        let dimension = fusion.teacher.as_ref().map_or(0, |teacher| teacher.ranker.dimension());
        PartFacts::Teacher(TeacherFacts { dimension, bytes: bytes(segments, |name| name == TEACHER_FILE) })
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
        let vectors = teacher.ranker.of_titles(titles.len(), |position| titles.text(position as u32))?;
        Codes::room(vectors.dimension(), vectors.len())?;
        let index = QuantizedIndex::new(vectors);
        Ok(self.0.get_or_init(|| index))
    }
}
