//! The momentum of each update.

/// The momentum μ of each update, as stretches with constant μ.
#[derive(Debug, Clone, PartialEq)]
pub struct MomentumSchedule {
    /// The first update of each stretch and its μ, ascending. Updates count from 1.
    stretches: Vec<(u64, f64)>,
}

impl MomentumSchedule {
    /// Returns the schedule of the papers: 0.9 in the first and the last 2 % of `updates`, and 0.995 in between.
    pub fn papers(updates: u64) -> MomentumSchedule {
        let edge = (updates as f64 * 0.02).round() as u64;
        MomentumSchedule::new(vec![(1, 0.9), (edge + 1, 0.995), (updates.saturating_sub(edge) + 1, 0.9)], updates)
    }

    /// Returns a schedule with the same μ for all `updates`.
    pub fn constant(momentum: f64, updates: u64) -> MomentumSchedule {
        MomentumSchedule::new(vec![(1, momentum)], updates)
    }

    /// Returns a schedule with one μ for each update.
    pub fn each(momenta: &[f64]) -> MomentumSchedule {
        let stretches = momenta.iter().enumerate().map(|(i, &momentum)| (i as u64 + 1, momentum)).collect();
        MomentumSchedule::new(stretches, momenta.len() as u64)
    }

    /// Creates a schedule. After the last update μ is 0, so that Θ and Λ are the same point.
    fn new(stretches: Vec<(u64, f64)>, updates: u64) -> MomentumSchedule {
        let mut merged: Vec<(u64, f64)> = Vec::new();
        for (first, momentum) in stretches.into_iter().chain([(updates + 1, 0.0)]) {
            while merged.last().is_some_and(|&(before, _)| before >= first) {
                merged.pop();
            }
            merged.push((first, momentum));
        }
        MomentumSchedule { stretches: merged }
    }

    /// Returns μ of the update number `k`, counted from 1.
    pub fn at(&self, k: u64) -> f64 {
        let stretch = self.stretches.partition_point(|&(first, _)| first <= k);
        self.stretches[stretch.max(1) - 1].1
    }

    /// Returns Π μ_k and Σ_j Π_{k ≤ j} μ_k over the updates k, j in `first..=last`, with a closed form for each stretch. Products
    /// over a whole run would underflow, and their differences would cancel.
    pub(super) fn idle(&self, first: u64, last: u64) -> (f64, f64) {
        let (mut product, mut sum) = (1.0, 0.0);
        let mut k = first;
        while k <= last {
            let stretch = self.stretches.partition_point(|&(begin, _)| begin <= k) - 1;
            let end = self.stretches.get(stretch + 1).map_or(last, |&(next, _)| (next - 1).min(last));
            let (momentum, updates) = (self.stretches[stretch].1, (end - k + 1) as f64);
            let decay = momentum.powf(updates);
            let drift = if momentum == 1.0 { updates } else { momentum * (1.0 - decay) / (1.0 - momentum) };
            sum += product * drift;
            product *= decay;
            k = end + 1;
        }
        (product, sum)
    }
}
