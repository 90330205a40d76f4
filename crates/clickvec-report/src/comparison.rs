//! Tables of systems that were judged on the same queries, and of the tests between them.

use std::fmt::Write as _;

use clickvec_eval::{Comparison, Contest, Correction, Evaluation, Evidence, Metric, Standing, beaten};

use crate::numbers::{difference, probability};
use crate::report::{Cell, Column, Table};
use crate::superscripts::{letter, marks};

/// The number of metrics in a table of tests. More would not fit on a terminal.
const TESTED_METRICS: usize = 3;

/// Returns a table with a row for each system and a column for each of the first `shown` metrics.
pub fn systems_table(systems: &[Evaluation], tests: &[Comparison], shown: usize) -> Table {
    let metrics: Vec<Metric> = metrics(systems).take(shown).collect();
    let heads = metrics.iter().map(|metric| metric.heading());
    let mut table = Table::new(["", "system"].map(str::to_owned).into_iter().chain(heads).map(Column::text));
    for (position, system) in systems.iter().enumerate() {
        let mut row = vec![letter(position), system.name.clone()];
        row.extend(metrics.iter().map(|&metric| {
            let beaten = beaten(position, metric, systems, tests, Correction::None);
            format!("{:.3}{}", system.mean.get(metric), marks(&beaten))
        }));
        table.add(row.into_iter().map(Cell::from));
    }
    table
}

/// Returns a table with a row for each pair of systems: the difference and its p-value for the first metrics. The difference is the
/// later system minus the earlier one. Baselines come first, so an improvement is positive.
pub fn tests_table(systems: &[Evaluation], tests: &[Comparison]) -> Table {
    let metrics: Vec<Metric> = metrics(systems).filter(|metric| metric.is_quality()).take(TESTED_METRICS).collect();
    let heads = metrics.iter().flat_map(|metric| [metric.heading(), "p".to_owned()]);
    let mut table = Table::new([Column::text("difference")].into_iter().chain(heads.map(Column::number)));
    let label = |name: &str| match systems.iter().position(|system| system.name == name) {
        Some(position) => letter(position),
        None => name.to_owned(),
    };
    for pair in tests.chunk_by(|x, y| (&x.a, &x.b) == (&y.a, &y.b)) {
        let mut row = vec![format!("{} − {}", label(&pair[0].b), label(&pair[0].a))];
        for metric in &metrics {
            match pair.iter().find(|test| test.metric == *metric) {
                Some(Comparison { test, .. }) => row.extend([difference(-test.difference), probability(test.p)]),
                None => row.extend([String::new(), String::new()]),
            }
        }
        table.add(row.into_iter().map(Cell::from));
    }
    table
}

/// Returns a table with a row for each system and a column for each metric, whose head is `head`.
pub fn means_table(heading: &str, systems: &[Standing], head: impl Fn(Metric) -> String) -> Table {
    let metrics = systems.iter().take(1).flat_map(|system| system.mean.iter());
    let heads = metrics.map(|(metric, _)| Column::number(head(metric)));
    let mut table = Table::new([Column::text(heading)].into_iter().chain(heads));
    for Standing { name, mean } in systems {
        let means = mean.iter().map(|(_, mean)| format!("{mean:.3}"));
        table.add([name.clone()].into_iter().chain(means).map(Cell::from));
    }
    table
}

/// Returns [`means_table`] of a contest, which says what evidence the share of judged titles comes from.
pub fn contest_table(heading: &str, contest: &Contest) -> Table {
    means_table(heading, &contest.systems, |metric| match (contest.evidence, metric) {
        (Evidence::Clicks, Metric::Judged(k)) => format!("clicked@{k}"),
        (Evidence::Impressions, Metric::Judged(k)) => format!("shown@{k}"),
        (_, metric) => metric.heading(),
    })
}

/// Returns a line for each test of a contest.
pub fn contest_tests(contest: &Contest) -> String {
    let mut text = String::new();
    for Comparison { a, b, metric, test, holm } in &contest.tests {
        let (metric, difference, p) = (metric.heading(), difference(test.difference), probability(*holm));
        let tests = contest.tests.len();
        let _ = writeln!(text, "{a} − {b}: {metric} {difference}, p {p} (paired t-test, corrected for {tests} tests)");
    }
    text
}

/// Iterates over the metrics that the systems were judged by.
fn metrics(systems: &[Evaluation]) -> impl Iterator<Item = Metric> {
    systems.first().into_iter().flat_map(|system| system.mean.iter()).map(|(metric, _)| metric)
}
