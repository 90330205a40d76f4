//! What the differences between rows are worth.

use anyhow::Result;
use clickvec::Error;
use clickvec::eval::{
    self, Comparison, Evaluation, Metric, Resampling, bootstrap_difference, bootstrap_mean, differing_pairs,
    minimum_detectable_difference, randomization_test,
};

use super::run::Row;
use crate::significance::{self, SIGNIFICANT};

/// Of confidence intervals.
const LEVEL: f64 = 0.95;

/// All tests of a table.
pub(super) struct Statistics {
    /// Rows that were judged.
    pub(super) evaluations: Vec<Evaluation>,
    /// Between each two of them.
    pub(super) tests: Vec<Comparison>,
    /// Whether marks are by p as it is, not corrected.
    pub(super) uncorrected: bool,
    /// The place of the row that all others are compared with.
    pub(super) base: usize,
    /// Each other row against it, by metric.
    pub(super) against: Vec<Against>,
    /// The confidence interval of each row's metrics.
    pub(super) intervals: Vec<[eval::Interval; 3]>,
}

/// A row against the one that all are compared with.
pub(super) struct Against {
    /// Its place among the evaluations.
    pub(super) place: usize,
    pub(super) metric: Metric,
    pub(super) interval: eval::Interval,
    pub(super) p: f64,
    pub(super) holm: f64,
    pub(super) randomization: f64,
    /// How many queries the two do not answer equally well.
    pub(super) differing: usize,
    /// The smallest true difference that a test set like this shows in four of five cases; none where few queries differ,
    /// or all alike, since these do not say how queries scatter.
    pub(super) minimum_detectable: Option<f64>,
}

impl Against {
    /// In a word.
    pub(super) fn verdict(&self) -> &'static str {
        match self.holm < SIGNIFICANT {
            true if self.interval.mean > 0.0 => "better",
            true => "worse",
            false => "not shown",
        }
    }
}

/// Tests between all rows, and each against the one called `against`; against the first if there is none of this name.
pub(super) fn of(rows: &[Row], uncorrected: bool, against: Option<&str>) -> Result<Statistics> {
    let judged = rows.iter().filter_map(|row| row.outcome.as_ref().ok());
    let evaluations: Vec<Evaluation> = judged.map(|judged| judged.evaluation.clone()).collect();
    let tests = significance::compare_all(&evaluations)?;
    let values = |place: usize, metric| significance::values(&evaluations[place], metric);
    let resampling = Resampling::default();
    let base = evaluations.iter().position(|row| Some(row.name.as_str()) == against).unwrap_or(0);
    let mut against = Vec::new();
    for metric in Metric::NDCG.into_iter().filter(|_| !evaluations.is_empty()) {
        let first = values(base, metric);
        let mut of_metric = Vec::new();
        for place in (0..evaluations.len()).filter(|&place| place != base) {
            let other = values(place, metric);
            let test = eval::paired_t_test(&other, &first).map_err(Error::from)?;
            let interval = bootstrap_difference(&other, &first, LEVEL, &resampling).map_err(Error::from)?;
            let randomization = randomization_test(&other, &first, &resampling).map_err(Error::from)?.p;
            let p = significance::probability_of(&test, &other, &first);
            of_metric.push(Against {
                place,
                metric,
                interval,
                p,
                holm: significance::shown_by(p, &other, &first),
                randomization,
                differing: differing_pairs(&other, &first).map_err(Error::from)?,
                minimum_detectable: match significance::alike(&other, &first) {
                    true => None,
                    false => {
                        minimum_detectable_difference(&other, &first, evaluations.len() - 1).map_err(Error::from)?
                    }
                },
            });
        }
        let p: Vec<f64> = of_metric.iter().map(|against| against.holm).collect();
        for (of_row, holm) in of_metric.iter_mut().zip(eval::holm(&p)) {
            of_row.holm = holm;
        }
        against.extend(of_metric);
    }
    let interval = |place: usize| Metric::NDCG.map(|metric| bootstrap_mean(&values(place, metric), LEVEL, &resampling));
    let intervals = (0..evaluations.len()).map(interval).collect();
    Ok(Statistics { evaluations, tests, uncorrected, base, against, intervals })
}
