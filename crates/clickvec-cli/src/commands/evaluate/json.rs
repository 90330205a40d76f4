//! The report of an evaluation as JSON. Other programs read it, so its form is part of the interface, described in
//! `docs/reference/json.md`.

use std::io::Write;

use anyhow::Result;
use clickvec_eval::{Comparison, Overlap};
use serde::Serialize;

use super::Results;
use super::fusion::Fused;
use super::test::Test;
use crate::metrics::ByKey;
use crate::output;

#[derive(Serialize)]
struct Report<'a> {
    queries: usize,
    queries_without_relevant: usize,
    /// Only if systems search a collection.
    #[serde(flatten)]
    collection: Option<CollectionJson>,
    /// Only with a click log.
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<OverlapJson<'a>>,
    metrics: Vec<String>,
    systems: Vec<SystemJson<'a>>,
    /// Systems that could not be trained or read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOut<'a>>,
    tests: &'a [Comparison],
}

/// The collection that systems search.
#[derive(Serialize)]
struct CollectionJson {
    titles: usize,
    depth: usize,
    judged: u64,
    judged_not_in_titles: u64,
}

/// A system that is not in the report.
#[derive(Serialize)]
struct LeftOut<'a> {
    name: &'a str,
    why: &'a str,
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
    /// Only if systems search a collection.
    #[serde(skip_serializing_if = "Option::is_none")]
    queries_without_titles: Option<usize>,
    /// The fusion's members and weights, if this system is a fusion.
    #[serde(skip_serializing_if = "Option::is_none")]
    fusion: Option<Fusion<'a>>,
}

#[derive(Serialize)]
struct Fusion<'a> {
    method: String,
    members: Vec<Member<'a>>,
    /// The number of queries that the weights were fitted on; `null` if they were not fitted.
    fitted_on: Option<usize>,
}

#[derive(Serialize)]
struct Member<'a> {
    name: &'a str,
    weight: f64,
}

impl<'a> From<&'a Fused> for Fusion<'a> {
    fn from(fused: &'a Fused) -> Fusion<'a> {
        let members = fused.members.iter().map(|(name, weight)| Member { name, weight: *weight }).collect();
        Fusion { method: fused.method.value(), members, fitted_on: fused.fitted_on }
    }
}

/// Prints the report as one line.
pub(super) fn print(test: &Test, results: &Results, tests: &[Comparison]) -> Result<()> {
    let collection = test.collection().filter(|_| !test.is_of_runs_alone()).map(|set| CollectionJson {
        titles: set.titles.len(),
        depth: test.depth,
        judged: set.judged,
        judged_not_in_titles: set.missing.count,
    });
    let systems = results.evaluations.iter().map(|system| SystemJson {
        name: &system.name,
        mean: ByKey(&system.mean),
        queries_without_titles: collection.as_ref().map(|_| system.queries_without_titles),
        fusion: results.fused.iter().find(|fused| fused.name == system.name).map(Fusion::from),
    });
    let systems = systems.collect();
    let report = Report {
        queries: test.task().len(),
        queries_without_relevant: results.evaluations.first().map_or(0, |system| system.queries_without_relevant),
        collection,
        overlap: results.overlap.as_ref().map(OverlapJson::from),
        metrics: test.metrics.iter().map(ToString::to_string).collect(),
        systems,
        left_out: results.left_out.iter().map(|(name, why)| LeftOut { name, why }).collect(),
        tests,
    };
    let mut out = output::stdout();
    output::json_line(&mut out, &report)?;
    output::written(out.flush())
}
