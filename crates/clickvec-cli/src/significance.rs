//! Whether systems differ, as reports say it.

use anyhow::Result;
use clickvec::Error;
use clickvec::eval::{self, Comparison, Evaluation, LEAST_DIFFERING, Metric, PairedTest, differing_pairs};

/// A difference is significant below this probability.
pub(crate) const SIGNIFICANT: f64 = 0.05;
/// Differences are alike if they differ by less than this share of themselves: sums are rounded.
const ROUNDING: f64 = 1e-9;

/// The t-tests between all systems, with [`probability_of`] for each, and Holm's correction of what [`shown_by`] makes of it.
pub(crate) fn compare_all(evaluations: &[Evaluation]) -> Result<Vec<Comparison>> {
    let mut tests = eval::compare_all(evaluations).map_err(Error::from)?;
    let pairs =
        evaluations.iter().enumerate().flat_map(|(place, a)| evaluations[place + 1..].iter().map(move |b| (a, b)));
    for (tests, (a, b)) in tests.chunks_mut(Metric::NDCG.len()).zip(pairs) {
        for comparison in tests {
            let [a, b] = [a, b].map(|system| values(system, comparison.metric));
            comparison.test.p = probability_of(&comparison.test, &a, &b);
            comparison.holm = shown_by(comparison.test.p, &a, &b);
        }
    }
    for metric in Metric::NDCG {
        let mut of_metric: Vec<&mut Comparison> = tests.iter_mut().filter(|test| test.metric == metric).collect();
        let p: Vec<f64> = of_metric.iter().map(|comparison| comparison.holm).collect();
        of_metric.iter_mut().zip(eval::holm(&p)).for_each(|(comparison, holm)| comparison.holm = holm);
    }
    Ok(tests)
}

/// A system's metric, query by query.
pub(crate) fn values(system: &Evaluation, metric: Metric) -> Vec<f64> {
    system.queries.iter().map(|query| query.metrics.get(metric)).collect()
}

/// The p of the t-test of `a` against `b`; where [all differ alike](alike), that of all ways to flip the differences'
/// signs, 2 / 2ⁿ, since there t has nothing to compare the difference with, and two queries would prove anything.
pub(crate) fn probability_of(test: &PairedTest, a: &[f64], b: &[f64]) -> f64 {
    match alike(a, b) {
        true => 2f64.powf(1.0 - a.len() as f64),
        false => test.p,
    }
}

/// The p by which `a` is called different from `b`: that of the test and, where fewer than ten queries differ, at least 2 / 2ᵏ,
/// that of the signs of the k that do. 4 of 52 queries have p = 0.044 by t, whatever the 4 are.
pub(crate) fn shown_by(p: f64, a: &[f64], b: &[f64]) -> f64 {
    match differing_pairs(a, b) {
        Ok(few) if few < LEAST_DIFFERING => p.max(2f64.powf(1.0 - few as f64).min(1.0)),
        _ => p,
    }
}

/// Whether `a` differs from `b` by the same in every query, and by more than nothing.
pub(crate) fn alike(a: &[f64], b: &[f64]) -> bool {
    let mut differences = a.iter().zip(b).map(|(a, b)| a - b);
    let Some(first) = differences.next() else { return false };
    first != 0.0 && differences.all(|difference| (difference - first).abs() <= ROUNDING * first.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_queries_show_no_more_than_their_signs() {
        let shown = |differing: usize, of: usize| {
            let a: Vec<f64> = (0..of).map(|i| if i < differing { 1.0 / (i + 2) as f64 } else { 0.0 }).collect();
            let b = vec![0.0; of];
            let p = probability_of(&eval::paired_t_test(&a, &b).unwrap(), &a, &b);
            (p, shown_by(p, &a, &b))
        };
        for differing in 1..10 {
            assert_eq!(
                shown(differing, 100).1,
                shown(differing, 100).0.max(2.0 / f64::from(1 << differing)),
                "{differing}"
            );
        }
        assert!(shown(5, 100).0 < SIGNIFICANT && shown(5, 100).1 > SIGNIFICANT);
        assert_eq!(shown(10, 100).0, shown(10, 100).1);
        assert_eq!(shown(0, 100).1, 1.0);
    }

    #[test]
    fn a_difference_without_scatter_has_the_probability_of_its_signs() {
        let p = |a: &[f64], b: &[f64]| probability_of(&eval::paired_t_test(a, b).unwrap(), a, b);
        assert_eq!(p(&[0.5], &[0.0]), 1.0);
        assert_eq!(p(&[0.5, 1.0], &[0.0, 0.5]), 0.5);
        assert_eq!(p(&[0.0; 6], &[0.5; 6]), 1.0 / 32.0);
        // Differences of 0.1 that are rounded in two ways.
        assert_ne!(0.3 - 0.2, 0.4 - 0.3);
        assert_eq!(p(&[0.3, 0.4], &[0.2, 0.3]), 0.5);
        assert_eq!(p(&[0.5; 3], &[0.5; 3]), 1.0);
        assert_eq!(p(&[], &[]), 1.0);
        let (a, b) = ([0.5, 0.7, 0.9], [0.4, 0.4, 0.4]);
        assert_eq!(p(&a, &b), eval::paired_t_test(&a, &b).unwrap().p);
    }
}
