//! What held-out queries say, for people.

use std::fmt::Write as _;

use clickvec::train::HeldOutCounts;
use clickvec_eval::training::{HeldOutMeans, HeldOutSummary};
use clickvec_eval::{Comparison, Correction, HeldOutTest, Metric, Verdict};

use crate::output;
use crate::report::{Cell, Column, Table};
use clickvec_report::numbers::{difference, probability};

/// Says which queries are held out, or that all are learnt. `then_all`: whether all are learnt in the end.
pub(super) fn note_counts(counts: &HeldOutCounts, then_all: bool) {
    let of_queries = output::counted(counts.of_queries, "query");
    if counts.queries == 0 {
        let are = output::agreeing(counts.of_queries, "is", "are");
        output::note(format_args!(
            "held out: nothing, since {of_queries} {are} too few to judge by; all clicks are learnt, and the last epoch is kept"
        ));
        return;
    }
    let (queries, pairs) = (output::count(counts.queries), output::counted(counts.pairs, "pair"));
    output::note(format_args!(
        "held out: {queries} of {of_queries} with {pairs}, to judge the model by; {}",
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

/// Returns the report for people. `learns_titles`: whether the model has learnt from titles too.
pub(super) fn text(summary: &HeldOutSummary, learns_titles: bool) -> String {
    let HeldOutSummary { counts, report } = summary;
    let metrics = HeldOutTest::METRICS.map(|metric| Column::number(metric.heading()));
    let mut table = Table::new([Column::text("held-out queries")].into_iter().chain(metrics));
    for system in &report.systems {
        let means = system.mean.iter().map(|(_, mean)| format!("{mean:.3}"));
        table.add(std::iter::once(system.name.clone()).chain(means).map(Cell::from));
    }
    let mut text = format!("\n{}\n\n", table.to_text());
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
    for test in &report.tests {
        let Comparison { a, b, test: found, holm, .. } = test;
        let _ = writeln!(
            text,
            "{a} − {b}: {} {}, p {} (paired t-test, corrected for {} tests)",
            HeldOutTest::DECIDES.heading(),
            difference(found.difference),
            probability(*holm),
            report.tests.len()
        );
    }
    text.push_str(&verdict(summary, learns_titles));
    text
}

/// Returns what the tests say, in words.
fn verdict(summary: &HeldOutSummary, learns_titles: bool) -> String {
    let of = |wanted: Verdict| -> String {
        let tests = summary.report.tests.iter().filter(|test| test.verdict(Correction::Holm) == wanted);
        tests.map(|test| test.b.as_str()).collect::<Vec<_>>().join(" nor than ")
    };
    if summary.shares_no_words() {
        return "BM25 and letter trigrams find next to nothing, since queries and titles share no words, so this \
                    comparison says little; compare with rankers that learn from clicks (`lab table --ranker wtm`)"
            .to_owned();
    }
    let (better, worse, not_shown) = (of(Verdict::Better), of(Verdict::Worse), of(Verdict::NotShown));
    if worse.is_empty() && not_shown.is_empty() {
        let both = better.replace(" nor than ", " and than ");
        return format!("the model finds what users click better than {both}, which need no training");
    }
    let mut said = Vec::new();
    if !worse.is_empty() {
        said.push(format!("the model is worse than {}", worse.replace(" nor than ", " and than ")));
    }
    if !not_shown.is_empty() {
        said.push(format!("the model is not shown to be better than {not_shown}"));
    }
    format!(
        "training does not pay here by itself: {}; {}search with both (`evaluate --full --fusion`)",
        said.join(", and "),
        if learns_titles { "" } else { "learn from all titles too (`--titles`), or " }
    )
}
