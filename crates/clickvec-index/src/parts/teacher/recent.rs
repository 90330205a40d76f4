//! The vectors of recent queries.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of queries after which the oldest are forgotten.
const QUERIES: usize = 2048;

/// The vectors of recent queries, at least the last [`QUERIES`] different ones and at most twice as many.
#[derive(Debug, Default)]
pub(super) struct Recent(Mutex<Generations>);

type Vectors = HashMap<String, Arc<[f32]>>;

/// The new queries, and those that will be forgotten next.
#[derive(Debug, Default)]
struct Generations {
    new: Vectors,
    old: Vectors,
}

impl Recent {
    /// Returns the vector of a query, if it is a recent one.
    pub(super) fn get(&self, query: &str) -> Option<Arc<[f32]>> {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(vector) = generations.new.get(query) {
            return Some(Arc::clone(vector));
        }
        let (query, vector) = generations.old.remove_entry(query)?;
        generations.add(query, Arc::clone(&vector));
        Some(vector)
    }

    /// Adds a query.
    pub(super) fn add(&self, query: &str, vector: Arc<[f32]>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(query.to_owned(), vector);
    }
}

impl Generations {
    fn add(&mut self, query: String, vector: Arc<[f32]>) {
        if self.new.len() >= QUERIES {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(query, vector);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_needed_for_long_is_forgotten() {
        let recent = Recent::default();
        for number in 0..3 * QUERIES {
            recent.add(&number.to_string(), vec![number as f32].into());
            assert!(recent.get("0").is_some(), "{number}");
        }
        assert_eq!(recent.get(&(3 * QUERIES - 9).to_string()).unwrap()[..], [(3 * QUERIES - 9) as f32]);
        assert!(recent.get("1").is_none());
    }
}
