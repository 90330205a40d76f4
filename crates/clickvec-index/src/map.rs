//! Files as slices of numbers, mapped, so that opening one takes no time in proportion to its size.
#![allow(unsafe_code, reason = "memory maps of the files of an index")]

use std::fs::File;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytemuck::Pod;
use clickvec::internals::index::Shared;
use memmap2::Mmap;

use crate::error::{Error, Result, malformed};
use crate::folder::Folder;

#[cfg(target_endian = "big")]
compile_error!("the files of an index are mapped, and their numbers are little-endian");

/// A mapped file.
#[derive(Debug, Clone)]
pub(crate) struct Map(Option<Arc<Mmap>>);

/// A part of a mapped file, as numbers.
struct Numbers<T> {
    map: Map,
    range: Range<usize>,
    kind: PhantomData<fn() -> T>,
}

impl Map {
    /// Maps a whole file.
    pub(crate) fn open(path: &Path) -> Result<Map> {
        let failed = |source| Error::io(path, "map", source);
        let file = File::open(path).map_err(failed)?;
        // Nothing can be mapped of an empty file.
        if file.metadata().map_err(failed)?.len() == 0 {
            return Ok(Map(None));
        }
        // SAFETY: an index is replaced by renaming and its files are never changed in place. Numbers and bytes of any value are
        // valid, and whatever is computed from them is checked before it is used as a place.
        Ok(Map(Some(Arc::new(unsafe { Mmap::map(&file) }.map_err(failed)?))))
    }

    /// Returns all bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |map| map)
    }

    /// Returns the numbers in a range of bytes; `None` if the range is not inside the file or does not fit the numbers.
    pub(crate) fn numbers<T: Pod + Send + Sync>(&self, range: Range<usize>) -> Option<Shared<T>> {
        // No bytes have no alignment either.
        if range.is_empty() && range.end <= self.bytes().len() {
            return Some(Vec::new().into());
        }
        bytemuck::try_cast_slice::<u8, T>(self.bytes().get(range.clone())?).ok()?;
        Some(Shared::new(Numbers { map: self.clone(), range, kind: PhantomData }))
    }

    /// Returns the numbers of the whole file.
    pub(crate) fn all<T: Pod + Send + Sync>(&self) -> Option<Shared<T>> {
        self.numbers(0..self.bytes().len())
    }
}

impl Folder {
    /// Maps a file, which exists and has the right length.
    pub(crate) fn map(&self, name: &str) -> Result<Map> {
        Map::open(&self.file(name)?)
    }

    /// Maps the numbers that a file consists of.
    pub(crate) fn numbers<T: Pod + Send + Sync>(&self, name: &str) -> Result<Shared<T>> {
        let map = self.map(name)?;
        map.all().ok_or_else(|| {
            let (expected, found) = (format!("numbers of {} bytes", size_of::<T>()), map.bytes().len());
            malformed(&self.path().join(name), expected, format!("{found} bytes in all"))
        })
    }
}

impl<T: Pod> AsRef<[T]> for Numbers<T> {
    fn as_ref(&self) -> &[T] {
        // It was possible as this was made, and the map does not move.
        self.map.bytes().get(self.range.clone()).and_then(|bytes| bytemuck::try_cast_slice(bytes).ok()).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers");
        std::fs::write(&path, bytemuck::cast_slice(&[1u32, 2, 3])).unwrap();
        let map = Map::open(&path).unwrap();
        assert_eq!(*map.all::<u32>().unwrap(), [1, 2, 3]);
        assert_eq!(*map.numbers::<u32>(4..8).unwrap(), [2]);
        assert!(map.numbers::<u32>(4..16).is_none() && map.numbers::<u32>(2..6).is_none());
        assert!(map.all::<u64>().is_none());
        std::fs::write(folder.path().join("none"), "").unwrap();
        assert_eq!(*Map::open(&folder.path().join("none")).unwrap().all::<u64>().unwrap(), [0u64; 0]);
    }
}
