//! The value of `--fusion`.

use std::path::PathBuf;
use std::str::FromStr;

use clickvec_eval::ranker::FusionMethod;
use clickvec_tables::Error;

/// A fusion: `linear`, `linear:1,0.5` or `linear:FILE`.
#[derive(Debug, Clone)]
pub(super) struct FusionOption {
    pub(super) method: FusionMethod,
    /// Without weights all systems count alike.
    pub(super) weights: Option<Weights>,
}

#[derive(Debug, Clone)]
pub(super) enum Weights {
    Fixed(Vec<f64>),
    /// A file of other judged titles to fit the weights on.
    Fitted(PathBuf),
}

impl FusionOption {
    /// Returns the name of the fusion in the report.
    pub(super) fn name(&self) -> String {
        format!("fusion:{}", self.method.name())
    }

    /// Returns the file that its weights are fitted on.
    pub(super) fn file(&self) -> Option<&PathBuf> {
        match &self.weights {
            Some(Weights::Fitted(path)) => Some(path),
            _ => None,
        }
    }
}

impl FromStr for FusionOption {
    type Err = Error;

    fn from_str(text: &str) -> Result<FusionOption, Error> {
        let (method, weights) = text.split_once(':').map_or((text, None), |(method, weights)| (method, Some(weights)));
        let weights = weights.map(|text| {
            let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse()).collect();
            numbers.map_or_else(|_| Weights::Fitted(text.into()), Weights::Fixed)
        });
        Ok(FusionOption { method: method.parse()?, weights })
    }
}
