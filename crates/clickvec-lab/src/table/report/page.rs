//! A self-contained HTML page: the table, the grades of the first titles of any two systems, every query, the lengths
//! of texts and the training curves. This module writes the numbers and the empty places; `page.js` draws.

use clickvec::internals::text::words;
use clickvec::train::{LossKind, Negatives};
use clickvec_eval::{JudgedQuery, Judgments, Metric};
use clickvec_report::page;
use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use super::Report;
use super::grades::{FirstGrades, ranks};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Longer texts count as this long.
const MOST_WORDS: usize = 40;

#[derive(Serialize)]
struct Data<'a> {
    table: Vec<Vec<String>>,
    notes: Vec<String>,
    against: Vec<(String, Vec<Vec<String>>)>,
    parameters: Vec<String>,
    systems: Vec<&'a str>,
    /// By system, for NDCG@1, @3 and @10: the mean and both ends of its confidence interval.
    intervals: Vec<[[f64; 3]; 3]>,
    queries: Vec<Query<'a>>,
    first_grades: FirstGrades,
    /// The number of texts with 0, 1, 2, … words.
    lengths: Lengths,
    /// The loss of each epoch, the mean over the seeds.
    curves: Vec<Curve<'a>>,
}

#[derive(Serialize)]
struct Query<'a> {
    text: &'a str,
    /// Its words, and those of its titles, in the mean.
    words: [f64; 2],
    titles: Vec<(&'a str, u8)>,
    /// By system, then title: 1 for the best. Equal scores have equal ranks.
    ranks: Vec<Vec<u32>>,
    /// By system: NDCG@1, @3, @10.
    ndcg: Vec<[f64; 3]>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Lengths {
    queries: Vec<u64>,
    titles: Vec<u64>,
}

#[derive(Serialize)]
struct Curve<'a> {
    name: &'a str,
    /// The loss, the number of negatives and γ. Only losses with the same can be compared.
    loss: LossKind,
    negatives: usize,
    gamma: f32,
    losses: Vec<f64>,
}

impl Report<'_> {
    /// Returns the page.
    pub fn page(&self) -> String {
        build(self)
    }
}

fn build(report: &Report<'_>) -> String {
    let judged: Vec<_> = report.judged().collect();
    let queries = report.table.judgments.queries.iter().enumerate().map(|(query, judged_query)| Query {
        text: &judged_query.text,
        words: mean_words(judged_query),
        titles: judged_query.titles.iter().map(|title| (title.text.as_str(), title.grade)).collect(),
        ranks: judged.iter().map(|(_, _, row)| ranks(&row.scores[query])).collect(),
        ndcg: judged
            .iter()
            .map(|(_, _, row)| Metric::NDCG.map(|metric| rounded(row.evaluation.queries[query].metrics.get(metric))))
            .collect(),
    });
    let queries = queries.collect();
    let curves = report.trained().map(|(row, config, seeds)| {
        let negatives = match config.negatives {
            Negatives::Sampled(number) => number,
            Negatives::All => config.batch_size - 1,
        };
        Curve { name: &row.name, loss: config.loss.kind, negatives, gamma: config.loss.gamma, losses: means(&seeds) }
    });
    let data = Data {
        table: report.cells(),
        notes: report.notes(),
        against: report.comparisons(),
        parameters: report.parameters(),
        systems: judged.iter().map(|(_, row, _)| row.name.as_str()).collect(),
        intervals: report
            .statistics
            .intervals
            .iter()
            .map(|of| of.map(|interval| [interval.mean, interval.low, interval.high]))
            .collect(),
        queries,
        first_grades: report.first_grades().rounded(rounded),
        lengths: lengths(&report.table.judgments),
        curves: curves.filter(|curve| curve.losses.len() > 1).collect(),
    };
    // `</script>` or `<!--` in a title would end the script, or keep it from ending.
    let json = serde_json::to_string(&data).expect("numbers and texts").replace('<', "\\u003c");
    let title = report.spec.title.as_deref().unwrap_or("Systems compared");
    let script = PreEscaped(format!("\n\"use strict\";\nconst data = {json};\n{SCRIPT}"));
    let body = html! { h1 { (title) } (skeleton()) script { (script) } };
    page::page(title, STYLE, &body)
}

