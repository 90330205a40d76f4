//! A safetensors file with tensors and one JSON value, the format of models and checkpoints.
#![allow(unsafe_code, reason = "a memory map of the file that is read")]

use crate::encoder::Tensor;
use crate::math::Matrix;
use crate::math::vector::not_finite;
use clickvec_tables::ErrorKind;
use clickvec_tables::files::{self, open_plain};
use clickvec_tables::json::json_found;
use clickvec_tables::memory::room_for;
use clickvec_tables::shown::shortened;
use clickvec_tables::{Error, Result, damaged};
use memmap2::Mmap;
use safetensors::tensor::{Dtype, Metadata, TensorInfo, TensorView};
use safetensors::{SafeTensorError, SafeTensors};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::ops::{Deref, Range};
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// The only key of the metadata, whose value is the JSON. The order of two keys would be random.
const KEY: &str = "clickvec";

/// The limit of the header. Names, shapes and settings take some thousand bytes in every real file, because the
/// dictionary and the vocabulary are tensors. A parser may take twenty times the memory of what it reads.
const MAX_HEADER_BYTES: u64 = 4 << 20;

/// A tensor to write.
pub struct Entry<'a> {
    /// The tensor's name.
    pub name: String,
    /// Its numbers.
    pub data: Data<'a>,
}

/// The numbers of a tensor to write.
pub enum Data<'a> {
    /// Some columns of a matrix.
    Columns(&'a Matrix, Range<usize>),
    /// [rows, 3]
    Triples(&'a [[u32; 3]]),
    /// Whole numbers.
    Counts(&'a [u64]),
    /// An array of a file.
    Array(&'a Array),
}

/// The numbers of an array.
#[derive(Debug, Clone, PartialEq)]
pub enum Numbers {
    /// 32-bit floating point, finite.
    F32(Vec<f32>),
    /// 64-bit floating point, finite.
    F64(Vec<f64>),
    /// Whole numbers.
    U32(Vec<u32>),
    /// Bytes, for example of texts.
    Bytes(Vec<u8>),
}

/// Numbers with a shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// The sizes, with the slowest first.
    pub shape: Vec<usize>,
    /// The numbers, row by row.
    pub numbers: Numbers,
}

impl Numbers {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Numbers::F32(numbers) => numbers.len(),
            Numbers::F64(numbers) => numbers.len(),
            Numbers::U32(numbers) => numbers.len(),
            Numbers::Bytes(numbers) => numbers.len(),
        }
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> usize {
        self.len() * self.dtype().bitsize() / 8
    }

    /// Returns the type of the numbers.
    pub fn dtype(&self) -> Dtype {
        match self {
            Numbers::F32(_) => Dtype::F32,
            Numbers::F64(_) => Dtype::F64,
            Numbers::U32(_) => Dtype::U32,
            Numbers::Bytes(_) => Dtype::U8,
        }
    }
}

/// Returns an entry for each group of each tensor, with `prefix` before its name.
pub(crate) fn entries<'a>(prefix: &str, tensors: &'a [Tensor]) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    for tensor in tensors {
        for (group, columns) in tensor.ranges() {
            let name = format!("{prefix}{}", group.name);
            entries.push(Entry { name, data: Data::Columns(&tensor.value, columns) });
        }
    }
    entries
}

