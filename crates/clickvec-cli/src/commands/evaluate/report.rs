//! The report of an evaluation: as JSON, as text, and query by query.

use std::fmt::Write as _;
use std::path::Path;

use clickvec_eval::ranker::{Parameter, Stage, System};
use clickvec_eval::{
    Agreement, Comparison, EvaluationSet, Evidence, Gain, LeftOut, Metric, Metrics, Overlap, Ties, unjudged_warning,
};
use clickvec_report::comparison::{systems_table, tests_table};
use clickvec_tools::evaluate::Test;
use serde::Serialize;

use super::power;
use crate::console;

/// The largest number of systems for which all tests are listed. Eight systems make 28 pairs.
const LISTED_SYSTEMS: usize = 8;
/// The number of metrics in a table of default metrics. More would not fit on a terminal.
const SHOWN_METRICS: usize = 6;

/// The contents of the report.
pub(super) struct Report<'t> {
    test: &'t Test,
    /// How much of the test set is also in the click log, if there is one.
    overlap: Option<Overlap>,
    /// The figures of each system, and the tests between them.
    pub(super) set: EvaluationSet,
}

/// The collection that systems search.
#[derive(Serialize)]
struct CollectionFacts {
    titles: usize,
    depth: usize,
    judged: u64,
    judged_not_in_titles: u64,
}

/// The report for other programs, described in `docs/reference/json.md`.
#[derive(Serialize)]
pub(super) struct Json<'a> {
    queries: usize,
    queries_without_relevant: usize,
    #[serde(flatten)]
    collection: Option<CollectionFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<&'a Overlap>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agreements: Vec<AgreementJson<'a>>,
    metrics: &'a [Metric],
    systems: Vec<SystemJson<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    left_out: &'a [LeftOut],
    tests: &'a [Comparison],
}

#[derive(Serialize)]
struct AgreementJson<'a> {
    #[serde(serialize_with = "console::json_path")]
    file: &'a Path,
    #[serde(flatten)]
    agreement: Agreement,
}

#[derive(Serialize)]
struct SystemJson<'a> {
    name: &'a str,
    #[serde(flatten)]
    mean: &'a Metrics,
    #[serde(skip_serializing_if = "Option::is_none")]
    queries_without_titles: Option<usize>,
}

/// Returns the list of all rankers and their parameters.
pub(crate) fn rankers(systems: &[&System]) -> String {
    let mut text = "Rankers:\n".to_owned();
    for system in systems {
        let _ = writeln!(text, "  {}: {}", system.name, system.about);
        for Parameter { name, default, least, most, stage, about, .. } in system.parameters {
            let when = if *stage == Stage::Training { "training" } else { "scoring" };
            let _ = writeln!(text, "      {name}={default}  {about} ({least} to {most}; {when})");
        }
    }
    text
}

impl<'t> Report<'t> {
    /// Creates a report.
    pub(super) fn new(test: &'t Test, overlap: Option<Overlap>, set: EvaluationSet) -> Report<'t> {
        Report { test, overlap, set }
    }

    fn queries_without_relevant(&self) -> usize {
        self.set.systems.first().map_or(0, |system| system.queries_without_relevant)
    }

    /// Returns the report for other programs.
    pub(super) fn json(&self) -> Json<'_> {
        let (test, searched) = (self.test, self.test.searched());
        let systems = self.set.systems.iter().map(|system| SystemJson {
            name: &system.name,
            mean: &system.mean,
            queries_without_titles: searched.map(|_| system.queries_without_titles),
        });
        Json {
            queries: test.task().len(),
            queries_without_relevant: self.queries_without_relevant(),
            collection: searched.map(|set| CollectionFacts {
                titles: set.titles.len(),
                depth: test.depth,
                judged: set.judged,
                judged_not_in_titles: set.missing.count,
            }),
            overlap: self.overlap.as_ref(),
            agreements: test.agreements.iter().map(|(file, of)| AgreementJson { file, agreement: *of }).collect(),
            metrics: &test.metrics,
            systems: systems.collect(),
            left_out: &self.set.left_out,
            tests: &self.set.tests,
        }
    }

    /// Returns the report for people. Default metrics are cut to the width of a terminal.
    pub(super) fn text(&self, default_metrics: bool) -> String {
        let EvaluationSet { systems, tests, .. } = &self.set;
        let shown = if default_metrics { SHOWN_METRICS } else { self.test.metrics.len() };
        let mut text = format!("{}\n\n{}", systems_table(systems, tests, shown).to_text(), self.about());
        let without_relevant = self.queries_without_relevant() as u64;
        if without_relevant > 0 {
            let queries = console::counted(without_relevant, "query");
            let [have, score] = [["has", "have"], ["scores", "score"]]
                .map(|[one, many]| console::agreeing(without_relevant, one, many));
            let _ = writeln!(text, "{queries} {have} no relevant title and {score} 0");
        }
        for system in systems.iter().filter(|system| system.queries_without_titles > 0) {
            let queries = console::counted(system.queries_without_titles as u64, "query");
            let _ = writeln!(text, "{}: found nothing for {queries}", console::printable(&system.name));
        }
        for (path, agreement) in &self.test.agreements {
            let _ = writeln!(text, "{}: {agreement}", console::path(path));
        }
        if systems.len() < 2 {
            return text;
        }
        text.push_str("ᵃ: significantly better than system a (paired t-test over queries, p < 0.05)\n");
        if systems.len() > 2 {
            let pairs = console::counted((systems.len() * (systems.len() - 1) / 2) as u64, "pair");
            let _ = writeln!(text, "p is not corrected for the {pairs} of systems; `--json` has corrected values");
        }
        if systems.len() > LISTED_SYSTEMS {
            text.push_str("`--json` has the tests of all pairs of systems\n");
            return text;
        }
        let _ = writeln!(text, "\n{}", tests_table(systems, tests).to_text());
        let power = power::text(systems);
        if !power.is_empty() {
            let _ = write!(text, "\n{power}");
        }
        text
    }

    /// Returns what the figures are about.
    fn about(&self) -> String {
        let test = self.test;
        let queries = console::counted(test.task().len() as u64, "query");
        let ties = match test.options.ties {
            Ties::Expected => "mean over the orders of ties",
            Ties::Trec => "ties by id, descending",
        };
        let gain = match test.options.gain {
            Gain::Exponential => "gain 2^grade − 1",
            Gain::Linear => "gain = grade",
        };
        let Some(set) = test.searched() else {
            return format!("{queries}; {gain}; {ties}\n");
        };
        let titles = console::counted(set.titles.len() as u64, "title");
        let depth = console::count(test.depth as u64);
        let mut text = format!("{queries}, each searched in all {titles} to a depth of {depth}; {gain}; {ties}\n");
        text.push_str("titles without a judgment count as not relevant");
        if test.metrics.iter().any(|metric| matches!(metric, Metric::CondensedNdcg(_) | Metric::Bpref)) {
            text.push_str("; NDCG' and bpref leave them out");
        }
        if test.metrics.iter().any(|metric| matches!(metric, Metric::Judged(_))) {
            text.push_str("\njudged@k is the share of the first k titles that has a judgment");
        }
        text.push('\n');
        if let Some(warning) = unjudged_warning(Evidence::Judgments, &self.set.systems) {
            let _ = writeln!(text, "warning: {warning}");
        }
        text
    }
}
