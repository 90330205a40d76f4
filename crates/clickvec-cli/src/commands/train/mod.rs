//! `clickvec train`: a click log goes in, a model comes out.

mod held_out;
mod report;
mod settings;

use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::Result;
use clickvec::ErrorKind;
use clickvec::internals::vector_file::texts_path;
use clickvec::model::Model;
use clickvec::tables::TITLE;
use clickvec::train::{ClickSource, Event, Inputs, Outcome, Output, Teacher, reference, written_paths};
use clickvec_eval::training::{Progress, Trained, Training, held_out_path};
use clickvec_eval::{TestSetFiles, files_of_test_set};

pub(crate) use self::report::{epoch_line, section_name, variance_kept};
use crate::answer::Answer;
use crate::interrupt::Interrupt;
use crate::output_files::Kind;
use crate::progress::Watch;
use crate::titles::TitleColumns;
use crate::{console, output_files, ranks};
use clickvec_tools::header::looks_raw;
use clickvec_tools::test_set;

/// Learn a model from a click log, from titles, or from both.
///
/// A click log is a table with the columns query and title, one clicked pair per line, and optionally weight, count,
/// clicked (rows with 0 do not count) and rare (see `prepare --private`); it may be compressed (.gz or .zst). Broken
/// lines are skipped and counted. Titles alone are enough to train on: the model learns to find each title from some of
/// its words, a few of them misspelt. Given both, it learns from the titles first and then from the clicks.
#[derive(clap::Args)]
#[command(
    group = clap::ArgGroup::new("learnt_from").required(true).multiple(true),
    override_usage = "clickvec train [OPTIONS] --output <MODEL> <--clicks <FILE>|--titles <FILE>|--teacher <FILE>>"
)]
pub(crate) struct Args {
    /// The click log.
    #[arg(long, value_name = "FILE", group = "learnt_from")]
    clicks: Option<PathBuf>,

    /// Titles to learn from, clicked or not: a table with the columns id and title, or a BEIR corpus. May be repeated.
    #[arg(long, value_name = "FILE", group = "learnt_from")]
    titles: Vec<PathBuf>,

    #[command(flatten)]
    title_columns: TitleColumns,

    /// Start from the weights of this model, such as yesterday's, instead of random ones.
    ///
    /// It must have the same encoder. Trigrams that it lacks are added.
    #[arg(long, value_name = "MODEL")]
    init: Option<PathBuf>,

    /// Vectors of the same texts from another program, or scores, which the model learns to imitate. May be repeated.
    ///
    /// A teacher: vectors such as a transformer's, whose similarities the model learns to imitate. Takes `.npy` with a `.txt` of the same name that has the texts, one per line; JSON lines of
    /// text and vector; or Parquet with the columns text and vector. Or
    /// scores of titles for queries, such as a cross-encoder's, whose differences within a query the model learns: a table
    /// with the columns query, title and score; without --clicks, its pairs take their place. May be repeated, for example
    /// for queries and for titles.
    #[arg(long, value_name = "VECTORS", group = "learnt_from")]
    teacher: Vec<PathBuf>,

    /// Where to write the model: one safetensors file.
    // The default is never used, but lets --help-settings stand alone.
    #[arg(
        long,
        short,
        value_name = "MODEL",
        required_unless_present = "help_settings",
        default_value = ".",
        hide_default_value = true
    )]
    output: PathBuf,

    /// Evaluate the model on these judged titles after every epoch.
    ///
    /// A table with the columns query, title and grade, or a BEIR folder.
    #[arg(long, value_name = "FILE")]
    validation: Option<PathBuf>,

    /// Write a checkpoint next to the model after every N minibatches [default: never].
    #[arg(long, value_name = "MINIBATCHES", hide_short_help = true, value_parser = crate::numbers::at_least_one::<u64>)]
    checkpoint_every: Option<u64>,

    /// Continue from the checkpoint next to the model, or start afresh if there is none.
    ///
    /// The settings and the data must be those of the interrupted run; a model that is finished stays as it is.
    #[arg(long)]
    resume: bool,

    /// Print events as JSON, one object per line.
    #[arg(long)]
    json: bool,

    /// Print the reference of all settings, in Markdown.
    #[arg(long, exclusive = true, group = "learnt_from")]
    help_settings: bool,

    #[command(flatten)]
    settings: settings::Settings,
}