impl Entry<'_> {
    fn info(&self) -> (Dtype, Vec<usize>) {
        match &self.data {
            Data::Columns(matrix, columns) => (Dtype::F32, vec![matrix.rows(), columns.len()]),
            Data::Triples(rows) => (Dtype::U32, vec![rows.len(), 3]),
            Data::Counts(counts) => (Dtype::U64, vec![counts.len()]),
            Data::Array(array) => (array.numbers.dtype(), array.shape.clone()),
        }
    }

    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        match &self.data {
            Data::Columns(matrix, columns) => (0..matrix.rows())
                .try_for_each(|row| write_numbers(out, &matrix.row(row)[columns.clone()], |x| x.to_le_bytes())),
            Data::Triples(rows) => rows.iter().try_for_each(|row| write_numbers(out, row, |x| x.to_le_bytes())),
            Data::Counts(counts) => write_numbers(out, counts, |x| x.to_le_bytes()),
            Data::Array(Array { numbers, .. }) => match numbers {
                Numbers::F32(numbers) => write_numbers(out, numbers, |x| x.to_le_bytes()),
                Numbers::F64(numbers) => write_numbers(out, numbers, |x| x.to_le_bytes()),
                Numbers::U32(numbers) => write_numbers(out, numbers, |x| x.to_le_bytes()),
                Numbers::Bytes(numbers) => out.write_all(numbers),
            },
        }
    }
}

fn write_numbers<T: Copy, const N: usize>(
    out: &mut impl Write,
    numbers: &[T],
    bytes: impl Fn(T) -> [u8; N],
) -> std::io::Result<()> {
    let mut buffer = [0u8; 4096];
    for part in numbers.chunks(buffer.len() / N) {
        for (slot, &x) in buffer.chunks_exact_mut(N).zip(part) {
            slot.copy_from_slice(&bytes(x));
        }
        out.write_all(&buffer[..part.len() * N])?;
    }
    Ok(())
}

/// Returns a fingerprint of names, shapes and numbers, in the order of the names, and of settings: 128 bits in hexadecimal.
pub fn fingerprint(entries: &[Entry<'_>], settings: &impl Serialize) -> String {
    let mut sorted: Vec<&Entry<'_>> = entries.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let mut hash = Fingerprint::default();
    for entry in sorted {
        hash.begin(&entry.name, &entry.info().1);
        entry.write(&mut hash).expect("a hash takes all bytes");
    }
    hash.finish(settings)
}

#[derive(Default)]
struct Fingerprint(Xxh3);

impl Fingerprint {
    /// Begins a tensor, whose numbers follow.
    fn begin(&mut self, name: &str, shape: &[usize]) {
        self.0.update(name.as_bytes());
        for &size in shape {
            self.0.update(&(size as u64).to_le_bytes());
        }
    }

    fn finish(mut self, settings: &impl Serialize) -> String {
        serde_json::to_writer(&mut self, settings).expect("settings have names for keys, and a hash takes all bytes");
        format!("{:032x}", self.0.digest128())
    }
}

impl Write for Fingerprint {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes a complete file and renames it to `path`.
pub fn write(path: &Path, json: &impl Serialize, entries: Vec<Entry<'_>>) -> Result<()> {
    write_for(path, path, json, entries)
}

/// Writes a file like [`write`], which is to replace `output` and is readable by the same users as the file there.
pub(crate) fn write_for(path: &Path, output: &Path, json: &impl Serialize, mut entries: Vec<Entry<'_>>) -> Result<()> {
    let header = header(path, json, &mut entries)?;
    files::write_for(path, output, |out| {
        write_contents(out, &header, &entries).map_err(|source| Error::io(path, "write", source))
    })
}

/// Returns the bytes of a complete file; `name` is for messages.
pub(crate) fn to_bytes(name: &Path, json: &impl Serialize, mut entries: Vec<Entry<'_>>) -> Result<Vec<u8>> {
    let header = header(name, json, &mut entries)?;
    let mut bytes = Vec::new();
    write_contents(&mut bytes, &header, &entries).map_err(|source| Error::io(name, "write", source))?;
    Ok(bytes)
}

fn write_contents(out: &mut impl Write, header: &[u8], entries: &[Entry<'_>]) -> std::io::Result<()> {
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header)?;
    entries.iter().try_for_each(|entry| entry.write(out))
}

/// Returns the header of a file, and sorts its tensors as they follow.
fn header(path: &Path, json: &impl Serialize, entries: &mut [Entry<'_>]) -> Result<Vec<u8>> {
    let failed = |source: std::io::Error| Error::io(path, "write", source);
    // The widest numbers come first, so that all are aligned; then by name.
    entries.sort_by(|a, b| b.info().0.cmp(&a.info().0).then_with(|| a.name.cmp(&b.name)));
    let mut end = 0;
    let infos = entries.iter().map(|entry| {
        let (dtype, shape) = entry.info();
        let start = end;
        end += shape.iter().product::<usize>() * dtype.bitsize() / 8;
        (entry.name.clone(), TensorInfo { dtype, shape, data_offsets: (start, end) })
    });
    let json = serde_json::to_string(json).map_err(|error| failed(error.into()))?;
    let metadata = Metadata::new(Some(HashMap::from([(KEY.to_owned(), json)])), infos.collect())
        .map_err(|error| failed(std::io::Error::other(error)))?;
    let mut header = serde_json::to_vec(&metadata).map_err(|error| failed(error.into()))?;
    header.resize(header.len().next_multiple_of(8), b' ');
    if header.len() as u64 > MAX_HEADER_BYTES {
        return Err(header_too_large(header.len() as u64).at(path));
    }
    Ok(header)
}

/// A mapped file, or its bytes. Nothing in it is trusted yet.
pub struct TensorFile<'a> {
    bytes: Bytes<'a>,
}

enum Bytes<'a> {
    Mapped(Mmap),
    Memory(&'a [u8]),
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Memory(bytes) => bytes,
        }
    }
}

