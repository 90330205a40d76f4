//! The churn: the changes that users see with a new model.

use clickvec::index::Hit;
use serde::Serialize;

/// The length of result lists: the titles that users look at.
pub(super) const SHOWN: usize = 10;

/// The changes from the old model to the new one in the first ten titles of frequent queries.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Churn {
    /// The number of queries.
    pub queries: usize,
    /// The share of queries with another first title.
    pub other_first: f64,
    /// The share of queries whose first ten titles are not the same ten.
    pub changed_lists: f64,
    /// The mean share of the first ten titles that were not among the old ten. The bound of the churn applies to this.
    pub titles: f64,
}

impl Churn {
    /// Returns the changes from the old to the new result list of each query.
    pub fn between<'h>(lists: impl Iterator<Item = (&'h [Hit], &'h [Hit])>) -> Churn {
        let (mut queries, mut first, mut changed, mut titles) = (0, 0u64, 0u64, 0.0);
        for (old, new) in lists {
            let [old, new] = [old, new].map(|hits| &hits[..hits.len().min(SHOWN)]);
            queries += 1;
            first += u64::from(old.first().map(|hit| hit.position) != new.first().map(|hit| hit.position));
            let others = new.iter().filter(|hit| old.iter().all(|other| other.position != hit.position)).count();
            changed += u64::from(others > 0 || old.len() != new.len());
            titles += others as f64 / new.len().max(1) as f64;
        }
        let share = |count: f64| count / f64::max(queries as f64, 1.0);
        let (other_first, changed_lists) = (share(first as f64), share(changed as f64));
        Churn { queries, other_first, changed_lists, titles: share(titles) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_compared() {
        let hits = |positions: &[u32]| -> Vec<Hit> {
            positions.iter().map(|&position| Hit { position, score: 1.0 }).collect()
        };
        let lists = [
            (hits(&[1, 2, 3, 4]), hits(&[1, 2, 3, 4])),
            (hits(&[1, 2, 3, 4]), hits(&[2, 1, 3, 4])),
            (hits(&[1, 2, 3, 4]), hits(&[1, 2, 9, 8])),
            (hits(&[]), hits(&[])),
        ];
        let churn = Churn::between(lists.iter().map(|(old, new)| (&old[..], &new[..])));
        assert_eq!(churn, Churn { queries: 4, other_first: 0.25, changed_lists: 0.25, titles: 0.125 });
    }
}
