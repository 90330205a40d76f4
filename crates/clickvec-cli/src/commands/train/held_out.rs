//! What held-out queries say, for people.

use std::fmt::Write as _;

use clickvec::train::HeldOutCounts;
use clickvec_eval::Metric;
use clickvec_eval::training::{HeldOutMeans, HeldOutSummary};
use clickvec_report::comparison::{contest_table, contest_tests};

use crate::console;

/// Says which queries are held out, or that all are learnt. `then_all`: whether all are learnt in the end.
pub(super) fn note_counts(counts: &HeldOutCounts, then_all: bool) {
    let all = console::counted(counts.of_queries, "query");
    if counts.queries == 0 {
        let are = console::agreeing(counts.of_queries, "is", "are");
        console::note(format_args!(
            "held out: none ({all} {are} too few); all clicks are learnt, and the last epoch is kept"
        ));
        return;
    }
    let (queries, pairs) = (console::count(counts.queries), console::counted(counts.pairs, "pair"));
    console::note(format_args!(
        "held out for evaluation: {queries} of {all} with {pairs}; {}",
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
    let mut text = format!("{choice}\n\n{}\n\n", contest_table("held-out queries", report).to_text());
    let titles = if counts.titles == counts.of_titles {
        format!("all {}", console::counted(counts.titles, "distinct title"))
    } else {
        format!("{} of {}", console::count(counts.titles), console::counted(counts.of_titles, "title"))
    };
    let _ = writeln!(
        text,
        "{}, each searched among {titles}; a clicked title is relevant, any other is not{}",
        console::counted(counts.queries, "query"),
        if counts.graded {
            ";\na clicked title has a grade from 1 to 4, a higher one if its clicks weigh more"
        } else {
            ""
        }
    );
    text.push_str(&contest_tests(report));
    if summary.shares_no_words() {
        text.push_str(
            "queries and titles share no words, so BM25 and letter trigrams find almost nothing; compare with rankers that learn \
             from clicks (`lab table --ranker wtm`)",
        );
        return text;
    }
    if let Some(warning) = &report.warning {
        let _ = writeln!(text, "{warning}");
    }
    text.push_str(&report.conclusion);
    text
}
