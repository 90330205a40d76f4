//! `--weighting`: how a click log's counts become weights.

use clap::ValueEnum;
use clickvec::train::Weighting;
use serde::Deserialize;

/// How a click log's counts become weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WeightingFlag {
    /// The logarithm of 1 + count.
    Log,
    /// The count.
    Linear,
    /// 1.
    None,
    /// One click for each pair, as in the papers, whatever the columns count and weight say; 0 if one of them is 0.
    Binary,
}

impl From<WeightingFlag> for Weighting {
    fn from(flag: WeightingFlag) -> Weighting {
        match flag {
            WeightingFlag::Log => Weighting::Log,
            WeightingFlag::Linear => Weighting::Linear,
            WeightingFlag::None => Weighting::None,
            WeightingFlag::Binary => Weighting::Binary,
        }
    }
}
