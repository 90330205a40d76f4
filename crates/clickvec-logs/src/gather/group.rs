//! The rows to count, and the counts.

use crate::report::Counts;

/// The number of rows and texts that are looked up at once, so that their cache misses overlap.
pub(crate) const AT_ONCE: usize = 256;

/// A cleaned row. Its texts are strings, or their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sighting<T> {
    /// The query.
    pub query: T,
    /// The title that was shown.
    pub title: T,
    /// The position; 0 if positions are not needed.
    pub position: u16,
    /// The number of times it was shown.
    pub shown: u64,
    /// The number of times it was clicked.
    pub clicks: u64,
    /// A hash of the user; `None` if the log does not say.
    pub user: Option<u64>,
}

impl<T> Sighting<T> {
    /// Replaces the texts of query and title.
    #[inline]
    pub(crate) fn with<U>(self, texts: impl FnOnce(T, T) -> (U, U)) -> Sighting<U> {
        let Sighting { query, title, position, shown, clicks, user } = self;
        let (query, title) = texts(query, title);
        Sighting { query, title, position, shown, clicks, user }
    }
}

/// The counts of a title at one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The position.
    pub position: u16,
    /// The number of times it was shown there.
    pub shown: u64,
    /// The number of times it was clicked there.
    pub clicks: u64,
}

/// The counts of one title for a query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TitleGroup {
    /// The title.
    pub title: Vec<u8>,
    /// The counts, ordered by position.
    pub cells: Vec<Cell>,
}

/// The counts of one query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryGroup {
    /// The query.
    pub query: Vec<u8>,
    /// Hashes of the users who clicked: all of them up to the number that is needed, and then no more.
    pub users: Vec<u64>,
    /// The titles, ordered by their bytes.
    pub titles: Vec<TitleGroup>,
}

impl QueryGroup {
    /// Returns whether fewer than `enough` users clicked.
    pub(super) fn has_fewer_users(&self, enough: usize) -> bool {
        self.users.len() < enough
    }

    /// Adds the query, its pairs and its clicks.
    pub(super) fn count(&self, counts: &mut Counts) {
        let cells = self.titles.iter().flat_map(|title| &title.cells);
        let mut clicked = cells.filter(|cell| cell.clicks > 0).peekable();
        counts.queries += u64::from(clicked.peek().is_some());
        for cell in clicked {
            counts.pairs += 1;
            counts.clicks = counts.clicks.saturating_add(cell.clicks);
        }
    }
}

/// Adds `user`, unless it is there already or there are `most` users.
pub(super) fn add_user(users: &mut Vec<u64>, user: u64, most: usize) {
    if users.len() < most && !users.contains(&user) {
        users.push(user);
    }
}
