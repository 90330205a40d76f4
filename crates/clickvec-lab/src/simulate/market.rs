//! The trait for everything that users of a simulation can look for.

use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

use clickvec::tables::Title;

/// A random stream.
pub(super) type Rng = Xoshiro256PlusPlus;

/// The number of best-selling titles that a biased engine puts into each list.
pub(super) const BEST_SELLERS: usize = 6;

/// The kind of a query: what makes it difficult.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum QueryKind {
    /// Nothing: it has words of its titles.
    Plain,
    /// No title that it means has any of its words.
    Synonym,
    /// The name of its thing is also that of another thing, and its other words are in no title.
    Sense,
    /// The same words in another order mean something else.
    Order,
    /// A letter is wrong.
    Misspelt,
    /// It means a web site and not a thing.
    Navigational,
}

impl QueryKind {
    /// All kinds.
    pub const ALL: [QueryKind; 6] = [
        QueryKind::Plain,
        QueryKind::Synonym,
        QueryKind::Sense,
        QueryKind::Order,
        QueryKind::Misspelt,
        QueryKind::Navigational,
    ];

    /// Returns the name in tables.
    pub fn name(self) -> &'static str {
        match self {
            QueryKind::Plain => "plain",
            QueryKind::Synonym => "synonym",
            QueryKind::Sense => "sense",
            QueryKind::Order => "order",
            QueryKind::Misspelt => "misspelt",
            QueryKind::Navigational => "navigational",
        }
    }
}

/// A world to search: what users can look for, the titles they can find, and the truth about both.
pub(super) trait Market: Sync {
    /// The type of a want.
    type Intent: Clone + Send;

    /// Returns all titles.
    fn titles(&self) -> &[Title];

    /// Returns the kinds of queries in this world.
    fn kinds(&self) -> &[QueryKind];

    /// Draws the want of the next user.
    fn draw(&self, rng: &mut Rng) -> Self::Intent;

    /// Draws a want that a query of this kind can express.
    fn draw_for(&self, _kind: QueryKind, rng: &mut Rng) -> Self::Intent {
        self.draw(rng)
    }

    /// Appends one of the queries for it to `text`, in lower case and spelt correctly, and returns its kind.
    fn ask(&self, intent: &Self::Intent, rng: &mut Rng, text: &mut String) -> QueryKind;

    /// Appends a way to ask for it that is of this kind, spelt correctly.
    fn ask_for(&self, _kind: QueryKind, intent: &Self::Intent, rng: &mut Rng, text: &mut String) {
        self.ask(intent, rng, text);
    }

    /// Returns whether such a query is of this kind, as far as words can tell.
    fn is_fit(&self, _kind: QueryKind, _intent: &Self::Intent, _query: &str) -> bool {
        true
    }

    /// Returns the grade of a title for it, 0 to 4.
    fn grade(&self, intent: &Self::Intent, title: u32) -> u8;

    /// Appends titles of all grades that are related to it to `found`, for a list of results: at least 10 if there are
    /// that many. A title may occur several times.
    fn candidates(&self, intent: &Self::Intent, rng: &mut Rng, found: &mut Vec<u32>);

    /// Appends the best-selling titles among such things to `found`, whatever the rest of the query; at most [`BEST_SELLERS`].
    fn best_sellers(&self, intent: &Self::Intent, rng: &mut Rng, found: &mut Vec<u32>);

    /// Returns whether a title is a best seller among such things.
    fn sells_best(&self, intent: &Self::Intent, title: u32) -> bool;
}
