//! Clicked pairs that are spooled, so that they can be read more than once.

use super::Storage;
use super::spool::{Spool, Spooled};
use clickvec_tables::Result;

/// A writer of [`SpooledPairs`].
pub(super) struct PairSpool {
    texts: Spool<u8>,
    pairs: Spool<SpooledPair>,
}

/// Pairs in temporary files without a name, which vanish with the process, or in memory.
pub(super) struct SpooledPairs {
    texts: Spooled<u8>,
    pairs: Spooled<SpooledPair>,
}

/// A pair, whose query begins where the title of the one before it ends.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct SpooledPair {
    query_end: u64,
    title_end: u64,
    weight: f32,
    rare: u32,
}

impl PairSpool {
    pub(super) fn new(storage: Storage<'_>) -> Result<PairSpool> {
        Ok(PairSpool { texts: Spool::new(storage)?, pairs: Spool::new(storage)? })
    }

    pub(super) fn push(&mut self, query: &str, title: &str, weight: f32, rare: bool) -> Result<()> {
        self.texts.extend(query.as_bytes())?;
        let query_end = self.texts.len();
        self.texts.extend(title.as_bytes())?;
        self.pairs.push(&SpooledPair { query_end, title_end: self.texts.len(), weight, rare: u32::from(rare) })
    }

    /// Returns the number of pairs.
    pub(super) fn len(&self) -> u64 {
        self.pairs.len()
    }

    pub(super) fn finish(self) -> Result<SpooledPairs> {
        Ok(SpooledPairs { texts: self.texts.finish()?, pairs: self.pairs.finish()? })
    }
}

impl SpooledPairs {
    /// Returns the pairs: query, title, weight, and whether the query is rare.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str, f32, bool)> {
        let text = |from: u64, to: u64| {
            std::str::from_utf8(&self.texts[from as usize..to as usize]).expect("written from a str")
        };
        self.pairs.iter().scan(0, move |start, pair| {
            let (query, title) = (text(*start, pair.query_end), text(pair.query_end, pair.title_end));
            *start = pair.title_end;
            Some((query, title, pair.weight, pair.rare == 1))
        })
    }
}
