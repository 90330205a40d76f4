//! Sources of clicked pairs: a table on disk, or any iterator.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::pairs::{Found, PairSpool, SourcePair, SpooledPairs};
use super::reader::{Click, WEIGHTS};
use super::{ClickReader, Storage};
use crate::settings::Weighting;
use clickvec_tables::Result;
use clickvec_tables::table::is_once;
use clickvec_tables::{Error, ErrorKind};

/// The number of pairs spooled between two reports.
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
    /// Pairs from memory, and their name in messages.
    Pairs(EachPair<'a>, PathBuf),
}

/// A source that passes on each pair until the receiver breaks.
type EachPair<'a> = Box<dyn FnOnce(&mut OnPair<'_>) -> Result<ControlFlow<(), Found>> + 'a>;

/// A receiver of each pair.
type OnPair<'f> = dyn FnMut(SourcePair<'_>) -> Result<ControlFlow<()>> + 'f;

impl<'a> ClickSource<'a> {
    /// Returns a source without clicks, for training on titles alone.
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

    /// Like [`ClickSource::results`], where each pair also says whether its query is rare. The dictionary gets no trigram that
    /// only rare queries have.
    pub fn marked<Q: AsRef<str>, T: AsRef<str>, E, I>(pairs: I) -> ClickSource<'a>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
        I: IntoIterator<Item = Result<(Q, T, f32, bool), E>> + 'a,
    {
        let each = move |on_pair: &mut OnPair<'_>| {
            for (number, pair) in (1..).zip(pairs) {
                let (query, title, weight, rare) =
                    pair.map_err(|source| item_failed(format!("pair {number}"), source.into()))?;
                if !(weight >= 0.0 && f64::from(weight) <= *WEIGHTS.end()) {
                    let error = Error::expected(ErrorKind::Malformed, "a weight from 0 to 1e12", weight.to_string());
                    return Err(error.help("divide all weights by one number").within(format!("pair {number}")));
                }
                // The origin of the weights is not known, so they say nothing about the worth of a click.
                let (query, title) = (query.as_ref(), title.as_ref());
                if on_pair(SourcePair { query, title, weight: weight.abs(), worth: None, rare, clicked: true })?
                    .is_break()
                {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(Found::default()))
        };
        ClickSource::from_origin(Origin::Pairs(Box::new(each), PathBuf::from("pairs from memory")))
    }

    /// Marks the pairs as scored by a teacher ([`super::Teacher::scores`]) and not clicked. Only their scores are learnt, so a
    /// pair whose query has no other title is left out.
    pub fn scored(self) -> ClickSource<'a> {
        ClickSource { is_scored: true, ..self }
    }

    /// Returns whether the pairs are those that a teacher scored.
    pub(super) fn is_scored(&self) -> bool {
        self.is_scored
    }

    /// Makes clicks that can be read more than once. A table is reread; pairs that can be had only once are spooled to `storage`, and
    /// `progress` gets the number of pairs so far now and then, and may break. `field` and `weighting` are those of the training.
    ///
    /// # Errors
    ///
    /// Those of the iterator or of reading the rows; [`ErrorKind::Io`](clickvec_tables::ErrorKind::Io) if the pairs cannot be spooled.
    pub fn repeatable(
        self,
        field: &str,
        weighting: Weighting,
        storage: Storage<'_>,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<(), RepeatableClicks<'a>>> {
        let is_scored = self.is_scored;
        let name = match self.origin {
            Origin::None => return Ok(ControlFlow::Continue(RepeatableClicks(Repeatable::None))),
            Origin::File(path) if !is_once(path) => {
                return Ok(ControlFlow::Continue(RepeatableClicks(Repeatable::File { path, is_scored })));
            }
            Origin::File(path) => path.to_owned(),
            Origin::Pairs(_, ref name) => name.clone(),
        };
        let mut spool = PairSpool::new(storage)?;
        let flow = self.read(field, weighting, &mut |pair| {
            spool.push(&pair)?;
            let is_due = spool.len().is_multiple_of(REPORT_EVERY);
            Ok(if is_due { progress(spool.len()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(match flow {
            ControlFlow::Continue(found) if progress(spool.len()).is_continue() => {
                ControlFlow::Continue(RepeatableClicks(Repeatable::Pairs {
                    pairs: spool.finish(found)?,
                    name,
                    is_scored,
                }))
            }
            _ => ControlFlow::Break(()),
        })
    }

    /// Returns the path of the table; `None` if the clicks are not in one.
    pub fn path(&self) -> Option<&'a Path> {
        match self.origin {
            Origin::File(path) => Some(path),
            Origin::None | Origin::Pairs(..) => None,
        }
    }

    fn from_origin(origin: Origin<'a>) -> ClickSource<'a> {
        ClickSource { origin, is_scored: false }
    }

    /// Returns the name in messages; `None` if there are no clicks.
    pub(super) fn name(&self) -> Option<PathBuf> {
        match &self.origin {
            Origin::None => None,
            Origin::File(path) => Some(path.to_path_buf()),
            Origin::Pairs(_, name) => Some(name.clone()),
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
            Origin::Pairs(each, _) => each(on_pair),
            Origin::File(path) => {
                let reader = ClickReader::open(path, field, weighting)?;
                let mut reader = if self.is_scored { reader.scored() } else { reader };
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
    Pairs { pairs: SpooledPairs, name: PathBuf, is_scored: bool },
}

impl RepeatableClicks<'_> {
    /// Returns the clicks from the beginning.
    pub fn source(&self) -> ClickSource<'_> {
        let (origin, is_scored) = match &self.0 {
            Repeatable::None => (Origin::None, false),
            Repeatable::File { path, is_scored } => (Origin::File(path), *is_scored),
            Repeatable::Pairs { pairs, name, is_scored } => {
                let each = |on_pair: &mut OnPair<'_>| {
                    for pair in pairs.iter() {
                        if on_pair(pair)?.is_break() {
                            return Ok(ControlFlow::Break(()));
                        }
                    }
                    Ok(ControlFlow::Continue(pairs.found().clone()))
                };
                (Origin::Pairs(Box::new(each), name.clone()), *is_scored)
            }
        };
        ClickSource { origin, is_scored }
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

/// Returns the error of an iterator's item that failed.
pub(super) fn item_failed(item: String, source: Box<dyn std::error::Error + Send + Sync>) -> Error {
    Error::new(ErrorKind::Malformed, source.to_string()).within(item).caused_by(source)
}

/// An iterable with a function for each item: [`Iterator::map`] before there is an iterator.
struct Iter<I, F>(I, F);

impl<I: IntoIterator, P, F: FnMut(I::Item) -> P> IntoIterator for Iter<I, F> {
    type Item = P;
    type IntoIter = std::iter::Map<I::IntoIter, F>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(self.1)
    }
}