impl Args {
    fn validation<'a>(&'a self, field: &'a str) -> Option<TestSetFiles<'a>> {
        self.validation.as_deref().map(|judged| TestSetFiles { judged, topics: None, titles: None, field })
    }

    /// Returns all files that are read.
    fn files(&self) -> Vec<PathBuf> {
        let validation = self.validation(TITLE).map_or_else(Vec::new, |files| files_of_test_set(&files));
        let texts = self.teacher.iter().map(|path| texts_path(path));
        let read = self.clicks.iter().chain(&self.titles).chain(&self.init).chain(&self.teacher).cloned();
        validation.into_iter().chain(read).chain(texts).collect()
    }
}

/// Trains a model.
pub(crate) fn run(mut args: Args) -> Result<Answer> {
    if args.help_settings {
        console::print(reference())?;
        return Ok(Answer::Done);
    }
    let private = ranks::private(&args.output, args.resume)?;
    if let Some(private) = &private {
        args.output.clone_from(&private.output);
    }
    args.title_columns.need(!args.titles.is_empty())?;
    if args.clicks.is_none() && args.validation.is_none() && args.teacher.is_empty() {
        args.title_columns.refuse_field(args.settings.field.as_deref())?;
    }
    let init = args.init.as_deref().map(Model::load).transpose()?;
    // Without clicks, the pairs of the first file of scores are learnt from.
    let scores: Vec<PathBuf> = args.teacher.iter().filter(|path| Teacher::is_score_file(path)).cloned().collect();
    let scored = scores.first().filter(|_| args.clicks.is_none());
    let inputs = Inputs {
        validation: args.validation.is_some(),
        clicks: args.clicks.is_some(),
        titles: !args.titles.is_empty(),
        init: init.as_ref(),
        ..Inputs::default()
    };
    let config = inputs.with_teacher(&args.teacher).settings(&args.settings.overrides()?)?;
    output_files::refuse_repeated(&args.titles, "file of titles")?;
    if let Some(raw) = args.clicks.as_deref().filter(|clicks| looks_raw(clicks)) {
        console::note(format_args!(
            "warning: {}: looks like a raw log; `clickvec prepare` counts its clicks and leaves out robots and what is personal",
            console::path(raw)
        ));
    }
    let read = args.files();
    for output in [&args.output, &held_out_path(&args.output)] {
        written_paths(output).iter().try_for_each(|written| output_files::refuse_overwriting(written, &read))?;
        output_files::refuse_other(output, Kind::Model)?;
    }
    let judgments =
        args.validation(&config.field).map(|files| test_set::read(&files, &Watch::default())).transpose()?;
    let checked = |path: &PathBuf| args.title_columns.checked(path, &config.field);
    let titles = args.titles.iter().map(checked).collect::<Result<Vec<_>>>()?;
    let clicks = match (&args.clicks, scored) {
        (Some(clicks), _) => ClickSource::file(clicks),
        (None, Some(scored)) => ClickSource::file(scored).scored(),
        (None, None) => ClickSource::none(),
    };
    let mut watcher = Watcher {
        reporter: report::Reporter::new(&config, clicks.path(), &args.titles, &scores, args.json),
        interrupt: None,
        files: [args.clicks.iter().cloned().collect(), args.titles.clone(), scores.clone()],
        left_out: Vec::new(),
        init_has_learnt_all: init.as_ref().is_some_and(has_learnt_all),
    };
    let training = Training {
        config: &config,
        titles: &titles,
        init: init.as_ref(),
        teachers: &|| Ok(args.teacher.iter().map(|path| Teacher::open(path, &config.field)).collect()),
        validation: judgments.as_ref().map(|set| &set.judgments),
        output: Some(Output { path: &args.output, checkpoint_every: args.checkpoint_every, resume: args.resume }),
        inputs: &read,
        ranks: ranks::get().cloned(),
        ..Training::new(&config)
    };
    let outcome = training.run(clicks, &mut |progress| watcher.watch(&progress));
    let Watcher { mut reporter, interrupt, left_out, .. } = watcher;
    reporter.close();
    let outcome = outcome.map_err(|error| {
        // A fault of the header has no line.
        let is_header = error.kind() == ErrorKind::Malformed && error.line().is_none();
        let is_in_clicks = args.clicks.is_some() && error.path() == args.clicks.as_deref();
        match error.what_helps().filter(|_| is_header && is_in_clicks) {
            Some(help) => {
                let help = format!("{help}; `clickvec prepare` makes a click log from a raw one");
                error.help(help)
            }
            None => error,
        }
    });
    match outcome? {
        Outcome::Cancelled => {
            let status = interrupt.transpose()?.and_then(|interrupt| interrupt.status());
            reporter.cancelled(&args.output);
            reporter.result()?;
            return Ok(Answer::Stopped(status.unwrap_or(2)));
        }
        Outcome::Finished(Trained::Memory(_)) => unreachable!("there is an output"),
        Outcome::Finished(Trained::File(written)) => {
            reporter.done(&args.output, &written);
            reporter.result()?;
        }
    }
    for Broken { files, broken, lines } in &left_out {
        console::note(format_args!(
            "warning: {}: most lines were left out, {} of {}; the model has learnt the rest",
            files.iter().map(|path| console::path(path)).collect::<Vec<_>>().join(", "),
            console::count(*broken),
            console::count(*lines)
        ));
    }
    Ok(if left_out.is_empty() { Answer::Done } else { Answer::No })
}

