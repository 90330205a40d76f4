//! `clickvec update`: changes the titles of an index; or trains a new model on new clicks, and puts it in the place of the old one
//! when held-out clicks of some days show that it is better, or when the mix of queries has drifted.

mod change;
mod replaced;
mod report;
mod titles;
mod write;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clickvec::model::Model;
use clickvec::train::{Event, TrainConfig};
use clickvec_eval::TestSetFiles;
use clickvec_eval::update::{
    LEAST_QUERIES, LearntBefore, Notice, Progress, Search, State, Update, UpdateConfig, Verdict, Window,
    search_with_model, training_config,
};
use clickvec_index::{Index, IndexBuilder, looks_like_index};
use clickvec_tables::ErrorKind;
use clickvec_tables::files::{self, Claim};
use clickvec_tables::titles::TitleReader;

use self::replaced::Replaced;
use self::titles::Refreshed;
use self::write::Target;
use super::train::{epoch_line, section_name, variance_kept};
use crate::answer::Answer;
use crate::interrupt::Interrupt;
use crate::output_files::Kind;
use crate::titles::TitleColumns;
use crate::{console, input, numbers, output_files, progress, settings, test_set};

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
fn learn(args: &Args, titles_path: &Path) -> Result<Answer> {
    let settings = settings::set(UpdateConfig::default(), &args.set)?;
    settings.check()?;
    let target = &args.target;
    let state_path = State::path_beside(target);
    let is_index = looks_like_index(target);
    check_outputs(args, &state_path, is_index)?;
    // First: another update of this model may be about to replace it.
    let _claims = [Some(Claim::new(&state_path)?), (!is_index).then(|| Claim::new(target)).transpose()?];
    files::remove_abandoned(target);
    files::remove_abandoned(&state_path);
    let old = if is_index { Index::open(target)?.model().clone() } else { Model::load(target)? };
    let state = read_state(&state_path)?;
    let updates = state.as_ref().filter(|state| state.model == old.fingerprint()).map_or(0, |state| state.updates);
    let config = training_config(&old, settings.fresh, settings.epochs, updates);
    let replaced = is_index.then(|| Replaced::tell(target)).transpose()?;
    let table = args.title_columns.checked(titles_path, &config.field)?;
    // That columns are missing is told before anything is changed.
    let fields = replaced.as_ref().map_or(&[][..], |replaced| &replaced.fields);
    TitleReader::open(&table, &config.field, fields)?;
    let titles = input::titles(&table, &config.field)?;
    if let Some(Replaced { field, .. }) = replaced.as_ref().filter(|replaced| replaced.field != config.field) {
        TitleReader::open(&table, field, &[])?;
    }
    let judged = args.judged.as_deref().map(|judged| {
        let titles = Some(args.title_columns.table(titles_path));
        test_set::read(&TestSetFiles { judged, topics: None, titles, field: &config.field })
    });
    let judged = judged.transpose()?;
    let refreshed = is_index.then(|| Refreshed::new(target, &table)).transpose()?;
    let index = is_index.then(|| Target::new(target, args.title_columns.table(titles_path))).transpose()?;
    let interrupt = Interrupt::watch()?;
    let search: Box<Search<'_>> = match &index {
        Some(index) => Box::new(|model, set, queries| index.search(model, (set, queries), &interrupt)),
        None => Box::new(search_with_model),
    };
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
        settings: &settings,
        max_churn: args.max_churn,
        state: state.as_ref(),
        search: &*search,
        titles: table,
        judged: args.judged.as_deref().zip(judged.as_ref().map(|set| &set.judgments)),
        trust_clicks: args.trust_clicks,
        scratch: &folder,
    };
    let mut shown = Shown { args, fresh: settings.fresh, config: &config, bar: None };
    let report = update.run(titles, &mut |progress| {
        shown.show(&progress);
        if interrupt.status().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    shown.finish();
    let mut report = match report {
        Ok(Some(report)) => report,
        Ok(None) => return stopped(args, &interrupt),
        Err(error) if error.kind() == ErrorKind::Interrupted => return stopped(args, &interrupt),
        Err(error) => return Err(error.into()),
    };
    let clock = Instant::now();
    if let Verdict::Replace(new, _) = &report.verdict {
        if interrupt.status().is_some() {
            return stopped(args, &interrupt);
        }
        match &index {
            Some(index) if !index.write(new, &interrupt)? => return stopped(args, &interrupt),
            Some(_) => {}
            None => new.save(target)?,
        }
        report.seconds.writing = clock.elapsed().as_secs_f64();
    }
    // Last: a state of another model than the one that is there begins the test anew.
    if let Some(state) = &report.state {
        state.write(&state_path)?;
    }
    report::print(args, &report, old.fingerprint(), refreshed.as_ref()).with_context(|| {
        let model = match report.verdict {
            Verdict::Replace(..) => "the new model is in place; its",
            _ => "the old model stays; the",
        };
        format!("{model} report cannot be written")
    })?;
    Ok(if matches!(report.verdict, Verdict::Suspicious(_)) { Answer::No } else { Answer::Done })
}

/// Reads the state of the update before. A damaged one is moved aside, and the test begins anew.
fn read_state(path: &Path) -> Result<Option<State>> {
    match State::read(path) {
        Err(error) if error.kind() == ErrorKind::Damaged => {
            let mut aside = path.as_os_str().to_owned();
            aside.push(".damaged");
            std::fs::rename(path, &aside).with_context(|| format!("{}: cannot be moved aside", console::path(path)))?;
            let aside = console::path(Path::new(&aside)).to_string();
            console::note(format_args!("{error}; it is now {aside}, and the test of new models begins anew"));
            Ok(None)
        }
        state => Ok(state?),
    }
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
                    console::note(format_args!("training: {}, {begin}", self.config.encoder));
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
                bar.suspend(|| console::note(line));
            }
            _ => {}
        }
    }

    fn note(&mut self, notice: Notice) {
        self.finish();
        let model = console::path(&self.args.target);
        let newest = || console::path(self.args.clicks.last().map_or(Path::new(""), PathBuf::as_path));
        match notice {
            Notice::LearntBefore(LearntBefore::Window) => console::note(format_args!(
                "{model}: made from these very clicks with these settings, so this update learns them once more; is the newest \
                 day missing?"
            )),
            Notice::LearntBefore(LearntBefore::Newest) => console::note(format_args!(
                "{}: the newest day, but {model} has learnt all of it before, and nothing else; is the newest day missing?",
                newest()
            )),
            Notice::OtherModel => console::note(format_args!(
                "{}: the test of another model; that of {model} begins anew",
                console::path(&State::path_beside(&self.args.target))
            )),
            Notice::CountedBefore => console::note(format_args!(
                "{}: the newest day, which is in the test already and does not count twice; is the newest day missing?",
                newest()
            )),
            Notice::FewJudged { queries } => console::note(format_args!(
                "{}: {}, too few to decide; {LEAST_QUERIES} are needed",
                console::path(self.args.judged.as_deref().unwrap_or(Path::new(""))),
                console::counted(queries as u64, "query")
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

/// Checks that the outputs can be written and are not inputs too.
fn check_outputs(args: &Args, state: &PathBuf, is_index: bool) -> Result<()> {
    let read = || args.clicks.iter().chain(&args.titles).chain(&args.judged);
    if is_index {
        output_files::check([state], read())?;
        IndexBuilder::check_output(&args.target)?;
        let folder = args.target.canonicalize().unwrap_or_else(|_| args.target.clone());
        ensure!(
            read().all(|file| !file.canonicalize().is_ok_and(|file| file.starts_with(&folder))),
            "{}: expected an index without inputs of this command in its folder, found one there; name another index",
            console::path(&args.target)
        );
    } else {
        output_files::check([&args.target, state], read())?;
        output_files::refuse_other(&args.target, Kind::Model)?;
    }
    for file in read() {
        let is_pipe = files::is_stream(file);
        ensure!(!is_pipe, "{}: expected a file, because it is read twice, found a pipe", console::input(file));
    }
    Ok(output_files::refuse_repeated(&args.clicks, "day")?)
}

fn stopped(args: &Args, interrupt: &Interrupt) -> Result<Answer> {
    console::note(format_args!("{}: stopped, the old model was kept", console::path(&args.target)));
    Ok(Answer::Stopped(interrupt.status().unwrap_or(2)))
}
