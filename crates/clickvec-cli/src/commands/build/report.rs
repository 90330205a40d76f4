//! What a build says: each step by its number, a bar with the time left on a terminal, and the comparison at the end.

use std::time::{Duration, Instant};

use anyhow::Result;
use clickvec::train::{Event, Section};
use clickvec_build::{Built, Join, Looked, Progress, Step};
use clickvec_eval::training;
use clickvec_logs::Report;
use clickvec_logs::columns::Role;
use clickvec_logs::guess::{GRADE, role_name};
use clickvec_report::comparison::{contest_table, contest_tests};
use clickvec_tables::shown::first_of;
use indicatif::ProgressBar;
use serde::Serialize;

use super::Args;
use crate::progress::Watch;
use crate::{console, progress};
use clickvec_tools::inputs;

/// The most columns of a log that are shown.
const COLUMNS: usize = 6;

/// Reports what happens.
pub(super) struct Reporter {
    index: String,
    json: bool,
    /// Whether there is a terminal for bars.
    watched: bool,
    /// The epochs of clicks.
    epochs: u32,
    /// The bar that is shown, and what of.
    bar: Option<(&'static str, ProgressBar)>,
    /// Begun when its step began.
    learning: Learning,
    started: Instant,
    failed: Option<anyhow::Error>,
}

/// How far the training of a step is, in pairs.
struct Learning {
    begun: Instant,
    /// The pairs of the sections before this one, and those of this section.
    before: u64,
    done: u64,
    section: Option<Section>,
    /// The pairs of all epochs of clicks, while titles are learnt.
    clicks: u64,
}

impl Learning {
    fn new() -> Learning {
        Learning { begun: Instant::now(), before: 0, done: 0, section: None, clicks: 0 }
    }
}

#[derive(Serialize)]
struct Done<'a> {
    event: &'static str,
    index: &'a str,
    #[serde(flatten)]
    built: &'a Built,
}

impl Reporter {
    pub(super) fn new(args: &Args) -> Reporter {
        Reporter {
            index: args.output.to_string_lossy().into_owned(),
            json: args.json,
            watched: progress::is_watched(),
            epochs: 0,
            bar: None,
            learning: Learning::new(),
            started: Instant::now(),
            failed: None,
        }
    }

    /// Reports what happens.
    pub(super) fn report(&mut self, event: &Progress<'_>) {
        match event {
            Progress::Reading { rows } => {
                self.set_bar("reading rows", || progress::counter("  reading", "rows"), *rows);
            }
            Progress::Encoding { texts, of } => {
                self.set_bar("encoding", || progress::bar(*of, "  encoding", "texts"), *texts);
            }
            Progress::Writing => {
                self.set_bar("writing", || progress::waiting("  writing the index"), 0);
            }
            Progress::Answered { queries, of } => {
                self.set_bar("testing", || progress::bar(*of, "  testing", "queries"), *queries);
            }
            Progress::Training(training::Progress::Run { event: Event::Reading { pairs }, .. }) => {
                self.set_bar("reading pairs", || progress::counter("  reading", "pairs"), *pairs);
            }
            Progress::Training(training::Progress::Run { event: event @ Event::Minibatch { .. }, .. }) => {
                self.minibatch(event);
            }
            _ if self.json => {
                self.close();
                self.print(event);
            }
            _ => self.say(event),
        }
    }

