//! Statistics of the differences between rows.

use super::Table;
use super::baseline::{BaselineComparison, compare_with, confidence_intervals};
use super::resampling::{Interval, Resampling};
use clickvec_eval::{Comparison, Evaluation, compare_all};
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
    pub against: Vec<BaselineComparison>,
    /// The confidence intervals of each row's NDCG.
    pub intervals: Vec<[Interval; 3]>,
    /// The same rows searching all titles; none if that was not asked for.
    pub full: Vec<Evaluation>,
    /// The tests between all pairs of these.
    pub full_tests: Vec<Comparison>,
}

impl Table {
    /// The tests between all judged rows, and of each against the row named `against`, or against the first if there
    /// is no such row.
    ///
    /// # Errors
    ///
    /// None for a table made by [`super::make`], because all rows have the same queries.
    pub fn statistics(&self, against: Option<&str>) -> Result<Statistics> {
        let judged = self.rows.iter().filter_map(|row| row.outcome.as_ref().ok());
        let evaluations: Vec<Evaluation> = judged.map(|judged| judged.evaluation.clone()).collect();
        let resampling = Resampling::default();
        let tests = compare_all(&evaluations)?;
        let base = evaluations.iter().position(|row| Some(row.name.as_str()) == against).unwrap_or(0);
        let against = if evaluations.is_empty() { Vec::new() } else { compare_with(base, &evaluations, &resampling)? };
        let intervals = evaluations.iter().map(|row| confidence_intervals(row, &resampling)).collect();
        let judged = self.rows.iter().filter_map(|row| row.outcome.as_ref().ok());
        let full: Vec<Evaluation> =
            judged.filter_map(|judged| judged.full.as_ref()).map(|full| full.evaluation.clone()).collect();
        let full_tests = compare_all(&full)?;
        Ok(Statistics { evaluations, tests, base, against, intervals, full, full_tests })
    }
}
