//! The best `k` of a series of hits.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::Hit;

/// The best hits so far. It is reused from search to search.
#[derive(Debug, Clone, Default)]
pub struct Best {
    k: usize,
    /// A heap with the worst hit on top.
    heap: BinaryHeap<WorstFirst>,
}

impl Best {
    /// Forgets all hits, and keeps the best `k` from now on.
    pub fn restart(&mut self, k: usize) {
        self.k = k;
        self.heap.clear();
        self.heap.reserve(k);
    }

    /// Returns the score that a hit must exceed to be among the best.
    pub fn threshold(&self) -> f32 {
        if self.heap.len() < self.k {
            return f32::NEG_INFINITY;
        }
        self.heap.peek().map_or(f32::INFINITY, |worst| worst.0.score)
    }

    /// Adds a hit if it is among the best `k`, and returns whether it is. Of equal scores those with the lowest positions stay,
    /// in whatever order they come.
    pub fn keep(&mut self, hit: Hit) -> bool {
        if self.heap.len() < self.k {
            self.heap.push(WorstFirst(hit));
            return true;
        }
        match self.heap.peek_mut() {
            Some(mut worst) if hit.score >= worst.0.score && hit.best_first(&worst.0).is_lt() => {
                worst.0 = hit;
                true
            }
            _ => false,
        }
    }

    /// Removes all hits and returns them, best first.
    pub fn take(&mut self) -> Vec<Hit> {
        let mut hits = Vec::with_capacity(self.heap.len());
        self.drain_into(&mut hits);
        hits
    }

    /// Moves all hits to the end of `hits`, best first.
    pub fn drain_into(&mut self, hits: &mut Vec<Hit>) {
        let from = hits.len();
        hits.extend(self.heap.drain().map(|hit| hit.0));
        hits[from..].sort_unstable_by(Hit::best_first);
    }
}

/// A hit that is greater the worse it is, so that the worst is on top of a heap.
#[derive(Debug, Clone, Copy)]
struct WorstFirst(Hit);

impl Ord for WorstFirst {
    fn cmp(&self, other: &WorstFirst) -> Ordering {
        self.0.best_first(&other.0)
    }
}

impl PartialOrd for WorstFirst {
    fn partial_cmp(&self, other: &WorstFirst) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for WorstFirst {
    fn eq(&self, other: &WorstFirst) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for WorstFirst {}
