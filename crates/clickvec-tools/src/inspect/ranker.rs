//! The contents of the file of a trained ranker.

use std::path::Path;

use clickvec_eval::internals::ranker_parameters;
use clickvec_eval::ranker::{RankerSpec, load_with};
use clickvec_tables::Result;

use super::facts::Facts;

/// Describes a ranker: its system with its parameters, as `evaluate` takes them.
pub(super) fn ranker(path: &Path) -> Result<Facts> {
    // Whole, as what uses it would read it.
    load_with(path, &clickvec_lab::SYSTEMS)?;
    let mut facts = Facts::default();
    let (name, parameters) = ranker_parameters(path, &clickvec_lab::SYSTEMS)?;
    let parameters = parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let spec = RankerSpec { name: name.to_owned(), parameters, ..RankerSpec::default() };
    facts.add("ranker", spec.to_string());
    Ok(facts)
}
