//! Metrics of a ranking: NDCG, reciprocal rank, average precision, precision and recall.
//!
//! A [`Ranking`] is a sequence of groups of tied titles. Every metric is the mean over all orders within the groups,
//! in closed form (McSherry and Najork, "Computing information retrieval performance measures efficiently in the
//! presence of tied scores", ECIR 2008). If ties are broken by id, each group has one title and the metric is the
//! usual one.

use clickvec_tables::named;
use std::cmp::Ordering;

named! {
    /// The gain of a grade g in NDCG.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum Gain {
        /// 2^g − 1, as in the papers.
        #[default]
        Exponential = "exponential",
        /// g, as in trec_eval.
        Linear = "linear",
    }
}

impl Gain {
    /// Returns the gain of a grade.
    pub fn value(self, grade: u8) -> f64 {
        match self {
            Gain::Exponential => f64::from(grade).exp2() - 1.0,
            Gain::Linear => f64::from(grade),
        }
    }
}

named! {
    /// The treatment of titles with equal scores.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum Ties {
        /// The mean over all orders of the tied titles.
        #[default]
        Expected = "expected",
        /// The larger id first, compared byte by byte, as trec_eval does.
        Trec = "trec",
    }
}

/// A title in a system's answer to a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored<'a> {
    /// The id, by which [`Ties::Trec`] sorts.
    pub id: &'a str,
    /// The score: larger is better. NaN is worse than every number, and tied with NaN and −∞.
    pub score: f64,
    /// Its grade, 0 if it was not judged.
    pub grade: u8,
}

/// A system's answer to a query, in order, with all grades that were judged for the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranking {
    /// The grades in the order of the ranking; within a group in any order.
    grades: Vec<u8>,
    /// The end of each group of tied titles in `grades`.
    group_ends: Vec<usize>,
    /// The grades of all judged titles, best first.
    judged: Vec<u8>,
}

/// A group of tied titles.
struct Group<'a> {
    grades: &'a [u8],
    /// The number of titles before it.
    start: usize,
}

impl Ranking {
    /// The ranking of `titles` by score, best first. `judged` has the grades of all titles judged for the query,
    /// retrieved or not.
    pub fn new(mut titles: Vec<Scored<'_>>, mut judged: Vec<u8>, ties: Ties) -> Ranking {
        let by_score = |a: &Scored<'_>, b: &Scored<'_>| order_key(b.score).total_cmp(&order_key(a.score));
        match ties {
            Ties::Expected => titles.sort_by(by_score),
            Ties::Trec => titles.sort_by(|a, b| by_score(a, b).then_with(|| b.id.cmp(a.id))),
        }
        let ends_group = |position: usize| match (ties, titles.get(position + 1)) {
            (Ties::Expected, Some(next)) => by_score(&titles[position], next) != Ordering::Equal,
            _ => true,
        };
        let group_ends =
            (0..titles.len()).filter(|&position| ends_group(position)).map(|position| position + 1).collect();
        judged.sort_unstable_by(|a, b| b.cmp(a));
        Ranking { grades: titles.iter().map(|title| title.grade).collect(), group_ends, judged }
    }

    /// The discounted cumulative gain of the best ranking of the first `k` titles with these grades.
    pub fn ideal_dcg(grades: &[u8], k: usize, gain: Gain) -> f64 {
        let mut grades = grades.to_vec();
        grades.sort_unstable_by(|a, b| b.cmp(a));
        ideal_dcg(&grades, k, gain)
    }

    fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        let mut start = 0;
        self.group_ends.iter().map(move |&end| {
            let group = Group { grades: &self.grades[start..end], start };
            start = end;
            group
        })
    }

    /// Normalised discounted cumulative gain of the first `k` titles, from 0 to 1. The discount is log₂(rank + 1), and
    /// the ideal ranking is that of the judged titles. A query with no relevant title scores 0.
    pub fn ndcg(&self, k: usize, gain: Gain) -> f64 {
        let ideal = ideal_dcg(&self.judged, k, gain);
        if ideal == 0.0 {
            return 0.0;
        }
        let mut sum = 0.0;
        for group in self.groups().take_while(|group| group.start < k) {
            let mean_gain =
                group.grades.iter().map(|&grade| gain.value(grade)).sum::<f64>() / group.grades.len() as f64;
            sum += mean_gain * group.positions(k).map(discount).sum::<f64>();
        }
        // Summing in another order can round to slightly above the ideal.
        (sum / ideal).min(1.0)
    }

    /// 1 / rank of the first title with a grade of `relevant_from` or more, 0 if there is none.
    pub fn reciprocal_rank(&self, relevant_from: u8) -> f64 {
        self.reciprocal_rank_of(self.grades.len(), relevant_from)
    }

    /// 1 / rank of the first title with a grade of `relevant_from` or more, 0 if there is none among the first `k`.
    pub fn reciprocal_rank_of(&self, k: usize, relevant_from: u8) -> f64 {
        let Some(group) = self.groups().find(|group| group.relevant(relevant_from) > 0) else { return 0.0 };
        let (n, relevant) = (group.grades.len(), group.relevant(relevant_from));
        // The first of r relevant titles among n is at place j with probability C(n−1−j, r−1) / C(n, r). From one
        // place to the next it changes by the factor below.
        let mut probability = relevant as f64 / n as f64;
        let mut mean = 0.0;
        for position in (0..=n - relevant).take_while(|position| group.start + position < k) {
            mean += probability / (group.start + position + 1) as f64;
            let after = (n - 1 - position) as f64;
            probability *= (after + 1.0 - relevant as f64) / after.max(1.0);
        }
        mean
    }

    /// The mean precision at the ranks of all judged titles with a grade of `relevant_from` or more. A title that was
    /// not retrieved counts as 0. The result is 0 if there is no such title.
    pub fn average_precision(&self, relevant_from: u8) -> f64 {
        let total = self.judged_relevant(relevant_from);
        if total == 0 {
            return 0.0;
        }
        let (mut sum, mut before) = (0.0, 0);
        for group in self.groups() {
            let (n, relevant) = (group.grades.len() as f64, group.relevant(relevant_from));
            if relevant > 0 {
                // A place has a relevant title with probability r/n. If it does, each earlier place of the group has
                // one with probability (r−1)/(n−1).
                let earlier = if n > 1.0 { (relevant - 1) as f64 / (n - 1.0) } else { 0.0 };
                let precisions = (0..group.grades.len()).map(|position| {
                    (before as f64 + 1.0 + position as f64 * earlier) / (group.start + position + 1) as f64
                });
                sum += relevant as f64 / n * precisions.sum::<f64>();
            }
            before += relevant;
        }
        sum / total as f64
    }

    /// Binary preference, as trec_eval computes it. With R judged titles of a grade of `relevant_from` or more and N other
    /// judged ones, it is the mean of 1 − min(others before it, R) / min(N, R) over the R titles. A title that was not
    /// retrieved counts as 0. All titles of this ranking must have judgments.
    pub fn bpref(&self, relevant_from: u8) -> f64 {
        let total = self.judged_relevant(relevant_from);
        let least = total.min(self.judged.len() - total);
        let (mut sum, mut before) = (0.0, 0);
        for group in self.groups() {
            let relevant = group.relevant(relevant_from);
            let others = group.grades.len() - relevant;
            if relevant > 0 {
                // As many of the group's others as not, 0 to all of them, come before each of its relevant titles.
                let worth = |others: usize| match before + others {
                    0 => 1.0,
                    before => 1.0 - before.min(total) as f64 / least as f64,
                };
                sum += relevant as f64 * (0..=others).map(worth).sum::<f64>() / (others + 1) as f64;
            }
            before += others;
        }
        if total == 0 { 0.0 } else { sum / total as f64 }
    }

    /// The share of the first `k` ranks with a title of grade `relevant_from` or more. Ranks after the last title have
    /// none. 0 if `k` is 0.
    pub fn precision(&self, k: usize, relevant_from: u8) -> f64 {
        if k == 0 { 0.0 } else { self.relevant_among(k, relevant_from) / k as f64 }
    }

    /// The share of the judged titles of grade `relevant_from` or more that are among the first `k`; 0 if there is no
    /// such title.
    pub fn recall(&self, k: usize, relevant_from: u8) -> f64 {
        match self.judged_relevant(relevant_from) {
            0 => 0.0,
            total => self.relevant_among(k, relevant_from) / total as f64,
        }
    }

    fn judged_relevant(&self, relevant_from: u8) -> usize {
        self.judged.iter().filter(|&&grade| grade >= relevant_from).count()
    }

    /// The mean number of relevant titles among the first `k`.
    fn relevant_among(&self, k: usize, relevant_from: u8) -> f64 {
        let part = |group: Group<'_>| {
            let (n, seen) = (group.grades.len(), group.positions(k).len());
            (group.relevant(relevant_from) * seen) as f64 / n as f64
        };
        self.groups().take_while(|group| group.start < k).map(part).sum()
    }
}

/// The discounted cumulative gain of the first `k` of these grades, best first.
fn ideal_dcg(best_first: &[u8], k: usize, gain: Gain) -> f64 {
    best_first.iter().take(k).enumerate().map(|(position, &grade)| gain.value(grade) * discount(position)).sum()
}

impl Group<'_> {
    /// The places of the group, counted from 0, that are among the first `k` of the ranking.
    fn positions(&self, k: usize) -> std::ops::Range<usize> {
        self.start..(self.start + self.grades.len()).min(k).max(self.start)
    }

    fn relevant(&self, relevant_from: u8) -> usize {
        self.grades.iter().filter(|&&grade| grade >= relevant_from).count()
    }
}

