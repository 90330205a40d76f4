//! The report of an evaluation as JSON. Other programs read it, so its form is part of the interface, described in
//! `docs/reference/json.md`.

use std::io::Write;

use anyhow::Result;
use clickvec::eval::{Comparison, Overlap};
use serde::Serialize;

use super::Results;
use super::fusion::Fused;
use crate::metrics::{ByKey, PairJson};
use crate::output;

#[derive(Serialize)]
struct Report<'a> {
    queries: usize,
    queries_without_relevant: usize,
    /// Only with a click log.
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<OverlapJson<'a>>,
    systems: Vec<SystemJson<'a>>,
    /// Systems that could not be trained or read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOut<'a>>,
    tests: Vec<PairJson<'a>>,
}

/// A system that is not in the report.
#[derive(Serialize)]
pub(super) struct LeftOut<'a> {
    name: &'a str,
    why: &'a str,
}

impl<'a> From<&'a (String, String)> for LeftOut<'a> {
    fn from((name, why): &'a (String, String)) -> LeftOut<'a> {
        LeftOut { name, why }
    }
}

/// How much of a test set is also in the click log.
#[derive(Serialize)]
pub(crate) struct OverlapJson<'a> {
    queries: u64,
    of_queries: u64,
    pairs: u64,
    of_pairs: u64,
    first: &'a [String],
}

impl<'a> From<&'a Overlap> for OverlapJson<'a> {
    fn from(overlap: &'a Overlap) -> OverlapJson<'a> {
        let &Overlap { queries, of_queries, pairs, of_pairs, ref first } = overlap;
        OverlapJson { queries, of_queries, pairs, of_pairs, first }
    }
}

#[derive(Serialize)]
struct SystemJson<'a> {
    name: &'a str,
    #[serde(flatten)]
    mean: ByKey<'a>,
    /// The fusion's members and weights, if this system is a fusion.
    #[serde(skip_serializing_if = "Option::is_none")]
    fusion: Option<Fusion<'a>>,
}

#[derive(Serialize)]
pub(super) struct Fusion<'a> {
    method: &'a str,
    members: Vec<Member<'a>>,
    /// The number of queries that the weights were fitted on; `null` if they were not fitted.
    fitted_on: Option<usize>,
}

#[derive(Serialize)]
struct Member<'a> {
    name: &'a str,
    weight: f64,
}

/// The members and weights of the system `name`, if it is a fusion.
pub(super) fn fusion_of<'a>(fused: &'a [Fused], name: &str) -> Option<Fusion<'a>> {
    let fused = fused.iter().find(|fused| fused.name == name)?;
    let members = fused.members.iter().map(|(name, weight)| Member { name, weight: *weight }).collect();
    Some(Fusion { method: &fused.method, members, fitted_on: fused.fitted_on })
}

/// Prints the report as one line.
pub(super) fn print(results: &Results, tests: &[Comparison]) -> Result<()> {
    let systems = results.evaluations.iter().map(|system| SystemJson {
        name: &system.name,
        mean: ByKey(&system.mean),
        fusion: fusion_of(&results.fused, &system.name),
    });
    let report = Report {
        queries: results.queries.len(),
        queries_without_relevant: results.evaluations.first().map_or(0, |system| system.queries_without_relevant),
        overlap: results.overlap.as_ref().map(OverlapJson::from),
        systems: systems.collect(),
        left_out: results.left_out.iter().map(LeftOut::from).collect(),
        tests: tests.iter().map(PairJson::from).collect(),
    };
    let mut out = output::stdout();
    output::json_line(&mut out, &report)?;
    output::written(out.flush())
}
