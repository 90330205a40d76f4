//! Training a model with held-out queries: a first training holds some out, which choose its best epoch; a second one learns all
//! clicks for as many epochs.
//!
//! ```
//! use std::ops::ControlFlow;
//! use clickvec::train::{ClickSource, Inputs, Overrides};
//! use clickvec_eval::training::{Progress, Training};
//!
//! # fn main() -> clickvec::Result<()> {
//! let clicks = (0..2000).map(|i| (format!("couch {i}"), format!("sofa number {i}"), 1.0));
//! let mut settings = Overrides::default();
//! settings.set_pair("encoder.cells=8")?;
//! settings.set_pair("epochs=1")?;
//! let config = Inputs { clicks: true, ..Inputs::default() }.settings(&settings)?;
//! let mut tests = 0;
//! let trained = Training::new(&config).run(ClickSource::pairs(clicks), &mut |progress| {
//!     if let Progress::Judged(summary) = progress {
//!         tests = summary.report.tests.len();
//!     }
//!     ControlFlow::Continue(())
//! })?;
//! assert!(trained.finished().is_some() && tests == 2);
//! # Ok(())
//! # }
//! ```

mod advice;
mod judge;
mod resume;
mod trial;

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clickvec::Result;
use clickvec::internals::clicks::Storage;
use clickvec::model::Model;
use clickvec::tables::Titles;
use clickvec::train::{
    ClickSource, Event, HeldOut, HeldOutCounts, Keep, Outcome, Output, Ranks, RepeatableClicks, Teacher, TrainConfig,
    TrainOptions, Validation, Written, train, train_to_file, written_paths,
};
use clickvec_tables::files::{folder_of, is_same_file, is_stream};
use clickvec_tables::shown::counted;
use clickvec_tables::{Error, ErrorKind};
use serde::Serialize;

use crate::ranker::Neural;
use crate::{EvaluateOptions, HeldOutTest, Judgments, evaluate};

use self::judge::Judge;
pub use self::judge::{HeldOutMeans, HeldOutSummary};
use self::trial::Trial;
pub use self::trial::held_out_path;

/// The inputs of a training, and its output.
pub struct Training<'a> {
    /// The settings.
    pub config: &'a TrainConfig,
    /// Files of titles.
    pub titles: &'a [Titles],
    /// The model to start from.
    pub init: Option<&'a Model>,
    /// A function that opens the teachers. Each of two trainings reads them from the beginning.
    pub teachers: &'a dyn Fn() -> Result<Vec<Teacher<'a>>>,
    /// Judged titles that decide which epoch is kept.
    pub validation: Option<&'a Judgments>,
    /// The file of the model; in memory if there is none.
    pub output: Option<Output<'a>>,
    /// The folder for temporary files, if not that of the output. Without either, pairs stay in memory.
    pub scratch: Option<&'a Path>,
    /// The rankers that held-out queries compare the model with, as [`HeldOutTest::compare`] takes them.
    pub baselines: &'a [(&'a str, &'a str)],
    /// Whether a second training learns all clicks, the held-out ones too.
    pub then_all: bool,
    /// All other files that are read. None of them may be written, and a pipe cannot be read for a second training.
    pub inputs: &'a [PathBuf],
    /// The processes that train this model together; see [`TrainOptions::ranks`].
    pub ranks: Option<Arc<dyn Ranks>>,
}

/// An event of a training. Serialized, it is an object with its name as `event`.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Progress<'a> {
    /// Queries are held out, or none if there are too few.
    HeldOut {
        /// The numbers of held-out queries, pairs and titles.
        #[serde(flatten)]
        counts: HeldOutCounts,
        /// Whether a second training learns all clicks.
        then_all: bool,
    },
    /// The comparison of the model with rankers on held-out queries.
    Judged(&'a HeldOutSummary),
    /// The second training begins.
    AllClicks {
        /// The number of its epochs.
        epochs: u32,
    },
    /// An event of the first or the second training. The reading of the second one is not reported again.
    #[serde(untagged)]
    Run {
        /// The event.
        #[serde(flatten)]
        event: &'a Event,
        /// The last measurements on held-out queries.
        #[serde(skip_serializing_if = "Option::is_none")]
        held_out: Option<HeldOutMeans>,
        /// When the log has been read, advice: what ranked better on simulated logs of its size.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        advice: Vec<String>,
    },
}

