//! `clickvec update`: trains a new model on new clicks, starting from the old one, and replaces the old one unless the new
//! one is worse.

mod replaced;
mod report;
mod write;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clickvec::model::Model;
use clickvec::train::{Event, TrainConfig};
use clickvec_eval::TestSetFiles;
use clickvec_eval::update::{
    LEAST_QUERIES, LearntBefore, Notice, Progress, Update, UpdateConfig, Verdict, Window, training_config,
};
use clickvec_index::{Index, IndexBuilder, looks_like_index};
use clickvec_tables::files::{self, Claim};
use clickvec_tables::titles::TitleReader;

use self::replaced::{Replaced, Unlisted};
use super::train::{epoch_line, section_name, variance_kept};
use crate::answer::Answer;
use crate::interrupt::Interrupt;
use crate::outputs::Kind;
use crate::titles::TitleColumns;
use crate::{input, output, outputs, progress, settings, test_set};

/// Train a model on new clicks, and replace the old one unless the new one is significantly worse.
///
/// The new model starts from the old one's weights and learns from the clicks of all files; older days count less. If the
/// old model learnt from titles, so does the new one. Some queries are held out, the same ones every day. Both models
/// search all titles for them, and a paired test on those of the newest day decides whether the new model is worse. Until
/// a model is made with `--set fresh=true`, the test counts only queries that no earlier day contains, because `train` may have learnt
/// the others. If the new model is worse, or if the newest clicks do not look as if they came from users, the old model
/// stays and the exit status is 1. Interrupting the command never damages the old model.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The old model. It is replaced unless `--output` is given.
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// Click logs, one for each day, oldest first: tables with the columns query and title, as written by `clickvec prepare`.
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    clicks: Vec<PathBuf>,

    /// All titles to search, clicked or not: a table with the columns id and title, or a BEIR corpus.
    #[arg(long, value_name = "FILE")]
    titles: PathBuf,

    #[command(flatten)]
    title_columns: TitleColumns,

    /// Judged titles of other queries. The new model must not be worse on these either.
    #[arg(long, value_name = "FILE")]
    judged: Option<PathBuf>,

    /// Where to write the new model [default: replace the old one].
    #[arg(long, short, value_name = "MODEL")]
    output: Option<PathBuf>,

    /// Also rebuild this index of all titles with the new model. It keeps its stored columns, which `--titles` must have, the
    /// form of its vectors, the way in which it compares words, and the weights of its fusion.
    #[arg(long, value_name = "INDEX")]
    index: Option<PathBuf>,

    /// Keep the titles of the index that are not in `--titles`, such as those that `clickvec index --update` has added since.
    /// Without this, the new index has exactly the titles of `--titles`.
    #[arg(long, requires = "index")]
    keep_titles: bool,

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

/// Updates a model.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let settings = settings::set(UpdateConfig::default(), &args.set)?;
    settings.check()?;
    let target = args.output.as_ref().unwrap_or(&args.model);
    check_outputs(&args, target)?;
    // First: another update of this model may be about to replace it.
    let _claim = Claim::new(target)?;
    files::remove_abandoned(target);
    let old = Model::load(&args.model)?;
    let config = training_config(&old, settings.fresh, settings.epochs);
    let replaced = args.index.as_deref().map(Replaced::tell).transpose()?;
    args.title_columns.check(&args.titles, &config.field)?;
    let table = args.title_columns.table(&args.titles);
    // That columns are missing is told before anything is learnt.
    let fields = replaced.as_ref().map_or(&[][..], |replaced| &replaced.fields);
    TitleReader::open(&table, &config.field, fields)?;
    let titles = input::titles(&table, &config.field)?;
    if let Some(Replaced { field, .. }) = replaced.as_ref().filter(|replaced| replaced.field != config.field) {
        TitleReader::open(&table, field, &[])?;
    }
    let unlisted = match &args.index {
        Some(index) => {
            let listed: HashSet<String> = titles.iter().map(|title| title.id.clone()).collect();
            if args.keep_titles {
                // Before anything is learnt: what is damaged cannot be kept.
                Index::open(index)?.check()?;
            }
            Unlisted::read(index, &listed, false)?
        }
        None => Unlisted::default(),
    };
    tell_unlisted(&args, &unlisted)?;
    let judged = args.judged.as_deref().map(|judged| {
        let titles = Some(args.title_columns.table(&args.titles));
        test_set::read(&TestSetFiles { judged, topics: None, titles, field: &config.field })
    });
    let judged = judged.transpose()?;
    let folder = files::folder_of(target);
    let update = Update {
        old: &old,
        config: &config,
        window: Window {
            files: &args.clicks,
            field: &config.field,
            weighting: config.weighting,
            half_life: settings.half_life,
            held_out: settings.held_out,
        },
        titles: table,
        judged: args.judged.as_deref().zip(judged.as_ref().map(|set| &set.judgments)),
        fresh: settings.fresh,
        trust_clicks: args.trust_clicks,
        scratch: &folder,
    };
    let interrupt = Interrupt::watch()?;
    let mut shown = Shown { args: &args, fresh: settings.fresh, config: &config, bar: None };
    let report = update.run(titles, &mut |progress| {
        shown.show(&progress);
        if interrupt.status().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    shown.finish();
    let Some(mut report) = report? else { return stopped(&args, &interrupt) };
    let clock = Instant::now();
    if let Verdict::Better(new) = &report.verdict
        && (interrupt.status().is_some()
            || !write::write(&args, replaced.as_ref(), unlisted.count, new, target, &interrupt)?)
    {
        return stopped(&args, &interrupt);
    }
    let is_better = matches!(report.verdict, Verdict::Better(_));
    if is_better {
        report.seconds.writing = clock.elapsed().as_secs_f64();
    }
    report::print(&args, &report, old.fingerprint(), unlisted.count).with_context(|| {
        let model = if is_better { "the new model is in place; its" } else { "the old model stays; the" };
        format!("{model} report cannot be written")
    })?;
    Ok(if is_better { Answer::Done } else { Answer::No })
}

/// What an update has shown so far.
struct Shown<'a> {
    args: &'a Args,
    fresh: bool,
    config: &'a TrainConfig,
    bar: Option<indicatif::ProgressBar>,
}

