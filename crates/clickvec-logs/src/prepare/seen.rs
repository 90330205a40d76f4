//! What a row adds to the counts.

use crate::gather::Sighting;
use crate::privacy::Removed;

/// What a row from a person adds to the counts. Texts are strings, or their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen<T> {
    /// What was removed from the query.
    pub(super) removed: Removed,
    /// A hash of the item.
    pub(super) item: Option<u64>,
    pub(super) fate: Fate<T>,
}

/// What becomes of a valid row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate<T> {
    NotClicked,
    CountZero,
    WithoutSearch,
    WithoutQuery,
    OnlyPersonal,
    WithoutItem,
    WithoutTitle,
    Counted(Sighting<T>),
}

impl<T> Seen<T> {
    /// The same with other texts for query and title.
    #[inline]
    pub(super) fn with<U>(self, texts: impl FnOnce(T, T) -> (U, U)) -> Seen<U> {
        let fate = match self.fate {
            Fate::NotClicked => Fate::NotClicked,
            Fate::CountZero => Fate::CountZero,
            Fate::WithoutSearch => Fate::WithoutSearch,
            Fate::WithoutQuery => Fate::WithoutQuery,
            Fate::OnlyPersonal => Fate::OnlyPersonal,
            Fate::WithoutItem => Fate::WithoutItem,
            Fate::WithoutTitle => Fate::WithoutTitle,
            Fate::Counted(sighting) => Fate::Counted(sighting.with(texts)),
        };
        Seen { removed: self.removed, item: self.item, fate }
    }
}
