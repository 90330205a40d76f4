//! Metrics of a system's answer to a query, and their means.

use std::cell::LazyCell;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use clickvec::train::Score;
use clickvec_tables::{Error, ErrorKind};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{EvaluateOptions, Ranking, Scored};
use clickvec_tables::shown::shortened;

/// A metric of the titles that a system ranks for a query, from 0 to 1. A title without a judgment counts as not relevant, unless
/// the metric leaves such titles out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// NDCG of the first k titles.
    Ndcg(u32),
    /// The share of the relevant titles that are among the first k.
    Recall(u32),
    /// The share of the first k ranks with a relevant title.
    Precision(u32),
    /// 1 / rank of the first relevant title among the first k, or among all; its mean is MRR.
    ReciprocalRank(Option<u32>),
    /// Average precision; its mean is MAP.
    AveragePrecision,
    /// The share of the first k titles that have a judgment.
    Judged(u32),
    /// NDCG of the first k judged titles, after all others are removed from the ranking (Sakai, "Alternatives to bpref",
    /// 2007).
    CondensedNdcg(u32),
    /// Binary preference: how rarely a title judged not relevant comes before a relevant one (Buckley, Voorhees, "Retrieval
    /// evaluation with incomplete information", 2004), as trec_eval computes it.
    Bpref,
}

impl Metric {
    /// The metrics of rankings of judged titles by default.
    pub const OF_JUDGED: [Metric; 7] = [
        Metric::Ndcg(1),
        Metric::Ndcg(3),
        Metric::Ndcg(10),
        Metric::ReciprocalRank(None),
        Metric::AveragePrecision,
        Metric::Precision(10),
        Metric::Recall(10),
    ];

    /// The metrics of searches of a collection by default.
    pub const OF_SEARCH: [Metric; 6] = [
        Metric::Ndcg(10),
        Metric::Recall(100),
        Metric::ReciprocalRank(Some(10)),
        Metric::Judged(10),
        Metric::CondensedNdcg(10),
        Metric::Bpref,
    ];

    /// The metrics by which systems are compared in the papers.
    pub const NDCG: [Metric; 3] = [Metric::Ndcg(1), Metric::Ndcg(3), Metric::Ndcg(10)];

    /// Returns the number of titles at the top of a ranking that the metric uses; `None` if it uses all of them.
    pub fn depth(self) -> Option<u32> {
        match self {
            Metric::Ndcg(k) | Metric::Recall(k) | Metric::Precision(k) | Metric::Judged(k) => Some(k),
            Metric::ReciprocalRank(k) => k,
            Metric::AveragePrecision | Metric::CondensedNdcg(_) | Metric::Bpref => None,
        }
    }

    /// Returns whether a larger value means a better system. The share of titles with a judgment says nothing about quality.
    pub fn is_quality(self) -> bool {
        !matches!(self, Metric::Judged(_))
    }

    /// Returns the heading of the metric's column in a table, such as `NDCG@10`.
    pub fn heading(self) -> String {
        match self {
            Metric::Ndcg(k) => format!("NDCG@{k}"),
            Metric::Recall(k) => format!("R@{k}"),
            Metric::Precision(k) => format!("P@{k}"),
            Metric::ReciprocalRank(Some(k)) => format!("MRR@{k}"),
            Metric::ReciprocalRank(None) => "MRR".to_owned(),
            Metric::AveragePrecision => "MAP".to_owned(),
            Metric::CondensedNdcg(k) => format!("NDCG'@{k}"),
            Metric::Judged(_) | Metric::Bpref => self.to_string(),
        }
    }
}

/// Writes the name in reports, JSON and on the command line.
impl Display for Metric {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Metric::Ndcg(k) => write!(f, "ndcg@{k}"),
            Metric::Recall(k) => write!(f, "recall@{k}"),
            Metric::Precision(k) => write!(f, "precision@{k}"),
            Metric::ReciprocalRank(Some(k)) => write!(f, "mrr@{k}"),
            Metric::ReciprocalRank(None) => f.write_str("mrr"),
            Metric::AveragePrecision => f.write_str("map"),
            Metric::Judged(k) => write!(f, "judged@{k}"),
            Metric::CondensedNdcg(k) => write!(f, "condensed_ndcg@{k}"),
            Metric::Bpref => f.write_str("bpref"),
        }
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Metric, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(de::Error::custom)
    }
}

impl FromStr for Metric {
    type Err = Error;

    fn from_str(text: &str) -> Result<Metric, Error> {
        let unknown = || {
            let expected = "a metric, one of `ndcg@K`, `recall@K`, `precision@K`, `mrr@K`, `judged@K`, `condensed_ndcg@K` with a K \
                            of 1 or more, `mrr`, `map` and `bpref`";
            Error::expected(ErrorKind::Setting, expected, format!("`{}`", shortened(text)))
        };
        let lower = text.to_ascii_lowercase();
        let Some((name, k)) = lower.split_once('@') else {
            return match lower.as_str() {
                "mrr" => Ok(Metric::ReciprocalRank(None)),
                "map" => Ok(Metric::AveragePrecision),
                "bpref" => Ok(Metric::Bpref),
                _ => Err(unknown()),
            };
        };
        let k: u32 = k.parse().ok().filter(|&k| k > 0).ok_or_else(unknown)?;
        match name {
            "ndcg" => Ok(Metric::Ndcg(k)),
            "recall" | "r" => Ok(Metric::Recall(k)),
            "precision" | "p" => Ok(Metric::Precision(k)),
            "mrr" => Ok(Metric::ReciprocalRank(Some(k))),
            "judged" => Ok(Metric::Judged(k)),
            "condensed_ndcg" => Ok(Metric::CondensedNdcg(k)),
            _ => Err(unknown()),
        }
    }
}