/// A function that gets the progress, and may break.
pub type OnProgress<'f> = dyn FnMut(Progress<'_>) -> ControlFlow<()> + 'f;

/// A trained model.
pub enum Trained {
    /// It is in the file of the output.
    File(Written),
    /// It is in memory.
    Memory(Box<Model>),
}

impl Trained {
    fn epoch(&self) -> u32 {
        match self {
            Trained::File(written) => written.epoch,
            Trained::Memory(model) => model.training().epoch,
        }
    }

    /// Returns the model, which is at `path` if it was written.
    fn model(&self, path: Option<&Path>) -> Result<Cow<'_, Model>> {
        match self {
            Trained::Memory(model) => Ok(Cow::Borrowed(model)),
            Trained::File(_) => Ok(Cow::Owned(Model::load(path.unwrap_or(Path::new("")))?)),
        }
    }
}

/// The clicks of the runs.
enum Clicks<'c> {
    Repeatable(RepeatableClicks<'c>),
    Once(RefCell<Option<ClickSource<'c>>>),
}

impl Clicks<'_> {
    fn source(&self) -> ClickSource<'_> {
        match self {
            Clicks::Repeatable(clicks) => clicks.source(),
            Clicks::Once(clicks) => clicks.take().expect("a single training reads its clicks once"),
        }
    }
}

impl<'a> Training<'a> {
    /// Creates a training with these settings, in memory, from clicks alone.
    pub fn new(config: &'a TrainConfig) -> Training<'a> {
        Training {
            config,
            titles: &[],
            init: None,
            teachers: &|| Ok(Vec::new()),
            validation: None,
            output: None,
            scratch: None,
            baselines: &HeldOutTest::BASELINES,
            then_all: true,
            inputs: &[],
            ranks: None,
        }
    }

    /// Trains the model. If queries are to be held out and there are enough, it is trained twice, unless the input is a pipe or
    /// [`Training::then_all`] is off.
    /// When `on_progress` breaks, the training ends as [`train_to_file`] does, and can be resumed.
    ///
    /// # Errors
    ///
    /// Those of [`train_to_file`]; [`ErrorKind::Occupied`] if an input would be overwritten; [`ErrorKind::Setting`] if a setting
    /// needs held-out queries and there are too few.
    pub fn run(&self, clicks: ClickSource<'a>, on_progress: &mut OnProgress<'_>) -> Result<Outcome<Trained>> {
        let output = self.output.map(|output| output.path);
        self.refuse_overwriting(&clicks)?;
        let clicks = match self.clicks(clicks, on_progress)? {
            ControlFlow::Continue(clicks) => clicks,
            ControlFlow::Break(()) => return Ok(Outcome::Cancelled),
        };
        let trial = match &clicks {
            Clicks::Repeatable(clicks) => Trial::new(self.config, clicks, output)?,
            Clicks::Once(_) => None,
        };
        let resumed = self.output.filter(|output| output.resume);
        let trial = match resumed {
            Some(output) => resume::check(self.config, trial, output.path)?,
            None => trial,
        };
        // The second training reuses what the first has learnt from titles.
        let mut after_titles = None;
        let mut run = |config: &TrainConfig, output, part: Part, on_progress: &mut OnProgress<'_>| {
            self.run_once(config, &clicks, output, part, &mut after_titles, on_progress)
        };
        let Some(trial) = trial else {
            let trained = run(self.config, self.output, Part::Only, on_progress)?;
            return self.judged(trained, output, on_progress);
        };
        if let Some(all) = resumed.and_then(|output| trial.finished(self.config, output.path)) {
            let trained = run(&all, self.output, Part::Only, on_progress)?;
            return self.judged(trained, output, on_progress);
        }
        if let (None, Some(output)) = (resumed, output) {
            // It is from another training, which this one replaces. If this one is stopped, it must not be mistaken for this one's.
            let [_, _, checkpoint] = written_paths(output);
            let _ = std::fs::remove_file(checkpoint);
        }
        let trial_output = self.output.zip(trial.path()).map(|(output, path)| Output { path, ..output });
        let Some((best, judge)) = run(self.config, trial_output, Part::First, on_progress)? else {
            return Ok(Outcome::Cancelled);
        };
        let summary = judge.finish(self.baselines, || best.model(trial.path()))?;
        if let Some(summary) = &summary
            && on_progress(Progress::Judged(summary)).is_break()
        {
            return Ok(Outcome::Cancelled);
        }
        let Some(all) = Trial::all_clicks(self.config, best.epoch()).filter(|_| summary.is_some()) else {
            trial.keep(output)?;
            return Ok(Outcome::Finished(best));
        };
        if on_progress(Progress::AllClicks { epochs: all.epochs }).is_break() {
            return Ok(Outcome::Cancelled);
        }
        let trained = run(&all, self.output.map(|output| trial::second(&all, output)), Part::Second, on_progress)?;
        let trained = self.judged(trained, output, on_progress)?;
        if let Outcome::Finished(_) = trained {
            trial.remove();
        }
        Ok(trained)
    }

