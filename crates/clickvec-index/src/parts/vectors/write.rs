//! Writing the vectors of a segment: rounded to their format, with their codes and lists.

use std::fs;
use std::path::{Path, PathBuf};

use clickvec::index::{FlatIndex, QuantizedIndex};
use clickvec::internals::index::{Codes, Shared, floats, halves};
use clickvec::internals::npy;

use super::cluster::{Clusters, Members, cluster};
use super::flat_of;
use super::{
    CENTROIDS_FILE, CODES_FILE, COPIES_FILE, LISTS_FILE, ListHeader, Lists, VECTORS_FILE, VectorFormat, Vectors,
};
use crate::error::{Error, Result, malformed};
use crate::folder::FolderWriter;
use crate::map::Map;

/// Vectors rounded to their format.
pub(crate) struct Rounded {
    path: PathBuf,
    flat: FlatIndex,
    format: VectorFormat,
    /// The numbers of [`VectorFormat::F16`].
    halves: Option<Shared<u16>>,
}

impl Rounded {
    /// Opens the vectors that were written as 32-bit floats, and rounds them.
    pub(crate) fn open(folder: &Path, titles: usize, dimension: usize, format: VectorFormat) -> Result<Rounded> {
        let path = folder.join(VECTORS_FILE);
        let map = Map::open(&path)?;
        let flat = flat_of(&map, titles as u64, dimension).ok_or_else(|| {
            malformed(&path, format!("{titles} vectors of {dimension} numbers"), format!("{} bytes", map.bytes().len()))
        })?;
        let (flat, halves) = match format {
            VectorFormat::F32 => (flat, None),
            VectorFormat::F16 => {
                let halves = halves(flat.vectors());
                (FlatIndex::from_unit_unchecked(dimension, floats(&halves).into())?, Some(halves.into()))
            }
            VectorFormat::Int8 => {
                (FlatIndex::from_unit_unchecked(dimension, Codes::rounded(dimension, flat.vectors()).into())?, None)
            }
        };
        Ok(Rounded { path, flat, format, halves })
    }

    /// Makes codes of the vectors, in the order of lists if there are at least `lists_from` vectors.
    pub(crate) fn searchable(&self, lists_from: usize) -> Result<Vectors> {
        let (flat, format) = (&self.flat, self.format);
        Codes::room(flat.dimension(), flat.len())?;
        if flat.len() < lists_from {
            return Ok(Vectors { format, index: self.index(None)?, lists: None });
        }
        let Clusters { centroids, first, second } = cluster(flat);
        let mut index = self.index(Some(first.rows))?;
        let mut header = ListHeader { searched: 1, gap: 0.0, recall: 0.0, blocks: first.blocks, copies: Vec::new() };
        if let Some(Members { rows, blocks }) = second {
            let d = flat.dimension();
            Codes::room(d, rows.len())?;
            // A search reads the vectors themselves where the high bits do not rule them out.
            index = index.with_copies(match format {
                VectorFormat::Int8 => Codes::alone(d, flat.vectors(), Some(rows)),
                _ => Codes::encode_high(d, flat.vectors(), Some(rows)),
            })?;
            header.copies = blocks;
        }
        Ok(Vectors { format, index, lists: Some(Lists::new(header, centroids.into(), flat.dimension())) })
    }

    /// Makes an index whose codes come in the order of these positions.
    fn index(&self, rows: Option<Vec<u32>>) -> Result<QuantizedIndex> {
        let flat = &self.flat;
        let (vectors, d) = (flat.vectors(), flat.dimension());
        Ok(match (self.format, &self.halves) {
            (VectorFormat::Int8, _) => QuantizedIndex::from_codes_alone(d, flat.len(), Codes::alone(d, vectors, rows))?,
            (_, Some(halves)) => QuantizedIndex::from_halves(d, halves.clone(), Codes::encode(d, vectors, rows))?,
            (_, None) => QuantizedIndex::from_codes(flat.clone(), Codes::encode(d, vectors, rows))?,
        })
    }

    /// Replaces the file of floats by that of the rounded vectors.
    pub(crate) fn replace_floats(self, folder: &FolderWriter) -> Result<()> {
        let Rounded { path, flat, format, halves } = self;
        if format == VectorFormat::F32 {
            return Ok(());
        }
        fs::remove_file(&path).map_err(|source| Error::io(&path, "write", source))?;
        let Some(halves) = halves else { return Ok(()) };
        let header = npy::header(npy::F16, flat.len(), flat.dimension());
        folder.write(VECTORS_FILE, &[&header, bytemuck::cast_slice(&halves)])
    }
}

impl Vectors {
    /// Writes the codes and lists. The vectors themselves are in the folder already.
    pub(crate) fn write(&self, folder: &mut FolderWriter) -> Result<()> {
        let mut files = vec![CODES_FILE];
        let codes = self.index.codes();
        folder.write(CODES_FILE, &[&[&codes.header()[..]], &codes.pieces()[..]].concat())?;
        if self.format != VectorFormat::Int8 {
            files.push(VECTORS_FILE);
        }
        if let Some(Lists { header, centroids, .. }) = &self.lists {
            folder.write(CENTROIDS_FILE, &[bytemuck::cast_slice(centroids)])?;
            if let Some(copies) = self.index.copies() {
                folder.write(COPIES_FILE, &[&[&copies.header()[..]], &copies.pieces()[..]].concat())?;
                files.push(COPIES_FILE);
            }
            folder.json(LISTS_FILE, header)?;
            files.extend([CENTROIDS_FILE, LISTS_FILE]);
        }
        folder.part("vectors", self.format.name(), &files);
        Ok(())
    }
}