impl Shown<'_> {
    fn show(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Surveyed(survey) => {
                survey.days.iter().for_each(|day| input::note_skipped(&day.file, &day.skipped))
            }
            Progress::Notice(notice) => self.note(*notice),
            Progress::Training => {
                if !self.args.json {
                    let begin = if self.fresh { "from random weights" } else { "from the weights of the old model" };
                    output::note(format_args!("training: {}, {begin}", self.config.encoder));
                }
                self.bar = Some(progress::bar_with_message(0, "training", "pairs"));
            }
            Progress::Run(event) => self.event(event),
        }
    }

    fn event(&mut self, event: &Event) {
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
                let section = if self.config.titles.is_none() { "" } else { section_name(report.section) };
                let line = epoch_line(section, report) + &variance_kept(&self.config.encoder, report.variance);
                bar.suspend(|| output::note(line));
            }
            _ => {}
        }
    }

    fn note(&mut self, notice: Notice) {
        self.finish();
        let model = self.args.model.display();
        match notice {
            Notice::LearntBefore(LearntBefore::Window) => output::note(format_args!(
                "{model}: made from these very clicks with these settings, so this update learns them once more; is the newest \
                 day missing?"
            )),
            Notice::LearntBefore(LearntBefore::Newest) => output::note(format_args!(
                "{}: the newest day, but {model} has learnt all of it before, and nothing else; is the newest day missing?",
                self.args.clicks.last().map_or(Path::new(""), PathBuf::as_path).display()
            )),
            Notice::FewUnseen { queries } => output::note(format_args!(
                "the old model may have learnt held-out queries, because it goes back to one of `train`, and only {} of the \
                 newest day {} on no earlier day; so the test favours the old model",
                output::counted(queries as u64, "query"),
                output::agreeing(queries as u64, "is", "are")
            )),
            Notice::FewJudged { queries } => output::note(format_args!(
                "{}: {}, too few to decide; {LEAST_QUERIES} are needed",
                self.args.judged.as_deref().unwrap_or(Path::new("")).display(),
                output::counted(queries as u64, "query")
            )),
            Notice::JudgedAlone { held_out } => output::note(format_args!(
                "the newest day has {} with clicked titles, too few to compare models by: the judged titles alone decide",
                output::counted(held_out as u64, "held-out query")
            )),
        }
    }

    /// Removes the bar.
    fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Says which titles the index has and the file of titles lacks, so that they do not vanish without a word.
///
/// # Errors
///
/// The file has none of the index's titles, so it is another collection's.
fn tell_unlisted(args: &Args, unlisted: &Unlisted) -> Result<()> {
    let (Some(index), true) = (&args.index, unlisted.count > 0) else { return Ok(()) };
    let titles = output::counted(unlisted.count, "title");
    let first = unlisted.first.iter().map(|id| format!("`{}`", output::printable(id)));
    let first = output::first_of(first, unlisted.count);
    ensure!(
        !unlisted.is_all || args.keep_titles,
        "{}: expected an index of the titles in {}, found none of its {titles} ({first}) there; give the titles or the index of \
         the same collection, or delete the index if it is to have only these titles",
        output::path(index),
        output::path(&args.titles)
    );
    let becomes = if args.keep_titles { "kept" } else { "not in the new index; `--keep-titles` keeps them" };
    output::note(format_args!("{}: {titles} that `--titles` lacks ({first}): {becomes}", output::path(index)));
    Ok(())
}

/// Checks that the outputs can be written and are not inputs too.
fn check_outputs(args: &Args, target: &PathBuf) -> Result<()> {
    let read = || args.clicks.iter().chain([&args.titles]).chain(&args.judged);
    outputs::check([target], read())?;
    outputs::refuse_other(target, Kind::Model)?;
    if let Some(index) = &args.index {
        ensure!(
            looks_like_index(index),
            "{}: expected an index to rebuild, found none; make it with `clickvec index`",
            output::path(index)
        );
        IndexBuilder::check_output(index)?;
        let folder = index.canonicalize().unwrap_or_else(|_| index.clone());
        ensure!(
            read()
                .chain([target, &args.model])
                .all(|file| !file.canonicalize().is_ok_and(|file| file.starts_with(&folder))),
            "{}: expected an index without inputs of this command in its folder, found one there; name another index",
            index.display()
        );
    }
    for file in read() {
        let is_pipe = files::is_stream(file);
        ensure!(!is_pipe, "{}: expected a file, because it is read twice, found a pipe", output::input(file));
    }
    input::refuse_repeated(&args.clicks, "day")
}

fn stopped(args: &Args, interrupt: &Interrupt) -> Result<Answer> {
    output::note(format_args!("{}: stopped, the old model was kept", args.model.display()));
    Ok(Answer::Stopped(interrupt.status().unwrap_or(2)))
}
