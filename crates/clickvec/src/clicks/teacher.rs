//! The sources of a teacher's vectors and scores: a file or any iterator.

use std::path::Path;

use super::source::item_failed;
use crate::math::vector::not_finite;
use crate::vector_file::fault::{self, VectorPlace, malformed};
use crate::vector_file::{self, Entries, Stop};
use clickvec_tables::shown::shortened;
use clickvec_tables::table::{Field, Next, Options, Record, RowFault, Skipped, Table};
use clickvec_tables::{Error, Result};

/// The name of the teacher in messages.
pub(super) const NAME: &str = "teacher";

/// Vectors of texts from another program, such as a transformer, whose similarities a model learns to imitate.
///
/// All vectors must have the same dimension, but it need not be the model's. Only their cosines are used.
///
/// ```
/// use clickvec::train::Teacher;
///
/// let teacher = Teacher::vectors([("red shoes", [0.6, 0.8]), ("running shoes, red", [0.8, 0.6])]);
/// # drop(teacher);
/// ```
pub struct Teacher<'a>(TeacherSource<'a>);

enum TeacherSource<'a> {
    File(&'a Path),
    Vectors(EachVector<'a>),
    ScoreFile(&'a Path, &'a str),
    Scores(EachScore<'a>),
}

/// A source that passes on every query and title with their score.
type EachScore<'a> = Box<dyn FnOnce(&mut OnScore<'_>) -> Result<()> + 'a>;

/// A receiver of a query, a title and their score.
type OnScore<'f> = dyn FnMut(&str, &str, f32) -> Result<()> + 'f;

/// A function that passes on every text with its vector.
type EachVector<'a> = Box<dyn FnOnce(&mut OnVector<'_>) -> Result<()> + 'a>;

/// A function that takes a text, its vector, and the number of the entry, counted from 1.
type OnVector<'f> = dyn FnMut(&str, &[f32], u64) -> Result<()> + 'f;

impl<'a> Teacher<'a> {
    /// Returns the vectors in a file: `.npy` with a `.txt` of the same name that has the texts, one per line; JSON lines of
    /// `text` and `vector`; word2vec's formats; or Parquet with the columns `text` and `vector`, if it was built in
    /// (docs/reference/formats.md).
    pub fn file(path: &'a Path) -> Teacher<'a> {
        Teacher(TeacherSource::File(path))
    }

    /// Returns the teacher in a file of any form: [`Teacher::score_file`] if it is a table with the columns `query` and `score`,
    /// otherwise [`Teacher::file`].
    pub fn open(path: &'a Path, field: &'a str) -> Teacher<'a> {
        if Teacher::is_score_file(path) { Teacher::score_file(path, field) } else { Teacher::file(path) }
    }

    /// Returns whether a file is a table of scores. A pipe is not looked into.
    pub fn is_score_file(path: &Path) -> bool {
        let table = || Table::open(path, &Options::default());
        path.is_file() && table().is_ok_and(|table| table.has("query") && table.has("score"))
    }

