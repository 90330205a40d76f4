//! `clickvec train`: a click log goes in, a model comes out.

mod again;
mod encoder;
mod held_out;
mod json;
#[cfg(feature = "parquet")]
mod parquet;
mod report;
mod settings;
mod small;
mod teacher;

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::Parser;
use clickvec::Error;
use clickvec::eval::TestSetFiles;
use clickvec::internals::eval::files_of_test_set;
use clickvec::model::Model;
use clickvec::table::{Training, Validation};
use clickvec::tables::{TITLE, TableFault};
use clickvec::train::{ClickSource, Event, LogStatistics, Output, TrainConfig, TrainOptions, train_to_file};

use self::held_out::Judge;
use self::settings::Given;
use crate::answer::Answer;
use crate::interrupt::Interrupt;
use crate::titles::TitleColumns;
use crate::{input, output, test_set};

/// The arguments of `train` on their own, to parse them from other text than the command line.
#[derive(Parser)]
#[command(name = "train")]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// The training that these options describe. The calling command sets the log, the field and the output.
pub(crate) fn planned(arguments: &[String]) -> Result<Training> {
    let args = parse(arguments)?;
    let label = arguments.join(" ");
    let idle =
        [("--resume", args.resume), ("--checkpoint-every", args.checkpoint_every.is_some()), ("--json", args.json)];
    if let Some((option, _)) = idle.iter().find(|(_, given)| *given) {
        bail!(
            "`train {label}`: expected training settings, found `{option}`, which the table sets itself; leave it out"
        );
    }
    let of_clicks = [
        ("--held-out", args.settings.held_out.is_some()),
        ("--teacher in Parquet", args.teacher.iter().any(|path| teacher::is_parquet(path))),
    ];
    if let Some((option, _)) = of_clicks.iter().find(|(_, given)| *given) {
        bail!(
            "`train {label}`: expected settings of a training in a table, found `{option}` that a table does not take; train \
             that model first and name it with `model`"
        );
    }
    let init = args.init.as_deref().map(Model::load).transpose()?;
    let given = Given {
        validation: args.validation.is_some(),
        titles: !args.titles.is_empty(),
        teacher: !args.teacher.is_empty(),
        members: init.as_ref().map(|init| init.encoder_config().members()),
        ..Given::default()
    };
    let config = args.settings.config(&args.encoder, given);
    let config = config.map_err(|fault| anyhow!("`train {label}`: {fault:#}"))?;
    let (topics, texts) = (args.validation_topics, args.validation_titles);
    let validation = args.validation.map(|judged| Validation { judged, topics, titles: texts });
    let (titles, init) = (args.titles, args.init);
    let (scores, teachers) = args.teacher.into_iter().partition(|path| teacher::has_scores(path));
    Ok(Training { label, config, validation, titles, init, teachers, scores })
}

fn parse(arguments: &[String]) -> Result<Args> {
    let data = ["train", "--clicks", "clicks", "--output", "model", "--field", "title"];
    let line = Line::try_parse_from(data.iter().copied().chain(arguments.iter().map(String::as_str)));
    let line = line.map_err(|error| {
        // Keep only the first paragraph: the rest shows the usage of a command that the user did not call.
        let text = error.to_string();
        let first = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        anyhow!("`train {}`: {first}", arguments.join(" "))
    })?;
    Ok(line.args)
}

