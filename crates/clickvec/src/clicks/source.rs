//! Where clicked pairs come from: a table on disk, or any iterator.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::{ClickReader, Weighting};
use crate::error::{Error, Result};
use crate::tables::Skipped;

/// Clicked pairs that are read once: those of a table on disk, or of any iterator.
///
/// The same pairs with the same weights make the same model, whichever way they come.
///
/// ```
/// use clickvec::train::ClickSource;
///
/// let clicks = ClickSource::pairs([("red shoes", "Running shoes, red", 2.0), ("lamp", "Desk lamp", 1.0)]);
/// # drop(clicks);
/// ```
pub struct ClickSource<'a>(Origin<'a>);

enum Origin<'a> {
    None,
    File(&'a Path),
    Pairs(EachPair<'a>),
}

/// Hands over each pair until the one who takes them breaks off.
type EachPair<'a> = Box<dyn FnOnce(&mut OnPair<'_>) -> Result<ControlFlow<()>> + 'a>;

/// Takes a query, a title and a weight.
type OnPair<'f> = dyn FnMut(&str, &str, f32) -> Result<ControlFlow<()>> + 'f;

impl<'a> ClickSource<'a> {
    /// No clicks: there are titles alone to learn from.
    pub fn none() -> ClickSource<'a> {
        ClickSource(Origin::None)
    }

    /// Whether there are no clicks.
    pub fn is_none(&self) -> bool {
        matches!(self.0, Origin::None)
    }

    /// The pairs of a table: see [`ClickReader::open`]. A broken line is skipped and counted.
    pub fn file(path: &'a Path) -> ClickSource<'a> {
        ClickSource(Origin::File(path))
    }

    /// Pairs of a query and a title, each with the weight that multiplies its loss: finite, 0 or more.
    pub fn pairs<Q: AsRef<str>, T: AsRef<str>, I>(pairs: I) -> ClickSource<'a>
    where
        I: IntoIterator<Item = (Q, T, f32)> + 'a,
    {
        ClickSource::results(Sure(pairs))
    }

    /// [`ClickSource::pairs`] where a pair may not be had: the first error ends the reading.
    pub fn results<Q: AsRef<str>, T: AsRef<str>, E, I>(pairs: I) -> ClickSource<'a>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
        I: IntoIterator<Item = Result<(Q, T, f32), E>> + 'a,
    {
        ClickSource(Origin::Pairs(Box::new(move |on_pair: &mut OnPair<'_>| {
            for (number, pair) in (1..).zip(pairs) {
                let (query, title, weight) =
                    pair.map_err(|source| Error::PairSource { number, source: source.into() })?;
                if !(weight.is_finite() && weight >= 0.0) {
                    return Err(Error::BadWeight { number, found: weight });
                }
                if on_pair(query.as_ref(), title.as_ref(), weight.abs())?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })))
    }

    /// What messages call it; `None` where there are no clicks.
    pub(super) fn name(&self) -> Option<PathBuf> {
        match self.0 {
            Origin::None => None,
            Origin::File(path) => Some(path.to_owned()),
            Origin::Pairs(_) => Some(PathBuf::from("pairs from memory")),
        }
    }

    /// Hands over all pairs, or those until `on_pair` breaks off; returns the lines that were left out.
    pub(super) fn read(
        self,
        field: &str,
        weighting: Weighting,
        on_pair: &mut OnPair<'_>,
    ) -> Result<ControlFlow<(), Skipped>> {
        match self.0 {
            Origin::None => Ok(ControlFlow::Continue(Skipped::default())),
            Origin::Pairs(each) => Ok(each(on_pair)?.map_continue(|()| Skipped::default())),
            Origin::File(path) => {
                let mut reader = ClickReader::open(path, field, weighting)?;
                while let Some(click) = reader.next()? {
                    if on_pair(click.query, click.title, click.weight)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Ok(ControlFlow::Continue(reader.skipped().clone()))
            }
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

/// An iterator to be, whose items are there.
struct Sure<I>(I);

impl<P, I: IntoIterator<Item = P>> IntoIterator for Sure<I> {
    type Item = Result<P, std::convert::Infallible>;
    type IntoIter = std::iter::Map<I::IntoIter, fn(P) -> Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(Ok)
    }
}
