//! The distinct texts of a minibatch.

use hashbrown::HashTable;

/// The distinct titles, or queries, of a minibatch: from row to pair, and from hash to row.
#[derive(Debug, Default)]
pub(super) struct Distinct {
    pub(super) hashes: Vec<u64>,
    pub(super) pairs: Vec<u64>,
    /// Rows by hash.
    rows: HashTable<u32>,
}

impl Distinct {
    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    pub(super) fn clear(&mut self) {
        self.hashes.clear();
        self.pairs.clear();
        self.rows.clear();
    }

    pub(super) fn find(&self, hash: u64) -> Option<u32> {
        self.rows.find(hash, |&row| self.hashes[row as usize] == hash).copied()
    }

    pub(super) fn insert(&mut self, hash: u64, pair: u64) -> u32 {
        if let Some(row) = self.find(hash) {
            return row;
        }
        let row = self.hashes.len() as u32;
        self.hashes.push(hash);
        self.pairs.push(pair);
        let hashes = &self.hashes;
        self.rows.insert_unique(hash, row, |&row| hashes[row as usize]);
        row
    }
}
