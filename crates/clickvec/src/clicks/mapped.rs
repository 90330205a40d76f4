//! Lists in temporary files: written from front to back, then mapped.
#![allow(unsafe_code, reason = "memory maps of files that only this process can reach")]

use crate::error::{Error, Result};
use bytemuck::Pod;
use memmap2::{Mmap, MmapMut};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// A list that is being written to a file without a name.
pub(crate) struct Spool<T> {
    writer: BufWriter<File>,
    folder: PathBuf,
    len: u64,
    items: PhantomData<T>,
}

/// A list in a file without a name.
#[derive(Debug)]
pub struct Mapped<T> {
    map: Mmap,
    file: File,
    folder: PathBuf,
    len: usize,
    items: PhantomData<T>,
}

impl<T: Pod> Spool<T> {
    pub(crate) fn new(folder: &Path) -> Result<Spool<T>> {
        let file = tempfile::tempfile_in(folder).map_err(|source| failed(folder, source))?;
        Ok(Spool {
            writer: BufWriter::with_capacity(1 << 16, file),
            folder: folder.to_owned(),
            len: 0,
            items: PhantomData,
        })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn push(&mut self, item: &T) -> Result<()> {
        self.extend(std::slice::from_ref(item))
    }

    pub(crate) fn extend(&mut self, items: &[T]) -> Result<()> {
        self.len += items.len() as u64;
        self.writer.write_all(bytemuck::cast_slice(items)).map_err(|source| failed(&self.folder, source))
    }

    pub(crate) fn finish(self) -> Result<Mapped<T>> {
        let Spool { writer, folder, len, .. } = self;
        let file = writer.into_inner().map_err(|error| failed(&folder, error.into_error()))?;
        // SAFETY: the file has no name, so no other process can change or shorten it, and this one
        // changes it only through `&mut Mapped`.
        let map = unsafe { Mmap::map(&file) }.map_err(|source| failed(&folder, source))?;
        Ok(Mapped { map, file, folder, len: len as usize, items: PhantomData })
    }
}

impl<T: Pod> Mapped<T> {
    /// Changes the items where they lie.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut [T])) -> Result<()> {
        // SAFETY: as in `finish`; while this mutable map lives, `self.map` is not read.
        let mut map = unsafe { MmapMut::map_mut(&self.file) }.map_err(|source| failed(&self.folder, source))?;
        change(&mut bytemuck::cast_slice_mut(&mut map)[..self.len]);
        Ok(())
    }

    /// Keeps the first of neighbours with equal keys.
    pub(crate) fn dedup_by_key<K: PartialEq>(mut self, key: impl Fn(&T) -> K) -> Result<Mapped<T>> {
        let mut kept = 0;
        self.change(|items| {
            for i in 0..items.len() {
                if kept == 0 || key(&items[kept - 1]) != key(&items[i]) {
                    items[kept] = items[i];
                    kept += 1;
                }
            }
        })?;
        self.len = kept;
        Ok(self)
    }
}

impl<T: Pod> std::ops::Deref for Mapped<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &bytemuck::cast_slice(&self.map)[..self.len]
    }
}

fn failed(folder: &Path, source: std::io::Error) -> Error {
    Error::io(folder, "write temporary files of the log in this folder", source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_written_sorted_and_thinned() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut spool = Spool::<u32>::new(folder.path()).expect("a spool");
        spool.extend(&[5, 3, 5, 1]).expect("written");
        let mut list = spool.finish().expect("mapped");
        assert_eq!(list[..], [5, 3, 5, 1]);
        list.change(|items| items.sort_unstable()).expect("changed");
        assert_eq!(list[..], [1, 3, 5, 5]);
        assert_eq!(list.dedup_by_key(|&x| x).expect("thinned")[..], [1, 3, 5]);
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0, "the files have no name");
    }

    #[test]
    fn an_empty_list() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut list = Spool::<u64>::new(folder.path()).expect("a spool").finish().expect("mapped");
        list.change(|items| assert!(items.is_empty())).expect("changed");
        assert!(list.is_empty());
    }

    #[test]
    fn a_folder_that_is_not_there() {
        assert!(Spool::<u64>::new(Path::new("/nonexistent")).is_err());
    }
}