impl<'a> TensorFile<'a> {
    /// Opens a file, and checks its header.
    pub fn open(path: &Path) -> Result<TensorFile<'static>> {
        let file = open_plain(path)?;
        // SAFETY: this program replaces files of this kind by renaming and never changes them in place. Everything
        // that is read is copied and checked on the way.
        let map = unsafe { Mmap::map(&file) }.map_err(|source| Error::io(path, "map", source))?;
        // Nearly all of it will be copied.
        room_for("what is in a model's file", Some(map.len() as u64))?;
        Ok(TensorFile { bytes: Bytes::Mapped(map) })
    }

    /// Takes the bytes of a file.
    pub(crate) fn from_bytes(bytes: &'a [u8]) -> TensorFile<'a> {
        TensorFile { bytes: Bytes::Memory(bytes) }
    }

    /// Returns the tensors and the JSON value of a file of this `kind`.
    pub fn parse<T: DeserializeOwned>(&self, kind: &'static str) -> Result<(Tensors<'_>, T), clickvec_tables::Error> {
        let (tensors, json) = self.read()?;
        let found = kind_of(&json)?;
        if found != kind {
            return Err(damaged::other_kind(kind, &found));
        }
        Ok((tensors, serde_json::from_str(&json).map_err(bad_settings)?))
    }

    /// Returns the kind that the file gives, shortened.
    pub fn kind(&self) -> Result<String, clickvec_tables::Error> {
        kind_of(&self.read()?.1)
    }

    /// Returns the fingerprint that the file gives.
    pub fn fingerprint(&self) -> Result<String, clickvec_tables::Error> {
        let said: Fingerprinted = serde_json::from_str(&self.read()?.1).map_err(bad_settings)?;
        Ok(said.fingerprint)
    }

    /// Returns the tensors, and the JSON value as text.
    fn read(&self) -> Result<(Tensors<'_>, String), clickvec_tables::Error> {
        let bytes = self.bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        // If the header claims more than the file has, this is another kind of file.
        if bytes > MAX_HEADER_BYTES && bytes < self.bytes.len() as u64 {
            return Err(header_too_large(bytes));
        }
        let (_, metadata) = SafeTensors::read_metadata(&self.bytes).map_err(not_safetensors)?;
        let tensors = SafeTensors::deserialize(&self.bytes).map_err(not_safetensors)?;
        let json = metadata.metadata().as_ref().and_then(|keys| keys.get(KEY)).ok_or_else(|| {
            let found = "a safetensors file without its settings";
            clickvec_tables::Error::expected(ErrorKind::Malformed, "a file written by clickvec", found)
        })?;
        Ok((Tensors(tensors), json.clone()))
    }
}