    /// Removes the bar.
    pub(super) fn close(&mut self) {
        if let Some((_, bar)) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Reports the end.
    pub(super) fn done(mut self, built: &Built) -> Result<()> {
        if self.json {
            let index = self.index.clone();
            self.print(&Done { event: "done", index: &index, built });
            return self.failed.map_or(Ok(()), Err);
        }
        let titles = console::counted(built.titles, "title");
        console::note(format_args!("{}: {titles}, made in {}", self.index, progress::duration(self.started.elapsed())));
        inputs::note_without_vector(built.without_vector, built.without_words, &Watch::default());
        match built.teacher {
            Some(true) => console::note("the teacher is in the index, which encodes queries with it"),
            Some(false) => console::note(
                "the teacher is not in the index, which would find less with it; the model still learnt from it",
            ),
            None => {}
        }
        let mut text = String::new();
        if let Some(contest) = &built.tested {
            let heading = format!(
                "over all titles, by {}",
                if contest.evidence == clickvec_eval::Evidence::Judgments {
                    "judged titles"
                } else {
                    "held-out clicks"
                }
            );
            text = format!("\n{}\n\n{}", contest_table(&heading, contest).to_text(), contest_tests(contest));
            if let Some(warning) = &contest.warning {
                text += &format!("{warning}\n");
            }
            text += &format!("\n{}\n", contest.conclusion);
        }
        let query = built.query.as_deref().unwrap_or("a query").replace(['"', '\\', '$', '`'], " ");
        let index = &self.index;
        text += &format!(
            "\nnext:\n  clickvec search {index} \"{}\"\n  clickvec serve {index}\n",
            console::printable(&query)
        );
        console::print(text)
    }

    /// Moves the bar of `what`, in place of any other.
    fn set_bar(&mut self, what: &'static str, bar: impl FnOnce() -> ProgressBar, position: u64) {
        if !self.watched {
            return;
        }
        if self.bar.as_ref().is_none_or(|(shown, _)| *shown != what) {
            self.close();
        }
        self.bar.get_or_insert_with(|| (what, bar())).1.set_position(position);
    }

    /// Shows how far the training of this step is, and the time that it still takes.
    fn minibatch(&mut self, event: &Event) {
        let &Event::Minibatch { section, epoch, epochs, of_pairs, minibatch, minibatches, pairs, .. } = event else {
            return;
        };
        if !self.watched {
            return;
        }
        let learning = &mut self.learning;
        if learning.section != Some(section) {
            learning.before += learning.done;
            (learning.section, learning.done) = (Some(section), 0);
        }
        let in_epoch = if minibatch == minibatches { of_pairs } else { minibatch.saturating_mul(pairs) };
        learning.done = u64::from(epoch - 1) * of_pairs + in_epoch;
        let later = if section == Section::Titles { learning.clicks } else { 0 };
        let all = learning.before + u64::from(epochs) * of_pairs + later;
        let done = learning.before + learning.done;
        let seconds = learning.begun.elapsed().as_secs_f64() * (all - done.min(all)) as f64 / done.max(1) as f64;
        let left = progress::duration(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        let of = if section == Section::Titles { "titles" } else { "clicks" };
        self.set_bar("learning", || progress::bar_with_message(all, " ", "pairs"), done);
        let Some((_, bar)) = &self.bar else { return };
        bar.set_length(all);
        // After the last minibatch of an epoch, the model is judged, which takes a while.
        bar.set_message(match (minibatch == minibatches, done >= all) {
            (false, _) => format!("{of}, epoch {epoch}/{epochs}, {left} left"),
            (true, false) => format!("{of}, epoch {epoch}/{epochs} ends, {left} left"),
            (true, true) => "the last epoch ends".to_owned(),
        });
    }

    fn say(&mut self, event: &Progress<'_>) {
        match event {
            Progress::Training(training::Progress::Run { event: Event::Log { statistics, .. }, .. }) => {
                self.learning.clicks = statistics.pairs * u64::from(self.epochs);
                return;
            }
            Progress::Training(training::Progress::Run { event: Event::Epoch(_), .. }) => return,
            _ => {}
        }
        self.close();
        match event {
            Progress::Step { step, number, of } => {
                self.learning = Learning { clicks: self.learning.clicks, ..Learning::new() };
                console::note(format_args!("{number} of {of}  {}", step.name()));
                if *step == Step::Index {
                    self.learning.clicks = 0;
                }
            }
            Progress::Looked(looked) => say_looked(looked),
            Progress::Epochs { titles, clicks } => {
                self.epochs = *clicks;
                let of_clicks = if *clicks > 0 {
                    format!(", {} of the clicks", console::counted(u64::from(*clicks), "epoch"))
                } else {
                    String::new()
                };
                console::note(format_args!(
                    "  {} of the titles{of_clicks}",
                    console::counted(u64::from(*titles), "epoch")
                ));
            }
            Progress::Resumed => console::note("  resuming the interrupted build"),
            Progress::StartedAfresh => {
                console::note("  starting over: the interrupted build used other files or settings")
            }
            Progress::Counted(report) => say_counted(report),
            Progress::Training(training::Progress::HeldOut { counts, .. }) if counts.queries > 0 => {
                console::note(format_args!(
                    "  held out for evaluation: {} of {}",
                    console::count(counts.queries),
                    console::counted(counts.of_queries, "query")
                ));
            }
            Progress::Training(training::Progress::HeldOut { counts, .. }) => console::note(format_args!(
                "  {} are too few to hold any out, so nothing is tested",
                console::counted(counts.of_queries, "query")
            )),
            Progress::Training(training::Progress::Judged(summary)) => {
                console::note(format_args!("  {}", summary.choice))
            }
            _ => {}
        }
    }

    fn print(&mut self, line: &impl Serialize) {
        if self.failed.is_none() {
            self.failed = console::json_lines([line]).err();
        }
    }
}

/// Says what the files are, and how long it takes.
fn say_looked(looked: &Looked) {
    for log in &looked.logs {
        let columns = log.columns.iter().filter(|&(role, _)| role != GRADE);
        let shown = |(role, name): (Role, &str)| {
            let role = role_name(role);
            if role == name { format!("`{role}`") } else { format!("{role} in `{}`", console::printable(name)) }
        };
        let all: Vec<String> = columns.map(shown).collect();
        let of = all.len() as u64;
        let columns =
            if all.is_empty() { String::new() } else { format!(": {}", first_of(all.into_iter().take(COLUMNS), of)) };
        console::note(format_args!("  {}: {}{columns}", console::path(&log.path), log.kind));
    }
    let titles = &looked.titles;
    let column = |name: &Option<String>, usual: &str| name.clone().unwrap_or_else(|| usual.to_owned());
    let (id, text) = (column(&titles.id, "id"), column(&titles.text, "title"));
    console::note(format_args!(
        "  {}: {}, ids in `{}`, texts in `{}`",
        console::path(&titles.path),
        console::counted(titles.titles, "title"),
        console::printable(&id),
        console::printable(&text)
    ));
    match &looked.join {
        Join::None => console::note("  no log: the model learns from the titles alone"),
        Join::Texts => {}
        Join::Ids { column } => {
            console::note(format_args!(
                "  clicks are joined with titles by the ids in `{}`",
                console::printable(column)
            ));
        }
    }
    let time = progress::duration(Duration::try_from_secs_f64(looked.seconds).unwrap_or_default());
    console::note(format_args!("  about {time} in all"));
}

/// Says what was counted and left out.
fn say_counted(report: &Report) {
    let counts = &report.training;
    console::note(format_args!(
        "  {} of {} on {}",
        console::counted(counts.clicks, "click"),
        console::counted(counts.queries, "query"),
        console::counted(report.titles.count, "title")
    ));
    let lost = report.left_out.without_title;
    if lost > 0 {
        let of = report.items_without_title.as_ref().map_or(0, |items| items.count);
        console::note(format_args!(
            "  left out: {} on {} missing from the titles",
            console::counted(lost, "click"),
            console::counted(of, "item")
        ));
    }
    let few = report.too_few_users.queries;
    if few > 0 {
        console::note(format_args!(
            "  left out as personal: {} of fewer than {} users; `prepare --private` keeps them",
            console::counted(few, "query"),
            report.min_users.unwrap_or_default()
        ));
    }
}
