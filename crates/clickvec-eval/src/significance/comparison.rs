//! The rule for calling a system better or worse: which tests are made between several systems, how they are corrected for
//! their number, and the verdict.

use super::{PairedTest, SIGNIFICANT, holm, paired_t_test};
use crate::{Evaluation, Metric};
use clickvec_tables::shown::shortened;
use clickvec_tables::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// The paired t-test between two systems.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The first system's name.
    pub a: String,
    /// The second system's name.
    pub b: String,
    /// The metric.
    pub metric: Metric,
    /// The test of a − b over all queries.
    #[serde(flatten)]
    pub test: PairedTest,
    /// [`PairedTest::evidence`], corrected by Holm's method for all tests of this metric that are made together.
    pub holm: f64,
}

/// The tests that a claim of significance takes into account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correction {
    /// Each test alone. In twenty comparisons of equal systems, one is expected to look significant.
    None,
    /// All tests of the metric together, by Holm's method.
    Holm,
}

/// The verdict of a comparison on its first system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Significantly better than the second.
    Better,
    /// Significantly worse.
    Worse,
    /// No significant difference.
    NotShown,
}

impl Verdict {
    /// Returns the verdict on the second system.
    pub fn reversed(self) -> Verdict {
        match self {
            Verdict::Better => Verdict::Worse,
            Verdict::Worse => Verdict::Better,
            Verdict::NotShown => Verdict::NotShown,
        }
    }
}

impl Comparison {
    /// Returns the verdict on `a`.
    pub fn verdict(&self, correction: Correction) -> Verdict {
        let p = match correction {
            Correction::None => self.test.evidence(),
            Correction::Holm => self.holm,
        };
        match (p < SIGNIFICANT, self.test.difference) {
            (true, difference) if difference > 0.0 => Verdict::Better,
            (true, difference) if difference < 0.0 => Verdict::Worse,
            _ => Verdict::NotShown,
        }
    }
}

/// Compares all pairs of systems by paired t-tests, for each metric of quality that they were judged by. `a` comes before `b` in
/// `evaluations`. Holm's correction is over the pairs, for each metric on its own.
///
/// # Errors
///
/// `ErrorKind::Mismatch` if the systems were not evaluated on the same queries.
///
/// # Panics
///
/// If the systems were not judged by the same metrics.
pub fn compare_all(evaluations: &[Evaluation]) -> Result<Vec<Comparison>> {
    let metrics = evaluations.first().into_iter().flat_map(|first| first.mean.iter());
    let metrics: Vec<Metric> = metrics.map(|(metric, _)| metric).filter(|metric| metric.is_quality()).collect();
    let mut comparisons = Vec::new();
    for (i, a) in evaluations.iter().enumerate() {
        for b in &evaluations[i + 1..] {
            for &metric in &metrics {
                comparisons.push(compared(a, b, metric)?);
            }
        }
    }
    for &metric in &metrics {
        correct(comparisons.iter_mut().filter(|test| test.metric == metric));
    }
    Ok(comparisons)
}

/// Returns the positions of the systems that the one at `position` is significantly better than, ascending. These are the letters
/// in a paper's table. `tests` are those of [`compare_all`] for `systems`.
///
/// # Panics
///
/// If there is no system at `position`.
pub fn beaten(
    position: usize,
    metric: Metric,
    systems: &[Evaluation],
    tests: &[Comparison],
    correction: Correction,
) -> Vec<usize> {
    let name = &systems[position].name;
    let loser = |test: &Comparison| match test.verdict(correction) {
        Verdict::Better if test.a == *name => Some(test.b.clone()),
        Verdict::Worse if test.b == *name => Some(test.a.clone()),
        _ => None,
    };
    let losers = tests.iter().filter(|test| test.metric == metric).filter_map(loser);
    let mut positions: Vec<usize> =
        losers.filter_map(|loser| systems.iter().position(|system| system.name == loser)).collect();
    positions.sort_unstable();
    positions
}

/// Tests one system against another.
///
/// # Errors
///
/// `ErrorKind::Mismatch` if the systems were not evaluated on the same queries.
pub fn compared(a: &Evaluation, b: &Evaluation, metric: Metric) -> Result<Comparison> {
    same_queries(a, b)?;
    let test = paired_t_test(&a.values(metric), &b.values(metric))?;
    Ok(Comparison { a: a.name.clone(), b: b.name.clone(), metric, test, holm: test.evidence() })
}

/// Corrects tests that are made together.
pub fn correct<'c>(comparisons: impl Iterator<Item = &'c mut Comparison>) {
    let mut comparisons: Vec<&mut Comparison> = comparisons.collect();
    let p: Vec<f64> = comparisons.iter().map(|comparison| comparison.test.evidence()).collect();
    comparisons.iter_mut().zip(holm(&p)).for_each(|(comparison, holm)| comparison.holm = holm);
}

fn same_queries(a: &Evaluation, b: &Evaluation) -> Result<()> {
    for (position, (a, b)) in (1..).zip(a.queries.iter().zip(&b.queries)) {
        if a.id != b.id {
            let found = format!("`{}` and `{}` at place {position}", shortened(&a.id), shortened(&b.id));
            let error = Error::expected(ErrorKind::Mismatch, "the same queries for both systems", found);
            return Err(error.help(super::SAME_JUDGMENTS));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::significance::testing::system;

    #[test]
    fn one_rule_says_who_is_better() {
        let systems = [system("a", 0, 100), system("b", 4, 100), system("c", 40, 100)];
        let tests = compare_all(&systems).unwrap();
        let marks = |position, correction| beaten(position, Metric::Ndcg(1), &systems, &tests, correction);
        for correction in [Correction::None, Correction::Holm] {
            // Four of 100 queries show nothing, whatever t is, and 36 show a difference.
            assert_eq!([0, 1, 2].map(|position| marks(position, correction)), [vec![], vec![], vec![0, 1]]);
        }
        let [against_b, against_c] = [&tests[0], &tests[Metric::OF_JUDGED.len()]];
        assert!(against_b.test.p < 0.05 && against_b.holm == 0.125 && against_b.test.difference < 0.0);
        assert_eq!(
            (against_b.verdict(Correction::Holm), against_c.verdict(Correction::Holm)),
            (Verdict::NotShown, Verdict::Worse)
        );
    }

    #[test]
    fn what_rounding_makes_is_not_significant() {
        let mut systems = [system("a", 50, 100), system("b", 50, 100)];
        // Values like means over tied titles that were added up in another order.
        for query in &mut systems[1].queries {
            query.metrics = query.metrics.map(|value| value * (1.0 - f64::EPSILON));
        }
        let [a, b] = [&systems[0], &systems[1]].map(|system| system.values(Metric::Ndcg(1)));
        assert!(a != b, "nothing was rounded");
        let tests = compare_all(&systems).unwrap();
        for test in &tests {
            assert_eq!((test.test.difference, test.test.t, test.test.p, test.holm), (0.0, 0.0, 1.0, 1.0));
            assert_eq!(test.verdict(Correction::None), Verdict::NotShown);
        }
    }
}
