//! What held-out queries say, for people.

use std::fmt::Write as _;

use clickvec::train::HeldOutCounts;
use clickvec_eval::training::{HeldOutMeans, HeldOutSummary};
use clickvec_eval::{Comparison, Contest, Evidence, Metric};

use crate::output;
use crate::report::{Cell, Column, Table};
use clickvec_report::numbers::{difference, probability};

/// Says which queries are held out, or that all are learnt. `then_all`: whether all are learnt in the end.
pub(super) fn note_counts(counts: &HeldOutCounts, then_all: bool) {
    let all = output::counted(counts.of_queries, "query");
    if counts.queries == 0 {
        let are = output::agreeing(counts.of_queries, "is", "are");
        output::note(format_args!(
            "held out: nothing, since {all} {are} too few to judge by; all clicks are learnt, and the last epoch is kept"
        ));
        return;
    }
    let (queries, pairs) = (output::count(counts.queries), output::counted(counts.pairs, "pair"));
    output::note(format_args!(
        "held out: {queries} of {all} with {pairs}, to judge the model by; {}",
        if then_all { "then all clicks are learnt" } else { "`--held-out 0` learns all clicks" }
    ));
}

/// Returns the end of an epoch's line.
pub(super) fn line(means: &HeldOutMeans) -> String {
    let shown = means.metrics.iter();
    let shown = shown.filter(|(metric, _)| matches!(metric, Metric::Ndcg(10) | Metric::Recall(_)));
    let line = "  held out:".to_owned();
    let line = shown.fold(line, |line, (metric, mean)| format!("{line} {} {mean:.3}", metric.heading()));
    means.loss.map_or(line.clone(), |loss| format!("{line} loss {loss:.4}"))
}

/// Returns the report for people.
pub(super) fn text(summary: &HeldOutSummary) -> String {
    let HeldOutSummary { counts, choice, report, .. } = summary;
    let mut text = format!("{choice}\n\n{}\n\n", table("held-out queries", report));
    let titles = if counts.titles == counts.of_titles {
        format!("all {}", output::counted(counts.titles, "distinct title"))
    } else {
        format!("{} of {}", output::count(counts.titles), output::counted(counts.of_titles, "title"))
    };
    let _ = writeln!(
        text,
        "{}, each searched among {titles}; a clicked title is relevant, any other is not{}",
        output::counted(counts.queries, "query"),
        if counts.graded {
            ";\na clicked title has a grade from 1 to 4, a higher one if its clicks weigh more"
        } else {
            ""
        }
    );
    text.push_str(&tests(report));
    if summary.shares_no_words() {
        text.push_str(
            "BM25 and letter trigrams find next to nothing, since queries and titles share no words, so this comparison says \
             little; compare with rankers that learn from clicks (`lab table --ranker wtm`)",
        );
        return text;
    }
    if let Some(warning) = &report.warning {
        let _ = writeln!(text, "{warning}");
    }
    text.push_str(&report.conclusion);
    text
}

/// Returns a table with a row for each system, under this heading.
pub(crate) fn table(heading: &str, contest: &Contest) -> String {
    let metrics = contest.systems.iter().take(1).flat_map(|system| system.mean.iter());
    let heads = metrics.map(|(metric, _)| match (contest.evidence, metric) {
        (Evidence::Clicks, Metric::Judged(k)) => format!("clicked@{k}"),
        (Evidence::Impressions, Metric::Judged(k)) => format!("shown@{k}"),
        (_, metric) => metric.heading(),
    });
    let mut table = Table::new([Column::text(heading)].into_iter().chain(heads.map(Column::number)));
    for system in &contest.systems {
        let means = system.mean.iter().map(|(_, mean)| format!("{mean:.3}"));
        table.add(std::iter::once(system.name.clone()).chain(means).map(Cell::from));
    }
    table.to_text()
}

/// Returns a line for each test.
pub(crate) fn tests(contest: &Contest) -> String {
    let mut text = String::new();
    for test in &contest.tests {
        let Comparison { a, b, metric, test: found, holm, .. } = test;
        let _ = writeln!(
            text,
            "{a} − {b}: {} {}, p {} (paired t-test, corrected for {} tests)",
            metric.heading(),
            difference(found.difference),
            probability(*holm),
            contest.tests.len()
        );
    }
    text
}
