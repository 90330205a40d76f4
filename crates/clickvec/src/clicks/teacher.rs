//! Where a teacher's vectors come from: a file, any iterator.

use std::path::Path;

use crate::error::{Error, LearnFault, Result, VectorFileFault, VectorPlace, shortened};
use crate::vector_file::{self, Entries, Stop};

/// How messages call it.
pub(super) const NAME: &str = "teacher";

/// Vectors of texts that another program made: a transformer, say, whose similarities a model is to learn.
///
/// The vectors need not have the model's dimension, only one dimension. What counts is the cosine of two of them.
///
/// ```
/// use clickvec::train::Teacher;
///
/// let teacher = Teacher::vectors([("red shoes", [0.6, 0.8]), ("running shoes, red", [0.8, 0.6])]);
/// # drop(teacher);
/// ```
pub struct Teacher<'a>(Kind<'a>);

enum Kind<'a> {
    File(&'a Path),
    Vectors(EachVector<'a>),
}

/// Hands over every text with its vector.
type EachVector<'a> = Box<dyn FnOnce(&mut OnVector<'_>) -> Result<()> + 'a>;

/// Takes a text, its vector, and its number, counted from 1.
type OnVector<'f> = dyn FnMut(&str, &[f32], u64) -> Result<()> + 'f;

impl<'a> Teacher<'a> {
    /// The vectors of a file: `.npy` with a `.txt` next to it that has the texts, one a line, JSON lines of `text` and
    /// `vector`, or word2vec's forms (docs/reference/formats.md).
    pub fn file(path: &'a Path) -> Teacher<'a> {
        Teacher(Kind::File(path))
    }

    /// Texts and their vectors. Where a text stands twice, the first counts.
    pub fn vectors<T: AsRef<str>, V: AsRef<[f32]>>(vectors: impl IntoIterator<Item = (T, V)> + 'a) -> Teacher<'a> {
        Teacher(Kind::Vectors(Box::new(move |on_vector| {
            (1..)
                .zip(vectors)
                .try_for_each(|(number, (text, vector))| on_vector(text.as_ref(), vector.as_ref(), number))
        })))
    }

    /// [`Teacher::vectors`] where an entry may not be had: the first error ends the reading.
    pub fn results<T: AsRef<str>, V: AsRef<[f32]>, E>(
        vectors: impl IntoIterator<Item = Result<(T, V), E>> + 'a,
    ) -> Teacher<'a>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        Teacher(Kind::Vectors(Box::new(move |on_vector| {
            (1..).zip(vectors).try_for_each(|(number, entry)| {
                let (text, vector) = entry.map_err(|source| Error::VectorSource { number, source: source.into() })?;
                on_vector(text.as_ref(), vector.as_ref(), number)
            })
        })))
    }

    /// Hands over all vectors: finite, not zero, and all of one dimension.
    pub(super) fn read(self, take: &mut dyn FnMut(&str, &[f32]) -> Result<()>) -> Result<()> {
        match self.0 {
            Kind::File(path) => {
                let mut checked = Checked { take, dimension: 0, failed: None };
                let read = vector_file::read(path, NAME, &mut checked);
                checked.failed.map_or(read, Err)
            }
            Kind::Vectors(each) => {
                let mut dimension = None;
                each(&mut |text, vector, number| {
                    let expected = *dimension.get_or_insert(vector.len());
                    let wrong = match (expected, vector.len()) {
                        (0, found) => {
                            Some(VectorFileFault::Dimension { most: vector_file::MAX_DIMENSION, found: found as u64 })
                        }
                        (expected, found) if expected != found => Some(VectorFileFault::Numbers { expected, found }),
                        _ => fault(text, vector),
                    };
                    match wrong {
                        None => take(text, vector),
                        Some(fault) => {
                            let (path, place) = ("vectors from memory".into(), VectorPlace::Vector(number));
                            Err(Error::Learn { ranker: NAME, fault: LearnFault::Vectors { path, place, fault } })
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
            Kind::File(path) => write!(f, "Teacher({})", path.display()),
            Kind::Vectors(_) => write!(f, "Teacher(vectors from memory)"),
        }
    }
}

/// Why a vector is none that has a direction.
fn fault(text: &str, vector: &[f32]) -> Option<VectorFileFault> {
    let word = || shortened(text);
    if !vector.iter().all(|number| number.is_finite()) {
        return Some(VectorFileFault::NotFinite { word: word() });
    }
    vector.iter().all(|&number| number == 0.0).then(|| VectorFileFault::Zero { word: word() })
}

/// Checks the vectors of a file.
struct Checked<'t> {
    take: &'t mut dyn FnMut(&str, &[f32]) -> Result<()>,
    dimension: usize,
    /// What stopped the taking.
    failed: Option<Error>,
}

impl Entries for Checked<'_> {
    fn begin(&mut self, dimension: usize) {
        self.dimension = dimension;
    }

    fn add(&mut self, entry: &str, numbers: &[f32], place: VectorPlace, _texts: bool) -> Result<(), Stop> {
        if let Some(fault) = fault(entry, numbers) {
            return Err(Stop::Fault(place, fault));
        }
        (self.take)(entry, numbers).map_err(|error| {
            self.failed = Some(error);
            Stop::Io(std::io::Error::other("stopped"))
        })
    }

    fn end(&mut self) -> Result<(), VectorFileFault> {
        if self.dimension == 0 { Err(VectorFileFault::Empty) } else { Ok(()) }
    }
}
