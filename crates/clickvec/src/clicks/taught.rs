//! The teacher's vectors for the texts of a log, looked up by the texts' hashes.

use std::collections::HashMap;

use clickvec_tables::{Error, ErrorKind};
use xxhash_rust::xxh3::Xxh3;

use super::hashes::text_hash;
use super::spool::{Spool, Spooled};
use super::{Storage, Teacher, teacher};
use crate::loss::Targets;
use crate::math::gemm::{Left, gemm};
use crate::math::matrix::transpose;
use crate::math::vector::scale_to_unit;
use crate::text::{WordBuffer, WordLimit};
use crate::vector_file::fault::other_dimension;
use clickvec_tables::Result;
use clickvec_tables::memory::NoRoom;

/// Coverage of a log by a teacher's vectors.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct TeacherCoverage {
    /// Distinct queries of the log.
    pub queries: u64,
    /// The queries that the teacher has a vector for.
    pub known_queries: u64,
    /// Distinct titles of the log, clicked or not.
    pub titles: u64,
    /// The titles that the teacher has a vector for.
    pub known_titles: u64,
    /// The dimension of the vectors.
    pub dimension: usize,
    /// Vectors that were read.
    pub vectors: u64,
    /// Vectors of texts that the log lacks.
    pub unused: u64,
    /// Vectors of texts that already had one; the first counts.
    pub repeated: u64,
}

/// A teacher's vectors for the texts of a log, scaled to length 1. Vectors of other texts are dropped.
#[derive(Debug)]
pub(crate) struct Taught {
    dimension: usize,
    /// Hash of a text → its row.
    rows: HashMap<u64, u32>,
    /// [rows, dimension]
    vectors: Spooled<f32>,
    fingerprint: u64,
}

/// The row of a text without a vector.
const NONE: u32 = u32::MAX;

impl Taught {
    /// Returns the vectors of `teachers` for the texts of a log, which have these hashes. `limit` is the log's.
    pub(super) fn read(
        texts: impl Iterator<Item = u64>,
        teachers: Vec<Teacher<'_>>,
        limit: WordLimit,
        storage: Storage<'_>,
    ) -> Result<(Taught, TeacherCoverage)> {
        let mut rows: HashMap<u64, u32> = HashMap::new();
        for text in texts {
            let needed = (rows.len() + 1) * size_of::<(u64, u32)>();
            rows.try_reserve(1).map_err(|_| NoRoom { what: "the teacher's texts", bytes: Some(needed as u64) })?;
            rows.insert(text, NONE);
        }
        let (mut vectors, mut fingerprint) = (Spool::new(storage)?, Xxh3::new());
        let (mut dimension, mut known, mut read, mut repeated) = (None, 0, 0, 0);
        let (mut buffer, mut unit) = (WordBuffer::default(), Vec::new());
        for teacher in teachers {
            teacher.read(&mut |text, vector| {
                let expected = *dimension.get_or_insert(vector.len());
                if vector.len() != expected {
                    return Err(other_dimension(expected, vector.len()).within(teacher::NAME));
                }
                read += 1;
                let hash = text_hash(text, limit, &mut buffer);
                let Some(row) = rows.get_mut(&hash) else { return Ok(()) };
                if *row != NONE {
                    repeated += 1;
                    return Ok(());
                }
                unit.clear();
                unit.extend_from_slice(vector);
                scale_to_unit(&mut unit);
                *row = known;
                known += 1;
                fingerprint.update(&hash.to_le_bytes());
                fingerprint.update(bytemuck::cast_slice(&unit));
                vectors.extend(&unit)
            })?;
        }
        rows.retain(|_, row| *row != NONE);
        if rows.is_empty() {
            let found = format!("none among the {read} given");
            let error = Error::expected(ErrorKind::Mismatch, "vectors of texts in the training data", found);
            return Err(error.within(teacher::NAME));
        }
        let dimension = dimension.unwrap_or_default();
        let taught = Taught { dimension, rows, vectors: vectors.finish()?, fingerprint: fingerprint.digest() };
        let unused = read - u64::from(known) - repeated;
        let coverage = TeacherCoverage { dimension, vectors: read, unused, repeated, ..TeacherCoverage::default() };
        Ok((taught, coverage))
    }

    /// Returns the fingerprint of all vectors, down to their bits. Runs with the same fingerprint have the same teacher.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns the dimension of the vectors.
    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns the vector of the text with this hash, if the teacher has one.
    pub(crate) fn vector(&self, hash: u64) -> Option<&[f32]> {
        let &row = self.rows.get(&hash)?;
        Some(&self.vectors[row as usize * self.dimension..][..self.dimension])
    }

    /// Fills `targets` with the teacher's cosines of pairs and titles. A pair is the hash of its text and the teacher's share of
    /// its loss; a title is its hash.
    pub(super) fn fill(
        &self,
        gamma: f32,
        pairs: impl Iterator<Item = (u64, f32)>,
        titles: &[u64],
        targets: &mut Targets,
    ) {
        let d = self.dimension;
        let gather = |hash: u64, vectors: &mut Vec<f32>| {
            let vector = self.vector(hash);
            match vector {
                Some(vector) => vectors.extend_from_slice(vector),
                None => vectors.resize(vectors.len() + d, 0.0),
            }
            vector.is_some()
        };
        let Targets { shares, known, cosines, pair_vectors, title_vectors, transposed, .. } = targets;
        pair_vectors.clear();
        title_vectors.clear();
        known.clear();
        shares.clear();
        known.extend(titles.iter().map(|&hash| gather(hash, title_vectors)));
        // With fewer than two titles there is nothing to compare.
        let has_titles = known.iter().filter(|known| **known).count() > 1;
        shares.extend(pairs.map(|(hash, share)| if gather(hash, pair_vectors) && has_titles { share } else { 0.0 }));
        let (n, m) = (shares.len(), known.len());
        cosines.clear();
        cosines.resize(n * m, 0.0);
        transpose(title_vectors, d, transposed);
        gemm((n, m, d), Left::rows(pair_vectors, d), (&transposed[..], m), (cosines, m));
        targets.gamma = gamma;
    }
}
