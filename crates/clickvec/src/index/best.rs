//! The best `k` of all hits that are shown one after another.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::Hit;

/// The best so far, reused from search to search.
#[derive(Debug, Clone, Default)]
pub(super) struct Best {
    k: usize,
    /// The worst of them on top.
    heap: BinaryHeap<WorstFirst>,
}

impl Best {
    /// Forgets everything and keeps `k` from now on.
    pub(super) fn restart(&mut self, k: usize) {
        self.k = k;
        self.heap.clear();
        self.heap.reserve(k);
    }

    /// A score must be higher than this to be kept.
    pub(super) fn threshold(&self) -> f32 {
        if self.heap.len() < self.k {
            return f32::NEG_INFINITY;
        }
        self.heap.peek().map_or(f32::INFINITY, |worst| worst.0.score)
    }

    /// Shows a hit; says whether it was kept. Positions may only grow, so that an equal score never displaces an
    /// earlier one.
    pub(super) fn keep(&mut self, hit: Hit) -> bool {
        if self.heap.len() < self.k {
            self.heap.push(WorstFirst(hit));
            return true;
        }
        match self.heap.peek_mut() {
            Some(mut worst) if hit.score > worst.0.score => {
                worst.0 = hit;
                true
            }
            _ => false,
        }
    }

    /// All hits, best first.
    pub(super) fn take(&mut self) -> Vec<Hit> {
        let mut hits = Vec::with_capacity(self.heap.len());
        self.drain_into(&mut hits);
        hits
    }

    /// Moves all hits to the end of `hits`, best first.
    pub(super) fn drain_into(&mut self, hits: &mut Vec<Hit>) {
        let from = hits.len();
        hits.extend(self.heap.drain().map(|hit| hit.0));
        hits[from..].sort_unstable_by(Hit::best_first);
    }
}

/// A hit whose greatest is the worst, for the top of a heap.
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
