//! The contribution of a row to the counts.

use crate::gather::Sighting;
use crate::privacy::Removed;

/// The contribution of a person's row to the counts. Texts are strings, or their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen<T> {
    /// Personal data removed from the query.
    pub(super) removed: Removed,
    /// A hash of the item.
    pub(super) item: Option<u64>,
    pub(super) fate: Fate<T>,
}

/// Whether a valid row is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate<T> {
    LeftOut(Reason),
    Counted(Sighting<T>),
}

/// Why a valid row is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    NotClicked,
    CountZero,
    WithoutSearch,
    WithoutQuery,
    OnlyPersonal,
    WithoutItem,
    WithoutTitle,
    NullText,
}

impl Reason {
    /// All reasons, in order.
    pub(super) const ALL: [Reason; 8] = [
        Reason::NotClicked,
        Reason::CountZero,
        Reason::WithoutSearch,
        Reason::WithoutQuery,
        Reason::OnlyPersonal,
        Reason::WithoutItem,
        Reason::WithoutTitle,
        Reason::NullText,
    ];
}

impl<T> Seen<T> {
    /// Returns the same with other texts for query and title.
    #[inline]
    pub(super) fn with<U>(self, texts: impl FnOnce(T, T) -> (U, U)) -> Seen<U> {
        let fate = match self.fate {
            Fate::LeftOut(reason) => Fate::LeftOut(reason),
            Fate::Counted(sighting) => Fate::Counted(sighting.with(texts)),
        };
        Seen { removed: self.removed, item: self.item, fate }
    }
}