    /// Refuses to write a file that is read.
    fn refuse_overwriting(&self, clicks: &ClickSource<'_>) -> Result<()> {
        let Some(output) = self.output else { return Ok(()) };
        let inputs = self.inputs.iter().map(PathBuf::as_path);
        let inputs: Vec<&Path> = inputs.chain(clicks.path()).chain(self.titles_paths()).collect();
        let held_out = held_out_path(output.path);
        for written in [output.path, &held_out].into_iter().flat_map(written_paths) {
            if inputs.iter().any(|input| is_same_file(input, &written)) {
                let error = Error::expected(ErrorKind::Occupied, "an output that is not an input", "an input");
                return Err(error.at(&written).help("name another file"));
            }
        }
        Ok(())
    }

    fn titles_paths(&self) -> impl Iterator<Item = &Path> {
        self.titles.iter().map(|titles| titles.path.as_path())
    }

    /// Makes the clicks readable twice if they are to be learnt twice.
    fn clicks<'c>(
        &self,
        clicks: ClickSource<'c>,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<ControlFlow<(), Clicks<'c>>> {
        let mut inputs = self.inputs.iter().map(PathBuf::as_path).chain(clicks.path()).chain(self.titles_paths());
        if self.config.held_out <= 0.0 || !self.then_all || inputs.any(is_stream) {
            return Ok(ControlFlow::Continue(Clicks::Once(RefCell::new(Some(clicks)))));
        }
        let beside = self.output.map(|output| folder_of(output.path));
        let storage = self.scratch.or(beside.as_deref()).map_or(Storage::Memory, Storage::Folder);
        let reading = &mut |pairs| on_progress(Progress::run(&Event::Reading { pairs }));
        let TrainConfig { field, weighting, .. } = self.config;
        Ok(clicks.repeatable(field, *weighting, storage, reading)?.map_continue(Clicks::Repeatable))
    }

