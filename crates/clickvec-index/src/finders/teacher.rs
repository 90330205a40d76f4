//! Search by the cosine of a teacher's vectors.

use clickvec::index::{Hit, SearchScratch};
use clickvec::internals::index::Scope;

use super::{Finder, Question, by_segment};
use crate::error::Result;
use crate::facts::{PartFacts, TeacherFacts};
use crate::fusion::Fusion;
use crate::open::{Index, Opened, bytes};
use crate::parts::teacher::TEACHER_FILES;

/// Search by the cosine of the teacher's vectors.
pub(super) struct ByTeacher;

impl Finder for ByTeacher {
    fn is_in(&self, fusion: &Fusion) -> bool {
        fusion.teacher.is_some()
    }

    fn search(&self, index: &Index, question: &Question<'_>) -> Result<Vec<Hit>> {
        let Some(vector) = question.teacher else { return Ok(Vec::new()) };
        question.over_segments(index, |opened, allowed| {
            let scope = Scope { allowed: allowed.as_deref(), blocks: None };
            let vectors = opened.teacher_vectors()?;
            Ok(vectors.search_in(vector, question.k, &scope, &mut SearchScratch::default())?.to_vec())
        })
    }

    fn scores(&self, index: &Index, question: &Question<'_>, positions: &[u32]) -> Result<Vec<f32>> {
        let Some(vector) = question.teacher else { return Ok(vec![0.0; positions.len()]) };
        by_segment(index, positions, |opened, here| opened.teacher_vectors()?.scores(vector, here))
    }

    /// Returns 0 if the query has no vector.
    fn score(&self, index: &Index, query: &str, title: &str) -> Result<f32> {
        let teacher = index.fusion.teacher.as_ref();
        teacher.map_or(Ok(0.0), |teacher| teacher.score(query, title))
    }

    fn facts(&self, fusion: &Fusion, segments: &[Opened]) -> PartFacts {
        let dimension = fusion.teacher.as_ref().map_or(0, |teacher| teacher.dimension());
        PartFacts::Teacher(TeacherFacts { dimension, bytes: bytes(segments, |name| name.starts_with(TEACHER_FILES)) })
    }
}
