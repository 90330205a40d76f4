//! One HTML page that needs nothing else: the table, the grades of first titles of any two systems, every query, the
//! lengths of texts and the curves of training. What is drawn is in `page.html`; here are its numbers.

use anyhow::{Context, Result};
use clickvec::eval::Metric;
use clickvec::text::words;
use serde::Serialize;

use super::report::Report;

const PAGE: &str = include_str!("page.html");
const DATA: &str = "/*DATA*/null";

#[derive(Serialize)]
struct Data<'a> {
    title: &'a str,
    table: Vec<Vec<String>>,
    notes: Vec<String>,
    against: Vec<(&'static str, Vec<Vec<String>>)>,
    parameters: Vec<String>,
    systems: Vec<&'a str>,
    queries: Vec<Query<'a>>,
    /// How many texts have 0, 1, 2 … words.
    lengths: Lengths,
    /// Loss of each epoch.
    curves: Vec<Curve<'a>>,
}

#[derive(Serialize)]
struct Query<'a> {
    text: &'a str,
    titles: Vec<(&'a str, u8)>,
    /// By system, then title.
    scores: Vec<Vec<f64>>,
    /// By system: NDCG@1, @3, @10.
    ndcg: Vec<[f64; 3]>,
}

#[derive(Serialize)]
struct Lengths {
    queries: Vec<u64>,
    titles: Vec<u64>,
}

#[derive(Serialize)]
struct Curve<'a> {
    name: &'a str,
    losses: &'a [f64],
}

/// The whole page.
pub(super) fn page(report: &Report<'_>) -> Result<String> {
    let judged: Vec<_> = report.judged().collect();
    let queries = report.judgments.queries.iter().enumerate().map(|(query, judged_query)| Query {
        text: &judged_query.text,
        titles: judged_query.titles.iter().map(|title| (title.text.as_str(), title.grade)).collect(),
        scores: judged
            .iter()
            .map(|(_, _, row)| row.scores[query].iter().map(|&score| short(score)).collect())
            .collect(),
        ndcg: judged
            .iter()
            .map(|(_, _, row)| Metric::NDCG.map(|metric| short(row.evaluation.queries[query].metrics.get(metric))))
            .collect(),
    });
    let curves = judged.iter().flat_map(|(_, row, judged)| {
        let longest = judged.chosen.iter().map(|&place| &judged.points[place].losses);
        longest.max_by_key(|losses| losses.len()).map(|losses| Curve { name: &row.name, losses })
    });
    let against = match report.statistics.evaluations.len() {
        0 | 1 => Vec::new(),
        _ => Metric::NDCG.map(|metric| (metric.name(), report.against_first(metric))).to_vec(),
    };
    let data = Data {
        title: report.spec.title.as_deref().unwrap_or("Systems compared"),
        table: report.cells(),
        notes: report.notes(),
        against,
        parameters: report.parameters(),
        systems: judged.iter().map(|(_, row, _)| row.name.as_str()).collect(),
        queries: queries.collect(),
        lengths: lengths(report),
        curves: curves.filter(|curve| curve.losses.len() > 1).collect(),
    };
    // `</script>` in a title would end the script.
    let json = serde_json::to_string(&data).context("cannot write the page's numbers")?.replace("</", "<\\/");
    Ok(PAGE.replacen(DATA, &json, 1))
}

/// Six digits are enough to order titles by.
fn short(number: f64) -> f64 {
    match number == 0.0 || !number.is_finite() {
        true => 0.0,
        false => {
            let scale = 10f64.powi(6 - number.abs().log10().ceil() as i32);
            (number * scale).round() / scale
        }
    }
}

fn lengths(report: &Report<'_>) -> Lengths {
    let count = |lengths: &mut Vec<u64>, text: &str| {
        let length = words(text).len();
        lengths.resize(lengths.len().max(length + 1), 0);
        lengths[length] += 1;
    };
    let (mut queries, mut titles) = (Vec::new(), Vec::new());
    for query in &report.judgments.queries {
        count(&mut queries, &query.text);
        query.titles.iter().for_each(|title| count(&mut titles, &title.text));
    }
    Lengths { queries, titles }
}
