//! From ids to positions: the hashes of all ids, sorted, each with the position of its title.

use clickvec::internals::index::Shared;
use rayon::slice::ParallelSliceMut as _;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Result, malformed};
use crate::folder::Folder;
use crate::map::Map;
use crate::titles::TitleLines;

pub(crate) const IDS_FILE: &str = "ids.bin";

/// The bytes of an entry: a hash and a position.
const ENTRY_BYTES: usize = 12;

/// Positions by id.
pub(crate) struct Ids {
    hashes: Shared<u64>,
    positions: Shared<u32>,
}

impl Ids {
    /// Creates the positions of titles in memory.
    pub(crate) fn new(titles: &TitleLines) -> Ids {
        let hash = |position: u32| titles.get(position).map_or(0, |line| xxh3_64(line.id.as_bytes()));
        let mut entries: Vec<(u64, u32)> =
            (0..titles.len() as u32).map(|position| (hash(position), position)).collect();
        entries.par_sort_unstable();
        let hashes: Vec<u64> = entries.iter().map(|&(hash, _)| hash).collect();
        let positions: Vec<u32> = entries.into_iter().map(|(_, position)| position).collect();
        Ids { hashes: hashes.into(), positions: positions.into() }
    }

    /// Opens the positions of a segment.
    pub(crate) fn open(folder: &Folder, titles: usize) -> Result<Ids> {
        let map = folder.map(IDS_FILE)?;
        let found = map.bytes().len();
        Ids::mapped(&map, titles).ok_or_else(|| {
            malformed(
                &folder.path().join(IDS_FILE),
                format!("an entry for each of {titles} titles"),
                format!("{found} bytes"),
            )
        })
    }

    /// Reads those of a mapped file; `None` if it has another length.
    fn mapped(map: &Map, titles: usize) -> Option<Ids> {
        if titles.checked_mul(ENTRY_BYTES) != Some(map.bytes().len()) {
            return None;
        }
        let hashes = map.numbers(0..8 * titles)?;
        Some(Ids { hashes, positions: map.numbers(8 * titles..ENTRY_BYTES * titles)? })
    }

    /// Returns the bytes of the file.
    pub(crate) fn bytes(&self) -> [&[u8]; 2] {
        [bytemuck::cast_slice(&self.hashes), bytemuck::cast_slice(&self.positions)]
    }

    /// Returns the positions of the titles with this id, in order; there are several only while titles of one update are counted.
    pub(crate) fn find(&self, id: &str, titles: &TitleLines) -> Vec<u32> {
        let hash = xxh3_64(id.as_bytes());
        let first = self.hashes.partition_point(|&other| other < hash);
        let alike = self.hashes[first..].iter().take_while(|&&other| other == hash).count();
        let positions = self.positions.get(first..first + alike).unwrap_or_default();
        positions.iter().copied().filter(|&position| titles.get(position).is_some_and(|line| line.id == id)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_in_memory_and_in_a_file() {
        let table: String = (0..1000).map(|n| format!("p{n}\ttitle {n}\n")).collect();
        let titles =
            TitleLines::from_table(format!("id\ttitle\n{table}p7\tagain\n").into_bytes().into(), "t".as_ref()).unwrap();
        let ids = Ids::new(&titles);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ids");
        std::fs::write(&path, ids.bytes().concat()).unwrap();
        let map = Map::open(&path).unwrap();
        for ids in [Ids::mapped(&map, titles.len()).unwrap(), ids] {
            assert_eq!(ids.find("p999", &titles), [999]);
            assert_eq!(ids.find("p7", &titles), [7, 1000]);
            assert!(ids.find("p1000", &titles).is_empty() && ids.find("", &titles).is_empty());
        }
        assert!(Ids::mapped(&map, 3).is_none());
    }
}