/// Metrics with their values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics(Vec<(Metric, f64)>);

/// Writes the metrics as an object, such as `{"ndcg@1":0.5}`.
impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(metric, value)| (metric.to_string(), value)))
    }
}

impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Metrics, D::Error> {
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = Metrics;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("an object of metrics")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metrics, A::Error> {
                let mut metrics = Vec::new();
                while let Some(metric) = map.next_entry()? {
                    metrics.push(metric);
                }
                Ok(Metrics(metrics))
            }
        }
        deserializer.deserialize_map(Map)
    }
}

/// A title that a system ranks, and whether it was judged for the query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedTitle<'a> {
    /// The title, with grade 0 if it was not judged.
    pub title: Scored<'a>,
    /// Whether it has a judgment.
    pub judged: bool,
}

impl Metrics {
    /// Returns the value by which parameters are chosen: the mean of NDCG@1, @3 and @10.
    pub fn objective(&self) -> f64 {
        Metric::NDCG.iter().map(|&metric| self.get(metric)).sum::<f64>() / Metric::NDCG.len() as f64
    }

    /// Computes `metrics` of a system's answer to a query. `grades` has the grades of all titles judged for the query, ranked or
    /// not.
    pub fn compute(
        ranked: &[RankedTitle<'_>],
        grades: &[u8],
        metrics: impl IntoIterator<Item = Metric>,
        options: &EvaluateOptions,
    ) -> Metrics {
        let EvaluateOptions { gain, ties, relevant_from } = *options;
        let ranking = |titles: Vec<Scored<'_>>| Ranking::new(titles, grades.to_vec(), ties);
        let all = LazyCell::new(|| ranking(ranked.iter().map(|of| of.title).collect()));
        let condensed = LazyCell::new(|| ranking(ranked.iter().filter(|of| of.judged).map(|of| of.title).collect()));
        let seen = LazyCell::new(|| {
            ranking(ranked.iter().map(|of| Scored { grade: u8::from(of.judged), ..of.title }).collect())
        });
        let value = |metric: Metric| match metric {
            Metric::Ndcg(k) => all.ndcg(k as usize, gain),
            Metric::Recall(k) => all.recall(k as usize, relevant_from),
            Metric::Precision(k) => all.precision(k as usize, relevant_from),
            Metric::ReciprocalRank(Some(k)) => all.reciprocal_rank_of(k as usize, relevant_from),
            Metric::ReciprocalRank(None) => all.reciprocal_rank(relevant_from),
            Metric::AveragePrecision => all.average_precision(relevant_from),
            Metric::Judged(k) => {
                let shown = ranked.len().min(k as usize).max(1);
                seen.precision(k as usize, 1) * f64::from(k) / shown as f64
            }
            Metric::CondensedNdcg(k) => condensed.ndcg(k as usize, gain),
            Metric::Bpref => condensed.bpref(relevant_from),
        };
        Metrics(metrics.into_iter().map(|metric| (metric, value(metric))).collect())
    }

    /// Returns the value of a metric.
    ///
    /// # Panics
    ///
    /// If the metric was not computed.
    pub fn get(&self, metric: Metric) -> f64 {
        let found = self.0.iter().find(|(other, _)| *other == metric);
        found.unwrap_or_else(|| panic!("{metric} was not computed")).1
    }

    /// Iterates over the metrics with their values.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Metric, f64)> + '_ {
        self.0.iter().copied()
    }

    /// Returns the mean of each metric over queries that have the same metrics; no metrics without queries.
    pub fn mean<'a>(queries: impl IntoIterator<Item = &'a Metrics>) -> Metrics {
        let mut queries = queries.into_iter();
        let mut mean = queries.next().cloned().unwrap_or_default();
        let mut count = 1u64;
        for metrics in queries {
            count += 1;
            mean.0.iter_mut().zip(&metrics.0).for_each(|(sum, value)| sum.1 += value.1);
        }
        mean.0.iter_mut().for_each(|sum| sum.1 /= count as f64);
        mean
    }

    /// Returns 0 for each metric.
    pub(super) fn zero(metrics: &[Metric]) -> Metrics {
        Metrics(metrics.iter().map(|&metric| (metric, 0.0)).collect())
    }

    /// Changes every value by `change`.
    #[cfg(test)]
    pub(crate) fn map(&self, change: impl Fn(f64) -> f64) -> Metrics {
        Metrics(self.iter().map(|(metric, value)| (metric, change(value))).collect())
    }
}

impl FromIterator<(Metric, f64)> for Metrics {
    fn from_iter<I: IntoIterator<Item = (Metric, f64)>>(values: I) -> Metrics {
        Metrics(values.into_iter().collect())
    }
}

/// NDCG@1 + NDCG@3 as the value.
impl From<Metrics> for Score {
    fn from(metrics: Metrics) -> Score {
        let value = metrics.get(Metric::Ndcg(1)) + metrics.get(Metric::Ndcg(3));
        Score {
            value,
            figures: metrics.iter().map(|(metric, value)| (metric.to_string(), value)).collect(),
            ..Score::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_there_and_back() {
        for metric in Metric::OF_SEARCH.into_iter().chain(Metric::OF_JUDGED) {
            assert_eq!(metric.to_string().parse::<Metric>().unwrap(), metric);
        }
        assert_eq!("P@5".parse::<Metric>().unwrap(), Metric::Precision(5));
        for bad in ["", "ndcg", "ndcg@", "ndcg@0", "ndcg@-1", "map@10", "ndcg@10.5", "ndcg@99999999999", "f1@3"] {
            let message = bad.parse::<Metric>().unwrap_err().to_string();
            assert!(message.ends_with(&format!("found `{bad}`")), "{message}");
        }
    }
}
