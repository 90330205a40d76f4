//! What is counted, and what the counts are.

use crate::report::Counts;

/// Rows and texts that are looked up at once: their places in memory are fetched side by side then, not one after the
/// other.
pub(crate) const AT_ONCE: usize = 256;

/// Which output a row belongs to.
pub const PARTS: usize = 2;

/// One row, cleaned. Its texts are texts, or their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sighting<T> {
    /// What was typed.
    pub query: T,
    /// What was shown.
    pub title: T,
    /// Which output it belongs to, below [`PARTS`].
    pub part: u8,
    /// Where it was shown; 0 if positions are not asked for.
    pub position: u16,
    /// How often it was shown.
    pub shown: u64,
    /// How often it was clicked.
    pub clicks: u64,
    /// A hash of who; `None` if nobody knows.
    pub user: Option<u64>,
}

impl<T> Sighting<T> {
    /// The same with other texts for query and title.
    #[inline]
    pub(crate) fn with<U>(self, texts: impl FnOnce(T, T) -> (U, U)) -> Sighting<U> {
        let Sighting { query, title, part, position, shown, clicks, user } = self;
        let (query, title) = texts(query, title);
        Sighting { query, title, part, position, shown, clicks, user }
    }
}

/// What was seen of a title at one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The output.
    pub part: u8,
    /// The position.
    pub position: u16,
    /// How often it was shown there.
    pub shown: u64,
    /// How often it was clicked there.
    pub clicks: u64,
}

/// What was seen of one title for a query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TitleGroup {
    /// Its text.
    pub title: Vec<u8>,
    /// In order of part and position.
    pub cells: Vec<Cell>,
}

/// What was seen of one query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryGroup {
    /// Its text.
    pub query: Vec<u8>,
    /// Hashes of those who clicked for it, by part: all of them up to the number that is asked for, then no more.
    pub users: [Vec<u64>; PARTS],
    /// In order of their bytes.
    pub titles: Vec<TitleGroup>,
}

impl QueryGroup {
    /// Whether fewer users than `enough` clicked, in each part.
    pub(super) fn is_of_few(&self, enough: usize) -> bool {
        self.users.iter().all(|users| users.len() < enough)
    }

    /// Adds what was clicked, in each part by itself.
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

/// Adds `user` unless it is there or there are `most` already.
pub(super) fn add_user(users: &mut Vec<u64>, user: u64, most: usize) {
    if users.len() < most && !users.contains(&user) {
        users.push(user);
    }
}
