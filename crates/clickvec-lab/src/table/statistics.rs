//! Statistics of the differences between rows.

use super::baseline::{BaselineComparison, compare_with, confidence_intervals};
use super::resampling::{Interval, Resampling};
use super::{Judged, Table};
use clickvec_eval::{Comparison, CrossedTest, Evaluation, Metric, compare_all, crossed_test, paired_differences};
use clickvec_tables::Result;
use serde::Serialize;

/// The test of two rows over queries and seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrossedComparison {
    /// The first row's name.
    pub a: String,
    /// The second row's name.
    pub b: String,
    /// The metric.
    pub metric: Metric,
    /// The test of a − b.
    #[serde(flatten)]
    pub test: CrossedTest,
}

/// All tests of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// The rows that were judged.
    pub evaluations: Vec<Evaluation>,
    /// The tests between all pairs of them.
    pub tests: Vec<Comparison>,
    /// The tests of all pairs over queries and seeds, where one of the two was trained with several seeds, and the other with as many or
    /// with one.
    pub crossed: Vec<CrossedComparison>,
    /// The position, among them, of the row that all others are compared with.
    pub base: usize,
    /// The comparison of each other row with that one, by metric.
    pub against: Vec<BaselineComparison>,
    /// The confidence intervals of each row's NDCG.
    pub intervals: Vec<[Interval; 3]>,
    /// The evaluations of the same rows searching all titles; empty if the plan does not search them.
    pub full: Vec<Evaluation>,
    /// The tests between all pairs of these.
    pub full_tests: Vec<Comparison>,
}

impl Table {
    /// Tests all judged rows against each other, and each against the row named `against`, or against the first if there is no
    /// such row.
    ///
    /// # Errors
    ///
    /// None for a table made by [`super::make`], because all rows have the same queries.
    pub fn statistics(&self, against: Option<&str>) -> Result<Statistics> {
        let judged = self.rows.iter().filter_map(|row| row.outcome.as_ref().ok());
        let evaluations: Vec<Evaluation> = judged.map(|judged| judged.evaluation.clone()).collect();
        let resampling = Resampling::default();
        let tests = compare_all(&evaluations)?;
        let judged: Vec<&Judged> = self.rows.iter().filter_map(|row| row.outcome.as_ref().ok()).collect();
        let pairs = (0..judged.len()).flat_map(|a| (a + 1..judged.len()).map(move |b| (a, b)));
        let crossed = pairs.flat_map(|(a, b)| crossed(judged[a], judged[b])).collect();
        let base = evaluations.iter().position(|row| Some(row.name.as_str()) == against).unwrap_or(0);
        let against = if evaluations.is_empty() { Vec::new() } else { compare_with(base, &evaluations, &resampling)? };
        let intervals = evaluations.iter().map(|row| confidence_intervals(row, &resampling)).collect();
        let judged = self.rows.iter().filter_map(|row| row.outcome.as_ref().ok());
        let full: Vec<Evaluation> =
            judged.filter_map(|judged| judged.full.as_ref()).map(|full| full.evaluation.clone()).collect();
        let full_tests = compare_all(&full)?;
        Ok(Statistics { evaluations, tests, crossed, base, against, intervals, full, full_tests })
    }
}

/// Tests two rows over queries and seeds.
fn crossed(a: &Judged, b: &Judged) -> Vec<CrossedComparison> {
    let seeds = a.by_seed.len().max(b.by_seed.len());
    if [a, b].iter().any(|row| row.by_seed.len() != seeds && row.by_seed.len() != 1) {
        return Vec::new();
    }
    let tests = Metric::NDCG.into_iter().filter_map(|metric: Metric| {
        let values = |row: &Judged, seed: usize| -> Vec<f64> {
            row.by_seed[seed.min(row.by_seed.len() - 1)].iter().map(|query| query.get(metric)).collect()
        };
        let differences = (0..seeds).map(|seed| paired_differences(&values(a, seed), &values(b, seed)));
        let test = crossed_test(&differences.collect::<Result<Vec<_>>>().ok()?)?;
        Some(CrossedComparison { a: a.evaluation.name.clone(), b: b.evaluation.name.clone(), metric, test })
    });
    tests.collect()
}
