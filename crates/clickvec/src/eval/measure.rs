//! Measures of result lists from a whole collection, in which most titles have no judgment.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use super::{EvaluateOptions, FullQuery, Ranking, Scored};
use crate::error::shortened;
use crate::index::Hit;
use crate::tables::Title;

/// A measure of the titles found for one query, from 0 to 1. A title without a judgment counts as not relevant, unless the
/// measure leaves such titles out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Measure {
    /// NDCG of the first k.
    Ndcg(u32),
    /// The share of the relevant titles that are among the first k.
    Recall(u32),
    /// The share of the first k ranks with a relevant title.
    Precision(u32),
    /// 1 / rank of the first relevant title among the first k; its mean is MRR.
    ReciprocalRank(u32),
    /// Average precision of the whole list; its mean is MAP.
    AveragePrecision,
    /// The share of the first k titles that have a judgment.
    Judged(u32),
    /// NDCG of the first k judged titles, after all others are removed from the list (Sakai, "Alternatives to bpref",
    /// 2007).
    CondensedNdcg(u32),
    /// Binary preference: how rarely a title judged not relevant comes before a relevant one (Buckley, Voorhees, "Retrieval
    /// evaluation with incomplete information", 2004), as trec_eval computes it.
    Bpref,
}

/// The error for an unknown name of a measure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a measure, one of `ndcg@K`, `recall@K`, `precision@K`, `mrr@K`, `judged@K`, `condensed_ndcg@K` with a K of 1 \
     or more, `map` and `bpref`, found `{found}`"
)]
pub struct NoMeasure {
    /// The name.
    pub found: String,
}

impl Measure {
    /// The measures of a report by default.
    pub const USUAL: [Measure; 6] = [
        Measure::Ndcg(10),
        Measure::Recall(100),
        Measure::ReciprocalRank(10),
        Measure::Judged(10),
        Measure::CondensedNdcg(10),
        Measure::Bpref,
    ];

    /// The number of titles at the top of a list that the measure looks at; `None` if it looks at the whole list.
    pub fn depth(self) -> Option<u32> {
        match self {
            Measure::Ndcg(k) | Measure::Recall(k) | Measure::Precision(k) => Some(k),
            Measure::ReciprocalRank(k) | Measure::Judged(k) => Some(k),
            Measure::AveragePrecision | Measure::CondensedNdcg(_) | Measure::Bpref => None,
        }
    }

    /// Whether a larger value means a better system. The share of titles with a judgment says nothing about quality.
    pub fn is_quality(self) -> bool {
        !matches!(self, Measure::Judged(_))
    }
}

impl Display for Measure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Measure::Ndcg(k) => write!(f, "ndcg@{k}"),
            Measure::Recall(k) => write!(f, "recall@{k}"),
            Measure::Precision(k) => write!(f, "precision@{k}"),
            Measure::ReciprocalRank(k) => write!(f, "mrr@{k}"),
            Measure::AveragePrecision => f.write_str("map"),
            Measure::Judged(k) => write!(f, "judged@{k}"),
            Measure::CondensedNdcg(k) => write!(f, "condensed_ndcg@{k}"),
            Measure::Bpref => f.write_str("bpref"),
        }
    }
}

impl FromStr for Measure {
    type Err = NoMeasure;

    fn from_str(text: &str) -> Result<Measure, NoMeasure> {
        let none = || NoMeasure { found: shortened(text) };
        let lower = text.to_ascii_lowercase();
        let Some((name, k)) = lower.split_once('@') else {
            return match lower.as_str() {
                "map" => Ok(Measure::AveragePrecision),
                "bpref" => Ok(Measure::Bpref),
                _ => Err(none()),
            };
        };
        let k: u32 = k.parse().ok().filter(|&k| k > 0).ok_or_else(none)?;
        match name {
            "ndcg" => Ok(Measure::Ndcg(k)),
            "recall" | "r" => Ok(Measure::Recall(k)),
            "precision" | "p" => Ok(Measure::Precision(k)),
            "mrr" => Ok(Measure::ReciprocalRank(k)),
            "judged" => Ok(Measure::Judged(k)),
            "condensed_ndcg" => Ok(Measure::CondensedNdcg(k)),
            _ => Err(none()),
        }
    }
}

/// A result list with its judgments.
pub(super) struct JudgedList {
    /// The ranking with grade 0 for titles without a judgment.
    all: Ranking,
    /// The ranking of the judged titles alone.
    condensed: Ranking,
    /// The ranking with grade 1 for titles with a judgment, and 0 for the others.
    seen: Ranking,
    len: usize,
}

impl JudgedList {
    pub(super) fn new(query: &FullQuery, hits: &[Hit], titles: &[Title], options: &EvaluateOptions) -> JudgedList {
        let scored: Vec<(Scored<'_>, bool)> = hits
            .iter()
            .map(|hit| {
                let grade = query.grade(hit.position);
                let id = titles[hit.position as usize].id.as_str();
                (Scored { id, score: f64::from(hit.score), grade: grade.unwrap_or(0) }, grade.is_some())
            })
            .collect();
        let ranking = |titles: Vec<Scored<'_>>| Ranking::new(titles, query.grades.clone(), options.ties);
        JudgedList {
            all: ranking(scored.iter().map(|of| of.0).collect()),
            condensed: ranking(scored.iter().filter(|of| of.1).map(|of| of.0).collect()),
            seen: ranking(scored.iter().map(|&(of, judged)| Scored { grade: u8::from(judged), ..of }).collect()),
            len: hits.len(),
        }
    }

    pub(super) fn value(&self, measure: Measure, options: &EvaluateOptions) -> f64 {
        let EvaluateOptions { gain, relevant_from, .. } = *options;
        match measure {
            Measure::Ndcg(k) => self.all.ndcg(k as usize, gain),
            Measure::Recall(k) => self.all.recall(k as usize, relevant_from),
            Measure::Precision(k) => self.all.precision(k as usize, relevant_from),
            Measure::ReciprocalRank(k) => self.all.reciprocal_rank_of(k as usize, relevant_from),
            Measure::AveragePrecision => self.all.average_precision(relevant_from),
            Measure::Judged(k) => {
                let shown = self.len.min(k as usize).max(1);
                self.seen.precision(k as usize, 1) * f64::from(k) / shown as f64
            }
            Measure::CondensedNdcg(k) => self.condensed.ndcg(k as usize, gain),
            Measure::Bpref => self.condensed.bpref(relevant_from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_there_and_back() {
        for measure in Measure::USUAL.into_iter().chain([Measure::Precision(5), Measure::AveragePrecision]) {
            assert_eq!(measure.to_string().parse(), Ok(measure));
        }
        assert_eq!("P@5".parse(), Ok(Measure::Precision(5)));
        for bad in ["", "ndcg", "ndcg@", "ndcg@0", "ndcg@-1", "map@10", "ndcg@10.5", "ndcg@99999999999", "f1@3"] {
            let message = bad.parse::<Measure>().unwrap_err().to_string();
            assert!(message.ends_with(&format!("found `{bad}`")), "{message}");
        }
    }
}
