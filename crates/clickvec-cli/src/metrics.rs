//! Metrics for programs: their names in JSON and in tables, part of the interface (`docs/reference/metrics.md`).

use clickvec::eval::{Comparison, Metric, Metrics};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// What programs call a metric; means of reciprocal ranks and average precisions have names of their own.
pub(crate) fn key(metric: Metric) -> &'static str {
    match metric {
        Metric::ReciprocalRank => "mrr",
        Metric::AveragePrecision => "map",
        other => other.name(),
    }
}

/// Metrics as an object: `{"ndcg@1":…,"ndcg@3":…,…}`.
pub(crate) struct ByKey<'a>(pub(crate) &'a Metrics);

impl Serialize for ByKey<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(Metric::ALL.len()))?;
        for metric in Metric::ALL {
            map.serialize_entry(key(metric), &self.0.get(metric))?;
        }
        map.end()
    }
}

/// A test between two systems as an object.
#[derive(Serialize)]
pub(crate) struct PairJson<'a> {
    a: &'a str,
    b: &'a str,
    metric: &'static str,
    /// The mean of a − b.
    difference: f64,
    /// `null` where all differences are the same: t is infinite.
    t: f64,
    /// Of the t-test; where t is infinite, of the differences' signs.
    p: f64,
    /// p, corrected for all pairs of systems.
    holm: f64,
}

impl<'a> From<&'a Comparison> for PairJson<'a> {
    fn from(Comparison { a, b, metric, test, holm }: &'a Comparison) -> PairJson<'a> {
        PairJson { a, b, metric: key(*metric), difference: test.difference, t: test.t, p: test.p, holm: *holm }
    }
}
