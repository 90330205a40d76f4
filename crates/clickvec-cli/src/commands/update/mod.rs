//! `clickvec update`: changes the titles of an index; or trains a new model on new clicks, and puts it in the place of the old one
//! when held-out clicks of some days show that it is better, or when the mix of queries has drifted.

mod change;
mod report;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clickvec::tables::TITLE;
use clickvec::train::Event;
use clickvec_eval::update::{Progress, UpdateConfig, Verdict};
use clickvec_tables::ErrorKind;
use clickvec_tools::update::{Learning, Plan};

use super::train::{epoch_line, section_name, variance_kept};
use crate::answer::Answer;
use crate::interrupt::Interrupt;
use crate::progress::Watch;
use crate::titles::TitleColumns;
use crate::{console, numbers, progress, settings};

/// Put new titles into an index, learn new clicks, and take the new model once it is shown to be better.
///
/// An index gets exactly the titles of `--titles` at once. Then a new model starts from the old one's weights and learns from the
/// clicks of all files; older days count less. Some queries are held out, the same ones every day. Both models search all
/// titles for those of the newest day that no earlier day has, and a test pools this over the days, one update after the other. The
/// new model takes the place of the old one when the test shows a gain, or when the mix of queries has drifted from the one
/// that the old model learnt. What the test knows so far is in a file beside MODEL, whose name ends in `.update.json`.
///
/// If the newest clicks do not look as if they came from users, nothing is learnt and the exit status is 1. Interrupting the
/// command never damages anything.
///
/// Without clicks, `--add` and `--delete` change some titles of an index, both at once, and keep its model. Searches go on meanwhile, and
/// see either all of a change or nothing. Only one process changes an index at a time; others wait.
#[derive(clap::Args)]
#[command(
    group = clap::ArgGroup::new("changes").multiple(true).conflicts_with_all(["clicks", "titles", "judged", "set"]),
    override_usage = "clickvec update [OPTIONS] INDEX|MODEL --clicks FILE... --titles FILE\n       \
        clickvec update INDEX [--add FILE] [--delete FILE] [--compact]"
)]
pub(crate) struct Args {
    /// The index, or a model file, to update in its place.
    #[arg(value_name = "INDEX|MODEL")]
    target: PathBuf,

    /// Click logs, one for each day, oldest first: tables with the columns query and title, as written by `clickvec prepare`.
    #[arg(long, value_name = "FILE", required_unless_present = "changes", num_args = 1..)]
    clicks: Vec<PathBuf>,

    /// All titles to search, clicked or not: a table with the columns id and title, or a BEIR corpus, and the columns that the index
    /// stores.
    #[arg(long, value_name = "FILE", required_unless_present = "changes")]
    titles: Option<PathBuf>,

    #[command(flatten)]
    title_columns: TitleColumns,

    /// Add these titles to the index, or replace those with the same ids; a table like --titles.
    #[arg(long, value_name = "FILE", group = "changes", help_heading = "Titles alone")]
    add: Option<PathBuf>,

    /// Delete the titles with these ids, one a line.
    #[arg(long, value_name = "FILE", group = "changes", help_heading = "Titles alone")]
    delete: Option<PathBuf>,

    /// Clear away what updates left behind; they do so by themselves only after 63 others, or when more than half of the titles are old.
    #[arg(long, group = "changes", help_heading = "Titles alone")]
    compact: bool,

    /// Judged titles of other queries. The new model must not be worse on these.
    #[arg(long, value_name = "FILE")]
    judged: Option<PathBuf>,

    /// Take no model that changes more than this share of the first ten titles of frequent queries, such as 0.2.
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, hide_default_value = true, value_parser = numbers::share::<f64>)]
    max_churn: f64,

    /// Learn from the newest clicks even if they do not look as if they came from users.
    #[arg(long)]
    trust_clicks: bool,

    /// Set a setting, such as half_life=14. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", long_help = settings::help(&UpdateConfig::documentation()))]
    set: Vec<String>,

    /// Print the report as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Updates an index or a model.
pub(crate) fn run(args: Args) -> Result<Answer> {
    args.title_columns.need(args.titles.is_some() || args.add.is_some())?;
    match &args.titles {
        Some(titles) => learn(&args, titles),
        None => change::run(&args),
    }
}

/// Brings the titles of an index to those of a table, and trains.
fn learn(args: &Args, titles: &Path) -> Result<Answer> {
    let interrupt = Interrupt::watch()?;
    let watch = Watch::with(interrupt.clone());
    let learning = Learning {
        target: &args.target,
        clicks: &args.clicks,
        titles: args.title_columns.checked(titles, TITLE)?,
        judged: args.judged.as_deref(),
        settings: settings::set(UpdateConfig::default(), &args.set)?,
        max_churn: args.max_churn,
        trust_clicks: args.trust_clicks,
    };
    let mut shown = Shown { args, bar: None };
    let learnt = learning.run(&mut |progress, plan| shown.show(progress, plan), &watch);
    shown.finish();
    drop(watch);
    let learnt = match (learnt, interrupt.status()) {
        (Err(error), Some(status)) if error.kind() == ErrorKind::Interrupted => {
            console::note(format_args!("{}: stopped, the old model was kept", console::path(&args.target)));
            return Ok(Answer::Stopped(status));
        }
        (learnt, _) => learnt?,
    };
    report::print(args, &learnt).with_context(|| {
        let model = match learnt.report.verdict {
            Verdict::Replace(..) => "the new model is in place; its",
            _ => "the old model stays; the",
        };
        format!("{model} report cannot be written")
    })?;
    Ok(if matches!(learnt.report.verdict, Verdict::Suspicious(_)) { Answer::No } else { Answer::Done })
}

/// What an update has shown so far.
struct Shown<'a> {
    args: &'a Args,
    bar: Option<indicatif::ProgressBar>,
}

impl Shown<'_> {
    fn show(&mut self, progress: &Progress<'_>, plan: &Plan<'_>) {
        match progress {
            Progress::Surveyed(_) => {}
            Progress::Notice(_) => self.finish(),
            Progress::Training => {
                if !self.args.json {
                    let begin = if plan.fresh { "from random weights" } else { "from the weights of the old model" };
                    console::note(format_args!("training: {}, {begin}", plan.config.encoder));
                }
                self.bar = Some(progress::bar_with_message(0, "training", "pairs"));
            }
            Progress::Run(event) => self.event(event, plan),
        }
    }

    fn event(&mut self, event: &Event, plan: &Plan<'_>) {
        let Some(bar) = &self.bar else { return };
        match event {
            Event::Minibatch { pairs, of_pairs, minibatch: 1, .. } => {
                bar.set_length(*of_pairs);
                bar.set_position(*pairs);
            }
            Event::Minibatch { pairs, loss, .. } => {
                bar.inc(*pairs);
                bar.set_message(format!("loss {loss:.3}"));
            }
            Event::Epoch(report) if !self.args.json => {
                let section = if plan.config.titles.is_none() { "" } else { section_name(report.section) };
                let line = epoch_line(section, report) + &variance_kept(&plan.config.encoder, report.variance);
                bar.suspend(|| console::note(line));
            }
            _ => {}
        }
    }

    /// Removes the bar.
    fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
