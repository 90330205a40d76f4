//! What is counted, and the counts.

use crate::report::Counts;

/// The number of rows and texts that are looked up at once, so that their cache misses overlap.
pub(crate) const AT_ONCE: usize = 256;

/// The number of outputs that a row can belong to.
pub const PARTS: usize = 2;

/// A cleaned row. Its texts are strings, or their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sighting<T> {
    /// What was typed.
    pub query: T,
    /// The title that was shown.
    pub title: T,
    /// The output that the row belongs to, below [`PARTS`].
    pub part: u8,
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
    /// The same row with other texts for query and title.
    #[inline]
    pub(crate) fn with<U>(self, texts: impl FnOnce(T, T) -> (U, U)) -> Sighting<U> {
        let Sighting { query, title, part, position, shown, clicks, user } = self;
        let (query, title) = texts(query, title);
        Sighting { query, title, part, position, shown, clicks, user }
    }
}

/// The counts of a title at one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The output that the counts belong to.
    pub part: u8,
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
    /// The counts, ordered by part and position.
    pub cells: Vec<Cell>,
}

/// The counts of one query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryGroup {
    /// The query.
    pub query: Vec<u8>,
    /// Hashes of the users who clicked, by part: all of them up to the number that is needed, and then no more.
    pub users: [Vec<u64>; PARTS],
    /// The titles, ordered by their bytes.
    pub titles: Vec<TitleGroup>,
}

impl QueryGroup {
    /// Whether fewer than `enough` users clicked in every part.
    pub(super) fn is_of_few(&self, enough: usize) -> bool {
        self.users.iter().all(|users| users.len() < enough)
    }

    /// Adds the queries, pairs and clicks, each part by itself.
    pub(super) fn count(&self, counts: &mut Counts) {
        for part in 0..PARTS {
            let cells = self.titles.iter().flat_map(|title| &title.cells);
            let mut clicked = cells.filter(|cell| usize::from(cell.part) == part && cell.clicks > 0).peekable();
            counts.queries += u64::from(clicked.peek().is_some());
            for cell in clicked {
                counts.pairs += 1;
                counts.clicks = counts.clicks.saturating_add(cell.clicks);
            }
        }
    }
}

/// Adds `user`, unless it is there already or there are `most` users.
pub(super) fn add_user(users: &mut Vec<u64>, user: u64, most: usize) {
    if users.len() < most && !users.contains(&user) {
        users.push(user);
    }
}
