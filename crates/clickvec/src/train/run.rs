//! A training run from its first minibatch to its last.

mod after_titles;

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::time::Instant;

use super::agreement::Probe;
use super::checkpoint::{self, Progress, Resumed};
use super::device::{Cpu, Device, Learner};
use super::least_squares::Start;
use super::members::begin;
use super::projection::Projection;
use super::stage::{Stage, stage_after, stages};
use super::start::{encoders, initial_towers};
use super::{EpochReport, Event, Output, TrainOptions, Validation, Written, partial};
use crate::clicks::{ClickLog, ClickSource, LogConfig, Minibatch, Storage, Taught, Teacher};
use crate::encoder::Tensor;
use crate::error::{Error, Result};
use crate::files::publish;
use crate::memory::room_for;
use crate::model::Model;
use crate::settings::{Keep, TrainConfig, TrainingRecord};

/// Reads the training pairs and the teachers, and reports what they contain.
pub(super) fn read(
    config: &TrainConfig,
    clicks: ClickSource<'_>,
    options: &mut TrainOptions<'_>,
    storage: Storage<'_>,
    on_event: &mut dyn FnMut(&Event) -> ControlFlow<()>,
) -> Result<ControlFlow<(), ClickLog>> {
    let log_config = LogConfig {
        field: &config.field,
        weighting: config.weighting,
        max_words: config.max_words,
        tail: config.tail,
        max_trigrams: config.max_trigrams,
        word_count: config.word_count,
        titles: options.titles,
        dictionary: options.init.map(Model::dictionary),
    };
    let progress = &mut |pairs| on_event(&Event::Reading { pairs });
    let ControlFlow::Continue(mut log) = ClickLog::read_watched(clicks, storage, log_config, progress)? else {
        return Ok(ControlFlow::Break(()));
    };
    let rows = log.dictionary().len();
    let towers = if config.shared_towers { 1 } else { 2 };
    let flow = on_event(&Event::Log {
        statistics: log.statistics().clone(),
        skipped: log.skipped().clone(),
        skipped_titles: log.skipped_titles().to_vec(),
        trigrams: log.dictionary().trigrams().len(),
        words: log.dictionary().words().len(),
        parameters: config.encoder.parameters(rows).unwrap_or(u64::MAX).saturating_mul(towers),
    });
    if flow.is_break() {
        return Ok(ControlFlow::Break(()));
    }
    let teachers = std::mem::take(&mut options.teachers);
    let (scores, vectors): (Vec<_>, Vec<_>) = teachers.into_iter().partition(Teacher::has_scores);
    if !vectors.is_empty() {
        let coverage = log.teach(vectors, config.limit(), storage)?;
        if on_event(&Event::Teacher(coverage)).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    if config.held_out > 0.0 && !log.is_empty() {
        let held_out = log.hold_out(config.held_out, storage)?;
        if held_out.queries.is_empty() {
            options.validation = None;
        }
        if on_event(&Event::HeldOut(held_out)).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    if !scores.is_empty() {
        let coverage = log.teach_scores(scores, config.limit(), storage)?;
        if on_event(&Event::TeacherScores(coverage)).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(log))
}

/// What every model of this run records, except for its epoch.
pub(super) fn record(config: &TrainConfig, log: &ClickLog, options: &TrainOptions<'_>) -> TrainingRecord {
    let has_a_say = config.keep != Keep::Last || config.patience.is_some();
    let validation = options.validation.as_ref().filter(|_| has_a_say);
    TrainingRecord {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        level: level(config, options),
        config: config.clone(),
        log: log.statistics().clone(),
        log_fingerprint: format!("{:016x}", log.fingerprint()),
        validation_fingerprint: validation.map(|validation| format!("{:016x}", validation.fingerprint)),
        epoch: 0,
        updates: 0,
        loss: 0.0,
        init: options.init.map(|model| model.fingerprint().to_owned()),
        left_out: options.left_out,
        teacher: teacher(log),
        variance: None,
    }
}

/// What the results of this run depend on, apart from settings and data: the device, and its instructions for rounded products
/// if there are several kinds.
fn level(config: &TrainConfig, options: &TrainOptions<'_>) -> String {
    match (options.device, config.precision.instructions()) {
        (Some(device), _) => device.name(),
        (None, None) => Cpu.name(),
        (None, Some(instructions)) => format!("{}-{instructions}", Cpu.name()),
    }
}

/// A fingerprint of what the teacher says of the log, if there is one.
fn teacher(log: &ClickLog) -> Option<String> {
    let vectors = log.taught().map(Taught::fingerprint);
    let scores = log.scored().map(|scored| scored.fingerprint().rotate_left(1));
    let both = vectors.into_iter().chain(scores).reduce(|a, b| a ^ b);
    both.map(|fingerprint| format!("{fingerprint:016x}"))
}

/// A training run. Everything that changes is in `learner` and `progress`.
pub(super) struct Run<'a, 'v> {
    config: &'a TrainConfig,
    log: &'a ClickLog,
    stages: Vec<Stage<'a>>,
    /// The epochs of all stages together.
    epochs: u32,
    device: &'v dyn Device,
    learner: Box<dyn Learner>,
    progress: Progress,
    record: TrainingRecord,
    validation: Option<Validation<'v>>,
    /// The sample on which the model is compared with its teacher, if it has one that knows queries and titles.
    probe: Option<Probe>,
    /// What the run started from, until it is told.
    start: Option<Event>,
    /// What makes the projection of each epoch's model, if the encoder has one.
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
        let stages = stages(config, log, storage)?;
        let epochs = epochs(&stages);
        let record = record(config, log, &options);
        let sides = if config.shared_towers { 1 } else { 2 };
        // Memory holds the weights and, for each weight, its velocity or its two moments. Of the gradients it holds
        // only the rows that occur in a minibatch.
        let weights = config.encoder.parameters(log.dictionary().len());
        let bytes = weights.and_then(|weights| weights.checked_mul(sides * 3 * size_of::<f32>() as u64));
        room_for("the weights and what their updates remember", bytes)?;
        let device = options.device.unwrap_or(&Cpu);
        // The weights of an initial model, of a checkpoint or of an earlier run would take the start's place.
        let after_titles = options.after_titles.is_some() && stages.len() == 2;
        let has_weights = options.init.is_some() || after_titles || output.is_some_and(resumes);
        let is_asked = !has_weights && Start::is_asked(config, log);
        let start = if is_asked { Start::of(config, log, storage)? } else { None };
        let towers = initial_towers(config, log, options.init, start.as_ref());
        let start = is_asked.then(|| Event::Start(start.map(|start| start.report)));
        let learner = begin(device, &stages[0], towers)?;
        let validation = options.validation;
        let probe = log.taught().and_then(|taught| Probe::new(log, taught, config.seed));
        let projection = Projection::of(config, log, storage)?;
        let progress = Progress::default();
        Ok(Run {
            config,
            log,
            stages,
            epochs,
            device,
            learner,
            progress,
            record,
            validation,
            probe,
            start,
            projection,
            output,
            model: None,
            fingerprint: None,
        })
    }

    /// Continues from the checkpoint next to `output`.
    pub(super) fn resume(&mut self, output: &Path) -> Result<Event> {
        let Run { config, log, stages, device, .. } = self;
        let begin = |stage: usize, learner: &mut Box<dyn Learner>| {
            let towers = encoders(config, log, learner.snapshot()?);
            *learner = begin(*device, &stages[stage], towers)?;
            Ok(())
        };
        let Resumed { progress, kept } = checkpoint::load(output, &self.record, stages, &mut self.learner, begin)?;
        (self.progress, self.fingerprint) = (progress, kept);
        let stage = self.stage();
        let epoch = self.progress.epoch - stage.before + 1;
        Ok(Event::Resumed { section: stage.section, epoch, minibatch: self.progress.minibatch })
    }

    /// The stage that the current epoch belongs to.
    fn stage(&self) -> &Stage<'a> {
        &self.stages[stage_after(&self.stages, self.progress.epoch)]
    }

    /// The model of a finished run without an output.
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
            if on_event(&Event::Epoch(report)).is_break() || flow.is_break() {
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
        let at_a_time = self.learner.at_a_time() as u64;
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
            let (sums, ()) = rayon::join(|| self.learner.steps(now), || fill(following, next));
            let sums = sums?;
            for (minibatch, sum) in now.iter().zip(&sums) {
                let pairs = minibatch.pairs.positive.len() as u64;
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
            std::mem::swap(now, next);
            // After the last minibatch the epoch is finished first, so that a resumed run need not do it.
            if self.progress.minibatch < minibatches
                && let Some(Output { path, checkpoint_every: Some(every), .. }) = self.output
                && (flow.is_break() || self.learner.updates().is_multiple_of(*every))
            {
                checkpoint::save(path, &self.record, &self.progress, &*self.learner)?;
            }
        }
        Ok(flow)
    }

    /// Scores the model of the epoch that just ended, and keeps it if it is the best.
    fn finish_epoch(&mut self, seconds: f64, resumed_at: u64) -> Result<EpochReport> {
        let snapshot = self.learner.snapshot()?;
        // The last update may have produced NaN or infinity, and no later loss will show it.
        let is_finite = |tensor: &Tensor| tensor.value.data().iter().all(|x| x.is_finite());
        if !snapshot.iter().flatten().all(is_finite) {
            return Err(self.diverged(self.progress.minibatch));
        }
        let number = stage_after(&self.stages, self.progress.epoch);
        self.progress.epoch += 1;
        let loss = self.progress.loss / self.progress.pairs as f64;
        self.record.epoch = self.progress.epoch;
        let before = self.stages[..number].iter().map(Stage::updates).sum::<u64>();
        self.record.updates = before + self.learner.updates();
        self.record.loss = loss;
        let model = self.model_of(snapshot);
        let validation = self.validation.as_mut().map(|validation| (validation.judge)(&model));
        let agreement = self.probe.as_ref().map(|probe| probe.agreement(&model));
        let progress = &mut self.progress;
        let mut kept = true;
        if let Some(score) = &validation {
            // JSON can hold only finite numbers, whatever the caller returned.
            let score = if score.value.is_nan() { f64::MIN } else { score.value.clamp(f64::MIN, f64::MAX) };
            if progress.best.is_none_or(|(_, best)| score > best) {
                progress.best = Some((progress.epoch, score));
                progress.without_better = 0;
            } else {
                progress.without_better += 1;
                let tolerance = self.validation.as_ref().map_or(0.0, |validation| validation.tolerance);
                let is_close = tolerance > 0.0 && progress.best.is_some_and(|(_, best)| score >= best - tolerance);
                kept = self.config.keep == Keep::Last || is_close;
            }
        }
        if kept {
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
            kept,
        };
        progress.begin_epoch();
        let next = stage_after(&self.stages, self.progress.epoch);
        if next > number {
            let towers = encoders(self.config, self.log, self.learner.snapshot()?);
            self.learner = begin(self.device, &self.stages[next], towers)?;
        }
        if let Some(Output { path, checkpoint_every: Some(_), .. }) = self.output {
            checkpoint::save(path, &self.record, &self.progress, &*self.learner)?;
        }
        Ok(report)
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

    /// The model with these weights and, if its encoder has one, the projection that fits them. The record gets the share of
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

    /// The error for a loss that is not finite. The last good model stays in `.partial`, because a file at the output
    /// means that its run has finished.
    fn diverged(&self, minibatch: u64) -> Error {
        let kept = self.progress.kept;
        Error::Diverged {
            epoch: self.progress.epoch + 1,
            minibatch,
            learning_rate: self.config.learning_rate,
            model: self.output.filter(|_| kept > 0).map(|output| (partial(output.path), kept)),
        }
    }
}

/// Whether a run goes on from a checkpoint.
fn resumes(output: &Output<'_>) -> bool {
    output.resume && checkpoint::path(output.path).exists()
}

/// The number of epochs of all stages.
pub(super) fn epochs(stages: &[Stage<'_>]) -> u32 {
    stages.last().map_or(0, |stage| stage.before + stage.config.epochs)
}
