//! The report of an evaluation for programs: part of the interface, see `docs/evaluation.md`.

use std::io::Write;

use anyhow::Result;
use clickvec::eval::Comparison;
use serde::Serialize;

use super::Results;
use crate::metrics::{ByKey, key};
use crate::output;

#[derive(Serialize)]
struct Report<'a> {
    queries: usize,
    queries_without_relevant: usize,
    systems: Vec<System<'a>>,
    tests: Vec<Test<'a>>,
}

#[derive(Serialize)]
struct System<'a> {
    name: &'a str,
    #[serde(flatten)]
    mean: ByKey<'a>,
}

#[derive(Serialize)]
struct Test<'a> {
    a: &'a str,
    b: &'a str,
    metric: &'static str,
    /// The mean of a − b.
    difference: f64,
    /// `null` where all differences are the same: t is infinite.
    t: f64,
    p: f64,
    /// p, corrected for all pairs of systems.
    holm: f64,
}

/// Prints the report as one line.
pub(super) fn print(results: &Results, tests: &[Comparison]) -> Result<()> {
    let systems = results.evaluations.iter().map(|system| System { name: &system.name, mean: ByKey(&system.mean) });
    let tests = tests.iter().map(|Comparison { a, b, metric, test, holm }| Test {
        a,
        b,
        metric: key(*metric),
        difference: test.difference,
        t: test.t,
        p: test.p,
        holm: *holm,
    });
    let report = Report {
        queries: results.queries.len(),
        queries_without_relevant: results.evaluations.first().map_or(0, |system| system.queries_without_relevant),
        systems: systems.collect(),
        tests: tests.collect(),
    };
    let mut out = output::stdout();
    output::json_line(&mut out, &report)?;
    output::written(out.flush())
}
