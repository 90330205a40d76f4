//! What is searched: titles that a model encoded, beside their vectors, in memory and on disk.

mod titles;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, IndexFault, Result};
use crate::index::file::{self, Folder};
use crate::index::{FlatIndex, Hit, QuantizedIndex, SearchScratch};
use crate::model::{Model, QueryModel, Side};
use crate::tables::Title;
use crate::vectors::{NpyWriter, npy_header};
use titles::Titles;

/// Titles that are encoded at once, between two reports of progress.
const TITLES_AT_ONCE: usize = 2048;

const MODEL_FILE: &str = "model.safetensors";
const VECTORS_FILE: &str = "vectors.npy";
const TITLES_FILE: &str = "titles.tsv";

/// Titles that can be found, and the vector of each.
#[derive(Debug)]
pub struct Collection {
    titles: Titles,
    index: Index,
    left_out: usize,
    /// The fingerprint of the model that made the vectors.
    model: String,
}

/// The vectors, with or without their codes.
#[derive(Debug)]
enum Index {
    Flat(FlatIndex),
    Quantized(QuantizedIndex),
}

/// What the manifest of an index says of its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct About {
    /// The fingerprint of the model that made the vectors.
    model: String,
    /// Titles that can be found.
    titles: u64,
    /// Titles of whose words the model knows none.
    left_out: u64,
    /// Numbers of a vector.
    dimension: usize,
}

/// What an index says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IndexSummary {
    /// Of all there is in it: indexes with equal fingerprints answer alike.
    pub fingerprint: String,
    /// The version of clickvec that wrote it.
    pub version: String,
    /// The fingerprint of the model that made the vectors.
    pub model: String,
    /// Titles that can be found.
    pub titles: u64,
    /// Titles that were left out, because the model knows none of their words.
    pub left_out: u64,
    /// Numbers of a vector.
    pub dimension: usize,
    /// Length of each file in bytes, by name.
    pub files: BTreeMap<String, u64>,
}

impl Collection {
    /// Encodes titles; `progress` is told now and then how many are done.
    ///
    /// One of which the model knows no word would have a vector that says nothing: it is left out.
    ///
    /// # Errors
    ///
    /// [`Error::Vectors`] if there are too many; [`Error::BadTitle`] if an id or a title has a tab or a line end.
    pub fn encode(model: &Model, mut titles: Vec<Title>, progress: &mut dyn FnMut(usize)) -> Result<Collection> {
        let all = titles.len();
        titles.retain(|title| model.dictionary().knows_a_word(&title.title));
        let mut embedder = model.embedder(Side::Title);
        let mut vectors = Vec::with_capacity(titles.len() * model.dimension());
        for batch in titles.chunks(TITLES_AT_ONCE) {
            let texts: Vec<&str> = batch.iter().map(|title| title.title.as_str()).collect();
            vectors.extend_from_slice(embedder.embed(&texts));
            progress(vectors.len() / model.dimension());
        }
        Ok(Collection {
            left_out: all - titles.len(),
            titles: Titles::new(&titles)?,
            index: Index::Flat(FlatIndex::new(model.dimension(), vectors)?),
            model: model.fingerprint().to_owned(),
        })
    }

    /// The vectors, by position.
    pub fn index(&self) -> &FlatIndex {
        match &self.index {
            Index::Flat(flat) => flat,
            Index::Quantized(quantized) => quantized.flat(),
        }
    }

    /// Makes every search that follows several times as fast, with the same hits; it takes as long as some twenty
    /// searches.
    pub fn quantize(&mut self) {
        if let Index::Flat(flat) = &mut self.index {
            let none = FlatIndex::new(1, Vec::new()).expect("no vectors have no fault");
            self.index = Index::Quantized(QuantizedIndex::new(std::mem::replace(flat, none)));
        }
    }

