//! A training run from its first minibatch to its last.

mod after_titles;
mod together;

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::time::Instant;

use super::agreement::Probe;
use super::average::Average;
use super::checkpoint::{self, Progress, Resumed};
use super::learner::Learner;
use super::least_squares::Start;
use super::projection::Projection;
use super::record::record;
use super::stage::{Stage, stage_after, stages};
use super::start::{encoders, initial_towers};
use super::step::join_outside;
use super::{EpochReport, Event, Output, TrainOptions, Validation, Written, partial};
use crate::clicks::{ClickLog, Minibatch, Storage};
use crate::encoder::Tensor;
use crate::model::Model;
use crate::ranks::Teams;
use crate::settings::{Keep, TrainConfig, TrainingRecord};
use clickvec_tables::files::publish;
use clickvec_tables::memory::room_for;
use clickvec_tables::shown::shown;
use clickvec_tables::{Error, Result};

/// A training run. What changes with every minibatch is in `learner` and `progress`.
pub(super) struct Run<'a, 'v> {
    config: &'a TrainConfig,
    log: &'a ClickLog,
    stages: Vec<Stage<'a>>,
    /// The epochs of all stages together.
    epochs: u32,
    /// The ranks that train together, if there are several.
    teams: Option<Teams>,
    learner: Learner,
    progress: Progress,
    record: TrainingRecord,
    validation: Option<Validation<'v>>,
    /// The sample on which the model is compared with its teacher, if it has one that knows queries and titles.
    probe: Option<Probe>,
    /// The share of a stage's first weights in its models, if the run averages with them.
    first_share: Option<f32>,
    /// The first weights of the current stage, if they are averaged with and not random.
    average: Option<Average>,
    /// The event of the start, until it is sent.
    start: Option<Event>,
    /// The fit of the projection of each epoch's model, if the encoder has one.
    projection: Option<Projection>,
    output: Option<&'a Output<'a>>,
    /// The model to keep so far, if there is no output.
    model: Option<Model>,
    /// The fingerprint of the model in `.partial`, if there is one.
    fingerprint: Option<String>,
}

impl<'a, 'v> Run<'a, 'v> {
    pub(super) fn new(
        config: &'a TrainConfig,
        log: &'a ClickLog,
        storage: Storage<'_>,
        options: TrainOptions<'v>,
        output: Option<&'a Output<'a>>,
    ) -> Result<Run<'a, 'v>> {
        let mut stages = stages(config, log, storage)?;
        let epochs = epochs(&stages);
        let record = record(config, log, &options);
        let teams = together::teams(config, &record, &options)?;
        if let Some(teams) = &teams {
            stages.iter_mut().for_each(|stage| stage.minibatches.divide(teams.part()));
        }
        let sides = if config.shared_towers { 1 } else { 2 };
        // Memory holds the weights and, for each weight, its velocity or its two moments, and its first value if that is to be
        // averaged in. Of the gradients it holds only the rows that occur in a minibatch.
        let weights = config.encoder.parameters(log.dictionary().len());
        let first_share = if options.init.is_none() { Average::share(config, log) } else { None };
        let copies = if first_share.is_some() { 4 } else { 3 };
        let bytes = weights.and_then(|weights| weights.checked_mul(sides * copies * size_of::<f32>() as u64));
        room_for("the weights and what their updates remember", bytes)?;
        // The weights of an initial model, of a checkpoint or of an earlier run would take the start's place.
        let after_titles = options.after_titles.is_some() && stages.len() == 2;
        let has_weights = options.init.is_some() || after_titles || output.is_some_and(resumes);
        let is_fitted = !has_weights && Start::is_configured(config, log);
        let start = if is_fitted { Start::fit(config, log, storage)? } else { None };
        let towers = initial_towers(config, log, options.init, start.as_ref());
        let average = first_share.filter(|_| start.is_some()).map(|share| {
            let first = towers.iter().map(|tower| tower.tensors().to_vec()).collect();
            Average::new(share, config, log, first)
        });
        let start = is_fitted.then(|| Event::Start { fitted: start.map(|start| start.report) });
        let learner = Learner::new(&stages[0], towers, teams.as_ref());
        let validation = options.validation;
        let probe = log.taught().and_then(|taught| Probe::new(log, taught, config.seed));
        let projection = Projection::new(config, log, storage)?;
        let progress = Progress::default();
        Ok(Run {
            config,
            log,
            stages,
            epochs,
            teams,
            learner,
            progress,
            record,
            validation,
            probe,
            first_share,
            average,
            start,
            projection,
            output,
            model: None,
            fingerprint: None,
        })
    }

