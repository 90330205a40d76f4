//! What was cut out of queries.

use serde::Serialize;

/// How often something was removed, by kind. The values themselves are never kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// E-mail addresses.
    pub emails: u64,
    /// Phone numbers.
    pub phones: u64,
    /// Numbers of payment cards.
    pub cards: u64,
}

impl Removed {
    /// All kinds.
    pub fn total(&self) -> u64 {
        self.emails + self.phones + self.cards
    }

    /// Adds what another counted.
    pub fn add(&mut self, other: Removed) {
        self.emails += other.emails;
        self.phones += other.phones;
        self.cards += other.cards;
    }
}
