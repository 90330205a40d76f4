//! The values of options that have a form of their own.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::output;

/// The files of one `--vectors`: one of all texts, or one of queries and one of titles.
#[derive(Debug, Clone)]
pub(super) struct VectorFiles(pub(super) Vec<PathBuf>);

impl FromStr for VectorFiles {
    type Err = String;

    fn from_str(text: &str) -> Result<VectorFiles, String> {
        // A file may have a comma in its name.
        let files: Vec<PathBuf> =
            if Path::new(text).exists() { vec![text.into()] } else { text.split(',').map(PathBuf::from).collect() };
        match files.len() {
            1 | 2 if files.iter().all(|file| !file.as_os_str().is_empty()) => Ok(VectorFiles(files)),
            found => Err(format!("expected FILE or QUERIES,TITLES, found {}", output::counted(found as u64, "name"))),
        }
    }
}

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