/// Learn a model from a click log, from titles, or from both.
///
/// A click log is a table with the columns query and title, one clicked pair per line, and optionally weight, count,
/// clicked (rows with 0 are no clicks) and rare (see `prepare --private`); it may be compressed (.gz or .zst). Broken
/// lines are skipped and counted. Titles alone are enough to train on: the model learns to find each title from some of
/// its words, a few of them misspelt. Given both, it learns from the titles first and then from the clicks.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The click log.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["titles", "teacher"])]
    clicks: Option<PathBuf>,

    /// Titles to learn from, clicked or not: a table with the columns id and title, or a BEIR corpus. May be repeated.
    #[arg(long, value_name = "FILE")]
    titles: Vec<PathBuf>,

    #[command(flatten)]
    title_columns: TitleColumns,

    /// Start from the weights of this model, such as yesterday's, instead of random ones. It must have the same
    /// encoder. Trigrams that it lacks are added.
    #[arg(long, value_name = "MODEL")]
    init: Option<PathBuf>,

    /// A teacher: vectors of the same texts from another program, such as a transformer. The model learns to imitate
    /// their similarities. Takes `.npy` with a `.txt` of the same name that has the texts, one per line; JSON lines of
    /// text and vector; or Parquet with the columns text and vector (in a program built with `--features parquet`). Or
    /// scores of titles for queries, such as a cross-encoder's, whose differences within a query the model learns: a table
    /// with the columns query, title and score; without --clicks, its pairs take their place. May be repeated, for example
    /// for queries and for titles.
    #[arg(long, value_name = "VECTORS")]
    teacher: Vec<PathBuf>,

    /// Where to write the model: one safetensors file.
    #[arg(long, short, value_name = "MODEL")]
    output: PathBuf,

    /// Evaluate the model on these judged titles after every epoch: a table with the columns query, title and grade, or
    /// any other form that `evaluate --judged` reads.
    #[arg(long, value_name = "FILE")]
    validation: Option<PathBuf>,

    /// The texts of the queries, if the validation set is TREC qrels.
    #[arg(long, value_name = "FILE", requires = "validation")]
    validation_topics: Option<PathBuf>,

    /// The texts of the titles, if the validation set is TREC qrels.
    #[arg(long, value_name = "FILE", requires = "validation_topics")]
    validation_titles: Option<PathBuf>,

    /// Write a checkpoint next to the model after every N minibatches [default: never].
    #[arg(long, value_name = "MINIBATCHES", value_parser = clap::value_parser!(u64).range(1..))]
    checkpoint_every: Option<u64>,

    /// Continue from the checkpoint next to the model, or start afresh if there is none. The settings and the data must
    /// be those of the interrupted run.
    #[arg(long)]
    resume: bool,

    /// Print events as JSON, one object per line.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    encoder: encoder::EncoderFlags,

    #[command(flatten)]
    settings: settings::Settings,
}

impl Args {
    fn validation<'a>(&'a self, field: &'a str) -> Option<TestSetFiles<'a>> {
        let (topics, titles) = (self.validation_topics.as_deref(), self.validation_titles.as_deref());
        self.validation.as_deref().map(|judged| TestSetFiles { judged, topics, titles, field })
    }

    fn validation_files(&self) -> Vec<PathBuf> {
        self.validation(TITLE).map_or_else(Vec::new, |files| files_of_test_set(&files))
    }
}