    /// Continues from the checkpoint next to `output`.
    pub(super) fn resume(&mut self, output: &Path) -> Result<Event> {
        let Run { config, log, stages, teams, .. } = self;
        let begin = |stage: usize, learner: &mut Learner| {
            *learner = Learner::new(&stages[stage], encoders(config, log, learner.snapshot()), teams.as_ref());
        };
        let Resumed { progress, partial, first } =
            checkpoint::load(output, &self.record, stages, &mut self.learner, begin)?;
        let average = |(share, first)| Average::new(share, config, log, first);
        self.average = self.first_share.zip(first).map(average);
        (self.progress, self.fingerprint) = (progress, partial);
        let stage = self.stage();
        let epoch = self.progress.epoch - stage.before + 1;
        Ok(Event::Resumed { section: stage.section, epoch, minibatch: self.progress.minibatch })
    }

    /// Returns the stage that the current epoch belongs to.
    fn stage(&self) -> &Stage<'a> {
        &self.stages[stage_after(&self.stages, self.progress.epoch)]
    }

    /// Returns the model of a finished run without an output.
    pub(super) fn into_model(self) -> Model {
        self.model.expect("a run has an epoch at least, and the first is kept")
    }

    /// Moves the model of a finished run to its place.
    pub(super) fn publish(self, output: &Path) -> Result<Written> {
        publish(&partial(output), output)?;
        checkpoint::remove(output);
        let fingerprint = self.fingerprint.expect("a run has an epoch at least, and the first is kept");
        Ok(Written { fingerprint, epoch: self.progress.kept, already: false })
    }

    /// Trains to the end or until `on_event` breaks. The first epoch's time counts from `started`, so it includes
    /// reading and hashing the log.
    pub(super) fn train(
        &mut self,
        started: Instant,
        on_event: &mut dyn FnMut(&Event) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        if let Some(start) = self.start.take()
            && on_event(&start).is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        let mut begun = started;
        let mut buffers = [Vec::new(), Vec::new()];
        while self.progress.epoch < self.epochs && !self.out_of_patience() {
            let resumed_at = self.progress.pairs;
            let flow = self.epoch(&mut buffers, on_event)?;
            if self.progress.minibatch < self.stage().minibatches.per_epoch() {
                return Ok(flow);
            }
            let seconds = begun.elapsed().as_secs_f64();
            let report = self.finish_epoch(seconds, resumed_at)?;
            let told = on_event(&Event::Epoch(report));
            if together::agree(self.teams.as_ref(), told)?.is_break() || flow.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            begun = Instant::now();
        }
        if self.progress.epoch == self.epochs {
            return Ok(ControlFlow::Continue(()));
        }
        Ok(on_event(&Event::StoppedEarly {
            epoch: self.progress.epoch,
            best: self.progress.best.map_or(0, |(epoch, _)| epoch),
            schedule_cut: self.config.optimizer.is_lazy(),
        }))
    }

    fn out_of_patience(&self) -> bool {
        self.config.patience.is_some_and(|patience| self.progress.without_better >= patience)
    }

    /// Runs the rest of an epoch, or until `on_event` breaks. The next minibatches are prepared while the current ones are
    /// learnt.
    fn epoch(
        &mut self,
        buffers: &mut [Vec<Minibatch>; 2],
        on_event: &mut dyn FnMut(&Event) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let Run { stages, .. } = self;
        let Stage { section, config, minibatches: source, before } = &stages[stage_after(stages, self.progress.epoch)];
        let minibatches = source.per_epoch();
        let epoch = self.progress.epoch - before;
        let checkpoint_every = self.output.and_then(|output| output.checkpoint_every).filter(|&every| every > 0);
        let updates = self.learner.updates() - self.progress.minibatch;
        let at_a_time = self.learner.at_a_time as u64;
        // Checkpoints are written between groups, so one ends wherever a checkpoint is due.
        let group = |first: u64| {
            let due = checkpoint_every.map_or(u64::MAX, |every| every - (updates + first) % every);
            first..minibatches.min(first + at_a_time.min(due))
        };
        let fill = |group: Range<u64>, buffer: &mut Vec<Minibatch>| {
            buffer.resize_with((group.end - group.start) as usize, Minibatch::default);
            group.zip(buffer).for_each(|(number, minibatch)| source.fill(u64::from(epoch), number, minibatch));
        };
        let [now, next] = buffers;
        fill(group(self.progress.minibatch), now);
        let mut flow = ControlFlow::Continue(());
        while self.progress.minibatch < minibatches && flow.is_continue() {
            let following = group(self.progress.minibatch + now.len() as u64);
            let both = (|| self.learner.steps(now), || fill(following, next));
            let (sums, ()) = if self.teams.is_some() { join_outside(both) } else { rayon::join(both.0, both.1) };
            let sums = sums?;
            for sum in &sums {
                let pairs = source.pairs_of(self.progress.minibatch);
                self.progress.minibatch += 1;
                self.progress.pairs += pairs;
                self.progress.loss += sum.loss;
                self.progress.without_negatives += sum.without_negatives;
                let told = on_event(&Event::Minibatch {
                    section: *section,
                    epoch: epoch + 1,
                    epochs: config.epochs,
                    of_pairs: source.pairs(),
                    minibatch: self.progress.minibatch,
                    minibatches,
                    pairs,
                    loss: sum.loss / pairs as f64,
                });
                if told.is_break() {
                    flow = told;
                }
            }
            if sums.len() < now.len() {
                return Err(self.diverged(self.progress.minibatch + 1));
            }
            flow = together::agree(self.teams.as_ref(), flow)?;
            std::mem::swap(now, next);
            // After the last minibatch the epoch is finished first, so that a resumed run need not do it.
            if self.progress.minibatch < minibatches
                && let Some(Output { path, checkpoint_every: Some(every), .. }) = self.output
                && (flow.is_break() || self.learner.updates().is_multiple_of(*every))
            {
                self.learner.gather(false)?;
                if together::is_first(self.teams.as_ref()) {
                    checkpoint::save(path, &self.record, &self.progress, &self.learner, self.average.as_ref())?;
                }
            }
        }
        Ok(flow)
    }

    /// Scores the model of the epoch that just ended, and keeps it if it is the best.
    fn finish_epoch(&mut self, seconds: f64, resumed_at: u64) -> Result<EpochReport> {
        self.learner.gather(true)?;
        let weights = self.weights();
        // The last update may have produced NaN or infinity, and no later loss will show it.
        let is_finite = |tensor: &Tensor| tensor.value.data().iter().all(|x| x.is_finite());
        if !weights.iter().flatten().all(is_finite) {
            return Err(self.diverged(self.progress.minibatch));
        }
        let number = stage_after(&self.stages, self.progress.epoch);
        self.progress.epoch += 1;
        let loss = self.progress.loss / self.progress.pairs as f64;
        self.record.epoch = self.progress.epoch;
        let before = self.stages[..number].iter().map(Stage::updates).sum::<u64>();
        self.record.updates = before + self.learner.updates();
        self.record.loss = loss;
        let model = self.model_of(weights);
        let validation = self.validation.as_mut().map(|validation| (validation.judge)(&model));
        let agreement = self.probe.as_ref().map(|probe| probe.agreement(&model));
        let progress = &mut self.progress;
        let mut is_saved = true;
        if let Some(score) = &validation {
            // JSON can hold only finite numbers, whatever the caller returned.
            let value = if score.value.is_nan() { f64::MIN } else { score.value.clamp(f64::MIN, f64::MAX) };
            if progress.best.is_none_or(|(_, best)| value > best) {
                progress.best = Some((progress.epoch, value));
                progress.best_queries.clone_from(&score.queries);
                progress.without_better = 0;
            } else {
                progress.without_better += 1;
                let is_worse = self
                    .validation
                    .as_ref()
                    .is_some_and(|validation| (validation.is_worse)(&progress.best_queries, &score.queries));
                is_saved = self.config.keep == Keep::Last || !is_worse;
            }
        }
        if is_saved {
            self.keep(model)?;
        }
        let progress = &mut self.progress;
        let stage = &self.stages[number];
        let report = EpochReport {
            section: stage.section,
            epoch: progress.epoch - stage.before,
            epochs: stage.config.epochs,
            loss,
            pairs_per_second: (progress.pairs - resumed_at) as f64 / seconds,
            seconds,
            without_negatives: progress.without_negatives,
            validation,
            agreement,
            variance: self.record.variance,
            kept: is_saved,
        };
        progress.begin_epoch();
        let next = stage_after(&self.stages, self.progress.epoch);
        if next > number {
            let weights = self.weights();
            self.begin_stage(next, weights);
        }
        self.save_between_epochs()?;
        Ok(report)
    }

    /// Writes a checkpoint between two epochs, if there are to be any.
    fn save_between_epochs(&self) -> Result<()> {
        match self.output {
            Some(Output { path, checkpoint_every: Some(_), .. }) if together::is_first(self.teams.as_ref()) => {
                checkpoint::save(path, &self.record, &self.progress, &self.learner, self.average.as_ref())
            }
            _ => Ok(()),
        }
    }

    /// Returns the weights of a model that would be made now.
    fn weights(&self) -> Vec<Vec<Tensor>> {
        let mut weights = self.learner.snapshot();
        if let Some(average) = &self.average {
            average.apply(&mut weights);
        }
        weights
    }

    /// Begins a stage after the first with the weights of the model before it.
    fn begin_stage(&mut self, stage: usize, weights: Vec<Vec<Tensor>>) {
        let Run { config, log, .. } = self;
        self.average = self.first_share.map(|share| Average::new(share, config, log, weights.clone()));
        self.learner = Learner::new(&self.stages[stage], encoders(config, log, weights), self.teams.as_ref());
    }

    /// Keeps the model of the epoch that was finished last.
    fn keep(&mut self, model: Model) -> Result<()> {
        self.progress.kept = self.progress.epoch;
        match self.output {
            None => self.model = Some(model),
            Some(output) => {
                model.save_for(&partial(output.path), output.path)?;
                self.fingerprint = Some(model.fingerprint().to_owned());
            }
        }
        Ok(())
    }

    /// Returns the model with these weights and, if its encoder has one, the projection that fits them. The record gets the share of
    /// variance that this keeps.
    fn model_of(&mut self, towers: Vec<Vec<Tensor>>) -> Model {
        let towers = match &self.projection {
            None => encoders(self.config, self.log, towers),
            Some(projection) => {
                let (towers, share) = projection.encoders(self.config, self.log, towers);
                self.record.variance = Some(share);
                towers
            }
        };
        Model::new(self.log.dictionary().clone(), towers, self.record.clone())
    }

    /// Returns the error for a loss that is not finite. The last good model stays in `.partial`, because a file at the output
    /// means that its run has finished.
    fn diverged(&self, minibatch: u64) -> Error {
        let epoch = self.progress.kept;
        let left = match self.output.filter(|_| epoch > 0) {
            Some(output) => format!("the last good model, of epoch {epoch}, is in {}", shown(&partial(output.path))),
            None => "no epoch was finished, so there is no model".to_owned(),
        };
        let message = format!(
            "the loss became NaN or infinite in epoch {}, minibatch {minibatch}, with learning rate {:e}; {left}",
            self.progress.epoch + 1,
            self.config.learning_rate
        );
        let error = clickvec_tables::Error::new(clickvec_tables::ErrorKind::NotFinite, message);
        error.help("take a smaller learning_rate, or set clip_norm")
    }
}

/// Returns whether a run goes on from a checkpoint.
fn resumes(output: &Output<'_>) -> bool {
    output.resume && checkpoint::path(output.path).exists()
}

/// Returns the number of epochs of all stages.
pub(super) fn epochs(stages: &[Stage<'_>]) -> u32 {
    stages.last().map_or(0, |stage| stage.before + stage.config.epochs)
}
