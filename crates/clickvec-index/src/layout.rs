//! Reading an index from disk: the model, the titles and the vectors, and whether they belong together.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use clickvec::error::{BadShard, Error, IndexFault, Result};
use clickvec::index::QuantizedIndex;
use clickvec::internals::error::shortened;
use clickvec::internals::index::{Codes, floats};
use clickvec::internals::npy;
use clickvec::model::QueryModel;
use clickvec_tables::memory::room_for_numbers;

use crate::folder::{FileReader, Folder, PartKind};
use crate::table::Titles;

/// The file of the model.
pub(crate) const MODEL_FILE: &str = "model.safetensors";
/// The file of the vectors.
pub(crate) const VECTORS_FILE: &str = "vectors.npy";
/// The file of the titles.
pub(crate) const TITLES_FILE: &str = "titles.tsv";
pub(crate) const SHARD_FILE: &str = "shard.json";

/// The model that made the vectors.
pub(crate) const MODEL: PartKind = PartKind { name: "model", kind: "safetensors", first_file: MODEL_FILE };
/// Ids and texts, by position.
pub(crate) const TITLES: PartKind = PartKind { name: "titles", kind: "table", first_file: TITLES_FILE };
/// The vectors of the titles, by position.
pub(crate) const VECTORS: PartKind = PartKind { name: "vectors", kind: "f32", first_file: VECTORS_FILE };
/// The vectors of the titles, by position, in 16 bits a number.
pub(crate) const VECTORS_F16: PartKind = PartKind { name: "vectors", kind: "f16", first_file: VECTORS_FILE };
/// The vectors of the titles, which are what their codes say.
pub(crate) const VECTORS_INT8: PartKind = PartKind { name: "vectors", kind: "int8", first_file: "codes.bin" };
/// The vectors as whole numbers.
pub(crate) const CODES: PartKind = PartKind { name: "codes", kind: "nibbles", first_file: "codes.bin" };

/// Which shard of a collection it is; an index of a whole collection has no such part, and a version that does not know the
/// part passes over it.
pub(crate) const SHARD: PartKind = PartKind { name: "shard", kind: "json", first_file: SHARD_FILE };

/// The segments that were added, and the titles that are no longer there.
pub(crate) const CHANGES: PartKind = PartKind { name: "changes", kind: "segments", first_file: "changes.json" };

/// The parts that this version can read.
pub(crate) const PARTS: [PartKind; 8] = [MODEL, TITLES, VECTORS, VECTORS_F16, VECTORS_INT8, CODES, SHARD, CHANGES];

/// What memory for vectors is for.
pub(crate) const OF_INDEX: &str = "the vectors of an index";

/// The facts about an index's parts in its manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The fingerprint of the model that made the vectors.
    pub model: String,
    /// The number of titles that can be found.
    pub titles: u64,
    /// The number of titles that were left out because the model knows none of their words.
    pub left_out: u64,
    /// The size of a vector.
    pub dimension: usize,
    /// The column that the titles' texts come from. Omitted if it is `title`.
    #[serde(default = "title", skip_serializing_if = "is_title")]
    pub field: String,
}

fn title() -> String {
    "title".to_owned()
}

fn is_title(field: &str) -> bool {
    field == "title"
}

/// A part of a collection's titles, which [`crate::join`] joins with the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Which part, counted from 1.
    pub number: u64,
    /// How many parts there are.
    pub of: u64,
    /// How many titles the collection has.
    pub titles: u64,
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.number, self.of)
    }
}

/// The description in an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IndexSummary {
    /// A fingerprint of everything in it. Indexes with equal fingerprints answer alike.
    pub fingerprint: String,
    /// The version of clickvec that wrote the index.
    pub version: String,
    /// The fingerprint of the model that made the vectors.
    pub model: String,
    /// The number of titles that can be found.
    pub titles: u64,
    /// The number of titles that were left out because the model knows none of their words.
    pub left_out: u64,
    /// The size of a vector.
    pub dimension: usize,
    /// The column that the titles' texts come from. Omitted if it is `title`.
    #[serde(skip_serializing_if = "is_title")]
    pub field: String,
    /// Which shard it is, if its titles are not the whole collection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The kind of each part, by name.
    pub parts: BTreeMap<String, String>,
    /// The length of each file in bytes, by name.
    pub files: BTreeMap<String, u64>,
}

/// The model, which must be the one that made the vectors.
pub(crate) fn load_model(folder: &Folder<About>) -> Result<QueryModel> {
    let about = folder.about();
    // The model's fingerprint covers everything that matters in it. A checksum would mean reading it twice.
    let model = QueryModel::load(&folder.file(&MODEL, MODEL_FILE)?)?;
    if model.fingerprint() != about.model {
        let fault = IndexFault::OtherModel { expected: about.model.clone(), found: model.fingerprint().to_owned() };
        return Err(folder.fault(fault));
    }
    if model.dimension() != about.dimension {
        let fault = IndexFault::Dimension { expected: model.dimension(), found: about.dimension };
        return Err(folder.fault(fault));
    }
    Ok(model)
}

