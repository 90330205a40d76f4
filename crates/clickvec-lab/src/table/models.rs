//! Rows whose models are trained.

use clickvec::tables::Titles;
use std::ops::ControlFlow;
use std::path::Path;

use super::fault::{Fault, within};
use super::maker::{Maker, Points, Refused, named};
use super::memory::PeakMemory;
use super::plan::Training;
use super::processor::ProcessorClock;
use super::{Event, Point, TrainingFacts, Watch};
use clickvec::model::Model;
use clickvec::train::ClickSource;
use clickvec::train::{self, Output, TrainConfig, TrainOptions, Validation, train_to_file, written_paths};
use clickvec_eval::files_of_test_set;
use clickvec_eval::ranker::Neural;
use clickvec_eval::{self as eval, EvaluateOptions, Judgments, read_test_set};
use clickvec_tables::{Error as Shared, ErrorKind};
use clickvec_tables::{Error, Result};

/// Enough minibatches that checkpoints cost no noticeable time, and few enough that little is lost.
const CHECKPOINT_EVERY: u64 = 2000;

/// A training, its data and its settings.
struct Once<'a> {
    training: &'a Training,
    config: &'a TrainConfig,
    clicks: Option<&'a Path>,
    validation: Option<&'a Judgments>,
}

impl Maker<'_> {
    pub(super) fn models(
        &mut self,
        row: &str,
        trainings: &[Training],
        count: usize,
        watch: &mut Watch<'_>,
    ) -> Result<Points, Fault> {
        if self.data().clicks.is_none() && trainings.iter().any(|training| training.titles.is_empty()) {
            let error = Shared::expected(ErrorKind::Empty, "clicked pairs to learn from", "none");
            return Err(Fault::Row(error.help("give a click log")));
        }
        let (mut points, mut refused) = (Vec::with_capacity(trainings.len()), Refused::default());
        for training in trainings {
            let mut seeds = Vec::with_capacity(count);
            for seed in 0..count as u64 {
                let seed = training.config.seed.wrapping_add(seed);
                match refused.or(self.train_seed(training, seed, watch))? {
                    Some(point) => seeds.push(point),
                    None => break,
                }
            }
            if seeds.len() == count {
                points.push(seeds);
            }
        }
        refused.points(row, points, watch)
    }

    /// Makes the point of a training with this seed.
    fn train_seed(&mut self, training: &Training, seed: u64, watch: &mut Watch<'_>) -> Result<Point, Fault> {
        let data = self.data().clone();
        let (clicks, judged) = (data.clicks.as_deref(), data.judged_files());
        let config = TrainConfig { field: data.field.clone(), seed, ..training.config.clone() };
        let settings = serde_json::to_string(&config).unwrap_or_else(|_| format!("{config:?}"));
        let validation =
            training.validation.as_ref().map_or_else(Vec::new, |of| files_of_test_set(&of.test_set(&data.field)));
        // A model does not depend on the judgments.
        let learnt = training.files();
        let files: Vec<_> = [("clicks", clicks)]
            .into_iter()
            .chain(named("validation", &validation))
            .chain(learnt.iter().map(|(role, path)| (*role, Some(path.as_path()))))
            .collect();
        let key = self.cache.key(&files, &["train", &settings])?;
        let judged: Vec<_> = named("judged", &judged).collect();
        let scores = self.scores_key(&judged, &["train", &data.field, &key])?;
        if let Some(point) = self.finished(&scores) {
            return Ok(point);
        }
        let model = match self.cache.load_model(&key)? {
            Some(model) => model,
            None => {
                self.tell_damaged(watch)?;
                let finished = self.train(training, &config, clicks, &key, watch);
                if let Err(changed) = self.cache.refuse_changed(&files) {
                    self.cache.remove_model(&key)?;
                    return Err(changed.into());
                }
                finished?;
                let facts = self.cache.training(&key);
                self.cache.finish_training(&key, facts)?;
                Model::load(&self.cache.model(&key))?
            }
        };
        let ranker = Neural::new(String::new(), model);
        Ok(self.point(&scores, &key, training.label.clone(), &ranker)?)
    }

    /// Trains the model with this name, from its checkpoint if there is one, and stores facts about the training.
    fn train(
        &mut self,
        training: &Training,
        config: &TrainConfig,
        clicks: Option<&Path>,
        key: &str,
        watch: &mut Watch<'_>,
    ) -> Result<(), Fault> {
        let in_training = |fault| Fault::Row(within(format!("training with `{}`", training.label), fault));
        let classified = |fault| if is_trainings_own(&fault) { in_training(fault) } else { fault.into() };
        let judgments = match &training.validation {
            Some(validation) => {
                let files = validation.test_set(&config.field);
                let set = read_test_set(&files).map_err(&classified)?;
                set.check_not_empty(&validation.judged).map_err(in_training)?;
                Some(set.judgments)
            }
            None => None,
        };
        let once = Once { training, config, clicks, validation: judgments.as_ref() };
        match self.train_once(&once, key, watch) {
            // The checkpoint is damaged. Without it training begins again.
            Err(fault) if concerns_checkpoint(&fault, &self.cache.model(key)) => {
                self.cache.discard_model(key)?;
                self.tell_damaged(watch)?;
                self.train_once(&once, key, watch).map_err(classified)
            }
            result => result.map_err(classified),
        }
    }

    fn train_once(&mut self, once: &Once<'_>, key: &str, watch: &mut Watch<'_>) -> Result<()> {
        let &Once { training, config, clicks, validation } = once;
        let output = self.cache.model(key);
        let output = Output { path: &output, checkpoint_every: Some(CHECKPOINT_EVERY), resume: true };
        let options = EvaluateOptions::default();
        let mut judge = validation.map(|judgments| {
            move |model: &Model| eval::evaluate(&Neural::new(String::new(), model), judgments, &options).mean.into()
        });
        let validation = validation.zip(judge.as_mut());
        let validation = validation.map(|(judgments, judge)| Validation {
            fingerprint: judgments.fingerprint(),
            is_worse: |_, _| true,
            judge,
        });
        let init = training.init.as_deref().map(Model::load).transpose()?;
        let titles: Vec<Titles> = training.titles.iter().map(Titles::from).collect();
        let options = TrainOptions {
            validation,
            titles: &titles,
            init: init.as_ref(),
            teachers: training.teachers(&config.field),
            ..TrainOptions::default()
        };
        // Add what earlier, interrupted runs did.
        let mut facts = TrainingFacts { fingerprint: None, ..self.cache.training(key) };
        let (before, clock, memory) = (facts.seconds, ProcessorClock::start(), PeakMemory::begin());
        let mut failed = None;
        let update = |facts: &mut TrainingFacts| {
            facts.seconds = before + clock.seconds();
            facts.peak_bytes = memory.as_ref().map(PeakMemory::gained).max(facts.peak_bytes);
        };
        let cache = &self.cache;
        let mut on_event = |event: &train::Event| -> ControlFlow<()> {
            if let train::Event::Epoch(report) = event {
                facts.losses.truncate(report.epoch.max(1) as usize - 1);
                facts.losses.push(report.loss);
                update(&mut facts);
                failed = cache.put_training(key, &facts).err();
            }
            match failed {
                Some(_) => ControlFlow::Break(()),
                None => watch(Event::Training(event)),
            }
        };
        let clicks = clicks.map_or_else(ClickSource::none, ClickSource::file);
        let outcome = train_to_file(config, clicks, &output, options, &mut on_event);
        if let Some(failed) = failed {
            return Err(failed);
        }
        update(&mut facts);
        self.cache.put_training(key, &facts)?;
        outcome?.finished().map(drop).ok_or_else(clickvec_tables::Error::interrupted)
    }
}

/// Returns whether the fault would occur on any other machine too. Then the table goes on without the row.
fn is_trainings_own(fault: &Error) -> bool {
    use ErrorKind::{Empty, Malformed, Mismatch, NotFinite, Setting};
    matches!(fault.kind(), Setting | Malformed | Empty | Mismatch | NotFinite)
}

fn concerns_checkpoint(fault: &Error, model: &Path) -> bool {
    let path = fault.path().filter(|_| fault.kind().concerns_contents());
    path.is_some_and(|path| written_paths(model).iter().any(|written| written == path))
}
