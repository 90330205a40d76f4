//! The names of metrics in JSON and in tables, which are part of the interface (`docs/reference/metrics.md`).

use clickvec_eval::{Comparison, Metrics};
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

/// Figures by their names as an object.
pub(crate) struct Figures<'a>(pub(crate) &'a [(String, f64)]);

impl Serialize for Figures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// A test between two systems as an object.
#[derive(Serialize)]
pub(crate) struct PairJson<'a> {
    a: &'a str,
    b: &'a str,
    metric: String,
    /// The mean of a − b.
    difference: f64,
    /// `null` if all differences are equal, since t is then infinite.
    t: f64,
    /// The p-value of the t-test; if t is infinite, of the sign test.
    p: f64,
    /// p, corrected for all pairs of systems.
    holm: f64,
}

impl<'a> From<&'a Comparison> for PairJson<'a> {
    fn from(Comparison { a, b, metric, test, holm }: &'a Comparison) -> PairJson<'a> {
        PairJson { a, b, metric: metric.to_string(), difference: test.difference, t: test.t, p: test.p, holm: *holm }
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