/// Returns the `kind` of a JSON value, whose format must be the known one.
fn kind_of(json: &str) -> Result<String, clickvec_tables::Error> {
    let version: Version = serde_json::from_str(json).map_err(bad_settings)?;
    if version.format != FORMAT {
        let (expected, found) = (format!("format version {FORMAT}"), version.format.to_string());
        let help = if version.format > FORMAT {
            "use a newer clickvec, or make the file with this one"
        } else {
            "make the file with this clickvec"
        };
        return Err(clickvec_tables::Error::expected(ErrorKind::Version, expected, found).help(help));
    }
    let found: KindField = serde_json::from_str(json).map_err(bad_settings)?;
    Ok(shortened(&found.kind))
}

/// The version of the format of models and checkpoints, `format` in the JSON value.
pub const FORMAT: u32 = 1;

#[derive(serde::Deserialize)]
struct Version {
    format: u32,
}

#[derive(serde::Deserialize)]
struct KindField {
    kind: String,
}

#[derive(serde::Deserialize)]
struct Fingerprinted {
    fingerprint: String,
}

fn bad_settings(error: serde_json::Error) -> clickvec_tables::Error {
    let found = json_found(&error);
    clickvec_tables::Error::expected(ErrorKind::Malformed, "the settings of a clickvec file", found)
        .help("is it of another program?")
}

fn not_safetensors(error: SafeTensorError) -> clickvec_tables::Error {
    let found = match error {
        SafeTensorError::HeaderTooSmall | SafeTensorError::HeaderTooLarge | SafeTensorError::InvalidHeaderLength => {
            "one that ends before its header does, or another kind of file".to_owned()
        }
        SafeTensorError::MetadataIncompleteBuffer => "one that is longer or shorter than its header says".to_owned(),
        SafeTensorError::InvalidOffset(name) => {
            format!("a tensor `{}` of another place or size than its shape says", shortened(&name))
        }
        _ => "a header that is not of this kind".to_owned(),
    };
    clickvec_tables::Error::expected(ErrorKind::Malformed, "a safetensors file", found)
        .help("was it written to its end?")
}

fn header_too_large(found: u64) -> clickvec_tables::Error {
    let expected = format!("a safetensors file with a header of at most {MAX_HEADER_BYTES} bytes");
    clickvec_tables::Error::expected(ErrorKind::Malformed, expected, format!("one of {found}"))
        .help("was it written by clickvec?")
}

/// The tensors of a mapped file.
pub struct Tensors<'a>(SafeTensors<'a>);

