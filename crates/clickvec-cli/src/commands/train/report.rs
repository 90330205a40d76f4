//! Messages of training: a bar on a terminal, a line for each epoch in a pipe, or JSON.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use clickvec::encoder::EncoderConfig;
use clickvec::train::{
    Agreement, EpochReport, Event, Keep, LogStatistics, ScoreCoverage, Section, StartReport, Tail, TeacherCoverage,
    TrainConfig, Written, written_paths,
};
use clickvec_eval::Metric;
use clickvec_eval::training::{HeldOutMeans, Progress, held_out_path};
use indicatif::ProgressBar;
use serde::Serialize;

use super::held_out;
use crate::progress::Watch;
use crate::{console, progress};
use clickvec_tools::inputs;

/// Reports events as they happen.
pub(super) struct Reporter {
    /// The click log, if there is one, and the files of titles.
    clicks: Option<PathBuf>,
    titles: Vec<PathBuf>,
    /// The files of scores.
    scores: Vec<PathBuf>,
    /// Whether the best epoch is kept, so that its line is marked.
    keeps_best: bool,
    config: TrainConfig,
    json: bool,
    /// Whether this is the first of two trainings.
    is_first: bool,
    watched: bool,
    bar: Option<ProgressBar>,
    /// The number of pairs in the epoch so far, and the sum of their losses.
    loss: (u64, f64),
    started: Instant,
    /// The first write that failed. Training goes on, because a model is worth more than its report.
    failed: Option<anyhow::Error>,
}

#[derive(Serialize)]
struct Done<'a> {
    event: &'static str,
    #[serde(serialize_with = "console::json_path")]
    model: &'a Path,
    fingerprint: &'a str,
    epoch: u32,
}

#[derive(Serialize)]
struct Cancelled {
    event: &'static str,
}

impl Reporter {
    /// Reports what is going to be trained.
    pub(super) fn new(
        config: &TrainConfig,
        clicks: Option<&Path>,
        titles: &[PathBuf],
        scores: &[PathBuf],
        json: bool,
    ) -> Reporter {
        if !json {
            console::note(format_args!("training: {}", config.encoder));
        }
        Reporter {
            clicks: clicks.map(ToOwned::to_owned),
            titles: titles.to_vec(),
            scores: scores.to_vec(),
            keeps_best: config.keep != Keep::Last,
            config: config.clone(),
            json,
            is_first: false,
            watched: progress::is_watched(),
            bar: None,
            loss: (0, 0.0),
            started: Instant::now(),
            failed: None,
        }
    }

