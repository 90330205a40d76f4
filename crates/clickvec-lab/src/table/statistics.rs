//! Statistics of the differences between rows.

use super::pairs::{PairComparison, Tested, compare_pairs, confidence_intervals};
use super::resampling::{Interval, Resampling};
use super::spec::Claim;
use super::{Full, Judged, Table};
use clickvec_eval::internals::correct;
use clickvec_eval::{Comparison, Evaluation, Metric};
use clickvec_tables::Result;

/// All tests of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// The rows that were judged.
    pub evaluations: Vec<Evaluation>,
    /// The tests between all pairs of them.
    pub tests: Vec<Comparison>,
    /// The position, among them, of the row that all others are compared with.
    pub base: usize,
    /// The comparison of each other row with that one, by metric.
    pub against: Vec<PairComparison>,
    /// For each claim of the spec, the comparisons of its pairs. Those of rows that were left out are missing.
    pub claims: Vec<Vec<PairComparison>>,
    /// The confidence intervals of each row's NDCG.
    pub intervals: Vec<[Interval; 3]>,
    /// The evaluations of the same rows searching all titles; empty if the plan does not search them.
    pub full: Vec<Evaluation>,
    /// The tests between all pairs of these.
    pub full_tests: Vec<Comparison>,
}

/// Tests all pairs of rows by these metrics. Holm's correction is over the pairs, for each metric on its own.
fn all_pairs(rows: &[Tested<'_>], metrics: &[Metric]) -> Result<Vec<Comparison>> {
    let mut tests = Vec::new();
    for (position, a) in rows.iter().enumerate() {
        for b in &rows[position + 1..] {
            for &metric in metrics {
                tests.push(a.compared(b, metric)?);
            }
        }
    }
    for &metric in metrics {
        correct(tests.iter_mut().filter(|test| test.metric == metric));
    }
    Ok(tests)
}

impl Table {
    /// Tests all judged rows against each other, each against the row named `against`, or against the first if there is no
    /// such row, and the pairs of the claims.
    ///
    /// # Errors
    ///
    /// None for a table made by [`super::make`], because all rows have the same queries.
    pub fn statistics(&self, against: Option<&str>, claims: &[Claim]) -> Result<Statistics> {
        let judged: Vec<&Judged> = self.rows.iter().filter_map(|row| row.outcome.as_ref().ok()).collect();
        let rows: Vec<Tested<'_>> = judged.iter().map(|&row| row.into()).collect();
        let resampling = Resampling::default();
        let tests = all_pairs(&rows, &Metric::OF_JUDGED)?;
        let named = |name: &str| rows.iter().position(|row| row.evaluation.name == name);
        let base = against.and_then(named).unwrap_or(0);
        let with_base: Vec<[usize; 2]> =
            (0..rows.len()).filter(|&row| row != base).map(|position| [position, base]).collect();
        let mut against = Vec::new();
        for metric in Metric::NDCG {
            against.extend(compare_pairs(&with_base, &rows, metric, &resampling)?);
        }
        let claims = claims.iter().map(|claim| {
            let pairs = claim.pairs.iter().filter_map(|[a, b]| Some([named(a)?, named(b)?]));
            compare_pairs(&pairs.collect::<Vec<_>>(), &rows, claim.metric, &resampling)
        });
        let claims = claims.collect::<Result<_>>()?;
        let intervals = rows.iter().map(|row| confidence_intervals(row.evaluation, &resampling)).collect();
        let full: Vec<&Full> = judged.iter().filter_map(|row| row.full.as_ref()).collect();
        let full_tests = all_pairs(&full.iter().map(|&row| row.into()).collect::<Vec<_>>(), &Full::METRICS)?;
        let full = full.iter().map(|row| row.evaluation.clone()).collect();
        let evaluations = judged.iter().map(|row| row.evaluation.clone()).collect();
        Ok(Statistics { evaluations, tests, base, against, claims, intervals, full, full_tests })
    }
}
