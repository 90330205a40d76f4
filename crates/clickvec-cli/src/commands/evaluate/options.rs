//! The values of options that have a form of their own.

use std::path::PathBuf;
use std::str::FromStr;

/// The value of `--fusion-weights`.
#[derive(Debug, Clone)]
pub(super) enum Weights {
    Fixed(Vec<f64>),
    /// A file of other judged titles to fit the weights on.
    Fitted(PathBuf),
}

impl Weights {
    pub(super) fn file(&self) -> Option<&PathBuf> {
        match self {
            Weights::Fixed(_) => None,
            Weights::Fitted(path) => Some(path),
        }
    }
}

impl FromStr for Weights {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Weights, Self::Err> {
        let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse()).collect();
        Ok(numbers.map_or_else(|_| Weights::Fitted(text.into()), Weights::Fixed))
    }
}