    /// Texts and their vectors from any iterator. If a text occurs twice, its first vector is used.
    pub fn vectors<T: AsRef<str>, V: AsRef<[f32]>>(vectors: impl IntoIterator<Item = (T, V)> + 'a) -> Teacher<'a> {
        Teacher(TeacherSource::Vectors(Box::new(move |on_vector| {
            (1..)
                .zip(vectors)
                .try_for_each(|(number, (text, vector))| on_vector(text.as_ref(), vector.as_ref(), number))
        })))
    }

    /// Like [`Teacher::vectors`], for entries that can fail. The first error ends the training.
    pub fn results<T: AsRef<str>, V: AsRef<[f32]>, E>(
        vectors: impl IntoIterator<Item = Result<(T, V), E>> + 'a,
    ) -> Teacher<'a>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        Teacher(TeacherSource::Vectors(Box::new(move |on_vector| {
            (1..).zip(vectors).try_for_each(|(number, entry)| {
                let (text, vector) = entry.map_err(|source| item_failed(format!("vector {number}"), source.into()))?;
                on_vector(text.as_ref(), vector.as_ref(), number)
            })
        })))
    }

    /// Scores of a query's titles: a table with the columns `query`, `field`, which is usually [`crate::tables::TITLE`], and
    /// `score`. A higher score is better; only the differences between the titles of a query count. Broken lines are
    /// skipped and counted.
    pub fn score_file(path: &'a Path, field: &'a str) -> Teacher<'a> {
        Teacher(TeacherSource::ScoreFile(path, field))
    }

    /// Like [`Teacher::score_file`] from memory: finite scores of a query and a title. If a pair occurs twice, the first
    /// counts.
    pub fn scores<Q: AsRef<str>, T: AsRef<str>>(scores: impl IntoIterator<Item = (Q, T, f32)> + 'a) -> Teacher<'a> {
        Teacher(TeacherSource::Scores(Box::new(move |on_score| {
            (1..).zip(scores).try_for_each(|(number, (query, title, score))| {
                if score.is_finite() {
                    on_score(query.as_ref(), title.as_ref(), score)
                } else {
                    let error = malformed("a finite number", score.to_string(), "remove it");
                    Err(error.within(format!("{NAME}, score {number}")))
                }
            })
        })))
    }

    /// Returns whether it has scores, and no vectors.
    pub(crate) fn has_scores(&self) -> bool {
        matches!(self.0, TeacherSource::ScoreFile(..) | TeacherSource::Scores(_))
    }

    /// Returns the file of its scores, if they are in one.
    pub(super) fn path(&self) -> Option<&Path> {
        match self.0 {
            TeacherSource::ScoreFile(path, _) => Some(path),
            TeacherSource::Scores(_) | TeacherSource::File(_) | TeacherSource::Vectors(_) => None,
        }
    }

    /// Hands over all scores. Returns the lines that were left out.
    pub(super) fn read_scores(self, take: &mut OnScore<'_>) -> Result<Skipped> {
        let (path, field) = match self.0 {
            TeacherSource::ScoreFile(path, field) => (path, field),
            TeacherSource::Scores(each) => return each(take).map(|()| Skipped::default()),
            TeacherSource::File(_) | TeacherSource::Vectors(_) => return Ok(Skipped::default()),
        };
        let mut table = Table::open(path, &Options::default())?;
        let query = table.require("query")?;
        let title = Field::require(&mut table, field)?;
        let score = table.require("score")?;
        let (mut record, mut joined, mut skipped) = (Record::default(), String::new(), Skipped::default());
        loop {
            let fault = match table.next(&mut record)? {
                Next::End => return Ok(skipped),
                Next::Broken(fault) => fault,
                Next::Header => RowFault::repeated_header(),
                Next::Row => {
                    let text = record.get(score).unwrap_or_default();
                    match text.trim().parse::<f32>() {
                        Ok(number) if number.is_finite() => {
                            let query = record.get(query).unwrap_or_default();
                            take(query, title.text(&record, &mut joined), number)?;
                            continue;
                        }
                        _ => {
                            let found = format!("`{}`", shortened(text));
                            RowFault::expected("bad score", "a finite number in column `score`", found)
                        }
                    }
                }
            };
            skipped.add(record.line, fault);
        }
    }

    /// Passes every vector to `take`, after checking that it is finite, not zero, and of the same dimension as the
    /// others.
    pub(super) fn read(self, take: &mut dyn FnMut(&str, &[f32]) -> Result<()>) -> Result<()> {
        match self.0 {
            TeacherSource::File(path) => {
                let mut checked = Checked { take, dimension: 0, failed: None };
                let read = vector_file::read(path, &mut checked);
                checked.failed.map_or(read, Err)
            }
            TeacherSource::ScoreFile(..) | TeacherSource::Scores(_) => Ok(()),
            TeacherSource::Vectors(each) => {
                let mut dimension = None;
                each(&mut |text, vector, number| {
                    let expected = *dimension.get_or_insert(vector.len());
                    let wrong = match (expected, vector.len()) {
                        (0, found) => Some(fault::dimension(found as u64)),
                        (expected, found) if expected != found => Some(fault::numbers(expected, found)),
                        _ => without_direction(text, vector),
                    };
                    match wrong {
                        None => take(text, vector),
                        Some(fault) => {
                            let position = VectorPlace::Vector(number);
                            Err(position.set(fault, Path::new("vectors from memory")))
                        }
                    }
                })
            }
        }
    }
}

impl<'a> From<&'a Path> for Teacher<'a> {
    fn from(path: &'a Path) -> Teacher<'a> {
        Teacher::file(path)
    }
}

impl std::fmt::Debug for Teacher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            TeacherSource::File(path) => write!(f, "Teacher({})", path.display()),
            TeacherSource::ScoreFile(path, _) => write!(f, "Teacher({})", path.display()),
            TeacherSource::Vectors(_) => write!(f, "Teacher(vectors from memory)"),
            TeacherSource::Scores(_) => write!(f, "Teacher(scores from memory)"),
        }
    }
}

/// Returns the error of a vector without a direction.
fn without_direction(text: &str, vector: &[f32]) -> Option<clickvec_tables::Error> {
    if let Some(found) = not_finite(vector) {
        return Some(fault::not_finite(text, found));
    }
    let expected = || format!("a number other than 0 in the vector of `{}`", shortened(text));
    vector.iter().all(|&number| number == 0.0).then(|| malformed(expected(), "none", "remove its vector"))
}

/// A check of the vectors in a file, on their way to `take`.
struct Checked<'t> {
    take: &'t mut dyn FnMut(&str, &[f32]) -> Result<()>,
    dimension: usize,
    /// The error of `take`, if there was one.
    failed: Option<Error>,
}

impl Entries for Checked<'_> {
    fn begin(&mut self, dimension: usize) {
        self.dimension = dimension;
    }

    fn add(&mut self, entry: &str, numbers: &[f32], position: VectorPlace, _texts: bool) -> Result<(), Stop> {
        if let Some(fault) = without_direction(entry, numbers) {
            return Err(Stop::Fault(position, fault));
        }
        (self.take)(entry, numbers).map_err(|error| {
            self.failed = Some(error);
            Stop::Io(std::io::Error::other("stopped"))
        })
    }

    fn end(&mut self) -> clickvec_tables::Result<()> {
        if self.dimension == 0 { Err(fault::empty()) } else { Ok(()) }
    }
}