/// A key without NaN and with one zero, so that equal means tied.
pub fn order_key(score: f64) -> f64 {
    if score.is_nan() { f64::NEG_INFINITY } else { score + 0.0 }
}

/// 1 / log₂(rank + 1) for a place counted from 0.
pub fn discount(position: usize) -> f64 {
    1.0 / ((position + 2) as f64).log2()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    const IDS: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

    fn all_metrics(ranking: &Ranking) -> Vec<f64> {
        let mut values = vec![ranking.reciprocal_rank(1), ranking.average_precision(1), ranking.average_precision(2)];
        for k in [0, 1, 2, 3, 5, 10] {
            values.extend([ranking.ndcg(k, Gain::Exponential), ranking.ndcg(k, Gain::Linear)]);
            values.extend([ranking.precision(k, 1), ranking.recall(k, 1), ranking.recall(k, 3)]);
        }
        values
    }

    fn permutations(n: usize) -> Vec<Vec<usize>> {
        let Some(last) = n.checked_sub(1) else { return vec![vec![]] };
        let insert = |shorter: Vec<usize>| {
            (0..n).map(move |at| {
                let mut longer = shorter.clone();
                longer.insert(at, last);
                longer
            })
        };
        permutations(last).into_iter().flat_map(insert).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Default::default() })]

        /// Every order of the ids breaks the ties in another way. Their mean is the expected value.
        #[test]
        fn expected_values_are_means_over_all_orders(
            titles in prop::collection::vec((0u8..3, 0u8..5), 0..=6),
            unseen in prop::collection::vec(0u8..5, 0..3),
        ) {
            let judged: Vec<u8> = titles.iter().map(|title| title.1).chain(unseen).collect();
            let ranking = |order: &[usize], ties| {
                let scored = titles.iter().zip(order);
                let scored = scored.map(|(&(score, grade), &id)| Scored { id: IDS[id], score: score.into(), grade });
                Ranking::new(scored.collect(), judged.clone(), ties)
            };
            let orders = permutations(titles.len());
            let expected = all_metrics(&ranking(&orders[0], Ties::Expected));
            let mut means = vec![0.0; expected.len()];
            for order in &orders {
                for (mean, value) in means.iter_mut().zip(all_metrics(&ranking(order, Ties::Trec))) {
                    *mean += value / orders.len() as f64;
                }
            }
            for (expected, mean) in expected.iter().zip(&means) {
                prop_assert!((expected - mean).abs() < 1e-12, "{expected} {mean}");
            }
        }
    }

    fn ranking(titles: &[(&'static str, f64, u8)], ties: Ties) -> Ranking {
        let scored = titles.iter().map(|&(id, score, grade)| Scored { id, score, grade }).collect();
        Ranking::new(scored, titles.iter().map(|title| title.2).collect(), ties)
    }

    #[test]
    fn trec_puts_the_larger_id_first() {
        let tied = [("a", 1.0, 3), ("b", 1.0, 0)];
        assert_eq!(ranking(&tied, Ties::Trec).ndcg(1, Gain::Exponential), 0.0);
        assert_eq!(ranking(&tied, Ties::Expected).ndcg(1, Gain::Exponential), 0.5);
    }

    #[test]
    fn nan_comes_last_and_both_zeros_are_one() {
        let nan = ranking(&[("a", f64::NAN, 4), ("b", -5.0, 0)], Ties::Expected);
        assert_eq!(nan.reciprocal_rank(1), 0.5);
        let zeros = ranking(&[("a", 0.0, 4), ("b", -0.0, 0)], Ties::Expected);
        assert_eq!(zeros.ndcg(1, Gain::Linear), 0.5);
    }

    #[test]
    fn nothing_relevant_scores_0() {
        for titles in [&[("a", 1.0, 0u8)] as &[_], &[]] {
            let ranking = ranking(titles, Ties::Expected);
            assert!(all_metrics(&ranking).iter().all(|&value| value == 0.0));
        }
    }

    #[test]
    fn large_groups_of_ties_stay_exact() {
        // One relevant title among n tied ones has a mean reciprocal rank of H(n)/n.
        let n = 100_000;
        let titles: Vec<_> = (0..n).map(|i| ("x", 1.0, u8::from(i == 7))).collect();
        let harmonic: f64 = (1..=n).map(|rank| 1.0 / f64::from(rank)).sum();
        let ranking = ranking(&titles, Ties::Expected);
        assert!((ranking.reciprocal_rank(1) - harmonic / f64::from(n)).abs() < 1e-15);
        assert!((ranking.average_precision(1) - harmonic / f64::from(n)).abs() < 1e-15);
    }
}
