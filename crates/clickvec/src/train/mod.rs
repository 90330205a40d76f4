//! Training: Algorithm 1 of Palangi et al. 2015, with a choice of optimisers and of negatives.
//!
//! ```
//! use std::ops::ControlFlow;
//! use clickvec::train::{ClickSource, Outcome, TrainConfig, TrainOptions, train};
//!
//! let pairs = [("red shoes", "running shoes, red", 1.0), ("desk lamp", "a lamp for desks", 1.0)];
//! let config = TrainConfig { epochs: 1, ..TrainConfig::default() };
//! let outcome = train(&config, ClickSource::pairs(pairs), TrainOptions::default(), &mut |_| ControlFlow::Continue(()))?;
//! let Outcome::Finished(model) = outcome else { unreachable!("nothing cancels it") };
//! assert_eq!(model.dimension(), 96);
//! # Ok::<(), clickvec::Error>(())
//! ```

mod agreement;
mod average;
mod checkpoint;
mod event;
mod learner;
mod least_squares;
mod projection;
mod read;
mod record;
mod request;
mod run;
mod stage;
mod start;
mod step;

pub use self::agreement::Agreement;
pub use self::checkpoint::other_settings;
pub use self::event::{EpochReport, Event};
pub use self::least_squares::StartReport;
pub use self::request::Inputs;
pub use crate::clicks::{
    ClickSource, HeldOut, HeldOutCounts, HeldOutQuery, RepeatableClicks, ScoreCoverage, Teacher, TeacherCoverage,
    click_grades,
};
pub use crate::encoder::{Bptt, InitRange, Signals};
pub use crate::loss::LossKind;
pub use crate::optimizer::OptimizerKind;
pub use crate::ranks::Ranks;
pub use crate::settings::differences::SettingDifference;
pub use crate::settings::{
    Keep, LogStatistics, LossConfig, NegativeSource, Negatives, Overrides, Preset, Section, TeacherConfig,
    TeacherStart, TitleConfig, TrainConfig, TrainingRecord, Weighting, documentation, reference,
};
pub use crate::text::{Accents, Tail, TextConfig, Tokens};
pub use crate::views::Views;

use crate::clicks::Storage;
use crate::model::Model;
use crate::settings::encoder_text;
use crate::tables::Titles;
use clickvec_tables::ErrorKind;
use clickvec_tables::files::{Claim, check_replaceable, folder_of, is_folder, remove_abandoned, resolved};
use clickvec_tables::{Error, Result};
use read::read;
use record::record;
use run::Run;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The file that a run writes.
#[derive(Debug, Clone, Copy)]
pub struct Output<'a> {
    /// The path of the model. While training runs, two files are next to it: `.partial`, the model that would be kept
    /// if training ended now, and `.checkpoint`.
    pub path: &'a Path,
    /// The number of minibatches between two checkpoints; `None` writes no checkpoint.
    pub checkpoint_every: Option<u64>,
    /// Whether to continue from the checkpoint next to `path`, if there is one. Without a checkpoint, never replaces the
    /// model of another run.
    pub resume: bool,
}

/// The options of a run, apart from pairs and settings.
#[derive(Default)]
pub struct TrainOptions<'a> {
    /// Files of titles, clicked or not, to learn from before the clicks; see [`TrainConfig::titles`].
    pub titles: &'a [Titles],
    /// A model to start from, which must have the same encoder. Trigrams of the log that the model lacks are added to
    /// its dictionary.
    pub init: Option<&'a Model>,
    /// The model of an earlier run after its last epoch of titles. That run had the same settings and data; only the queries
    /// that it held out may differ. This run then skips the titles and begins with the clicks, with the same result. A
    /// run that is resumed goes on from its checkpoint instead.
    pub after_titles: Option<&'a Model>,
    /// Vectors of the same texts from another program, all from one vector space. The model learns to imitate their
    /// similarities, as [`TrainConfig::teacher`] sets out.
    pub teachers: Vec<Teacher<'a>>,
    /// The judge of the model after every epoch. If queries are to be held out and the log has too few of them, it is not used,
    /// and the last epoch is kept.
    pub validation: Option<Validation<'a>>,
    /// The folder for the log's temporary files, so that memory does not grow with the log. The default is the folder of the
    /// output; without an output the log stays in memory.
    pub scratch: Option<&'a Path>,
    /// The share of queries that the source of the clicks leaves out, if it does; the model records it. See
    /// `Window` of clickvec-eval.
    pub left_out: Option<f64>,
    /// The processes that train this model together. Each has an output of its own, gets the same events and writes the same model;
    /// only the first writes checkpoints.
    pub ranks: Option<Arc<dyn Ranks>>,
}