    /// Reports the held-out comparison of the last training.
    fn judged(
        &self,
        trained: Option<(Trained, Judge)>,
        path: Option<&Path>,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Outcome<Trained>> {
        let Some((trained, judge)) = trained else { return Ok(Outcome::Cancelled) };
        if let Some(summary) = judge.finish(self.baselines, || trained.model(path))? {
            // The model is there.
            let _ = on_progress(Progress::Judged(&summary));
        }
        Ok(Outcome::Finished(trained))
    }

    /// Trains once. `after_titles` has the model of the last epoch of titles if an earlier training had it, and gets that of this
    /// one.
    fn run_once(
        &self,
        config: &TrainConfig,
        clicks: &Clicks<'_>,
        output: Option<Output<'_>>,
        part: Part,
        after_titles: &mut Option<Model>,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Option<(Trained, Judge)>> {
        let held_out_judge = Judge::new(config);
        let learnt_titles = after_titles.take();
        let mut score = |model: &Model| {
            if config.titles.is_some_and(|titles| titles.epochs == model.training().epoch) {
                *after_titles = Some(model.clone());
            }
            held_out_judge.score(model)
        };
        let mut score_judged = self.validation.map(|judgments| {
            |model: &Model| {
                evaluate(&Neural::new("model".to_owned(), model), judgments, &EvaluateOptions::default()).mean.into()
            }
        });
        let validation = match (config.held_out > 0.0, self.validation.zip(score_judged.as_mut())) {
            (true, _) => Some(held_out_judge.validation(&mut score)),
            (false, judged) => judged.map(|(judgments, judge)| Validation {
                fingerprint: judgments.fingerprint(),
                is_worse: |_, _| true,
                judge,
            }),
        };
        let options = TrainOptions {
            validation,
            titles: self.titles,
            init: self.init,
            teachers: (self.teachers)()?,
            after_titles: learnt_titles.as_ref(),
            scratch: self.scratch,
            ranks: self.ranks.clone(),
            ..TrainOptions::default()
        };
        let mut refused = None;
        let on_event = &mut |event: &Event| match event {
            Event::HeldOut(held_out) => {
                refused = too_few(config, held_out);
                if refused.is_some() {
                    return ControlFlow::Break(());
                }
                held_out_judge.begin(held_out);
                on_progress(Progress::HeldOut { counts: held_out.counts, then_all: part == Part::First })
            }
            event if part == Part::Second && concerns_inputs(event) => ControlFlow::Continue(()),
            Event::Log { statistics, .. } => {
                let advice = advice::advice(config, statistics.pairs);
                on_progress(Progress::Run { event, held_out: None, advice })
            }
            Event::Epoch(_) => {
                on_progress(Progress::Run { event, held_out: held_out_judge.last(), advice: Vec::new() })
            }
            event => on_progress(Progress::run(event)),
        };
        let outcome = match output {
            Some(output) => train_to_file(config, clicks.source(), &output, options, on_event)
                .map(|outcome| outcome.finished().map(Trained::File)),
            None => train(config, clicks.source(), options, on_event)
                .map(|outcome| outcome.finished().map(|model| Trained::Memory(Box::new(model)))),
        };
        if let Some(refused) = refused {
            return Err(refused);
        }
        Ok(outcome?.map(|trained| (trained, held_out_judge)))
    }
}

/// The part of a model's training.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Only,
    First,
    Second,
}

impl<'a> Progress<'a> {
    fn run(event: &'a Event) -> Progress<'a> {
        Progress::Run { event, held_out: None, advice: Vec::new() }
    }
}

/// Returns whether an event is about the reading, which is the same in both trainings.
fn concerns_inputs(event: &Event) -> bool {
    matches!(event, Event::Log { .. } | Event::Teacher(_) | Event::TeacherScores(_) | Event::Start { .. })
}

/// Returns the error of a setting that needs held-out queries, if the log has too few. Without such a setting, the log is learnt
/// as it is.
fn too_few(config: &TrainConfig, held_out: &HeldOut) -> Option<Error> {
    let name = match config.keep {
        Keep::Loss => "keep",
        Keep::Best | Keep::Last => config.patience.map(|_| "patience")?,
    };
    if !held_out.queries.is_empty() {
        return None;
    }
    let found = format!("a share of {} of {}", config.held_out, counted(held_out.counts.of_queries, "query"));
    let expected = "100 held-out queries or more, by which it judges epochs";
    let error = Error::expected(ErrorKind::Setting, expected, found).within(name);
    Some(error.help("raise held_out, learn from more clicks or leave it out"))
}
