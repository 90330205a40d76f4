//! The best `k` of hits that come in the order of their positions.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use clickvec::index::Hit;
use tantivy::Score;

/// The best `k` hits so far, for hits that come in the order of their positions.
pub(super) struct Best {
    k: usize,
    /// A heap with the worst hit on top.
    heap: BinaryHeap<WorstFirst>,
}

struct WorstFirst(Hit);

impl Best {
    pub(super) fn new(k: usize) -> Best {
        Best { k, heap: BinaryHeap::new() }
    }

    /// The score that a hit must exceed.
    pub(super) fn threshold(&self) -> Score {
        match self.heap.peek() {
            Some(worst) if self.heap.len() == self.k => worst.0.score,
            _ => Score::MIN,
        }
    }

    /// Keeps a hit with a score above the threshold.
    pub(super) fn keep(&mut self, hit: Hit) {
        if self.heap.len() == self.k {
            self.heap.pop();
        }
        self.heap.push(WorstFirst(hit));
    }

    pub(super) fn finish(self) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self.heap.into_iter().map(|hit| hit.0).collect();
        hits.sort_unstable_by(Hit::best_first);
        hits
    }
}

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
        self.cmp(other).is_eq()
    }
}

impl Eq for WorstFirst {}
