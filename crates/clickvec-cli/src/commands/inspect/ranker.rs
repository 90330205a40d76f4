//! What is in the file of a trained ranker or of a fusion.

use std::path::Path;

use anyhow::Result;
use clickvec_eval::internals::{FusionFile, FusionMember, fusion_members, ranker_parameters};
use clickvec_eval::ranker::{FusionMethod, RankerSpec, load_with};
use serde_json::json;

use super::facts::Facts;

/// Describes a ranker: its system with its parameters, as `evaluate` takes them.
pub(super) fn ranker(path: &Path) -> Result<Facts> {
    // Whole, as what uses it would read it.
    load_with(path, &clickvec_lab::SYSTEMS)?;
    let mut facts = Facts::default();
    facts.add("ranker", spec(ranker_parameters(path, &clickvec_lab::SYSTEMS)?))?;
    Ok(facts)
}

/// Describes a fusion: its method and its members, with their weights.
pub(super) fn fusion(path: &Path) -> Result<Facts> {
    load_with(path, &clickvec_lab::SYSTEMS)?;
    let FusionFile { method, members } = fusion_members(path, &clickvec_lab::SYSTEMS)?;
    let member = |member: FusionMember| {
        json!({
            "file": member.path.file_name().unwrap_or_default().to_string_lossy(),
            "fingerprint": member.fingerprint,
            "ranker": member.system.map_or_else(|| "model".to_owned(), spec),
            "weight": member.weight,
        })
    };
    let mut facts = Facts::default();
    facts.add("fusion", method.name())?;
    if let FusionMethod::ReciprocalRank { k } = method {
        facts.add("k", k)?;
    }
    facts.add("members", members.into_iter().map(member).collect::<Vec<_>>())?;
    Ok(facts)
}

fn spec((name, parameters): (&'static str, Vec<(&'static str, f64)>)) -> String {
    let parameters = parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    RankerSpec { name: name.to_owned(), parameters, ..RankerSpec::default() }.to_string()
}