/// Returns the elements that the script fills.
fn skeleton() -> Markup {
    let rank = |id: &str| {
        html! {
            select id=(id) aria-label="rank" { option value="0" { "1" } option value="1" { "3" } option value="2" { "10" } }
        }
    };
    html! {
        div.wide #table {} div #notes {}
        noscript { p { "The table and all pictures are drawn by a script in this page." } }
        section #means {
            h2 { "How sure are these numbers?" }
            p.controls { "95 % confidence intervals of NDCG@" (rank("metric")) }
            div #intervals {}
        }
        section #versus { h2 { "How large are the differences?" } div #against {} }
        h2 { "Two systems compared" }
        p.controls { select.a #a aria-label="first system" {} " and " select.b #b aria-label="second system" {} }
        div.two {
            div { p { "Grade of the first title, queries in per cent" } div #grades {} }
            div {
                p { "The same queries in both: rows are the first system, columns the second" }
                div.wide #cross {}
                p #paperhead { "The same as in table 7 of the CLSM paper, with good, excellent and perfect as one" }
                div.wide #paper {}
            }
        }
        div #training {}
        h2 { "By length" }
        p.controls {
            "NDCG@" (rank("of"))
            " of the two systems, by the number of words; difference with its 95 % interval, normal approximation"
        }
        div.two { div.wide #byquery {} div.wide #bytitles {} }
        h2 { "Lengths" }
        p {
            "Words of judged " span.key style="background: var(--a)" {} "queries "
            span.key style="background: var(--b)" {} "titles, per cent of each"
        }
        div #lengths {}
        div #parameters {}
        h2 { "Every query" }
        p.controls {
            "NDCG@" (rank("k")) " "
            select #order aria-label="order" {
                option value="1" { "wins of the first system first" }
                option value="-1" { "wins of the second system first" }
            }
            " " input #search placeholder="words of a query" aria-label="words of a query"; " " span #count {}
        }
        div.list #queries {}
        p { button #more { "more" } }
    }
}

/// Returns the mean over the seeds, for as many epochs as each has.
fn means(seeds: &[&[f64]]) -> Vec<f64> {
    let epochs = seeds.iter().map(|losses| losses.len()).min().unwrap_or(0);
    let mean = |epoch: usize| seeds.iter().map(|losses| losses[epoch]).sum::<f64>() / seeds.len() as f64;
    (0..epochs).map(mean).collect()
}

/// Returns the number of words of a query, and the mean number of its titles'.
fn mean_words(query: &JudgedQuery) -> [f64; 2] {
    let count = |text: &str| words(text).len() as f64;
    let title_words: f64 = query.titles.iter().map(|title| count(&title.text)).sum();
    [count(&query.text), rounded(title_words / query.titles.len().max(1) as f64)]
}

/// Rounds to a little more than the four digits shown.
fn rounded(number: f64) -> f64 {
    (number * 1e5).round() / 1e5
}

/// Numbers of words in queries and in judged titles, counting each occurrence.
fn lengths(judgments: &Judgments) -> Lengths {
    let count = |lengths: &mut Vec<u64>, text: &str| {
        let length = words(text).len().min(MOST_WORDS);
        lengths.resize(lengths.len().max(length + 1), 0);
        lengths[length] += 1;
    };
    let (mut queries, mut titles) = (Vec::new(), Vec::new());
    for query in &judgments.queries {
        count(&mut queries, &query.text);
        query.titles.iter().for_each(|title| count(&mut titles, &title.text));
    }
    Lengths { queries, titles }
}

#[cfg(test)]
mod tests {
    use clickvec_eval::JudgedTitle;

    use super::*;

    #[test]
    fn texts_are_counted_by_their_words() {
        let judged = |query: &str, titles: &[&str]| JudgedQuery {
            id: String::new(),
            text: query.to_owned(),
            titles: titles
                .iter()
                .map(|text| JudgedTitle { id: String::new(), text: (*text).to_owned(), grade: 0 })
                .collect(),
        };
        let long = "a ".repeat(41);
        let queries = vec![
            judged("red lamp", &["Red lamp, 10 in.", "!", &long]),
            judged("lamp", &["lamp's", &long[..78]]),
            judged("a b", &["北京"]),
        ];
        let mut titles = vec![1, 1, 1, 0, 1];
        titles.resize(39, 0);
        titles.extend([1, 1]);
        assert_eq!(mean_words(&queries[0]), [2.0, 15.0], "titles of 4, 0 and 41 words");
        let found = lengths(&Judgments { queries, ..Judgments::default() });
        assert_eq!(found, Lengths { queries: vec![0, 1, 2], titles });
    }

    #[test]
    fn a_curve_is_the_mean_of_its_seeds_as_far_as_all_go() {
        assert_eq!(means(&[&[4.0, 2.0, 1.0], &[2.0, 1.0]]), [3.0, 1.5]);
        assert_eq!((means(&[&[1.5]]), means(&[])), (vec![1.5], vec![]));
    }
}
