//! `clickvec update`: trains a new model on new clicks, starting from the old one, and replaces the old one unless the new
//! one is worse.

mod learn;
mod questions;
mod report;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clickvec::internals::files::{self, Claim};
use clickvec::model::Model;
use clickvec::tables::Title;
use clickvec_eval::ranker::{self, Corpus, Neural, Ranker};
use clickvec_eval::update::{Drift, LearntBefore, Models, Survey, Suspicion, Trial, Window, Witness, training_config};
use clickvec_index::IndexBuilder;
use clickvec_tables::titles::TitleReader;

use learn::{learn, write};
use questions::{Questions, has_left_out, questions, unseen};

use super::index::whole::{Kept, Unlisted};
use crate::answer::Answer;
use crate::interrupt::Interrupt;
use crate::titles::{TitleColumns, without_field};
use crate::{input, output};

/// The sets of queries on which the models are compared.
const NEWEST: &str = "clicks of the newest day";
const UNSEEN: &str = "queries that no earlier day has";
const EARLIER: &str = "clicks of earlier days";
const JUDGED: &str = "judged titles";

/// Train a model on new clicks, and replace the old one unless the new one is significantly worse.
///
/// The new model starts from the old one's weights and learns from the clicks of all files; older days count less. If the
/// old model learnt from titles, so does the new one. Some queries are held out, the same ones every day. Both models
/// search all titles for them, and a paired test on those of the newest day decides whether the new model is worse. Until
/// a model is made by `--fresh`, the test counts only queries that no earlier day contains, because `train` may have learnt
/// the others. If the new model is worse, or if the newest clicks do not look as if they came from users, the old model
/// stays and the exit status is 1. Interrupting the command never damages the old model.
#[derive(clap::Args)]
#[command(mut_arg("title_column", without_field))]
pub(crate) struct Args {
    /// The old model. It is replaced unless `--output` is given.
    #[arg(long, value_name = "MODEL")]
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

    /// The number of days (files) after which a click counts half.
    #[arg(long, value_name = "DAYS", default_value_t = 7.0, value_parser = above_zero)]
    half_life: f64,

    /// The share of queries to hold out, from 0.01 to 0.5. Use the same share every day.
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = held_out)]
    held_out: f64,

    /// Start from random weights instead of the old model's.
    #[arg(long)]
    fresh: bool,

    /// Passes over the clicks [default: 2; with --fresh: as many as the old model was trained for].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    epochs: Option<u32>,

    /// Learn from the newest clicks even if they do not look as if they came from users.
    #[arg(long)]
    trust_clicks: bool,

    /// Print the report as one JSON object.
    #[arg(long)]
    json: bool,
}

fn above_zero(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "expected a number above 0".to_owned())
}

fn held_out(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.01..=0.5).contains(number));
    number.ok_or_else(|| "expected a number from 0.01 to 0.5".to_owned())
}

