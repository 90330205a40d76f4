//! The names of metrics in JSON and in tables, which are part of the interface (`docs/reference/metrics.md`).

use clickvec_eval::Metrics;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Metrics as an object: `{"ndcg@1":…,"ndcg@3":…,…}`.
pub(crate) struct ByKey<'a>(pub(crate) &'a Metrics);

impl Serialize for ByKey<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.iter().len()))?;
        for (metric, value) in self.0.iter() {
            map.serialize_entry(&metric.to_string(), &value)?;
        }
        map.end()
    }
}

/// A difference with its sign; 0 has none.
pub(crate) fn difference(difference: f64) -> String {
    if difference == 0.0 { "0.000".to_owned() } else { format!("{difference:+.3}") }
}

/// A p-value; small ones as `<0.0001`.
pub(crate) fn probability(p: f64) -> String {
    if p < 0.0001 { "<0.0001".to_owned() } else { format!("{p:.4}") }
}