    /// Reports what happens.
    pub(super) fn report(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Run { event: Event::Reading { pairs }, .. } => return self.reading(*pairs),
            Progress::Run { event: event @ Event::Minibatch { .. }, .. } => {
                if self.watched {
                    self.minibatch(event);
                }
                return;
            }
            Progress::Run { event: Event::TeacherScores(coverage), .. } => {
                self.close();
                for (path, skipped) in self.scores.iter().zip(&coverage.skipped) {
                    inputs::note_skipped(path, skipped, &Watch::default());
                }
            }
            Progress::Run { event: Event::Log { skipped, skipped_titles, .. }, .. } => {
                self.close();
                let skipped = self.clicks.iter().map(|path| (path, skipped));
                for (path, skipped) in skipped.chain(self.titles.iter().zip(skipped_titles)) {
                    inputs::note_skipped(path, skipped, &Watch::default());
                }
            }
            Progress::HeldOut { then_all, .. } => self.is_first = *then_all,
            Progress::AllClicks { .. } => self.is_first = false,
            _ => {}
        }
        self.close();
        if self.json { self.print(progress) } else { self.say(progress) }
    }

    /// Removes the bar.
    pub(super) fn close(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.loss = (0, 0.0);
    }

    /// Reports that the model was written.
    pub(super) fn done(&mut self, model: &Path, written: &Written) {
        let Written { fingerprint, epoch, already } = written;
        if self.json {
            return self.print(&Done { event: "done", model, fingerprint, epoch: *epoch });
        }
        let when = if *already {
            "finished before, nothing to do".to_owned()
        } else {
            format!("written after {}", progress::duration(self.started.elapsed()))
        };
        let (model, epoch) = (model.display(), self.named_epoch(*epoch));
        console::note(format_args!("{model}: {when}; weights of {epoch}, fingerprint {fingerprint}"));
    }

    /// Reports that training was interrupted, and what it left, before it wrote to `output`.
    pub(super) fn cancelled(&mut self, output: &Path) {
        if self.json {
            self.print(&Cancelled { event: "cancelled" });
        }
        let written = if self.is_first { held_out_path(output) } else { output.to_owned() };
        let [_, partial, checkpoint] = written_paths(&written);
        let left = match (checkpoint.exists(), partial.exists()) {
            (true, _) => "; `--resume` with the same options continues".to_owned(),
            (false, true) => format!(
                "; the last kept model is in {}; with `--checkpoint-every`, a run can be resumed",
                partial.display()
            ),
            (false, false) => String::new(),
        };
        console::note(format_args!("{}: stopped, nothing was written to it{left}", output.display()));
    }

    /// Returns the error of the first report that could not be printed.
    pub(super) fn result(self) -> Result<()> {
        self.failed.map_or(Ok(()), Err)
    }

    fn reading(&mut self, pairs: u64) {
        if self.watched {
            let bar = self.bar.get_or_insert_with(|| progress::counter("reading", "pairs"));
            bar.set_position(pairs);
        }
    }

    fn minibatch(&mut self, event: &Event) {
        let &Event::Minibatch { section, epoch, epochs, of_pairs, minibatch, minibatches, pairs, loss } = event else {
            return;
        };
        let named = format!("{}epoch {epoch}/{epochs}", self.named(section));
        let bar = match self.bar.take() {
            Some(bar) => bar,
            None => progress::bar_with_message(of_pairs, &named, "pairs"),
        };
        let bar = self.bar.insert(bar);
        bar.set_position(if minibatch == minibatches { of_pairs } else { minibatch.saturating_mul(pairs) });
        self.loss = (self.loss.0 + pairs, self.loss.1 + loss * pairs as f64);
        // Assumes that every epoch takes about as long as this one.
        let epoch_time = bar.elapsed().saturating_add(bar.eta());
        let later = epoch_time.checked_mul(epochs.saturating_sub(epoch)).unwrap_or(Duration::MAX);
        let left = progress::duration(bar.eta().saturating_add(later));
        // After the last minibatch the model is judged and written, which takes a while.
        let left = if minibatch == minibatches { "the epoch ends".to_owned() } else { format!("{left} left") };
        bar.set_message(format!("loss {:.4}, {left}", self.loss.1 / self.loss.0.max(1) as f64));
    }

    /// The word before an epoch's number, if there are epochs of both sections.
    fn named(&self, section: Section) -> &'static str {
        if self.titles.is_empty() { "" } else { section_name(section) }
    }

    /// An epoch, counted from the beginning of the run, with its section if there are epochs of both.
    fn named_epoch(&self, epoch: u32) -> String {
        let title_epochs = self.config.titles.map_or(0, |titles| titles.epochs);
        match (title_epochs, &self.clicks) {
            (0, _) | (_, None) => format!("epoch {epoch}"),
            (all, Some(_)) if epoch <= all => format!("epoch {epoch} of the titles"),
            (all, Some(_)) => format!("epoch {} of the clicks", epoch - all),
        }
    }

    fn say(&self, progress: &Progress<'_>) {
        match progress {
            Progress::Run { event: Event::Log { statistics, trigrams, words, parameters, .. }, advice, .. } => {
                self.say_log(statistics, [*trigrams, *words], *parameters, advice);
            }
            Progress::Run { event, held_out, .. } => self.say_event(event, held_out.as_ref()),
            Progress::HeldOut { counts, then_all } => held_out::note_counts(counts, *then_all),
            Progress::Judged(summary) => console::note(held_out::text(summary)),
            Progress::AllClicks { epochs } => console::note(format_args!(
                "\nlearning all clicks now, also those held out, for {} (the best number)",
                console::counted(u64::from(*epochs), "epoch")
            )),
            _ => {}
        }
    }

    fn say_event(&self, event: &Event, held_out: Option<&HeldOutMeans>) {
        match event {
            &Event::Resumed { section, epoch, minibatch } => {
                let named = self.named(section);
                console::note(format_args!("resumed in {named}epoch {epoch}, minibatches done: {minibatch}"));
            }
            Event::Teacher(coverage) => say_teacher(coverage),
            Event::TeacherScores(coverage) => say_scores(coverage),
            Event::Start { fitted } => say_start(fitted.as_ref()),
            Event::Epoch(report) => self.say_epoch(report, held_out),
            Event::StoppedEarly { epoch, best, schedule_cut } => {
                let [epoch, best] = [*epoch, *best].map(|epoch| self.named_epoch(epoch));
                console::note(format_args!("stopped after {epoch}: validation got no better after {best}"));
                if *schedule_cut {
                    console::note(
                        "the run stopped before the last 2 % of the momentum schedule, in which momentum is low",
                    );
                }
            }
            _ => {}
        }
    }

    fn say_log(&self, log: &LogStatistics, [trigrams, words]: [usize; 2], parameters: u64, advice: &[String]) {
        let files: Vec<String> =
            self.clicks.iter().chain(&self.titles).map(|path| path.display().to_string()).collect();
        let clicks = files.join(", ");
        let counts = [(log.pairs, "pair"), (log.titles.titles, "title")];
        let counts = counts.into_iter().filter(|&(count, _)| count > 0).map(|(count, of)| console::counted(count, of));
        let pairs = counts.collect::<Vec<_>>().join(", ");
        let known = console::counted(trigrams as u64, "trigram");
        let dropped = match log.distinct_trigrams.saturating_sub(trigrams as u64) {
            0 => String::new(),
            rare => format!(" ({} rarer ones left out)", console::count(rare)),
        };
        let words = match words {
            0 => String::new(),
            words => format!(", {}", console::counted(words as u64, "whole word")),
        };
        let weights = console::counted(parameters, "weight");
        console::note(format_args!("{clicks}: {pairs}, {known}{dropped}{words}, {weights}"));
        if !advice.is_empty() {
            let (pairs, better) = (console::counted(log.pairs, "pair"), advice.join("; "));
            console::note(format_args!("{clicks}: {pairs}; on simulated logs (docs/explanation/claims.md) {better}"));
        }
        if log.without_words > 0 {
            let empty = console::counted(log.without_words, "pair");
            console::note(format_args!("{clicks}: left out {empty} without a word in the query or in the title"));
        }
        if log.titles.without_words > 0 {
            let empty = console::counted(log.titles.without_words, "title");
            console::note(format_args!("{clicks}: left out {empty} without a word"));
        }
        if log.not_clicked > 0 {
            let shown = console::counted(log.not_clicked, "row");
            console::note(format_args!("{clicks}: left out {shown} of titles that were shown and not clicked"));
        }
        if log.rare > 0 {
            let rare = console::counted(log.rare, "pair");
            let are = console::agreeing(log.rare, "is", "are");
            console::note(format_args!(
                "{clicks}: {rare} with a rare query {are} learnt; trigrams that only such queries have are not in the model"
            ));
        }
        if log.cut > 0 {
            let cut = console::counted(log.cut, "text");
            match self.config.tail {
                Tail::Cut => console::note(format_args!("{clicks}: cut {cut} to max_words words")),
                Tail::Merge => {
                    console::note(format_args!("{clicks}: {cut} longer than max_words, with the rest as one word"))
                }
            }
        }
    }

    fn say_epoch(&self, report: &EpochReport, held_out: Option<&HeldOutMeans>) {
        let mut line = epoch_line(self.named(report.section), report);
        let figure = |metric: Metric| report.validation.as_ref()?.figure(&metric.to_string());
        if let [Some(one), Some(three), Some(ten)] = Metric::NDCG.map(figure) {
            let _ = write!(line, "  NDCG@1/3/10 {one:.3} {three:.3} {ten:.3}");
        }
        line.push_str(&held_out.map(held_out::line).unwrap_or_default());
        if self.keeps_best && report.kept && report.validation.is_some() {
            line.push_str("  kept");
        }
        if let Some(Agreement { spearman, overlap, .. }) = report.agreement {
            let _ = write!(
                line,
                "  teacher: rank correlation {spearman:.3}, {:.0} % of its ten best titles",
                100.0 * overlap
            );
        }
        line.push_str(&variance_kept(&self.config.encoder, report.variance));
        console::note(line);
        if report.epoch == 1 && report.without_negatives > 0 {
            let alone = console::counted(report.without_negatives, "pair");
            console::note(format_args!("{alone} had no negative title in this epoch and added nothing to the loss"));
        }
    }

    fn print(&mut self, line: &impl Serialize) {
        if self.failed.is_none() {
            self.failed = console::json_lines([line]).err();
        }
    }
}

