//! The report of an update: as text and as JSON.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;
use clickvec_eval::update::{Churn, LEAST_QUERIES, Pooled, Reason, Report, Trial, Verdict};
use clickvec_report::numbers::{difference, probability};
use clickvec_tools::update::{Learnt, Refreshed};

use super::Args;
use crate::report::{Cell, Column, Table};
use crate::{console, progress};

/// With a smaller share of the clicked titles in the first tens of the old model, another engine showed them.
const LEAST_SHOWN: f64 = 0.5;

/// Prints the report.
pub(super) fn print(args: &Args, learnt: &Learnt) -> Result<()> {
    if args.json { console::json_lines([learnt]) } else { console::print(text(args, learnt)) }
}

fn text(args: &Args, Learnt { report, refreshed, .. }: &Learnt) -> String {
    let mut text = refreshed.as_ref().map_or_else(String::new, Refreshed::line);
    let [days, pairs] = [report.survey.days.len() as u64, report.survey.days.iter().map(|day| day.pairs).sum()];
    let [days, pairs] = [(days, "day"), (pairs, "pair")].map(|(count, noun)| console::counted(count, noun));
    let held_out: u64 = report.survey.days.iter().map(|day| day.held_out).sum();
    let _ = writeln!(text, "clicks        {pairs} of {days}, {} held out", console::count(held_out));
    if let Some(day) = report.survey.newest_day() {
        let _ = writeln!(
            text,
            "newest day    {}; {:.1} % with queries that no earlier day has, {:.1} % on titles of the collection",
            console::counted(day.pairs, "pair"),
            percent(day.new_queries, day.pairs),
            percent(day.known, day.pairs)
        );
        let (unseen, all) = (report.survey.unseen_trigrams, report.survey.trigrams);
        let _ = writeln!(
            text,
            "new trigrams  {:.1} % of the newest day's trigrams are new to the old model",
            percent(unseen, all)
        );
    }
    if !report.trials.is_empty() {
        text.push('\n');
        text.push_str(&trials(&report.trials));
    }
    if let Some(pooled) = &report.pooled {
        let _ = writeln!(text, "\ntest          {}", pooled_line(pooled));
    }
    if let Some(drift) = &report.drift {
        let _ = writeln!(
            text,
            "mix           {:.1} % of query words have changed since the old model was trained, beyond chance",
            100.0 * drift.beyond_chance()
        );
    }
    if let Some(Churn { queries, titles, other_first, .. }) = report.churn.as_ref().filter(|churn| churn.queries > 0) {
        let _ = writeln!(
            text,
            "churn         {:.1} % of the first ten titles of {} would change, and {:.1} % of the first titles",
            100.0 * titles,
            console::counted(*queries as u64, "frequent query"),
            100.0 * other_first
        );
    }
    let seconds = &report.seconds;
    let [reading, training, testing, writing] = [seconds.reading, seconds.training, seconds.testing, seconds.writing]
        .map(|seconds| progress::duration(Duration::try_from_secs_f64(seconds).unwrap_or_default()));
    let _ =
        writeln!(text, "time          reading {reading}, training {training}, testing {testing}, writing {writing}");
    let _ = writeln!(text, "\n{}: {}", console::path(&args.target), verdict(args, report));
    text
}

fn percent(part: u64, all: u64) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

fn pooled_line(pooled: &Pooled) -> String {
    let Pooled { days, queries, gain, evidence, needed, shown } = pooled;
    let [days, queries] = [(days, "day"), (queries, "query")].map(|(count, noun)| console::counted(*count, noun));
    match gain {
        None => "started; the first day with held-out queries only calibrates where people click".to_owned(),
        Some(gain) => {
            let shown = shown.filter(|&shown| shown < LEAST_SHOWN).map_or_else(String::new, |shown| {
                format!(
                    "\n              only {:.0} % of clicked titles are in the old model's first ten: another engine showed them; weak \
                     evidence, use `clickvec judge`",
                    100.0 * shown
                )
            });
            format!(
                "gain {} on {queries} of {days}; evidence {evidence:.2} of the {needed:.0} that show a gain{shown}",
                difference(*gain)
            )
        }
    }
}

fn verdict(args: &Args, report: &Report) -> String {
    let why = |reason: Reason| match reason {
        Reason::Gain => "held-out clicks show a gain",
        Reason::Judged => "judged titles show a gain",
        Reason::Drift => "the mix of queries has drifted",
        Reason::Always => "every new model is accepted",
    };
    match &report.verdict {
        Verdict::Replace(new, reason) => format!("replaced, fingerprint {}: {}", new.fingerprint(), why(*reason)),
        Verdict::NoGain => "kept: no gain is shown yet".to_owned(),
        Verdict::Worse(on) => format!("kept: the new model is worse on {}", on.join(" and ")),
        Verdict::Churn(reason) => format!(
            "kept: {}, but more than {:.1} % of the first ten titles would change",
            why(*reason),
            100.0 * args.max_churn
        ),
        Verdict::Suspicious(suspicion) => format!("kept: {suspicion}\n`--trust-clicks` learns from them anyway"),
    }
}

/// A table with one row for each trial.
fn trials(trials: &[Trial]) -> String {
    let numbers = ["queries", "nDCG@10 old", "new", "difference", "p"].map(Column::number);
    let mut table = Table::new([Column::text("searching all titles")].into_iter().chain(numbers));
    for trial in trials {
        let p = match trial.queries {
            0..LEAST_QUERIES => "too few".to_owned(),
            _ => probability(trial.p),
        };
        let row = [
            trial.on.to_owned(),
            console::count(trial.queries as u64),
            format!("{:.3}", trial.old),
            format!("{:.3}", trial.new),
            difference(trial.difference),
            p,
        ];
        table.add(row.map(Cell::from));
    }
    let mut text = format!("{}\n", table.to_text());
    for trial in trials {
        if let Some(warning) = &trial.warning {
            let _ = writeln!(text, "{}: {warning}", trial.on);
        }
    }
    text
}