/// The outcome of the update.
enum Verdict {
    Promoted {
        fingerprint: String,
    },
    /// The newest clicks do not look as if they came from users.
    Suspicious(Suspicion),
    /// The new model is worse in these trials.
    Worse(Vec<&'static str>),
}

/// The time that each step took.
#[derive(Default)]
struct Seconds {
    reading: Duration,
    training: Duration,
    testing: Duration,
    writing: Duration,
}

/// The contents of the report.
struct Report<'a> {
    args: &'a Args,
    old: String,
    titles: usize,
    /// The number of titles of the index that the new titles lack.
    unlisted: u64,
    survey: Survey,
    /// The trials of both models with their names. Empty if nothing was learnt.
    trials: Vec<(&'static str, Trial)>,
    drift: Option<Drift>,
    verdict: Verdict,
    seconds: Seconds,
}

/// Updates a model.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let started = Instant::now();
    let target = args.output.as_ref().unwrap_or(&args.model);
    check_outputs(&args, target)?;
    // First: another update of this model may be about to replace it.
    let _claim = Claim::new(target)?;
    files::remove_abandoned(target);
    let old = Model::load(&args.model)?;
    let config = training_config(&old, args.fresh, args.epochs);
    let kept = args.index.as_deref().map(Kept::of).transpose()?.unwrap_or_default();
    args.title_columns.check(&args.titles, &config.field)?;
    let table = args.title_columns.of(&args.titles);
    // That columns are missing is told before anything is learnt.
    TitleReader::open(&table, &config.field, &kept.fields)?;
    let target = args.output.as_ref().unwrap_or(&args.model);
    let titles = input::titles(&table, &config.field)?;
    if let Some(field) = kept.field.as_ref().filter(|field| **field != config.field) {
        TitleReader::open(&table, field, &[])?;
    }
    let unlisted = match &args.index {
        Some(index) => {
            let listed: HashSet<String> = titles.iter().map(|title| title.id.clone()).collect();
            if args.keep_titles {
                // Before anything is learnt: what is damaged cannot be kept.
                Unlisted::check(index)?;
            }
            Unlisted::of(index, &listed, false)?
        }
        None => Unlisted::default(),
    };
    tell_unlisted(&args, &unlisted)?;
    let window = Window {
        files: &args.clicks,
        field: &config.field,
        weighting: config.weighting,
        half_life: args.half_life,
        held_out: args.held_out,
    };
    let survey = {
        let texts: HashSet<&str> = titles.iter().map(|title| title.title.as_str()).collect();
        window.survey(|text| texts.contains(text), old.dictionary())?
    };
    for day in &survey.days {
        input::note_skipped(&day.file, &day.skipped);
    }
    note_learnt_before(&args, &window, &old, &titles)?;
    let interrupt = Interrupt::watch()?;
    let mut report = Report {
        args: &args,
        old: old.fingerprint().to_owned(),
        titles: titles.len(),
        unlisted: unlisted.count,
        verdict: Verdict::Worse(Vec::new()),
        trials: Vec::new(),
        drift: None,
        survey,
        seconds: Seconds { reading: started.elapsed(), ..Seconds::default() },
    };
    if let Some(suspicion) = report.survey.suspicion().filter(|_| !args.trust_clicks) {
        report.verdict = Verdict::Suspicious(suspicion);
        return finish(&report);
    }
    let (set, questions) = questions(&args, &config, &report.survey, titles)?;
    let texts = set.texts();
    // First, so that nothing is learnt from clicks that cannot be trusted.
    let clock = Instant::now();
    let old_ranker = Neural::new("old".to_owned(), &old);
    if !args.trust_clicks {
        let trigrams;
        let witness: (Witness, &dyn Ranker) = if has_left_out(&args, &old) {
            (Witness::OldModel, &old_ranker)
        } else {
            trigrams = ranker::train("trigram", &Corpus::of_titles(texts.iter().copied())?)?;
            (Witness::LetterTrigrams, &*trigrams)
        };
        let Questions { newest, earlier, .. } = &questions;
        if let Some(suspicion) = Suspicion::of(witness, (&set.titles, &texts), newest, earlier)? {
            report.verdict = Verdict::Suspicious(suspicion);
            report.seconds.testing = clock.elapsed();
            return finish(&report);
        }
    }
    report.seconds.testing = clock.elapsed();
    let clock = Instant::now();
    let Some(new) = learn(&args, &config, &old, &window, target, &interrupt)? else {
        return stopped(&args, &interrupt);
    };
    report.seconds.training = clock.elapsed();
    let clock = Instant::now();
    let new_ranker = Neural::new("new".to_owned(), &new);
    let models = Models::new(&set.titles, &texts, &old_ranker, &new_ranker)?;
    let unseen = unseen(&args, &old, &report.survey, &questions.newest);
    // Only one of the two decides.
    let decides_newest = if unseen.is_empty() { NEWEST } else { UNSEEN };
    let Questions { newest, earlier, judged } = questions;
    let named = [(NEWEST, newest), (UNSEEN, unseen), (EARLIER, earlier), (JUDGED, judged)];
    for (name, queries) in named {
        if !queries.is_empty() {
            report.trials.push((name, models.trial(&queries)?));
        }
    }
    let of_clicks = report.trials.iter().filter(|(name, _)| [NEWEST, EARLIER].contains(name)).map(|(_, trial)| trial);
    report.drift = Some(models.drift(&of_clicks.collect::<Vec<_>>()));
    report.seconds.testing += clock.elapsed();
    // Earlier days do not decide: a first model made by `train` may have learnt some of their held-out clicks.
    let decides = |name: &str| name == decides_newest || name == JUDGED;
    let worse: Vec<&'static str> =
        report.trials.iter().filter(|(name, trial)| decides(name) && trial.is_worse()).map(|(name, _)| *name).collect();
    if !worse.is_empty() {
        report.verdict = Verdict::Worse(worse);
        return finish(&report);
    }
    let clock = Instant::now();
    if interrupt.status().is_some() || !write(&args, &kept, unlisted.count, &new, target, &interrupt)? {
        return stopped(&args, &interrupt);
    }
    report.seconds.writing = clock.elapsed();
    report.verdict = Verdict::Promoted { fingerprint: new.fingerprint().to_owned() };
    finish(&report)
}

/// Says so if the old model has learnt these clicks before.
fn note_learnt_before(args: &Args, window: &Window<'_>, old: &Model, titles: &[Title]) -> Result<()> {
    let (model, newest) = (args.model.display(), args.clicks.last().map_or(Path::new(""), PathBuf::as_path).display());
    match window.learnt_before(old, titles)? {
        Some(LearntBefore::Window) => output::note(format_args!(
            "{model}: made from these very clicks with these settings, so this update learns them once more; is the newest day \
             missing?"
        )),
        Some(LearntBefore::Newest) => output::note(format_args!(
            "{newest}: the newest day, but {model} has learnt all of it before, and nothing else; is the newest day missing?"
        )),
        None => {}
    }
    Ok(())
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
    input::refuse_overwriting(target, read())?;
    input::check_outputs([target])?;
    if let Some(index) = &args.index {
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
    for (place, file) in args.clicks.iter().enumerate() {
        ensure!(
            !args.clicks[..place].iter().any(|other| input::same_file(other, file)),
            "expected each day once, found `{}` again",
            file.display()
        );
    }
    Ok(())
}

fn stopped(args: &Args, interrupt: &Interrupt) -> Result<Answer> {
    output::note(format_args!("{}: stopped, the old model was kept", args.model.display()));
    Ok(Answer::Stopped(interrupt.status().unwrap_or(2)))
}

fn finish(report: &Report<'_>) -> Result<Answer> {
    report::print(report).with_context(|| match report.verdict {
        Verdict::Promoted { .. } => "the new model is in place; its report cannot be written",
        Verdict::Suspicious(_) | Verdict::Worse(_) => "the old model stays; the report cannot be written",
    })?;
    Ok(match report.verdict {
        Verdict::Promoted { .. } => Answer::Done,
        Verdict::Suspicious(_) | Verdict::Worse(_) => Answer::No,
    })
}
