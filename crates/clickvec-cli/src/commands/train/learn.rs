//! Learning a model: one run, or one that holds queries out to find for how many epochs to learn, and then one that learns
//! all clicks.

use clickvec::tables::Titles;
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clickvec::internals::clicks::ClickReader;
use clickvec::model::Model;
use clickvec::train::{
    ClickSource, Event, HeldOut, Keep, Output, Teacher, TrainConfig, TrainOptions, Written, written_paths,
};
use clickvec_eval::Judgments;

use clickvec_tables::ErrorKind;

use super::again::{self, Queries, Trial};
use super::held_out::{Judge, Judged, Means};
use super::resume;
use crate::{output, test_set};

/// Where clicks come from. Each run reads them from the beginning.
#[derive(Clone, Copy)]
pub enum Clicks<'a> {
    /// There are none.
    None,
    /// A table on disk.
    File(&'a Path),
    /// A teacher's table of scores, whose pairs take the place of clicks.
    Scores(&'a Path),
    /// Pairs from elsewhere.
    Pairs(&'a dyn Pairs),
}

/// Clicked pairs that can be read more than once.
pub trait Pairs {
    /// The pairs from the beginning. With `held_out` 0 this is called once.
    fn source(&self) -> ClickSource<'_>;

    /// Whether `queries` has found enough of them.
    ///
    /// # Errors
    ///
    /// If the pairs cannot be read.
    fn have_queries(&self, queries: Queries) -> clickvec::Result<bool>;
}

impl<'a> Clicks<'a> {
    /// The table, if it is one of clicks.
    pub(super) fn file(self) -> Option<&'a Path> {
        match self {
            Clicks::File(path) => Some(path),
            _ => None,
        }
    }

    /// Whether there are as many different queries as `queries` looks for.
    pub(super) fn have_queries(self, mut queries: Queries, config: &TrainConfig) -> Result<bool> {
        match self {
            Clicks::None | Clicks::Scores(_) => Ok(false),
            Clicks::Pairs(pairs) => Ok(pairs.have_queries(queries)?),
            Clicks::File(path) => {
                let mut reader = ClickReader::open(path, &config.field, config.weighting)?;
                while let Some(click) = reader.next()? {
                    if queries.add(click.query, click.title) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    fn source(self) -> ClickSource<'a> {
        match self {
            Clicks::None => ClickSource::none(),
            Clicks::File(path) => ClickSource::file(path),
            Clicks::Scores(path) => ClickSource::file(path).of_scores(),
            Clicks::Pairs(pairs) => pairs.source(),
        }
    }
}

/// Is told what happens.
pub(crate) trait Watch {
    /// An event of a run; `held_out` is what was last measured on held-out queries. Breaking stops the run.
    fn event(&mut self, event: &Event, held_out: Option<Means>) -> ControlFlow<()>;

    /// A run has ended, whether it failed or not.
    fn ended(&mut self) {}

    /// The next run holds queries out, and all clicks are learnt after it.
    fn begin_trial(&mut self) {}

    /// What held-out queries say of a model.
    fn judged(&mut self, judged: &Judged);

    /// The next run learns all clicks, for this many epochs; `None` if it finds that it did so before.
    fn again(&mut self, epochs: Option<u32>);
}

/// All that a model is learnt from, and where it goes.
pub(crate) struct Learner<'a> {
    pub(crate) config: &'a TrainConfig,
    pub(crate) clicks: Clicks<'a>,
    pub(crate) titles: &'a [Titles],
    pub(crate) init: Option<&'a Model>,
    /// Opens the teachers; each run reads them from the beginning.
    pub(crate) teachers: &'a dyn Fn() -> Result<Vec<Teacher<'a>>>,
    pub(crate) judgments: Option<&'a Judgments>,
    /// The file of the model; in memory if there is none.
    pub(crate) output: Option<Output<'a>>,
    /// The folder for temporary files, if not that of the output.
    pub(crate) scratch: Option<&'a Path>,
}

/// How learning ended.
pub(crate) enum Ended {
    /// The model is written, or in memory.
    Learnt(Learnt),
    /// The watcher stopped it while it made this file.
    Stopped(Option<PathBuf>),
}

/// A model that was learnt.
pub(crate) enum Learnt {
    File(Written),
    Memory(Box<Model>),
}

impl Learnt {
    /// The epoch that it is from.
    fn epoch(&self) -> u32 {
        match self {
            Learnt::File(written) => written.epoch,
            Learnt::Memory(model) => model.training().epoch,
        }
    }

    /// The model, which is at `path` if it was written.
    fn model(&self, path: Option<&Path>) -> clickvec::Result<Cow<'_, Model>> {
        match (self, path) {
            (Learnt::Memory(model), _) => Ok(Cow::Borrowed(model)),
            (Learnt::File(_), path) => Ok(Cow::Owned(Model::load(path.unwrap_or(Path::new("")))?)),
        }
    }
}

impl Learner<'_> {
    /// Learns the model. `trial` is the run that holds queries out, if there is to be one.
    pub(crate) fn learn(&self, trial: Option<Trial>, watch: &mut dyn Watch) -> Result<Ended> {
        let output = self.output.map(|output| output.path);
        let resumed = self.output.filter(|output| output.resume);
        let trial = match resumed {
            Some(output) => resume::check(self.config, trial, output.path)?,
            None => trial,
        };
        let Some(trial) = trial else { return self.last(self.config, self.output, &RefCell::default(), watch) };
        // What the run with held-out queries has learnt from titles is what the other learns from them.
        let after_titles = RefCell::default();
        if let Some(all) = resumed.and_then(|output| trial.finished(self.config, output.path)) {
            watch.again(None);
            return self.last(&all, self.output, &after_titles, watch);
        }
        if let (None, Some(output)) = (resumed, output) {
            // It is from another run, which this one replaces. If this one is stopped, it must not be mistaken for this one's.
            let [_, _, checkpoint] = written_paths(output);
            let _ = std::fs::remove_file(checkpoint);
        }
        watch.begin_trial();
        let output_of_trial = self.output.zip(trial.path()).map(|(output, path)| Output { path, ..output });
        let Some((best, judge)) = self.run(self.config, output_of_trial, &after_titles, watch)? else {
            return Ok(Ended::Stopped(trial.path().map(Path::to_owned)));
        };
        let judged = judge.finish(|| best.model(trial.path()))?;
        if let Some(judged) = &judged {
            watch.judged(judged);
        }
        // The run that holds queries out says how many epochs of clicks are best. Then all clicks are learnt for as long.
        let Some(all) = Trial::all_clicks(self.config, best.epoch()).filter(|_| judged.is_some()) else {
            trial.keep(output)?;
            return Ok(Ended::Learnt(best));
        };
        watch.again(Some(all.epochs));
        let ended = self.last(&all, self.output.map(|output| again::second(&all, output)), &after_titles, watch)?;
        if let Ended::Learnt(_) = ended {
            trial.remove();
        }
        Ok(ended)
    }

    /// The run whose model is the result.
    fn last(
        &self,
        config: &TrainConfig,
        output: Option<Output<'_>>,
        titles: &RefCell<Option<Model>>,
        watch: &mut dyn Watch,
    ) -> Result<Ended> {
        let path = output.map(|output| output.path);
        let Some((learnt, judge)) = self.run(config, output, titles, watch)? else {
            return Ok(Ended::Stopped(path.map(Path::to_owned)));
        };
        if let Some(judged) = judge.finish(|| learnt.model(path))? {
            watch.judged(&judged);
        }
        Ok(Ended::Learnt(learnt))
    }

    /// One run, which writes to `output`. `after_titles` has the model of the last epoch of titles if an earlier run had it, and
    /// gets that of this run.
    fn run(
        &self,
        config: &TrainConfig,
        output: Option<Output<'_>>,
        after_titles: &RefCell<Option<Model>>,
        watch: &mut dyn Watch,
    ) -> Result<Option<(Learnt, Judge)>> {
        let by_held_out = Judge::new(config);
        let learnt_titles = after_titles.take();
        let mut by_judgments = self.judgments.map(test_set::judge);
        let mut score = |model: &Model| {
            if config.titles.is_some_and(|titles| titles.epochs == model.training().epoch) {
                after_titles.replace(Some(model.clone()));
            }
            by_held_out.score(model)
        };
        let validation = match (config.held_out > 0.0, self.judgments.zip(by_judgments.as_mut())) {
            (true, _) => Some(by_held_out.validation(&mut score)),
            (false, judgments) => judgments.map(|(set, judge)| test_set::validation(set, judge)),
        };
        let options = TrainOptions {
            validation,
            titles: self.titles,
            init: self.init,
            teachers: (self.teachers)()?,
            after_titles: learnt_titles.as_ref(),
            scratch: self.scratch,
            ..TrainOptions::default()
        };
        let clicks = self.clicks.source();
        let mut refused = None;
        let on_event = &mut |event: &Event| {
            if let Event::HeldOut(held_out) = event {
                refused = refusal(config, held_out);
                if refused.is_some() {
                    return ControlFlow::Break(());
                }
                by_held_out.begin(held_out);
            }
            watch.event(event, by_held_out.last())
        };
        let outcome = match output {
            Some(output) => clickvec::train::train_to_file(config, clicks, &output, options, on_event)
                .map(|outcome| outcome.finished().map(Learnt::File)),
            None => clickvec::train::train(config, clicks, options, on_event)
                .map(|outcome| outcome.finished().map(|model| Learnt::Memory(Box::new(model)))),
        };
        watch.ended();
        if let Some(refused) = refused {
            return Err(refused);
        }
        Ok(outcome?.map(|learnt| (learnt, by_held_out)))
    }
}

/// Returns why a setting that needs held-out queries is refused, if the log has too few. Without one, such a log is learnt as it is.
fn refusal(config: &TrainConfig, held_out: &HeldOut) -> Option<anyhow::Error> {
    let name = match config.keep {
        Keep::Loss => "keep",
        Keep::Best | Keep::Last => config.patience.map(|_| "patience")?,
    };
    if !held_out.queries.is_empty() {
        return None;
    }
    let expected = format!("{} held-out queries or more, by which it judges epochs", again::LEAST);
    let found = format!("a share of {} of {}", config.held_out, output::counted(held_out.of_queries, "query"));
    let error = clickvec_tables::Error::expected(ErrorKind::Setting, expected, found).within(name);
    Some(error.help("raise held_out, learn from more clicks or leave it out").into())
}
