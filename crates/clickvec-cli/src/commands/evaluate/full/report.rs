//! The report of `evaluate --full`: as text, as JSON, and query by query.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use anyhow::Result;
use clickvec::Error;
use clickvec::eval::{Comparison, Correction, FullEvaluation, Gain, Measure, Ties, Verdict};
use clickvec::internals::files;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::super::Args;
use super::super::json::{OverlapJson, fusion_of};
use super::super::report::{LISTED_SYSTEMS, difference, fusions_text, probability};
use super::Results;
use crate::metrics::PairJson;
use crate::superscripts::{letter, marks};
use crate::{aligned, output};

/// The number of measures in the table of tests. More would not fit on a terminal.
const TESTED_MEASURES: usize = 3;

/// Writes and prints the requested reports.
pub(super) fn print(results: &Results<'_>, tests: &[Comparison<Measure>], args: &Args) -> Result<()> {
    if let Some(path) = &args.per_query {
        write_per_query(path, results)?;
    }
    if args.json {
        return print_json(results, tests);
    }
    match results.evaluations.is_empty() {
        true => output::note("no system is left to evaluate"),
        false => output::print(text(results, tests))?,
    }
    Ok(())
}

/// The heading of a column.
fn head(measure: Measure) -> String {
    match measure {
        Measure::Ndcg(k) => format!("NDCG@{k}"),
        Measure::Recall(k) => format!("R@{k}"),
        Measure::Precision(k) => format!("P@{k}"),
        Measure::ReciprocalRank(k) => format!("MRR@{k}"),
        Measure::AveragePrecision => "MAP".to_owned(),
        Measure::Judged(k) => format!("judged@{k}"),
        Measure::CondensedNdcg(k) => format!("NDCG'@{k}"),
        Measure::Bpref => "bpref".to_owned(),
    }
}

/// The whole report as text.
fn text(results: &Results<'_>, tests: &[Comparison<Measure>]) -> String {
    let systems = &results.evaluations;
    let mut table = aligned::plain();
    let heads = ["".to_owned(), "system".to_owned()].into_iter().chain(results.measures.iter().map(|&of| head(of)));
    table.set_header(heads);
    for (place, system) in systems.iter().enumerate() {
        let mut row = vec![letter(place), output::printable(&system.name).into_owned()];
        for (measure, mean) in results.measures.iter().zip(&system.mean) {
            row.push(format!("{mean:.3}{}", marks(&beaten(place, *measure, systems, tests))));
        }
        table.add_row(row);
    }
    let mut text = format!("{}\n", aligned::show(&mut table));
    let queries = output::counted(results.set.queries.len() as u64, "query");
    let titles = output::counted(results.set.titles.len() as u64, "title");
    let gain = match results.options.gain {
        Gain::Exponential => "gain 2^grade − 1",
        Gain::Linear => "gain = grade",
    };
    let ties = match results.options.ties {
        Ties::Expected => "mean over the orders of ties",
        Ties::Trec => "ties by id, descending",
    };
    let depth = output::count(results.depth as u64);
    let _ = writeln!(text, "\n{queries}, each searched in all {titles} to a depth of {depth}; {gain}; {ties}");
    text.push_str("titles without a judgment count as not relevant");
    if results.measures.iter().any(|of| matches!(of, Measure::CondensedNdcg(_) | Measure::Bpref)) {
        text.push_str("; NDCG' and bpref leave them out");
    }
    if results.measures.iter().any(|of| matches!(of, Measure::Judged(_))) {
        text.push_str("\njudged@k is the share of the first k titles that has a judgment");
    }
    text.push('\n');
    for system in systems.iter().filter(|system| system.without_titles > 0) {
        let queries = output::counted(system.without_titles as u64, "query");
        let _ = writeln!(text, "{}: found nothing for {queries}", output::printable(&system.name));
    }
    text.push_str(&fusions_text(&results.fused));
    if systems.len() < 2 {
        return text;
    }
    text.push_str("ᵃ: significantly better than system a (paired t-test over queries, p < 0.05)\n");
    let compared = systems.len() * (systems.len() - 1) / 2;
    if systems.len() > 2 {
        let _ = writeln!(text, "p is not corrected for the {} tests; `--json` has corrected values", tests.len());
    }
    if systems.len() > LISTED_SYSTEMS {
        let _ = writeln!(text, "`--json` has the tests between all {compared} pairs of systems");
        return text;
    }
    let _ = writeln!(text, "\n{}", tests_table(results, tests));
    text
}

