//! Metrics for programs: their names in JSON and in tables, part of the interface (`docs/evaluation.md`).

use clickvec::eval::{Metric, Metrics};
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
