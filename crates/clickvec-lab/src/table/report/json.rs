//! The table as JSON, which is part of the interface; see `docs/reference/json.md`.

use std::collections::BTreeMap;

use clickvec_eval::{Comparison, Metric, Metrics, Overlap};
use serde::{Serialize, Serializer};

use super::super::spec::RowSpec;
use super::super::{Full, PairComparison};
use super::{Report, verdict};

#[derive(Serialize)]
struct TableJson<'a> {
    title: Option<&'a str>,
    /// The column that was judged.
    field: &'a str,
    queries: usize,
    /// The fingerprint of the judged queries, titles and grades.
    fingerprint: String,
    folds: usize,
    /// Only with a click log.
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<&'a Overlap>,
    systems: Vec<SystemJson<'a>>,
    tests: &'a [Comparison],
    /// The tests between searches of all titles.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    all_titles_tests: &'a [Comparison],
    against_first: Vec<Against<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    claims: Vec<ClaimJson<'a>>,
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
    /// For a model: the number of its weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<u64>,
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

/// A claim, and the comparisons of its pairs, which are corrected together.
#[derive(Serialize)]
struct ClaimJson<'a> {
    name: &'a str,
    pairs: Vec<Against<'a>>,
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
    /// `None` over queries and seeds.
    randomization: Option<f64>,
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
            weights: judged.weights(),
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
    let against = |pair: &PairComparison| Against {
        system: name(pair.positions[0]),
        against: name(pair.positions[1]),
        metric: pair.comparison.metric.to_string(),
        difference: pair.interval.mean,
        interval: [pair.interval.low, pair.interval.high],
        p: pair.comparison.test.p,
        holm: pair.comparison.holm,
        randomization: pair.randomization.map(|test| test.p),
        queries_that_differ: pair.comparison.test.differing,
        minimum_detectable: pair.minimum_detectable,
        verdict: verdict(pair),
    };
    let claims = report.spec.claims.iter().zip(&report.statistics.claims);
    let claims =
        claims.map(|(claim, pairs)| ClaimJson { name: &claim.name, pairs: pairs.iter().map(against).collect() });
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
        fingerprint: format!("{:016x}", report.table.judgments.fingerprint()),
        folds: report.table.folds.count(),
        overlap: report.overlap.as_ref(),
        systems: systems.collect(),
        tests: &report.statistics.tests,
        all_titles_tests: &report.statistics.full_tests,
        claims: claims.collect(),
        against_first: report.statistics.against.iter().map(against).collect(),
        first_titles: first_titles.collect(),
        query_ids: report.table.judgments.queries.iter().map(|query| query.id.as_str()).collect(),
        query_texts: report.table.judgments.queries.iter().map(|query| query.text.as_str()).collect(),
    }
}
