//! The teacher of an index: a sentence transformer, whose files the index has, and its vectors of each segment's titles.

mod recent;

use std::collections::{BTreeSet, HashMap};
use std::fmt::{self, Debug, Formatter};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clickvec::index::QuantizedIndex;
use clickvec::internals::index::Codes;
use clickvec::internals::math::score::score;
use clickvec::model::Side;
use clickvec_tables::memory::room_for_numbers;
use clickvec_transformer::Transformer;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use self::recent::Recent;
use crate::error::{Error, ErrorKind, Result, malformed, mismatch};
use crate::folder::{Folder, FolderWriter};
use crate::parts::vectors::codes_in;
use crate::titles::TitleLines;

/// The prefix of all files of a teacher.
pub(crate) const TEACHER_FILES: &str = "teacher";
/// The kind of the part in the first segment of an index, and in others.
const KIND: &str = "transformer";
const VECTORS_KIND: &str = "vectors";

/// What the vectors of a segment are.
const ABOUT_FILE: &str = "teacher.json";
/// The vectors of the titles, 8 bits a number.
const CODES_FILE: &str = "teacher-codes.bin";
/// The folder with the files of the transformer.
const FOLDER: &str = "teacher";

/// The number of titles that are encoded at once.
const TITLES_AT_ONCE: usize = 4096;

/// What `teacher.json` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct About {
    fingerprint: String,
    dimension: usize,
    /// The files of the transformer.
    files: BTreeSet<String>,
}

/// The teacher of an index: a transformer, which may not be loaded yet. Clones share it.
#[derive(Clone)]
pub struct Teacher {
    shared: Arc<Loadable>,
    /// Vectors of titles that need not be encoded.
    known: Arc<Known>,
}

struct Loadable {
    about: About,
    /// Where its files are.
    folder: PathBuf,
    loaded: OnceLock<Transformer>,
    recent: Recent,
}

/// Vectors by the hashes of their texts.
#[derive(Default)]
struct Known {
    rows: HashMap<u64, usize>,
    vectors: Vec<f32>,
}

/// Compares the fingerprints of the files.
impl PartialEq for Teacher {
    fn eq(&self, other: &Teacher) -> bool {
        self.fingerprint() == other.fingerprint()
    }
}

impl Teacher {
    /// Loads a transformer from a folder that sentence-transformers saved.
    ///
    /// # Errors
    ///
    /// Those of [`clickvec_transformer::Transformer::load`].
    pub fn load(path: &Path) -> Result<Teacher> {
        let transformer = Transformer::load(path)?;
        let about = About {
            fingerprint: transformer.fingerprint().to_owned(),
            dimension: transformer.dimension(),
            files: transformer.files().iter().map(|&name| name.to_owned()).collect(),
        };
        Ok(Teacher::new(about, path.to_owned(), OnceLock::from(transformer)))
    }

    /// Opens the teacher of an index. It is loaded when the first query needs it.
    pub(crate) fn open(folder: &Folder) -> Result<Teacher> {
        let about: About = folder.json(ABOUT_FILE)?;
        for name in &about.files {
            folder.file(&format!("{FOLDER}/{name}"))?;
        }
        Ok(Teacher::new(about, folder.path().join(FOLDER), OnceLock::new()))
    }

    fn new(about: About, folder: PathBuf, loaded: OnceLock<Transformer>) -> Teacher {
        let shared = Arc::new(Loadable { about, folder, loaded, recent: Recent::default() });
        Teacher { shared, known: Arc::default() }
    }

    /// Returns this teacher with vectors of titles that it then need not encode.
    ///
    /// # Errors
    ///
    /// Any error of `each`, which passes on texts with their vectors of unit length.
    pub fn knowing(&self, each: impl FnOnce(&mut dyn FnMut(&str, &[f32])) -> Result<()>) -> Result<Teacher> {
        let (mut known, dimension) = (Known::default(), self.dimension());
        each(&mut |text, vector| {
            if vector.len() == dimension {
                known.rows.insert(xxh3_64(text.as_bytes()), known.vectors.len() / dimension);
                known.vectors.extend_from_slice(vector);
            }
        })?;
        Ok(Teacher { shared: Arc::clone(&self.shared), known: Arc::new(known) })
    }

    pub(crate) fn fingerprint(&self) -> &str {
        &self.shared.about.fingerprint
    }

    /// Returns the size of a vector.
    pub fn dimension(&self) -> usize {
        self.shared.about.dimension
    }

    /// Loads the transformer now, if that was not done yet.
    pub(crate) fn prepare(&self) -> Result<()> {
        self.loaded().map(drop)
    }

    /// Returns the transformer, which is loaded now if it was not before. Two callers at once both load it: one must
    /// not wait for the other, which may need its thread.
    fn loaded(&self) -> Result<&Transformer> {
        let Loadable { about, folder, loaded, .. } = &*self.shared;
        if let Some(transformer) = loaded.get() {
            return Ok(transformer);
        }
        let transformer = Transformer::load(folder)?;
        if transformer.fingerprint() != about.fingerprint {
            let (expected, found) = (&about.fingerprint, transformer.fingerprint().to_owned());
            let error = mismatch(folder, format!("the transformer {expected}"), found);
            return Err(error.help("was the index replaced meanwhile? open it again"));
        }
        Ok(loaded.get_or_init(|| transformer))
    }

    /// Returns the vectors of texts, [texts, dimension], of unit length.
    ///
    /// # Errors
    ///
    /// Those of loading the transformer.
    pub fn encode<S: AsRef<str> + Sync>(&self, side: Side, texts: &[S]) -> Result<Vec<f32>> {
        Ok(self.loaded()?.encode(side, texts))
    }

