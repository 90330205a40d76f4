//! Finding duplicate ids.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_128;

/// The ids that were seen, and where. Each takes some 40 bytes, however long it is.
///
/// 128-bit hashes tell them apart. The chance of any collision among a thousand million ids is below 1e-20.
#[derive(Debug, Default)]
pub struct UniqueIds {
    lines: HashMap<(u64, u64), u64, BuildHasherDefault<IdentityHasher>>,
}

impl UniqueIds {
    /// Adds an id at a place. Returns the place where it was seen before, if it was.
    pub fn add(&mut self, id: &str, line: u64) -> Option<u64> {
        let hash = xxh3_128(id.as_bytes());
        match self.lines.entry((hash as u64, (hash >> 64) as u64)) {
            Entry::Occupied(seen) => Some(*seen.get()),
            Entry::Vacant(new) => {
                new.insert(line);
                None
            }
        }
    }
}

/// A hasher for values that are hashes already.
#[derive(Debug, Default, Clone, Copy)]
pub struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only numbers are hashed");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 ^= hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