/// Whether a later model is worse than the best one, by the measures of both, query by query.
pub type IsWorse = fn(best: &[Vec<f64>], later: &[Vec<f64>]) -> bool;

/// A judge of the model after every epoch.
pub struct Validation<'a> {
    /// A fingerprint of the validation data. If the validation decides which model is kept, a run cannot be resumed
    /// with other data.
    pub fingerprint: u64,
    /// Whether an epoch after the best one, whose value is not higher, is worse than it, by [`Score::queries`] of both. One that
    /// is not is kept, since it has learnt longer.
    pub is_worse: IsWorse,
    /// The function that scores a model.
    pub judge: &'a mut dyn FnMut(&Model) -> Score,
}

/// The score of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Score {
    /// The value that [`Keep::Best`], [`Keep::Loss`] and early stopping compare; larger is better.
    pub value: f64,
    /// Figures for reports by their names, such as the means of metrics over judged queries.
    pub figures: Vec<(String, f64)>,
    /// Measures query by query, which [`Validation::is_worse`] compares.
    pub queries: Vec<Vec<f64>>,
}

impl Score {
    /// Returns the figure with this name.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|(other, _)| other == name).map(|&(_, value)| value)
    }
}

/// The end of a run without errors.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a run may have been cancelled"]
pub enum Outcome<T> {
    /// The run was finished.
    Finished(T),
    /// The caller stopped the run. Whatever was at the output is untouched, and a checkpoint stays.
    Cancelled,
}

impl<T> Outcome<T> {
    /// Returns the result of a finished run.
    pub fn finished(self) -> Option<T> {
        match self {
            Outcome::Finished(value) => Some(value),
            Outcome::Cancelled => None,
        }
    }
}

/// A model that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its fingerprint.
    pub fingerprint: String,
    /// The epoch that the model is from.
    pub epoch: u32,
    /// Whether an earlier run had already finished this model.
    pub already: bool,
}

/// Trains a model in memory.
///
/// The same seed, pairs, program and instruction level give the same bytes, at any number of threads. When `on_event`
/// breaks, the run ends after the current minibatch; an encoder with several members learns up to eight of them in between.
///
/// # Errors
/// [`ErrorKind::Setting`] before anything is read; [`ErrorKind::Malformed`] and [`ErrorKind::Empty`] of the clicks, the titles and the
/// teacher; [`ErrorKind::Mismatch`] of an initial model; [`ErrorKind::Io`] and [`ErrorKind::Memory`]; [`ErrorKind::NotFinite`].
pub fn train(
    config: &TrainConfig,
    clicks: ClickSource<'_>,
    mut options: TrainOptions<'_>,
    on_event: &mut dyn FnMut(&Event) -> ControlFlow<()>,
) -> Result<Outcome<Model>> {
    let started = Instant::now();
    check_settings(config, &clicks, &options)?;
    let storage = options.scratch.map_or(Storage::Memory, Storage::Folder);
    let ControlFlow::Continue(log) = read(config, clicks, &mut options, storage, on_event)? else {
        return Ok(Outcome::Cancelled);
    };
    let after_titles = options.after_titles;
    let mut run = Run::new(config, &log, storage, options, None)?;
    if let Some(model) = after_titles {
        run.begin_after_titles(model)?;
    }
    Ok(match run.train(started, on_event)? {
        ControlFlow::Continue(()) => Outcome::Finished(run.into_model()),
        ControlFlow::Break(()) => Outcome::Cancelled,
    })
}

