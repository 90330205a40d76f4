//! Sources of clicked pairs: a table on disk, or any iterator.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::pairs::{PairSpool, SpooledPairs};
use super::reader::{Click, WEIGHTS};
use super::{ClickReader, Storage, Weighting};
use crate::tables::Skipped;
use clickvec_tables::Result;
use clickvec_tables::{Error, ErrorKind};

/// How many pairs are spooled between two reports.
const REPORT_EVERY: u64 = 10_000;

/// Clicked pairs that can be read once, from a table on disk or from any iterator.
///
/// The same pairs with the same weights give the same model, whatever the source.
///
/// ```
/// use clickvec::train::ClickSource;
///
/// let clicks = ClickSource::pairs([("red shoes", "Running shoes, red", 2.0), ("lamp", "Desk lamp", 1.0)]);
/// # drop(clicks);
/// ```
pub struct ClickSource<'a> {
    origin: Origin<'a>,
    is_scored: bool,
}

enum Origin<'a> {
    None,
    File(&'a Path),
    Pairs(EachPair<'a>),
}

/// A source that passes on each pair until the receiver breaks.
type EachPair<'a> = Box<dyn FnOnce(&mut OnPair<'_>) -> Result<ControlFlow<()>> + 'a>;

/// A receiver of each pair.
type OnPair<'f> = dyn FnMut(SourcePair<'_>) -> Result<ControlFlow<()>> + 'f;

/// A pair of a source, clicked or only shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct SourcePair<'a> {
    pub(super) query: &'a str,
    pub(super) title: &'a str,
    /// The factor of the pair's loss.
    pub(super) weight: f32,
    /// What its clicks weigh together, if clicks weigh differently for another reason than their number; see
    /// [`ClickReader::is_weighted`]. Either all pairs of a source have it or none.
    pub(super) worth: Option<f32>,
    /// Whether the query is rare.
    pub(super) rare: bool,
    /// Whether the title was clicked; otherwise it was only shown, and there is nothing to learn.
    pub(super) clicked: bool,
}

/// What was found out while a source was read.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Broken lines.
    pub(super) skipped: Skipped,
    /// Rows of titles that were shown and not clicked.
    pub(super) not_clicked: u64,
}

