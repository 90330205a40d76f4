//! What is in the file of a trained ranker or of a fusion.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use clickvec_eval::internals::{FusionFile, FusionMember, fusion_members, ranker_parameters};
use clickvec_eval::ranker::FusionMethod;
use serde_json::{Value, json};

use super::Details;
use crate::{aligned, output};

/// Name and parameters of a system.
type SystemParameters = (&'static str, Vec<(&'static str, f64)>);

/// Describes a ranker: its system with its parameters.
pub(super) fn ranker(path: &Path) -> Result<Details> {
    // Whole, as what uses it would read it.
    clickvec_eval::ranker::load_with(path, &clickvec_lab::SYSTEMS)?;
    let system = ranker_parameters(path, &clickvec_lab::SYSTEMS)?;
    Details::new(format!("ranker  {}\n", spec(&system)), &json!({ "ranker": of_system(&system) }))
}

/// The name of a method, and the k of reciprocal ranks.
pub(crate) fn method_name(method: FusionMethod) -> (&'static str, Option<f64>) {
    match method {
        FusionMethod::Linear => ("linear", None),
        FusionMethod::MinMax => ("min-max", None),
        FusionMethod::ZScore => ("z-score", None),
        FusionMethod::ReciprocalRank { k } => ("reciprocal-rank", Some(k)),
    }
}

/// Describes a fusion: its method and its members, with their weights.
pub(super) fn fusion(path: &Path) -> Result<Details> {
    clickvec_eval::ranker::load_with(path, &clickvec_lab::SYSTEMS)?;
    let FusionFile { method, members } = fusion_members(path, &clickvec_lab::SYSTEMS)?;
    let (name, k) = method_name(method);
    let of_member = |member: &FusionMember| {
        json!({
            "file": member.path.file_name().unwrap_or_default().to_string_lossy(),
            "weight": member.weight,
            "fingerprint": member.fingerprint,
            "ranker": member.system.as_ref().map_or(Value::Null, of_system),
        })
    };
    let report = json!({ "fusion": name, "k": k, "members": members.iter().map(of_member).collect::<Vec<_>>() });
    let mut rows = aligned::plain();
    rows.set_header(["weight", "system", "file"]);
    let digits = if method == FusionMethod::Linear { 4 } else { 2 };
    for member in &members {
        let file = member.path.file_name().unwrap_or_default().to_string_lossy();
        let system = member.system.as_ref().map_or_else(|| "a model".to_owned(), spec);
        rows.add_row([format!("{:.digits$}", member.weight), system, output::printable(&file).into_owned()]);
    }
    aligned::align_right(&mut rows, 0..1);
    let k = k.map_or_else(String::new, |k| format!(", k = {k}"));
    Details::new(format!("fusion  {name}{k}\n\n{}\n", aligned::show(&mut rows)), &report)
}

fn of_system((name, parameters): &SystemParameters) -> Value {
    let parameters: serde_json::Map<String, Value> =
        parameters.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    json!({ "system": name, "parameters": parameters })
}

/// As `--ranker` takes it.
fn spec((name, parameters): &SystemParameters) -> String {
    let mut text = (*name).to_owned();
    for (place, (parameter, value)) in parameters.iter().enumerate() {
        let _ = write!(text, "{}{parameter}={value}", if place == 0 { ":" } else { "," });
    }
    text
}