    /// Returns the vector of a query. It takes no more than half of the time to the deadline, so that the other parts can answer; the
    /// query then has none.
    pub(crate) fn vector(&self, query: &str, deadline: Option<Instant>) -> Result<Option<Arc<[f32]>>> {
        if query.trim().is_empty() {
            return Ok(None);
        }
        if let Some(vector) = self.shared.recent.get(query) {
            return Ok(Some(vector));
        }
        let now = Instant::now();
        let until = deadline.map(|deadline| now + deadline.saturating_duration_since(now) / 2);
        let vector: Option<Arc<[f32]>> = self.loaded()?.encode_until(Side::Query, query, until).map(Arc::from);
        if let Some(vector) = &vector {
            self.shared.recent.add(query, Arc::clone(vector));
        }
        Ok(vector)
    }

    /// Returns the score of a title for a query; 0 if the query has no vector.
    pub(crate) fn score(&self, query: &str, title: &str) -> Result<f32> {
        let Some(query) = self.vector(query, None)? else { return Ok(0.0) };
        Ok(score(&query, &Codes::rounded(self.dimension(), &self.encode(Side::Title, &[title])?)))
    }

    /// Writes the vectors of a segment's titles, and the transformer itself into the first one.
    pub(crate) fn write(&self, folder: &mut FolderWriter, titles: &TitleLines, is_first: bool) -> Result<()> {
        let about = &self.shared.about;
        let dimension = about.dimension;
        let vectors = self.title_vectors(titles)?;
        Codes::room(dimension, titles.len())?;
        let codes = Codes::alone(dimension, &Codes::rounded(dimension, &vectors), None);
        drop(vectors);
        folder.write(CODES_FILE, &[&[&codes.header()[..]], &codes.pieces()[..]].concat())?;
        folder.json(ABOUT_FILE, about)?;
        let mut files = vec![ABOUT_FILE.to_owned(), CODES_FILE.to_owned()];
        if is_first {
            for name in &about.files {
                let (from, to) = (self.shared.folder.join(name), format!("{FOLDER}/{name}"));
                let into = folder.file(&to);
                let parent = into.parent().unwrap_or(&into);
                fs::create_dir_all(parent).map_err(|source| folder.failed(source))?;
                fs::copy(&from, &into).map_err(|source| Error::io(&from, "copy", source))?;
                files.push(to);
            }
        }
        folder.part("teacher", if is_first { KIND } else { VECTORS_KIND }, &files);
        Ok(())
    }

    /// Returns the vectors of titles: those that are known, and the others encoded.
    fn title_vectors(&self, titles: &TitleLines) -> Result<Vec<f32>> {
        let dimension = self.dimension();
        room_for_numbers::<f32>("the vectors of titles", &[&[2, titles.len(), dimension]])?;
        let mut vectors = vec![0.0; titles.len() * dimension];
        let mut unknown: Vec<usize> = Vec::new();
        for (position, vector) in vectors.chunks_exact_mut(dimension).enumerate() {
            match self.known.rows.get(&xxh3_64(titles.text(position as u32).as_bytes())) {
                Some(row) => vector.copy_from_slice(&self.known.vectors[row * dimension..][..dimension]),
                None => unknown.push(position),
            }
        }
        for positions in unknown.chunks(TITLES_AT_ONCE) {
            let texts: Vec<&str> = positions.iter().map(|&position| titles.text(position as u32)).collect();
            let encoded = self.encode(Side::Title, &texts)?;
            for (&position, vector) in positions.iter().zip(encoded.chunks_exact(dimension)) {
                vectors[position * dimension..][..dimension].copy_from_slice(vector);
            }
        }
        Ok(vectors)
    }
}

impl Debug for Teacher {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Teacher").field("about", &self.shared.about).finish_non_exhaustive()
    }
}

/// The vectors of a segment's titles by a transformer.
pub(crate) struct TitleVectors {
    /// That of the transformer.
    pub(crate) fingerprint: String,
    pub(crate) index: QuantizedIndex,
}

impl TitleVectors {
    /// Opens those of a segment; `None` if it has none.
    pub(crate) fn open(folder: &Folder) -> Result<Option<TitleVectors>> {
        let kind = folder.parts().get("teacher").map(|part| part.kind.as_str());
        if !kind.is_some_and(|kind| [KIND, VECTORS_KIND].contains(&kind)) {
            return Ok(None);
        }
        let About { fingerprint, dimension, .. } = folder.json(ABOUT_FILE)?;
        let titles = folder.about().titles;
        let map = folder.map(CODES_FILE)?;
        let bad = || {
            let expected = format!("{titles} vectors of {dimension} numbers in 8 bits");
            malformed(&folder.path().join(CODES_FILE), expected, format!("{} bytes of others", map.bytes().len()))
        };
        let rows = usize::try_from(titles).map_err(|_| bad())?;
        let codes = if dimension == 0 { None } else { codes_in(&map, dimension) };
        let index = QuantizedIndex::from_codes_alone(dimension, rows, codes.ok_or_else(bad)?).map_err(|_| bad())?;
        Ok(Some(TitleVectors { fingerprint, index }))
    }
}

/// Creates the error of a segment without the vectors that a transformer made of its titles.
pub(crate) fn no_vectors() -> Error {
    Error::expected(ErrorKind::Malformed, "a segment with the teacher's vectors", "none").help("rebuild the index")
}
