//! The report of an update: as text and as JSON.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use anyhow::Result;
use clickvec_eval::update::{Alignment, DayCount, Drift, LEAST_QUERIES, QueryMix, Suspicion, Trial};
use serde::Serialize;

use super::{EARLIER, Report, Verdict};
use crate::metrics::difference;
use crate::{aligned, output, progress};

/// Prints the report.
pub(super) fn print(report: &Report<'_>) -> Result<()> {
    if report.args.json { json(report) } else { output::print(text(report)) }
}

fn text(report: &Report<'_>) -> String {
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
    let [reading, training, testing, writing] =
        [seconds.reading, seconds.training, seconds.testing, seconds.writing].map(progress::duration);
    let _ =
        writeln!(text, "time          reading {reading}, training {training}, testing {testing}, writing {writing}");
    let model = report.args.output.as_ref().unwrap_or(&report.args.model).display();
    let _ = match &report.verdict {
        Verdict::Promoted { fingerprint } => {
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
fn trials(trials: &[(&str, Trial)]) -> String {
    let mut table = aligned::plain();
    table.set_header(["searching all titles", "queries", "nDCG@10 old", "new", "difference", "p"]);
    for (name, trial) in trials {
        let p = trial.test.evidence();
        let p = match trial.queries {
            0..LEAST_QUERIES => "too few".to_owned(),
            _ if p < 0.0001 => "<0.0001".to_owned(),
            _ => format!("{p:.4}"),
        };
        table.add_row([
            (*name).to_owned(),
            output::count(trial.queries as u64),
            format!("{:.3}", trial.old),
            format!("{:.3}", trial.new),
            difference(trial.test.difference),
            p,
        ]);
    }
    aligned::align_right(&mut table, 1..6);
    let mut text = format!("{}\n", aligned::show(&mut table));
    if trials.iter().any(|(name, _)| *name == EARLIER) {
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
    titles: usize,
    /// The number of titles of the index that the file of titles lacks, and whether they are kept.
    unlisted: u64,
    keeps_unlisted: bool,
    days: Vec<Day<'a>>,
    trigrams: u64,
    unseen_trigrams: u64,
    mix: QueryMix,
    trials: Vec<NamedTrial<'a>>,
    drift: Option<&'a Drift>,
    seconds: Seconds,
}

#[derive(Serialize)]
struct Day<'a> {
    #[serde(serialize_with = "output::json_path")]
    file: &'a Path,
    pairs: u64,
    on_titles: u64,
    held_out: u64,
    new_queries: u64,
    skipped: u64,
}

impl<'a> From<&'a DayCount> for Day<'a> {
    fn from(day: &'a DayCount) -> Day<'a> {
        let DayCount { file, pairs, known, held_out, new_queries, skipped } = day;
        Day {
            file,
            pairs: *pairs,
            on_titles: *known,
            held_out: *held_out,
            new_queries: *new_queries,
            skipped: skipped.count,
        }
    }
}

#[derive(Serialize)]
struct NamedTrial<'a> {
    on: &'a str,
    #[serde(flatten)]
    trial: &'a Trial,
}

#[derive(Serialize)]
struct Seconds {
    reading: f64,
    training: f64,
    testing: f64,
    writing: f64,
}

fn json(report: &Report<'_>) -> Result<()> {
    let (fingerprint, worse_on, suspicion) = match &report.verdict {
        Verdict::Promoted { fingerprint } => (fingerprint, &[][..], None),
        Verdict::Worse(on) => (&report.old, &on[..], None),
        Verdict::Suspicious(suspicion) => (&report.old, &[][..], Some(suspicion)),
    };
    let seconds = &report.seconds;
    let [reading, training, testing, writing] =
        [seconds.reading, seconds.training, seconds.testing, seconds.writing].map(|time| time.as_secs_f64());
    let report = Json {
        model: report.args.output.as_ref().unwrap_or(&report.args.model),
        promoted: matches!(report.verdict, Verdict::Promoted { .. }),
        fingerprint,
        old: &report.old,
        worse_on,
        suspicion,
        titles: report.titles,
        unlisted: report.unlisted,
        keeps_unlisted: report.args.keep_titles,
        days: report.survey.days.iter().map(Day::from).collect(),
        trigrams: report.survey.trigrams,
        unseen_trigrams: report.survey.unseen_trigrams,
        mix: report.survey.mix,
        trials: report.trials.iter().map(|(on, trial)| NamedTrial { on, trial }).collect(),
        drift: report.drift.as_ref(),
        seconds: Seconds { reading, training, testing, writing },
    };
    let mut out = output::stdout();
    output::json_line(&mut out, &report)?;
    output::written(out.flush())
}