/// Trains a model and writes it to `output`.
///
/// The same seed, pairs, program and instruction level give the same bytes, at any number of threads and after any
/// number of interruptions.
///
/// When `on_event` breaks, the run ends as [`train`] does or, if that was the last minibatch of its epoch, after the epoch. With
/// checkpoints on, it writes one then, so that nothing is lost. A file at the output stays in any case.
///
/// # Errors
/// Those of [`train`], of which [`ErrorKind::NotFinite`] leaves the model of the last good epoch; [`ErrorKind::Mismatch`] if the run
/// to resume is another; [`ErrorKind::Damaged`] of a checkpoint or the model next to it.
pub fn train_to_file(
    config: &TrainConfig,
    clicks: ClickSource<'_>,
    output: &Output<'_>,
    mut options: TrainOptions<'_>,
    on_event: &mut dyn FnMut(&Event) -> ControlFlow<()>,
) -> Result<Outcome<Written>> {
    let started = Instant::now();
    check_settings(config, &clicks, &options)?;
    if names_a_folder(output.path) {
        return Err(is_folder(output.path));
    }
    // Check before training that these files can be written, names included.
    for path in &written_paths(output.path) {
        check_replaceable(path)?;
    }
    let _claim = Claim::new(output.path)?;
    for path in written_paths(output.path) {
        remove_abandoned(&path);
    }
    let beside = folder_of(output.path);
    let storage = Storage::Folder(options.scratch.unwrap_or(&beside));
    let ControlFlow::Continue(log) = read(config, clicks, &mut options, storage, on_event)? else {
        return Ok(Outcome::Cancelled);
    };
    let record = record(config, &log, &options);
    let checkpoint = checkpoint::path(output.path);
    // A run that was killed after publishing its model may leave its checkpoint, but no `.partial`.
    let may_be_finished = output.resume && !(checkpoint.exists() && partial(output.path).exists());
    if may_be_finished {
        match finished_before(&record, output.path) {
            Ok(Some(written)) => {
                checkpoint::remove(output.path);
                return Ok(Outcome::Finished(written));
            }
            // A run that was stopped in its first epoch has no `.partial` either, and what is at `output` was there before.
            Err(_) if checkpoint.exists() => {}
            other => drop(other?),
        }
    }
    let after_titles = options.after_titles;
    let mut run = Run::new(config, &log, storage, options, Some(output))?;
    if !output.resume {
        // The old checkpoint would not fit the `.partial` that this run writes.
        checkpoint::remove(output.path);
    }
    if output.resume && checkpoint.exists() {
        let resumed = run.resume(output.path)?;
        if on_event(&resumed).is_break() {
            return Ok(Outcome::Cancelled);
        }
    } else if let Some(model) = after_titles {
        run.begin_after_titles(model)?;
    }
    Ok(match run.train(started, on_event)? {
        ControlFlow::Continue(()) => Outcome::Finished(run.publish(output.path)?),
        ControlFlow::Break(()) => Outcome::Cancelled,
    })
}

fn check_settings(config: &TrainConfig, clicks: &ClickSource<'_>, options: &TrainOptions<'_>) -> Result<()> {
    config.check()?;
    check_sources(config, clicks, options)?;
    check_validation(config, options)?;
    options.init.map_or(Ok(()), |init| check_init(config, init))
}

/// Returns the error of a setting that does not fit the training data.
fn setting_error(name: &'static str, expected: &'static str, found: impl Into<String>) -> Error {
    clickvec_tables::Error::expected(ErrorKind::Setting, expected, found.into()).within(name)
}

fn check_sources(config: &TrainConfig, clicks: &ClickSource<'_>, options: &TrainOptions<'_>) -> Result<()> {
    let (titles, teachers) = (options.titles, options.teachers.len());
    if (teachers > 0) != config.teacher.is_some() {
        return Err(setting_error("teacher", "settings and a teacher, or neither", format!("{teachers} teachers")));
    }
    match (clicks.is_none(), titles, &config.titles) {
        (true, [], _) => Err(setting_error("clicks", "clicks, titles or both to learn from", "neither")),
        (_, [_, ..], None) | (_, [], Some(_)) => {
            let found = format!("{} files of titles", titles.len());
            Err(setting_error("titles", "settings and titles, or neither", found))
        }
        (true, _, Some(settings)) if settings.epochs == 0 => {
            Err(setting_error("titles.epochs", "1 or more without clicks", "0"))
        }
        _ => Ok(()),
    }
}