/// Returns whether a model has learnt clicks of queries that other trainings hold out.
fn has_learnt_all(model: &Model) -> bool {
    let training = model.training();
    training.log.pairs > 0 && training.config.held_out == 0.0
}

/// Files most of whose lines are broken.
struct Broken {
    files: Vec<PathBuf>,
    broken: u64,
    lines: u64,
}

/// Reports progress and watches for signals.
struct Watcher {
    reporter: report::Reporter,
    /// Until the log is read there is nothing to lose, so a signal ends the program at once, like any other program.
    interrupt: Option<Result<Interrupt>>,
    /// The files of clicks, of titles and of the teacher's scores.
    files: [Vec<PathBuf>; 3],
    /// Those most of whose lines are broken.
    left_out: Vec<Broken>,
    /// Whether the initial model has learnt clicks of held-out queries.
    init_has_learnt_all: bool,
}

impl Watcher {
    fn watch(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        match progress {
            Progress::Run { event: Event::Log { statistics, .. }, .. } => {
                self.interrupt.get_or_insert_with(Interrupt::watch);
                let titles = &statistics.titles;
                let clicks = statistics.pairs + statistics.held_out + statistics.without_words + statistics.not_clicked;
                self.note_broken(0, statistics.skipped, clicks);
                self.note_broken(1, titles.skipped, titles.titles + titles.without_words);
            }
            Progress::Run { event: Event::TeacherScores(coverage), .. } => {
                let skipped = coverage.skipped.iter().map(|skipped| skipped.count).sum();
                self.note_broken(2, skipped, coverage.scores);
            }
            Progress::HeldOut { then_all: true, .. } if self.init_has_learnt_all => console::note(
                "the initial model has already learnt all clicks, so held-out results may be too good; use judged titles",
            ),
            _ => {}
        }
        self.reporter.report(progress);
        match &self.interrupt {
            Some(Ok(interrupt)) if interrupt.status().is_none() => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }

    /// Remembers one of the lists of files if most of their lines are broken.
    fn note_broken(&mut self, list: usize, broken: u64, good: u64) {
        if broken > good && !self.files[list].is_empty() {
            self.left_out.push(Broken { files: self.files[list].clone(), broken, lines: broken + good });
        }
    }
}