/// Says how much of the log the teacher covers, and how much of the teacher is used. Texts that it lacks are learnt without it.
fn say_start(start: Option<&StartReport>) {
    match start {
        Some(StartReport { titles, explained, seconds }) => console::note(format_args!(
            "teacher: initial weights by least squares over {}: they explain {:.0} % of the variance of its vectors  {seconds:.1} s",
            console::counted(*titles, "title"),
            100.0 * explained
        )),
        None => console::note(
            "teacher: random initial weights, because its vectors cover too few titles or have too few dimensions",
        ),
    }
}

fn say_teacher(coverage: &TeacherCoverage) {
    let &TeacherCoverage { queries, known_queries, titles, known_titles, dimension, vectors, unused, repeated } =
        coverage;
    let known = [(known_queries, queries, "query"), (known_titles, titles, "title")];
    let known = known.into_iter().filter(|&(_, all, _)| all > 0);
    let known: Vec<String> = known
        .map(|(known, all, noun)| format!("{} of {}", console::count(known), console::counted(all, noun)))
        .collect();
    console::note(format_args!("teacher: vectors of {dimension} numbers for {}", known.join(" and ")));
    let missing = (queries - known_queries) + (titles - known_titles);
    if missing > 0 {
        let missing = console::counted(missing, "text");
        console::note(format_args!("teacher: {missing} without a vector, learnt without the teacher"));
    }
    if unused > 0 {
        let are = console::agreeing(unused, "is", "are");
        let (unused, vectors) = (console::count(unused), console::counted(vectors, "vector"));
        let no_query = if queries == 0 { " (it has no queries without clicks)" } else { "" };
        console::note(format_args!(
            "teacher: {unused} of {vectors} {are} for texts not in the training data{no_query}; ignored"
        ));
    }
    if repeated > 0 {
        let repeated = console::counted(repeated, "repeated vector");
        console::note(format_args!("teacher: ignored {repeated}; the first for a text counts"));
    }
    if queries > 0 && known_queries == 0 {
        console::note("teacher: no vectors for queries, so clicks are learnt without it; add vectors for the queries");
    }
    if known_titles < 2 {
        console::note("teacher: ignored; it needs vectors for at least two titles");
    }
}