/// Trains a model.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let init = args.init.as_deref().map(Model::load).transpose()?;
    // Without clicks, the pairs of the first file of scores are learnt from.
    let scored = args.teacher.iter().find(|path| teacher::has_scores(path)).filter(|_| args.clicks.is_none());
    let given = Given {
        validation: args.validation.is_some(),
        scores_alone: scored.is_some(),
        clicks: args.clicks.is_some(),
        titles: !args.titles.is_empty(),
        teacher: !args.teacher.is_empty(),
        members: init.as_ref().map(|init| init.encoder_config().members()),
    };
    let config = args.settings.config(&args.encoder, given)?;
    let trial = again::Trial::of(&args, &config).map_err(|error| match error.downcast::<Error>() {
        Ok(fault) => told_of_log(fault, args.clicks.as_deref()),
        Err(error) => error,
    })?;
    let validation = args.validation_files();
    let read: Vec<&PathBuf> =
        validation.iter().chain(&args.clicks).chain(&args.titles).chain(&args.init).chain(&args.teacher).collect();
    let outputs = trial.iter().map(|trial| trial.path.as_path()).chain([args.output.as_path()]);
    for beside in outputs.flat_map(clickvec::train::written_paths) {
        input::refuse_overwriting(&beside, read.iter().copied())?;
    }
    let judgments = args.validation(&config.field).map(|files| test_set::read(&files)).transpose()?;
    let (_tables, title_files) = args.title_columns.tables(&args.titles, &config.field)?;
    let pairs = args.clicks.as_deref().or(scored.map(PathBuf::as_path));
    let scores = args.teacher.iter().filter(|path| teacher::has_scores(path)).cloned().collect();
    let mut reporter = report::Reporter::new(&config, pairs, &args.titles, scores, args.json);
    // Until the log is read there is nothing to lose, so a signal ends the program at once, like any other program.
    let mut interrupt: Option<Result<Interrupt>> = None;
    let mut left_out = None;
    // What the run with held-out queries has learnt from titles is what the other learns from them.
    let after_titles = RefCell::new(None);
    let mut train = |config: &TrainConfig, path: &Path, reporter: &mut report::Reporter| -> Result<_> {
        let mut judge = judgments.as_ref().map(|set| test_set::judge(&set.judgments));
        let validation =
            judgments.as_ref().zip(judge.as_mut()).map(|(set, judge)| test_set::validation(&set.judgments, judge));
        let by_held_out = Judge::default();
        let learnt_titles: Option<Model> = after_titles.take();
        let mut score = |model: &Model| {
            if config.titles.is_some_and(|titles| titles.epochs == model.training().epoch) {
                after_titles.replace(Some(model.clone()));
            }
            by_held_out.score(model)
        };
        let validation = match config.held_out > 0.0 {
            true => Some(Judge::validation(&mut score)),
            false => validation,
        };
        let options = TrainOptions {
            validation,
            titles: &title_files,
            init: init.as_ref(),
            teachers: args.teacher.iter().map(|path| teacher::open(path, &config.field)).collect::<Result<_>>()?,
            after_titles: learnt_titles.as_ref(),
            ..TrainOptions::default()
        };
        let output = Output { path, checkpoint_every: args.checkpoint_every, resume: args.resume };
        let clicks = match (&args.clicks, scored) {
            (Some(clicks), _) => ClickSource::file(clicks),
            (None, Some(scored)) => ClickSource::file(scored).of_scores(),
            (None, None) => ClickSource::none(),
        };
        let outcome = train_to_file(config, clicks, &output, options, &mut |event| {
            if let Event::Log { statistics, .. } = event {
                interrupt.get_or_insert_with(Interrupt::watch);
                left_out = mostly_broken(statistics);
            }
            if let Event::HeldOut(held_out) = event {
                by_held_out.begin(held_out);
            }
            reporter.event(event, by_held_out.last());
            match &interrupt {
                Some(Ok(interrupt)) if interrupt.status().is_none() => ControlFlow::Continue(()),
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        });
        reporter.close();
        let outcome = outcome.map_err(|fault| told_of_log(fault, args.clicks.as_deref()))?;
        Ok(outcome.finished().map(|written| (written, by_held_out)))
    };
    // The run that holds queries out says how many epochs of clicks are best. Then all clicks are learnt for as long.
    let mut at = args.output.as_path();
    let mut last = None;
    match &trial {
        None => {}
        Some(trial) if let Some(all) = trial.finished(&args, &config) => {
            reporter.again(None);
            last = train(&all, &args.output, &mut reporter)?;
        }
        Some(trial) => {
            at = &trial.path;
            reporter.begin_trial();
            if init.as_ref().is_some_and(again::has_learnt_all) {
                output::note(
                    "the initial model has learnt all its clicks, so what held-out queries say may be too good; judged titles \
                     tell",
                );
            }
            if let Some((written, judge)) = train(&config, &trial.path, &mut reporter)? {
                let judged = judge.finish(|| Model::load(&trial.path))?;
                if let Some(judged) = &judged {
                    reporter.judged(judged);
                }
                match trial.all_clicks(&config, &written).filter(|_| judged.is_some()) {
                    None => {
                        trial.keep(&args.output)?;
                        last = Some((written, Judge::default()));
                    }
                    Some(all) => {
                        at = &args.output;
                        reporter.again(Some(all.epochs));
                        last = train(&all, &args.output, &mut reporter)?;
                    }
                }
            }
        }
    }
    if trial.is_none() {
        last = train(&config, &args.output, &mut reporter)?;
    }
    let Some((written, judge)) = last else {
        let asked = interrupt.transpose()?.and_then(|interrupt| interrupt.status());
        reporter.cancelled(at);
        reporter.result()?;
        return Ok(Answer::Stopped(asked.unwrap_or(2)));
    };
    if let Some(judged) = judge.finish(|| Model::load(&args.output))? {
        reporter.judged(&judged);
    }
    if let Some(trial) = trial {
        trial.remove();
    }
    reporter.done(&args.output, &written);
    reporter.result()?;
    Ok(match (left_out, &args.clicks) {
        (Some((broken, lines)), Some(clicks)) => {
            output::note(format_args!(
                "warning: {}: most lines were left out, {} of {}; the model has learnt the rest",
                clicks.display(),
                output::count(broken),
                output::count(lines)
            ));
            Answer::No
        }
        _ => Answer::Done,
    })
}

/// The broken lines of a click log and all its lines, if most are broken.
fn mostly_broken(log: &LogStatistics) -> Option<(u64, u64)> {
    let lines = log.pairs + log.without_words + log.not_clicked + log.skipped;
    (2 * log.skipped > lines).then_some((log.skipped, lines))
}

/// The message for a fault. If the file is not a click log, it also names the command that makes one.
fn told_of_log(fault: Error, clicks: Option<&Path>) -> anyhow::Error {
    let lacks_a_column = matches!(
        &fault,
        Error::Table { path, fault: TableFault::MissingColumn { .. }, .. } if clicks == Some(path.as_path())
    );
    match lacks_a_column {
        true => anyhow!("{fault}; `clickvec prepare` makes a click log from a raw one"),
        false => fault.into(),
    }
}
