//! The pairs of a source, and spooling them so that they can be read more than once.

use super::Storage;
use super::spool::{Spool, Spooled};
use crate::tables::Skipped;
use clickvec_tables::Result;

/// A pair of a source, clicked or only shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct SourcePair<'a> {
    pub(super) query: &'a str,
    pub(super) title: &'a str,
    /// The factor of the pair's loss.
    pub(super) weight: f32,
    /// The total weight of its clicks, if clicks differ in more than their number; see [`ClickReader::is_weighted`](super::ClickReader::is_weighted). Either all
    /// pairs of a source have it or none.
    pub(super) worth: Option<f32>,
    /// Whether the query is rare.
    pub(super) rare: bool,
    /// Whether the title was clicked; otherwise it was only shown, and there is nothing to learn.
    pub(super) clicked: bool,
}

/// The result of reading a source.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// Broken lines.
    pub(super) skipped: Skipped,
    /// Rows of titles that were shown and not clicked.
    pub(super) not_clicked: u64,
}

/// A writer of [`SpooledPairs`].
pub(super) struct PairSpool {
    texts: Spool<u8>,
    pairs: Spool<SpooledPair>,
}

/// Pairs in temporary files without a name, which vanish with the process, or in memory.
pub(super) struct SpooledPairs {
    texts: Spooled<u8>,
    pairs: Spooled<SpooledPair>,
    /// The result of reading them.
    found: Found,
}

/// A pair, whose query begins where the title of the one before it ends.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct SpooledPair {
    query_end: u64,
    title_end: u64,
    weight: f32,
    /// NaN if there is none.
    worth: f32,
    rare: u32,
    clicked: u32,
}

impl PairSpool {
    pub(super) fn new(storage: Storage<'_>) -> Result<PairSpool> {
        Ok(PairSpool { texts: Spool::new(storage)?, pairs: Spool::new(storage)? })
    }

    pub(super) fn push(&mut self, pair: &SourcePair<'_>) -> Result<()> {
        self.texts.extend(pair.query.as_bytes())?;
        let query_end = self.texts.len();
        self.texts.extend(pair.title.as_bytes())?;
        self.pairs.push(&SpooledPair {
            query_end,
            title_end: self.texts.len(),
            weight: pair.weight,
            worth: pair.worth.unwrap_or(f32::NAN),
            rare: u32::from(pair.rare),
            clicked: u32::from(pair.clicked),
        })
    }

    /// Returns the number of pairs.
    pub(super) fn len(&self) -> u64 {
        self.pairs.len()
    }

    pub(super) fn finish(self, found: Found) -> Result<SpooledPairs> {
        Ok(SpooledPairs { texts: self.texts.finish()?, pairs: self.pairs.finish()?, found })
    }
}

impl SpooledPairs {
    /// Returns the pairs.
    pub(super) fn iter(&self) -> impl Iterator<Item = SourcePair<'_>> {
        let text = |from: u64, to: u64| {
            std::str::from_utf8(&self.texts[from as usize..to as usize]).expect("written from a str")
        };
        self.pairs.iter().scan(0, move |start, pair| {
            let (query, title) = (text(*start, pair.query_end), text(pair.query_end, pair.title_end));
            *start = pair.title_end;
            let worth = Some(pair.worth).filter(|worth| !worth.is_nan());
            Some(SourcePair {
                query,
                title,
                weight: pair.weight,
                worth,
                rare: pair.rare == 1,
                clicked: pair.clicked == 1,
            })
        })
    }

    /// Returns the result of reading them.
    pub(super) fn found(&self) -> &Found {
        &self.found
    }
}