impl Tensors<'_> {
    /// Returns the number of values in all tensors.
    pub fn numbers(&self) -> u64 {
        self.0.iter().map(|(_, view)| view.shape().iter().product::<usize>() as u64).sum()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the name of a tensor begins so.
    pub fn has(&self, prefix: &str) -> bool {
        self.0.iter().any(|(name, _)| name.starts_with(prefix))
    }

    /// Returns the [`fingerprint`] of all tensors, computed directly from the file.
    pub fn fingerprint(&self, settings: &impl Serialize) -> String {
        let mut views: Vec<(&str, TensorView<'_>)> = self.0.iter().collect();
        views.sort_by_key(|&(name, _)| name);
        let mut hash = Fingerprint::default();
        for (name, view) in views {
            hash.begin(name, view.shape());
            hash.0.update(view.data());
        }
        hash.finish(settings)
    }

    fn view(
        &self,
        name: &str,
        dtype: Dtype,
        shape: &[Option<usize>],
    ) -> Result<TensorView<'_>, clickvec_tables::Error> {
        let view = self.0.tensor(name).map_err(|_| damaged::missing_tensor(name))?;
        let fits = view.shape().len() == shape.len()
            && view.shape().iter().zip(shape).all(|(&found, expected)| expected.is_none_or(|size| size == found));
        if view.dtype() != dtype || !fits {
            return Err(damaged::wrong_tensor(
                name,
                format!("{dtype:?} {shape:?}").replace("Some(", "").replace(')', "").replace("None", "any"),
                format!("{:?} {:?}", view.dtype(), view.shape()),
            ));
        }
        Ok(view)
    }

    /// Fills the columns of each group of `tensors`. Every number must be finite.
    pub fn read(&self, prefix: &str, tensors: &mut [Tensor]) -> Result<(), clickvec_tables::Error> {
        for tensor in tensors {
            let groups: Vec<_> = tensor.ranges().map(|(group, columns)| (group.name.clone(), columns)).collect();
            let rows = tensor.value.rows();
            for (name, columns) in groups {
                let name = format!("{prefix}{name}");
                let view = self.view(&name, Dtype::F32, &[Some(rows), Some(columns.len())])?;
                for (row, bytes) in view.data().chunks_exact(4 * columns.len()).enumerate() {
                    let into = &mut tensor.value.row_mut(row)[columns.clone()];
                    let mut finite = true;
                    for (x, bytes) in into.iter_mut().zip(bytes.as_chunks::<4>().0) {
                        *x = f32::from_le_bytes(*bytes);
                        // No early exit, so that the loop is vectorised.
                        finite &= x.is_finite();
                    }
                    if !finite {
                        let found = not_finite(into).unwrap_or_default();
                        return Err(damaged::not_finite(name, row, found));
                    }
                }
            }
        }
        Ok(())
    }

    pub fn triples(&self, name: &str) -> Result<Vec<[u32; 3]>, clickvec_tables::Error> {
        let view = self.view(name, Dtype::U32, &[None, Some(3)])?;
        let number = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        Ok(view.data().chunks_exact(12).map(|row| [number(row), number(&row[4..]), number(&row[8..])]).collect())
    }

    pub fn counts(&self, name: &str, len: usize) -> Result<Vec<u64>, clickvec_tables::Error> {
        let view = self.view(name, Dtype::U64, &[Some(len)])?;
        Ok(view.data().as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
    }

    /// Returns the numbers of a tensor that a file need not have; if it has it, at least one.
    pub fn optional_counts(&self, name: &str) -> Result<Option<Vec<u64>>, clickvec_tables::Error> {
        let Ok(view) = self.0.tensor(name) else { return Ok(None) };
        let len = view.shape().first().copied().unwrap_or(0).max(1);
        self.counts(name, len).map(Some)
    }

    /// Returns copies of all tensors by name. Every number must be finite.
    pub fn arrays(&self) -> Result<BTreeMap<String, Array>, clickvec_tables::Error> {
        self.0.iter().map(|(name, view)| Ok((name.to_owned(), array(name, &view)?))).collect()
    }
}

fn array(name: &str, view: &TensorView<'_>) -> Result<Array, clickvec_tables::Error> {
    let bytes = view.data();
    let numbers = match view.dtype() {
        Dtype::F32 => Numbers::F32(bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()),
        Dtype::F64 => Numbers::F64(bytes.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()),
        Dtype::U32 => Numbers::U32(bytes.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect()),
        Dtype::U8 => Numbers::Bytes(bytes.to_vec()),
        other => {
            return Err(damaged::wrong_tensor(name, "F32, F64, U32 or U8", format!("{other:?}")));
        }
    };
    let broken = match &numbers {
        Numbers::F32(numbers) => {
            numbers.iter().position(|x| !x.is_finite()).map(|index| (index, numbers[index].to_string()))
        }
        Numbers::F64(numbers) => {
            numbers.iter().position(|x| !x.is_finite()).map(|index| (index, numbers[index].to_string()))
        }
        Numbers::U32(_) | Numbers::Bytes(_) => None,
    };
    match broken {
        Some((index, found)) => {
            let row = index / view.shape().iter().skip(1).product::<usize>().max(1);
            Err(damaged::not_finite(name, row, found))
        }
        None => Ok(Array { shape: view.shape().to_vec(), numbers }),
    }
}

#[cfg(test)]
mod tests;