/// The titles, as many as the manifest says.
pub(crate) fn load_titles(folder: &Folder<About>) -> Result<Titles> {
    let titles = folder.read(&TITLES, TITLES_FILE)?;
    let titles = Titles::parse(titles, TITLES_FILE).map_err(|fault| folder.fault(fault))?;
    let expected = folder.about().titles;
    if titles.len() as u64 != expected {
        let fault = IndexFault::TitleCount { name: TITLES_FILE.to_owned(), expected, found: titles.len() };
        return Err(folder.fault(fault));
    }
    Ok(titles)
}

/// The shard that an index is, if it is one.
///
/// # Errors
///
/// [`Error::Index`] and [`Error::Io`].
pub(crate) fn load_shard(folder: &Folder<About>) -> Result<Option<Shard>> {
    match folder.parts().get(SHARD.name) {
        Some(part) if part.kind == SHARD.kind => {}
        _ => return Ok(None),
    }
    let bad = |found| folder.fault(IndexFault::BadShard { found });
    let shard: Shard =
        serde_json::from_slice(&folder.read(&SHARD, SHARD_FILE)?).map_err(|error| bad(BadShard::Json(error.into())))?;
    if (1..=shard.of).contains(&shard.number) {
        Ok(Some(shard))
    } else {
        Err(bad(BadShard::Number { number: shard.number, of: shard.of }))
    }
}

/// A reader of the file of vectors, positioned at the first number, and how many there are. `kind` is NumPy's name of a
/// number of `width` bytes.
pub(crate) fn open_vectors<'f>(folder: &'f Folder<About>, kind: &str, width: usize) -> Result<(FileReader<'f>, usize)> {
    let About { titles, dimension, .. } = *folder.about();
    let mut file = folder.open_file(&VECTORS, VECTORS_FILE)?;
    let found = file.len();
    let other = || other_shape(folder, VECTORS_FILE, found);
    let rows = usize::try_from(titles).map_err(|_| other())?;
    // For these sizes the file has exactly one form, so there is nothing to parse.
    let expected = npy::header_of(kind, rows, dimension);
    let numbers = rows.checked_mul(dimension).ok_or_else(other)?;
    let bytes = numbers.checked_mul(width).and_then(|bytes| bytes.checked_add(expected.len()));
    if bytes.map(|bytes| bytes as u64) != Some(file.len()) {
        return Err(other());
    }
    let mut header = vec![0; expected.len()];
    file.fill(&mut header)?;
    if header != expected {
        let [expected, found] = [expected, header].map(|header| {
            // The text comes after a mark, the version and the length.
            String::from_utf8_lossy(&header[10.min(header.len())..]).trim_end().to_owned()
        });
        let fault = IndexFault::VectorHeader { name: VECTORS_FILE.to_owned(), expected, found: shortened(&found) };
        return Err(folder.fault(fault));
    }
    Ok((file, numbers))
}

/// The fault of a file of vectors, or of their codes, of `found` bytes.
fn other_shape(folder: &Folder<About>, name: &str, found: u64) -> Error {
    let About { titles, dimension, .. } = *folder.about();
    folder.fault(IndexFault::VectorShape { name: name.to_owned(), rows: titles, dimension, found })
}

/// All vectors as floats, however they are kept.
pub(crate) fn read_vectors(folder: &Folder<About>) -> Result<Vec<f32>> {
    match folder.parts().get(VECTORS.name) {
        Some(part) if part.kind == VECTORS_F16.kind => return read_halves(folder),
        Some(part) if part.kind == VECTORS_INT8.kind => return read_codes(folder),
        _ => {}
    }
    let (mut file, numbers) = open_vectors(folder, npy::F32, size_of::<f32>())?;
    // Read into memory. A memory map would not be faster, because the checks have to go through all of it.
    room_for_numbers::<f32>(OF_INDEX, &[&[numbers]])?;
    let mut vectors = vec![0f32; numbers];
    file.fill(bytemuck::cast_slice_mut(&mut vectors))?;
    file.finish()?;
    if cfg!(target_endian = "big") {
        vectors.iter_mut().for_each(|x| *x = f32::from_bits(x.to_bits().swap_bytes()));
    }
    Ok(vectors)
}

fn read_halves(folder: &Folder<About>) -> Result<Vec<f32>> {
    let (mut file, numbers) = open_vectors(folder, npy::F16, size_of::<u16>())?;
    // As they are, and as floats.
    room_for_numbers::<u16>(OF_INDEX, &[&[3, numbers]])?;
    let mut halves = vec![0u16; numbers];
    file.fill(bytemuck::cast_slice_mut(&mut halves))?;
    file.finish()?;
    halves.iter_mut().for_each(|half| *half = u16::from_le(*half));
    Ok(floats(&halves))
}

fn read_codes(folder: &Folder<About>) -> Result<Vec<f32>> {
    let About { titles, dimension, .. } = *folder.about();
    let bytes = folder.read(&CODES, CODES.first_file)?;
    let other = || other_shape(folder, CODES.first_file, bytes.len() as u64);
    let rows = usize::try_from(titles).map_err(|_| other())?;
    let codes = Codes::of_bytes(dimension, &bytes).ok_or_else(other)?;
    Ok(QuantizedIndex::of_codes_alone(dimension, rows, codes).and_then(|index| index.floats())?.vectors().to_vec())
}
