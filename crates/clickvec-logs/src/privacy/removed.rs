//! Counts of personal data removed from queries.

use serde::Serialize;

/// Numbers of removed values, by kind. The values themselves are never stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// E-mail addresses.
    pub emails: u64,
    /// Phone numbers.
    pub phones: u64,
    /// Payment card numbers.
    pub cards: u64,
}

impl Removed {
    /// Returns the sum over all kinds.
    pub fn total(&self) -> u64 {
        self.emails + self.phones + self.cards
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: Removed) {
        self.emails += other.emails;
        self.phones += other.phones;
        self.cards += other.cards;
    }
}