impl<'a> ClickSource<'a> {
    /// No clicks, for training on titles alone.
    pub fn none() -> ClickSource<'a> {
        ClickSource::from_origin(Origin::None)
    }

    /// Returns whether there are no clicks.
    pub fn is_none(&self) -> bool {
        matches!(self.origin, Origin::None)
    }

    /// Returns the pairs of a table; see [`ClickReader::open`]. Broken lines are skipped and counted.
    pub fn file(path: &'a Path) -> ClickSource<'a> {
        ClickSource::from_origin(Origin::File(path))
    }

    /// Pairs of a query and a title, with a weight for each that multiplies its loss: from 0 to 10¹².
    pub fn pairs<Q: AsRef<str> + 'a, T: AsRef<str> + 'a, I>(pairs: I) -> ClickSource<'a>
    where
        I: IntoIterator<Item = (Q, T, f32)> + 'a,
    {
        ClickSource::results(Iter(pairs, Ok::<_, std::convert::Infallible>))
    }

    /// Like [`ClickSource::pairs`] for an iterator that may fail. The first error ends the reading.
    pub fn results<Q: AsRef<str> + 'a, T: AsRef<str> + 'a, E, I>(pairs: I) -> ClickSource<'a>
    where
        E: 'a + Into<Box<dyn std::error::Error + Send + Sync>>,
        I: IntoIterator<Item = Result<(Q, T, f32), E>> + 'a,
    {
        let common = |(query, title, weight): (Q, T, f32)| (query, title, weight, false);
        ClickSource::marked(Iter(pairs, move |pair: Result<(Q, T, f32), E>| pair.map(common)))
    }

    /// Like [`ClickSource::results`], each pair with whether its query is rare: the dictionary gets no trigram that only
    /// rare queries have.
    pub fn marked<Q: AsRef<str>, T: AsRef<str>, E, I>(pairs: I) -> ClickSource<'a>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
        I: IntoIterator<Item = Result<(Q, T, f32, bool), E>> + 'a,
    {
        ClickSource::from_origin(Origin::Pairs(Box::new(move |on_pair: &mut OnPair<'_>| {
            for (number, pair) in (1..).zip(pairs) {
                let (query, title, weight, rare) =
                    pair.map_err(|source| item_failed(format!("pair {number}"), source.into()))?;
                if !(weight >= 0.0 && f64::from(weight) <= *WEIGHTS.end()) {
                    let error = Error::expected(ErrorKind::Malformed, "a weight from 0 to 1e12", weight.to_string());
                    return Err(error.help("divide all weights by one number").within(format!("pair {number}")));
                }
                // Where the weights come from is not known, so they say nothing of what a click is worth.
                let (query, title) = (query.as_ref(), title.as_ref());
                if on_pair(SourcePair { query, title, weight: weight.abs(), worth: None, rare, clicked: true })?
                    .is_break()
                {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })))
    }

    /// These pairs as pairs that a teacher scored ([`super::Teacher::scores`]) and that were not clicked. Only their scores are
    /// learnt, so a pair whose query has no other title is left out.
    pub fn scored(self) -> ClickSource<'a> {
        ClickSource { is_scored: true, ..self }
    }

    /// Returns whether the pairs are those that a teacher scored.
    pub(super) fn is_scored(&self) -> bool {
        self.is_scored
    }

    /// Makes clicks that can be read more than once. A table is read again; the pairs of an iterator are spooled to `storage`,
    /// while `progress` gets the number of pairs so far now and then, and may break.
    ///
    /// # Errors
    ///
    /// Those of the iterator; [`ErrorKind::Io`](clickvec_tables::ErrorKind::Io) if the pairs cannot be spooled.
    pub fn repeatable(
        self,
        storage: Storage<'_>,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<(), RepeatableClicks<'a>>> {
        let clicks = match self.origin {
            Origin::None => Repeatable::None,
            Origin::File(path) => Repeatable::File { path, is_scored: self.is_scored },
            Origin::Pairs(each) => {
                let mut spool = PairSpool::new(storage)?;
                let flow = each(&mut |SourcePair { query, title, weight, rare, .. }| {
                    spool.push(query, title, weight, rare)?;
                    let is_due = spool.len().is_multiple_of(REPORT_EVERY);
                    Ok(if is_due { progress(spool.len()) } else { ControlFlow::Continue(()) })
                })?;
                if flow.is_break() || progress(spool.len()).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                Repeatable::Pairs(spool.finish()?)
            }
        };
        Ok(ControlFlow::Continue(RepeatableClicks(clicks)))
    }

    /// Returns the path of the table; `None` if the clicks are not in one.
    pub fn path(&self) -> Option<&'a Path> {
        match self.origin {
            Origin::File(path) => Some(path),
            Origin::None | Origin::Pairs(_) => None,
        }
    }

    fn from_origin(origin: Origin<'a>) -> ClickSource<'a> {
        ClickSource { origin, is_scored: false }
    }

    /// Returns the name in messages; `None` if there are no clicks.
    pub(super) fn name(&self) -> Option<PathBuf> {
        match self.origin {
            Origin::None => None,
            Origin::File(path) => Some(path.to_owned()),
            Origin::Pairs(_) => Some(PathBuf::from("pairs from memory")),
        }
    }

    /// Passes on all pairs, or those until `on_pair` breaks.
    pub(super) fn read(
        self,
        field: &str,
        weighting: Weighting,
        on_pair: &mut OnPair<'_>,
    ) -> Result<ControlFlow<(), Found>> {
        match self.origin {
            Origin::None => Ok(ControlFlow::Continue(Found::default())),
            Origin::Pairs(each) => Ok(each(on_pair)?.map_continue(|()| Found::default())),
            Origin::File(path) => {
                let mut reader = ClickReader::open(path, field, weighting)?;
                let weighted = reader.is_weighted();
                while let Some((Click { query, title, weight, worth, rare, .. }, clicked)) = reader.next_row()? {
                    let worth = weighted.then_some(worth as f32);
                    if on_pair(SourcePair { query, title, weight, worth, rare, clicked })?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                let (skipped, not_clicked) = (reader.skipped().clone(), reader.not_clicked());
                Ok(ControlFlow::Continue(Found { skipped, not_clicked }))
            }
        }
    }
}

/// Clicks that can be read more than once; see [`ClickSource::repeatable`].
pub struct RepeatableClicks<'a>(Repeatable<'a>);

enum Repeatable<'a> {
    None,
    File { path: &'a Path, is_scored: bool },
    Pairs(SpooledPairs),
}

impl RepeatableClicks<'_> {
    /// Returns the clicks from the beginning.
    pub fn source(&self) -> ClickSource<'_> {
        match &self.0 {
            Repeatable::None => ClickSource::none(),
            Repeatable::File { path, is_scored: true } => ClickSource::file(path).scored(),
            Repeatable::File { path, is_scored: false } => ClickSource::file(path),
            Repeatable::Pairs(pairs) => ClickSource::marked(pairs.iter().map(Ok::<_, std::convert::Infallible>)),
        }
    }
}

impl<'a> From<&'a Path> for ClickSource<'a> {
    fn from(path: &'a Path) -> ClickSource<'a> {
        ClickSource::file(path)
    }
}

impl std::fmt::Debug for ClickSource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ClickSource({:?})", self.name())
    }
}

/// Returns the error of an iterator's item that could not be had.
pub(super) fn item_failed(item: String, source: Box<dyn std::error::Error + Send + Sync>) -> Error {
    Error::new(ErrorKind::Malformed, source.to_string()).within(item).caused_by(source)
}

/// What can be iterated over, with a function for each item: [`Iterator::map`] for something that is no iterator yet.
struct Iter<I, F>(I, F);

impl<I: IntoIterator, P, F: FnMut(I::Item) -> P> IntoIterator for Iter<I, F> {
    type Item = P;
    type IntoIter = std::iter::Map<I::IntoIter, F>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(self.1)
    }
}
