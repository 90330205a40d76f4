//! The report of an update: as text and as JSON.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use clickvec_eval::update::{
    Alignment, Drift, EARLIER, LEAST_QUERIES, NamedTrial, QueryMix, Report, Suspicion, Verdict,
};
use serde::Serialize;

use super::Args;
use crate::report::{Cell, Column, Table};
use crate::{output, progress};
use clickvec_report::numbers::difference;

/// Prints the report. `old` is the old model's fingerprint, and `unlisted` the number of titles of the index that `--titles` lacks.
pub(super) fn print(args: &Args, report: &Report, old: &str, unlisted: u64) -> Result<()> {
    if args.json { json(args, report, old, unlisted) } else { output::print(text(args, report)) }
}

fn text(args: &Args, report: &Report) -> String {
    let mut text = String::new();
    let [days, pairs] = [report.survey.days.len() as u64, report.survey.days.iter().map(|day| day.pairs).sum()];
    let [days, pairs] = [(days, "day"), (pairs, "pair")].map(|(count, noun)| output::counted(count, noun));
    let held_out: u64 = report.survey.days.iter().map(|day| day.held_out).sum();
    let _ = writeln!(text, "clicks        {pairs} of {days}, {} held out", output::count(held_out));
    if let Some(day) = report.survey.newest_day() {
        let share = |part: u64, all: u64| format!("{:.1} %", 100.0 * part as f64 / all.max(1) as f64);
        let _ = writeln!(
            text,
            "newest day    {}; {} with queries that are on no earlier day, {} on titles of the collection",
            output::counted(day.pairs, "pair"),
            share(day.new_queries, day.pairs),
            share(day.known, day.pairs)
        );
        let (unseen, all) = (report.survey.unseen_trigrams, report.survey.trigrams);
        let _ = writeln!(
            text,
            "new trigrams  {} of the newest day's trigrams are new to the old model",
            share(unseen, all)
        );
        text.push_str(&mix(&report.survey.mix));
    }
    if !report.trials.is_empty() {
        text.push('\n');
        text.push_str(&trials(&report.trials));
    }
    if let Some(drift) = &report.drift {
        let Drift { other_first, changed_lists, new_titles, vectors, .. } = drift;
        let _ = writeln!(
            text,
            "\nchanged       first title for {:.1} % of queries, first ten for {:.1} %, {:.1} % of the titles in the first ten",
            100.0 * other_first,
            100.0 * changed_lists,
            100.0 * new_titles
        );
        if let Some(Alignment { mean, fifth_percentile, least, .. }) = vectors {
            let _ = writeln!(
                text,
                "vectors       cosine of a title's old and new vector, rotated to fit: mean {mean:.3}, 5th percentile \
                 {fifth_percentile:.3}, lowest {least:.3}"
            );
        }
    }
    let seconds = &report.seconds;
    let [reading, training, testing, writing] = [seconds.reading, seconds.training, seconds.testing, seconds.writing]
        .map(|seconds| progress::duration(Duration::try_from_secs_f64(seconds).unwrap_or_default()));
    let _ =
        writeln!(text, "time          reading {reading}, training {training}, testing {testing}, writing {writing}");
    let model = args.output.as_ref().unwrap_or(&args.model).display();
    let _ = match &report.verdict {
        Verdict::Better(new) => {
            let fingerprint = new.fingerprint();
            writeln!(text, "\n{model}: replaced, fingerprint {fingerprint}: the new model is not significantly worse")
        }
        Verdict::Worse(on) => writeln!(text, "\n{model}: kept: the new model is worse on {}", on.join(" and ")),
        Verdict::Suspicious(suspicion) => {
            writeln!(text, "\n{model}: kept: {suspicion}\n`--trust-clicks` learns from them anyway")
        }
    };
    text
}

/// A line on the mix of queries; the numbers of earlier days are in parentheses.
fn mix(mix: &QueryMix) -> String {
    let QueryMix { earlier, newest } = mix;
    let Some(words) = newest.words_per_query else { return String::new() };
    let mut text = format!("queries       {words:.2} words");
    if let Some(before) = earlier.words_per_query {
        let _ = write!(text, " (earlier days {before:.2})");
    }
    if let (Some(share), Some(before)) = (newest.frequent, earlier.frequent) {
        let _ = write!(
            text,
            "; {:.1} % of clicks are on the 100 most frequent queries of earlier days (there {:.1} %)",
            100.0 * share,
            100.0 * before
        );
    }
    text + "\n"
}

/// A table with one row for each trial.
fn trials(trials: &[NamedTrial]) -> String {
    let numbers = ["queries", "nDCG@10 old", "new", "difference", "p"].map(Column::number);
    let mut table = Table::new([Column::text("searching all titles")].into_iter().chain(numbers));
    for NamedTrial { on, trial } in trials {
        let p = trial.test.evidence();
        let p = match trial.queries {
            0..LEAST_QUERIES => "too few".to_owned(),
            _ if p < 0.0001 => "<0.0001".to_owned(),
            _ => format!("{p:.4}"),
        };
        let row = [
            (*on).to_owned(),
            output::count(trial.queries as u64),
            format!("{:.3}", trial.old),
            format!("{:.3}", trial.new),
            difference(trial.test.difference),
            p,
        ];
        table.add(row.map(Cell::from));
    }
    let mut text = format!("{}\n", table.to_text());
    for NamedTrial { on, trial } in trials {
        if let Some(warning) = &trial.warning {
            let _ = writeln!(text, "{on}: {warning}");
        }
    }
    if trials.iter().any(|trial| trial.on == EARLIER) {
        text.push_str("\nclicks of earlier days do not decide: the old model may have learnt them\n");
    }
    text
}

#[derive(Serialize)]
struct Json<'a> {
    #[serde(serialize_with = "output::json_path")]
    model: &'a Path,
    promoted: bool,
    /// The fingerprint of the model that is there now.
    fingerprint: &'a str,
    old: &'a str,
    /// The trials in which the new model is worse.
    worse_on: &'a [&'static str],
    suspicion: Option<&'a Suspicion>,
    /// The number of titles of the index that the file of titles lacks, and whether they are kept.
    unlisted: u64,
    keeps_unlisted: bool,
    #[serde(flatten)]
    report: &'a Report,
}

fn json(args: &Args, report: &Report, old: &str, unlisted: u64) -> Result<()> {
    let (fingerprint, worse_on, suspicion) = match &report.verdict {
        Verdict::Better(new) => (new.fingerprint(), &[][..], None),
        Verdict::Worse(on) => (old, &on[..], None),
        Verdict::Suspicious(suspicion) => (old, &[][..], Some(suspicion)),
    };
    let json = Json {
        model: args.output.as_ref().unwrap_or(&args.model),
        promoted: matches!(report.verdict, Verdict::Better(_)),
        fingerprint,
        old,
        worse_on,
        suspicion,
        unlisted,
        keeps_unlisted: args.keep_titles,
        report,
    };
    output::json_lines([&json])
}
