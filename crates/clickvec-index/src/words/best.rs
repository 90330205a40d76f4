//! What may be among the best `k` of hits that come in the order of their positions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use clickvec::index::Hit;
use tantivy::Score;

/// Hits that come in the order of their positions and may be among the best `k`, once their scores are computed exactly: a score
/// is off by a share of `slack` at most.
pub(super) struct Near {
    k: usize,
    slack: Score,
    /// The best `k` scores, as bits, with the least on top. Scores of BM25 are not negative, so that their bits are in their order.
    scores: BinaryHeap<Reverse<u32>>,
    hits: Vec<Hit>,
    /// When there are this many hits, those that are no longer near the best are left out.
    most: usize,
}

impl Near {
    pub(super) fn new(k: usize, slack: Score) -> Near {
        Near { k, slack, scores: BinaryHeap::new(), hits: Vec::new(), most: 2 * k.max(1024) }
    }

    /// The score that a hit must exceed.
    pub(super) fn threshold(&self) -> Score {
        match self.scores.peek() {
            Some(Reverse(worst)) if self.scores.len() == self.k => Score::from_bits(*worst) * (1.0 - self.slack),
            _ => Score::MIN,
        }
    }

    /// Keeps a hit with a score above the threshold.
    pub(super) fn keep(&mut self, hit: Hit) {
        let bits = hit.score.max(0.0).to_bits();
        if self.scores.len() < self.k {
            self.scores.push(Reverse(bits));
        } else if let Some(mut worst) = self.scores.peek_mut().filter(|worst| bits > worst.0) {
            worst.0 = bits;
        }
        self.hits.push(hit);
        if self.hits.len() >= self.most {
            self.leave_out();
            self.most = self.most.max(2 * self.hits.len());
        }
    }

    fn leave_out(&mut self) {
        let threshold = self.threshold();
        self.hits.retain(|hit| hit.score > threshold);
    }

    /// In the order of their positions.
    pub(super) fn finish(mut self) -> Vec<Hit> {
        self.leave_out();
        self.hits
    }
}