    /// The best `k` for a query's vector.
    ///
    /// # Errors
    ///
    /// Those of [`FlatIndex::search`].
    pub fn search<'s>(&self, query: &[f32], k: usize, scratch: &'s mut SearchScratch) -> Result<&'s [Hit]> {
        match &self.index {
            Index::Flat(flat) => flat.search(query, k, scratch),
            Index::Quantized(quantized) => quantized.search(query, k, scratch),
        }
    }

    /// Id and text of the title at a position of the index.
    pub fn title(&self, position: u32) -> Option<(&str, &str)> {
        self.titles.get(position as usize)
    }

    /// How many titles can be found.
    pub fn len(&self) -> usize {
        self.titles.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many titles were left out, because the model knows none of their words.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Writes an index, the folder `path`, with a copy of the model; returns the index's fingerprint.
    ///
    /// It is written beside `path` under a temporary name and put there in one step. Only an index, an empty folder or
    /// nothing is replaced.
    ///
    /// # Errors
    ///
    /// [`Error::NotReplaceable`], [`Error::Index`] with [`IndexFault::OtherModel`] if these vectors are not
    /// this model's; [`Error::InUse`], [`Error::NoFolder`] and [`Error::Io`]. What was at `path` is then untouched.
    pub fn save(&self, model: &Model, path: &Path) -> Result<String> {
        if model.fingerprint() != self.model {
            let fault = IndexFault::OtherModel { expected: self.model.clone(), found: model.fingerprint().to_owned() };
            return Err(Error::Index { path: path.to_owned(), fault });
        }
        let about = About {
            model: self.model.clone(),
            titles: self.len() as u64,
            left_out: self.left_out as u64,
            dimension: model.dimension(),
        };
        file::write(path, about, |files| {
            files.file(MODEL_FILE, |path| model.save(path))?;
            files.part(VECTORS_FILE, |out| write_vectors(out, self.index()))?;
            files.part(TITLES_FILE, |out| out.write_all(self.titles.table().as_bytes()))
        })
    }

    /// Whether [`Collection::save`] could write to `path`, so that this is known before titles are encoded.
    ///
    /// # Errors
    ///
    /// [`Error::NoFolder`], [`Error::NotReplaceable`] or [`Error::Io`].
    pub fn check_output(path: &Path) -> Result<()> {
        file::check_replaceable(path)
    }

    /// Reads an index and the half of its model that searching needs; nothing in the folder is trusted.
    ///
    /// # Errors
    ///
    /// [`Error::Index`] with one [`IndexFault`] for each thing that can be wrong; [`Error::File`] for the model's;
    /// [`Error::Io`].
    pub fn open(path: &Path) -> Result<(QueryModel, Collection, IndexSummary)> {
        file::read(path, open)
    }
}

fn open(folder: &Folder<About>) -> Result<(QueryModel, Collection, IndexSummary)> {
    let about = folder.about();
    // Its fingerprint covers all that counts in it: a checksum besides would only read it twice.
    let model = QueryModel::load(&folder.file(MODEL_FILE)?)?;
    if model.fingerprint() != about.model {
        let fault = IndexFault::OtherModel { expected: about.model.clone(), found: model.fingerprint().to_owned() };
        return Err(folder.fault(fault));
    }
    if model.dimension() != about.dimension {
        let fault = IndexFault::Dimension { expected: model.dimension(), found: about.dimension };
        return Err(folder.fault(fault));
    }
    let titles = Titles::parse(folder.read(TITLES_FILE)?, TITLES_FILE).map_err(|fault| folder.fault(fault))?;
    if titles.len() as u64 != about.titles {
        let fault =
            IndexFault::TitleCount { name: TITLES_FILE.to_owned(), expected: about.titles, found: titles.len() };
        return Err(folder.fault(fault));
    }
    let vectors = read_vectors(folder, titles.len(), about.dimension)?;
    let index = FlatIndex::from_unit(about.dimension, vectors).map_err(|error| match error {
        Error::Vectors(fault) => folder.fault(IndexFault::Vectors(fault)),
        other => other,
    })?;
    let summary = IndexSummary {
        fingerprint: folder.fingerprint().to_owned(),
        version: folder.version().to_owned(),
        model: about.model.clone(),
        titles: about.titles,
        left_out: about.left_out,
        dimension: about.dimension,
        files: folder.files().iter().map(|(name, part)| (name.clone(), part.bytes)).collect(),
    };
    let left_out = about.left_out as usize;
    Ok((model, Collection { titles, index: Index::Flat(index), left_out, model: about.model.clone() }, summary))
}

fn write_vectors(out: &mut dyn Write, index: &FlatIndex) -> io::Result<()> {
    let mut writer = NpyWriter::new(out, index.len(), index.dimension())?;
    index.vectors().chunks_exact(index.dimension()).try_for_each(|vector| writer.write(vector))?;
    writer.finish().map(drop)
}

/// The file has exactly one form for these sizes, so that there is nothing to parse.
fn read_vectors(folder: &Folder<About>, rows: usize, dimension: usize) -> Result<Vec<f32>> {
    let mut part = folder.open_part(VECTORS_FILE)?;
    let expected = npy_header(rows, dimension);
    let other = || {
        let name = VECTORS_FILE.to_owned();
        folder.fault(IndexFault::VectorShape { name, rows: rows as u64, dimension })
    };
    let numbers = rows.checked_mul(dimension).ok_or_else(other)?;
    let bytes = numbers.checked_mul(size_of::<f32>()).and_then(|bytes| bytes.checked_add(expected.len()));
    if bytes.map(|bytes| bytes as u64) != Some(part.len()) {
        return Err(other());
    }
    let mut header = vec![0; expected.len()];
    part.fill(&mut header)?;
    if header != expected {
        return Err(other());
    }
    // Read to where it stays: as fast as a memory map, which would have to be walked through for the checks anyway.
    let mut vectors = vec![0f32; numbers];
    part.fill(bytemuck::cast_slice_mut(&mut vectors))?;
    part.finish()?;
    if cfg!(target_endian = "big") {
        vectors.iter_mut().for_each(|x| *x = f32::from_bits(x.to_bits().swap_bytes()));
    }
    Ok(vectors)
}
