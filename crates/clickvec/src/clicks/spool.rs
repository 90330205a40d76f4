//! Lists that are written once from front to back and then read, in temporary mapped files or in memory.
#![allow(unsafe_code, reason = "memory maps of files that only this process can reach")]

use bytemuck::Pod;
use clickvec_tables::memory::reserve;
use clickvec_tables::{Error, Result};
use memmap2::{Mmap, MmapMut};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// The storage of a log's lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Storage<'a> {
    /// In memory.
    #[default]
    Memory,
    /// In temporary files without a name in this folder, so that memory does not grow with the log.
    Folder(&'a Path),
}

/// A list that is being written.
pub(crate) struct Spool<T> {
    sink: Sink<T>,
    len: u64,
}

enum Sink<T> {
    Memory(Vec<T>),
    File { writer: BufWriter<File>, folder: PathBuf },
}

/// A complete list, in a file without a name or in memory.
#[derive(Debug)]
pub(crate) struct Spooled<T> {
    items: Items<T>,
    len: usize,
}

#[derive(Debug)]
enum Items<T> {
    Memory(Vec<T>),
    File { map: Mmap, file: File, folder: PathBuf, items: PhantomData<T> },
}

impl<T: Pod> Spool<T> {
    pub(crate) fn new(storage: Storage<'_>) -> Result<Spool<T>> {
        let sink = match storage {
            Storage::Memory => Sink::Memory(Vec::new()),
            Storage::Folder(folder) => {
                let file = tempfile::tempfile_in(folder).map_err(|source| failed(folder, "write", source))?;
                Sink::File { writer: BufWriter::with_capacity(1 << 16, file), folder: folder.to_owned() }
            }
        };
        Ok(Spool { sink, len: 0 })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn push(&mut self, item: &T) -> Result<()> {
        self.extend(std::slice::from_ref(item))
    }

    pub(crate) fn extend(&mut self, items: &[T]) -> Result<()> {
        self.len += items.len() as u64;
        match &mut self.sink {
            Sink::Memory(list) => {
                reserve(list, items.len(), "the click log")?;
                list.extend_from_slice(items);
                Ok(())
            }
            Sink::File { writer, folder } => {
                writer.write_all(bytemuck::cast_slice(items)).map_err(|source| failed(folder, "write", source))
            }
        }
    }

    pub(crate) fn finish(self) -> Result<Spooled<T>> {
        let len = self.len as usize;
        let (writer, folder) = match self.sink {
            Sink::Memory(list) => return Ok(Spooled { items: Items::Memory(list), len }),
            Sink::File { writer, folder } => (writer, folder),
        };
        let file = writer.into_inner().map_err(|error| failed(&folder, "write", error.into_error()))?;
        // SAFETY: the file has no name, so no other process can change or shorten it, and this one
        // changes it only through `&mut Spooled`.
        let map = unsafe { Mmap::map(&file) }.map_err(|source| failed(&folder, "map", source))?;
        Ok(Spooled { items: Items::File { map, file, folder, items: PhantomData }, len })
    }
}

impl<T: Pod> Spooled<T> {
    /// Changes the items in place.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut [T])) -> Result<()> {
        match &mut self.items {
            Items::Memory(list) => change(&mut list[..self.len]),
            Items::File { file, folder, .. } => {
                // SAFETY: as in `finish`; while this mutable map lives, the other is not read.
                let mut map = unsafe { MmapMut::map_mut(&*file) }.map_err(|source| failed(folder, "map", source))?;
                change(&mut bytemuck::cast_slice_mut(&mut map)[..self.len]);
            }
        }
        Ok(())
    }

    /// Keeps the items for which `keep` is true, in their order.
    pub(crate) fn retain(&mut self, keep: impl Fn(&T) -> bool) -> Result<()> {
        let mut count = 0;
        self.change(|items| {
            for i in 0..items.len() {
                if keep(&items[i]) {
                    items[count] = items[i];
                    count += 1;
                }
            }
        })?;
        self.len = count;
        Ok(())
    }

    /// Keeps the first of consecutive items with equal keys.
    pub(crate) fn dedup_by_key<K: PartialEq>(mut self, key: impl Fn(&T) -> K) -> Result<Spooled<T>> {
        let mut count = 0;
        self.change(|items| {
            for i in 0..items.len() {
                if count == 0 || key(&items[count - 1]) != key(&items[i]) {
                    items[count] = items[i];
                    count += 1;
                }
            }
        })?;
        self.len = count;
        Ok(self)
    }
}

impl<T: Pod> std::ops::Deref for Spooled<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.items {
            Items::Memory(list) => &list[..self.len],
            Items::File { map, .. } => &bytemuck::cast_slice(map)[..self.len],
        }
    }
}

fn failed(folder: &Path, action: &'static str, source: std::io::Error) -> Error {
    let action = match action {
        "map" => "map temporary files of the log in this folder",
        _ => "write temporary files of the log in this folder",
    };
    Error::io(folder, action, source)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a check in memory and with files.
    fn both(check: impl Fn(Storage<'_>)) {
        check(Storage::Memory);
        let folder = tempfile::tempdir().expect("a folder");
        check(Storage::Folder(folder.path()));
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0, "the files have no name");
    }

    #[test]
    fn a_list_is_written_sorted_and_thinned() {
        both(|storage| {
            let mut spool = Spool::<u32>::new(storage).expect("a spool");
            spool.extend(&[5, 3, 5, 1]).expect("written");
            let mut list = spool.finish().expect("a list");
            assert_eq!(list[..], [5, 3, 5, 1]);
            list.change(|items| items.sort_unstable()).expect("changed");
            assert_eq!(list[..], [1, 3, 5, 5]);
            list.retain(|&x| x != 3).expect("thinned");
            assert_eq!(list[..], [1, 5, 5]);
            assert_eq!(list.dedup_by_key(|&x| x).expect("thinned")[..], [1, 5]);
        });
    }

    #[test]
    fn an_empty_list() {
        both(|storage| {
            let mut list = Spool::<u64>::new(storage).expect("a spool").finish().expect("a list");
            list.change(|items| assert!(items.is_empty())).expect("changed");
            assert!(list.is_empty());
        });
    }

    #[test]
    fn a_folder_that_is_not_there() {
        assert!(Spool::<u64>::new(Storage::Folder(Path::new("/nonexistent"))).is_err());
    }
}