/// The systems that the one at `place` is significantly better than, by their places.
fn beaten(place: usize, measure: Measure, systems: &[FullEvaluation], tests: &[Comparison<Measure>]) -> Vec<usize> {
    let name = &systems[place].name;
    let loser = |test: &Comparison<Measure>| match test.verdict(Correction::None) {
        Verdict::Better if test.a == *name => systems.iter().position(|system| system.name == test.b),
        Verdict::Worse if test.b == *name => systems.iter().position(|system| system.name == test.a),
        _ => None,
    };
    let mut places: Vec<usize> = tests.iter().filter(|test| test.metric == measure).filter_map(loser).collect();
    places.sort_unstable();
    places
}

/// One row for each pair of systems, with the difference: the later minus the earlier, so an improvement is positive.
fn tests_table(results: &Results<'_>, tests: &[Comparison<Measure>]) -> String {
    let measures: Vec<Measure> =
        results.measures.iter().copied().filter(|of| of.is_quality()).take(TESTED_MEASURES).collect();
    let mut table = aligned::plain();
    let heads = measures.iter().flat_map(|&of| [head(of), "p".to_owned()]);
    table.set_header(["difference".to_owned()].into_iter().chain(heads));
    let systems = &results.evaluations;
    let label = |name: &str| systems.iter().position(|system| system.name == name).map_or_else(String::new, letter);
    for pair in tests.chunk_by(|x, y| (&x.a, &x.b) == (&y.a, &y.b)) {
        let mut row = vec![format!("{} − {}", label(&pair[0].b), label(&pair[0].a))];
        for measure in &measures {
            let test = pair.iter().find(|test| test.metric == *measure);
            row.extend(match test {
                Some(Comparison { test, .. }) => [difference(-test.difference), probability(test.p)],
                None => [String::new(), String::new()],
            });
        }
        table.add_row(row);
    }
    aligned::align_right(&mut table, 1..2 * measures.len() + 1);
    aligned::show(&mut table)
}

/// Writes one row for each system and query.
fn write_per_query(path: &Path, results: &Results<'_>) -> Result<()> {
    let failed = |source| Error::io(path, "write", source);
    files::write_atomically(path, |file| {
        let keys: Vec<String> = results.measures.iter().map(Measure::to_string).collect();
        writeln!(file, "system\tquery_id\tquery\t{}", keys.join("\t")).map_err(failed)?;
        for system in &results.evaluations {
            let name = output::printable(&system.name);
            for (query, values) in results.set.queries.iter().zip(&system.queries) {
                let values: Vec<String> = values.iter().map(f64::to_string).collect();
                writeln!(file, "{name}\t{}\t{}\t{}", query.id, query.text, values.join("\t")).map_err(failed)?;
            }
        }
        Ok(())
    })
}

#[derive(Serialize)]
struct Report<'a> {
    queries: usize,
    titles: usize,
    depth: usize,
    judged: u64,
    judged_not_in_titles: u64,
    /// Only with a click log.
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<OverlapJson<'a>>,
    measures: Vec<String>,
    systems: Vec<SystemJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<super::super::json::LeftOut<'a>>,
    tests: Vec<PairJson<'a>>,
}

#[derive(Serialize)]
struct SystemJson<'a> {
    name: &'a str,
    #[serde(flatten)]
    mean: ByMeasure<'a>,
    queries_without_titles: usize,
    /// The fusion's members and weights, if this system is a fusion.
    #[serde(skip_serializing_if = "Option::is_none")]
    fusion: Option<super::super::json::Fusion<'a>>,
}

/// The means as an object: `{"ndcg@10":…,…}`.
struct ByMeasure<'a>(&'a [Measure], &'a [f64]);

impl Serialize for ByMeasure<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (measure, value) in self.0.iter().zip(self.1) {
            map.serialize_entry(&measure.to_string(), value)?;
        }
        map.end()
    }
}

fn print_json(results: &Results<'_>, tests: &[Comparison<Measure>]) -> Result<()> {
    let systems = results.evaluations.iter().map(|of| SystemJson {
        name: &of.name,
        mean: ByMeasure(results.measures, &of.mean),
        queries_without_titles: of.without_titles,
        fusion: fusion_of(&results.fused, &of.name),
    });
    let tests = tests.iter().map(PairJson::from);
    let report = Report {
        queries: results.set.queries.len(),
        titles: results.set.titles.len(),
        depth: results.depth,
        judged: results.set.judged,
        judged_not_in_titles: results.set.missing.count,
        overlap: results.overlap.as_ref().map(OverlapJson::from),
        measures: results.measures.iter().map(Measure::to_string).collect(),
        systems: systems.collect(),
        left_out: results.left_out.iter().map(Into::into).collect(),
        tests: tests.collect(),
    };
    let mut out = output::stdout();
    output::json_line(&mut out, &report)?;
    output::written(out.flush())
}