/// Checks that training can start from `init`.
fn check_init(config: &TrainConfig, init: &Model) -> Result<()> {
    // The members go on learning, and a projection is fitted to them anew.
    if init.encoder_config().without_projection() != config.encoder.without_projection() {
        let expected = format!("an initial model of the encoder {}", encoder_text(&config.encoder));
        let error =
            clickvec_tables::Error::expected(ErrorKind::Mismatch, expected, encoder_text(init.encoder_config()));
        return Err(error.help("begin with another or train its encoder"));
    }
    let text = init.training().config.text;
    if text != config.text {
        let [expected, found] = [config.text, text].map(|text| crate::fields::shown(&crate::fields::json(&text)));
        let expected = format!("an initial model with {expected}");
        let error = clickvec_tables::Error::expected(ErrorKind::Mismatch, expected, found);
        return Err(error.help("leave the settings of texts to it"));
    }
    if config.shared_towers && !init.shared_towers() {
        let expected = "an initial model with one tower for queries and titles";
        let error = clickvec_tables::Error::expected(ErrorKind::Mismatch, expected, "two");
        return Err(error.help("train two towers"));
    }
    Ok(())
}

fn check_validation(config: &TrainConfig, options: &TrainOptions<'_>) -> Result<()> {
    let name = match (config.keep, config.patience) {
        _ if options.validation.is_some() => return Ok(()),
        _ if config.held_out > 0.0 => "held_out",
        (Keep::Best | Keep::Loss, _) => "keep",
        (Keep::Last, Some(_)) => "patience",
        (Keep::Last, None) => return Ok(()),
    };
    Err(setting_error(name, "a validation, which judges the model after each epoch", "none"))
}

/// Returns the model at `output`, if it is the finished model of this run; an error if it belongs to another run.
fn finished_before(record: &TrainingRecord, output: &Path) -> Result<Option<Written>> {
    // A file that is not a model is overwritten, as without `resume`.
    let Ok(model) = Model::load(output) else { return Ok(None) };
    let found = model.training();
    if let Some(difference) = checkpoint::difference(found, record) {
        return Err(difference.refuse().at(output));
    }
    // A model is at `output` only once its run has ended, which may happen before the last epoch.
    let config = &record.config;
    let title_epochs = config.titles.map_or(0, |titles| titles.epochs);
    let click_epochs = if found.log.pairs > 0 { config.epochs } else { 0 };
    let is_complete =
        found.epoch == title_epochs + click_epochs || config.keep != Keep::Last || config.patience.is_some();
    Ok(is_complete.then(|| Written { fingerprint: model.fingerprint().to_owned(), epoch: found.epoch, already: true }))
}

/// Returns the record of a stopped run in the checkpoint next to `output`; `None` if there is no checkpoint.
///
/// # Errors
///
/// an error if it is damaged, and those of opening a file.
pub fn stopped_run(output: &Path) -> Result<Option<TrainingRecord>> {
    checkpoint::path(output).exists().then(|| checkpoint::record(output)).transpose()
}

/// Returns the files that a run writes: `output` and the two next to it while training runs.
pub fn written_paths(output: &Path) -> [PathBuf; 3] {
    [output.to_owned(), partial(output), checkpoint::path(output)]
}

/// Returns the path of the model that would be kept if training ended now.
///
/// It lies next to the file that a link leads to, because only there it can take the file's place.
fn partial(output: &Path) -> PathBuf {
    with_suffix(&resolved(output), ".partial")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Returns whether a path can only name a folder, as `models/` does.
fn names_a_folder(path: &Path) -> bool {
    let text = path.as_os_str().to_string_lossy();
    text.ends_with(std::path::is_separator) || text.ends_with("/.") || text == "."
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// A file can take the place of another only in the same file system.
    #[test]
    fn what_will_be_the_model_lies_where_a_link_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("there")).unwrap();
        let link = folder.path().join("model");
        std::os::unix::fs::symlink("there/real", &link).unwrap();
        assert_eq!(partial(&link), folder.path().join("there/real.partial"));
    }
}
