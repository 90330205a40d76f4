//! The table as JSON, which is part of the interface; see `docs/reference/json.md`.

use std::collections::BTreeMap;

use clickvec_eval::{Comparison, Metric, Metrics, Overlap};
use serde::{Serialize, Serializer};

use super::super::CrossedComparison;
use super::super::Full;
use super::super::spec::RowSpec;
use super::{Report, verdict};

#[derive(Serialize)]
struct TableJson<'a> {
    title: Option<&'a str>,
    /// The column that was judged.
    field: &'a str,
    queries: usize,
    folds: usize,
    /// Only with a click log.
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<&'a Overlap>,
    systems: Vec<SystemJson<'a>>,
    tests: &'a [Comparison],
    /// The same over queries and seeds, if there are several.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tests_over_seeds: &'a [CrossedComparison],
    /// The tests between searches of all titles.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    all_titles_tests: &'a [Comparison],
    against_first: Vec<Against<'a>>,
    /// Empty unless grades are 0 to 4.
    first_titles: Vec<FirstTitles<'a>>,
    query_ids: Vec<&'a str>,
    query_texts: Vec<&'a str>,
}

#[derive(Serialize)]
struct SystemJson<'a> {
    name: &'a str,
    #[serde(flatten)]
    mean: Option<&'a Metrics>,
    /// For each seed, if there are several, the means.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    seeds: &'a [Metrics],
    /// The search of all titles.
    #[serde(skip_serializing_if = "Option::is_none")]
    all_titles: Option<AllTitles<'a>>,
    /// 95 % confidence intervals of NDCG@1, @3 and @10.
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<[[f64; 2]; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paper: Option<[f64; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten)]
    made: Option<Made<'a>>,
}

#[derive(Serialize)]
struct AllTitles<'a> {
    /// The mean of each metric.
    #[serde(flatten)]
    mean: &'a Metrics,
    /// For each seed, if there are several, the means.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    seeds: &'a [Metrics],
    /// The value of each query, in the order of `query_ids`.
    per_query: BTreeMap<String, Vec<f64>>,
}

impl<'a> From<&'a Full> for AllTitles<'a> {
    fn from(full: &'a Full) -> AllTitles<'a> {
        let seeds = if full.seeds.len() > 1 { &full.seeds[..] } else { &[] };
        let per_query = Full::METRICS.map(|metric| (metric.to_string(), full.evaluation.values(metric)));
        AllTitles { mean: &full.evaluation.mean, seeds, per_query: per_query.into() }
    }
}

#[derive(Serialize)]
struct Made<'a> {
    /// The parameters of each fold.
    parameters: Vec<&'a str>,
    train_seconds: f64,
    bytes: u64,
    peak_bytes: Option<u64>,
    /// For a model: the mean loss of a pair in each epoch, for each seed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    losses: Vec<&'a [f64]>,
    /// The value of each query, in the order of `query_ids`.
    per_query: BTreeMap<String, Vec<f64>>,
    /// The same for each seed, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    per_query_by_seed: Vec<BTreeMap<String, Vec<f64>>>,
}

#[derive(Serialize)]
struct Against<'a> {
    system: &'a str,
    /// The system that it is compared with.
    against: &'a str,
    metric: String,
    difference: f64,
    interval: [f64; 2],
    p: f64,
    holm: f64,
    randomization: f64,
    queries_that_differ: usize,
    minimum_detectable: Option<f64>,
    verdict: &'static str,
}

/// The grades of the first titles of two systems on the same queries, as in table 7 of the CLSM paper.
#[derive(Serialize)]
struct FirstTitles<'a> {
    /// Its grades are the rows: bad, fair, good or better.
    system: &'a str,
    /// Its grades are the columns.
    against: &'a str,
    queries: [[f64; 3]; 3],
}

impl Serialize for Report<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        build(self).serialize(serializer)
    }
}

fn build<'a>(report: &'a Report<'_>) -> TableJson<'a> {
    let mut positions = 0;
    let values_of = |queries: &Vec<Metrics>| {
        let values = |metric| queries.iter().map(|query| query.get(metric)).collect();
        Metric::NDCG.map(|metric: Metric| (metric.to_string(), values(metric))).into()
    };
    let losses_of = |name: &str| report.trained().find(|(row, ..)| row.name == name).map(|(.., losses)| losses);
    let rows = report.table.rows.iter().zip(&report.spec.systems);
    let systems = rows.map(|(row, &RowSpec { paper, .. })| {
        let Ok(judged) = &row.outcome else {
            let error = row.outcome.as_ref().err().map(ToString::to_string);
            let (seeds, all_titles): (&[Metrics], _) = (&[], None);
            return SystemJson {
                name: &row.name,
                mean: None,
                seeds,
                all_titles,
                intervals: None,
                paper,
                error,
                made: None,
            };
        };
        let intervals = report.statistics.intervals[positions].map(|interval| [interval.low, interval.high]);
        positions += 1;
        let parameters = judged.chosen.iter().map(|&position| judged.points[position].parameters.as_str()).collect();
        let made = Made {
            parameters,
            train_seconds: judged.train_seconds(),
            bytes: judged.bytes(),
            peak_bytes: judged.peak_bytes(),
            losses: losses_of(&row.name).unwrap_or_default(),
            per_query: Metric::NDCG.map(|metric| (metric.to_string(), judged.evaluation.values(metric))).into(),
            per_query_by_seed: judged.by_seed.iter().filter(|_| judged.by_seed.len() > 1).map(values_of).collect(),
        };
        let mean = Some(&judged.evaluation.mean);
        let seeds = if judged.seeds.len() > 1 { &judged.seeds[..] } else { &[] };
        let all_titles = judged.full.as_ref().map(AllTitles::from);
        let intervals = Some(intervals);
        SystemJson { name: &row.name, mean, seeds, all_titles, intervals, paper, error: None, made: Some(made) }
    });
    let name = |position: usize| report.statistics.evaluations[position].name.as_str();
    let against = report.statistics.against.iter().map(|against| Against {
        system: name(against.position),
        against: name(report.statistics.base),
        metric: against.comparison.metric.to_string(),
        difference: against.interval.mean,
        interval: [against.interval.low, against.interval.high],
        p: against.comparison.test.p,
        holm: against.comparison.holm,
        randomization: against.randomization.p,
        queries_that_differ: against.comparison.test.differing,
        minimum_detectable: against.minimum_detectable,
        verdict: verdict(against),
    });
    let grades = report.first_grades().rounded(|count| (count * 1e5).round() / 1e5);
    let base = report.statistics.base;
    let first_titles =
        (0..report.statistics.evaluations.len()).filter(|&position| position != base).filter_map(|position| {
            Some(FirstTitles {
                system: name(position),
                against: name(base),
                queries: grades.as_in_the_paper(position, base)?,
            })
        });
    TableJson {
        title: report.spec.title.as_deref(),
        field: report.spec.data.field(),
        queries: report.table.judgments.queries.len(),
        folds: report.table.folds.count(),
        overlap: report.overlap.as_ref(),
        systems: systems.collect(),
        tests: &report.statistics.tests,
        tests_over_seeds: &report.statistics.crossed,
        all_titles_tests: &report.statistics.full_tests,
        against_first: against.collect(),
        first_titles: first_titles.collect(),
        query_ids: report.table.judgments.queries.iter().map(|query| query.id.as_str()).collect(),
        query_texts: report.table.judgments.queries.iter().map(|query| query.text.as_str()).collect(),
    }
}