/// Says how much of the log the teacher's scores cover.
fn say_scores(coverage: &ScoreCoverage) {
    let &ScoreCoverage { scores, known, repeated, queries, alone, .. } = coverage;
    let are = console::agreeing(known, "is", "are");
    let (known, scores) = (console::count(known), console::counted(scores, "score"));
    let queries = console::counted(queries, "query");
    console::note(format_args!(
        "teacher: {known} of {scores} {are} for queries and titles in the training data; {queries} with several titles"
    ));
    if repeated > 0 {
        let repeated = console::counted(repeated, "score");
        console::note(format_args!("teacher: ignored {repeated} for pairs with an earlier score"));
    }
    if alone > 0 {
        let alone = console::counted(alone, "pair");
        console::note(format_args!("teacher: left out {alone} whose query has no other scored title"));
    }
}

/// The beginning of a line about a part of a training that learns titles and clicks.
pub(crate) fn section_name(section: Section) -> &'static str {
    match section {
        Section::Titles => "titles, ",
        Section::Clicks => "clicks, ",
    }
}

/// What an epoch's line says of a projection; nothing if there is none.
pub(crate) fn variance_kept(encoder: &EncoderConfig, variance: Option<f64>) -> String {
    match (encoder.projection(), variance) {
        (Some((units, dimension)), Some(variance)) => {
            format!("  {dimension} of {units} numbers keep {:.1} % of the variance", 100.0 * variance)
        }
        _ => String::new(),
    }
}

/// A line with an epoch's loss, speed and time, after the name of its section.
pub(crate) fn epoch_line(section: &str, report: &EpochReport) -> String {
    let width = report.epochs.to_string().len();
    format!(
        "{section}epoch {:>width$}/{}  loss {:.4}  {:>9} pairs/s  {:>6}",
        report.epoch,
        report.epochs,
        report.loss,
        progress::rate(report.pairs_per_second),
        progress::duration(Duration::try_from_secs_f64(report.seconds).unwrap_or_default()),
    )
}
