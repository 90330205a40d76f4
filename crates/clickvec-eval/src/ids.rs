//! Ids for messages: how many, and the first few.

use clickvec_tables::shown::shortened;
use clickvec_tables::table::SHOWN_SKIPPED_LINES;

/// The number of some ids, and the first few of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ids {
    /// The number of ids.
    pub count: u64,
    /// The first few, shortened.
    pub first: Vec<String>,
}

impl Ids {
    /// Adds an id.
    pub(super) fn add(&mut self, id: &str) {
        self.count += 1;
        if self.first.len() < SHOWN_SKIPPED_LINES {
            self.first.push(shortened(id));
        }
    }
}
