//! A run from its first minibatch to its last.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use super::checkpoint::{self, Progress, Resumed};
use super::device::{Cpu, Learner, Plan};
use super::{EpochReport, Event, Output, TrainOptions, Validation, Written, partial};
use crate::clicks::{ClickLog, ClickSource, LogConfig, Minibatch, MinibatchConfig, Minibatches, Storage};
use crate::encoder::{Encoder, Tensor, TextStatistics, initialize};
use crate::error::{Error, Result};
use crate::files::publish;
use crate::memory::room_for;
use crate::model::{Model, prefixes};
use crate::optimizer::{MomentumSchedule, OptimizerConfig, OptimizerKind};
use crate::settings::{Keep, TrainConfig, TrainingRecord};

/// Reads the pairs that are learnt from, and reports what was found.
pub(super) fn read(
    config: &TrainConfig,
    clicks: ClickSource<'_>,
    storage: Storage<'_>,
    on_event: &mut dyn FnMut(&Event) -> ControlFlow<()>,
) -> Result<ControlFlow<(), ClickLog>> {
    let log_config = LogConfig {
        field: &config.field,
        weighting: config.weighting,
        max_words: config.max_words,
        max_trigrams: config.max_trigrams,
    };
    let progress = &mut |pairs| on_event(&Event::Reading { pairs });
    let ControlFlow::Continue(log) = ClickLog::read_watched(clicks, storage, log_config, progress)? else {
        return Ok(ControlFlow::Break(()));
    };
    let trigrams = log.dictionary().len();
    let towers = if config.shared_towers { 1 } else { 2 };
    let flow = on_event(&Event::Log {
        statistics: log.statistics().clone(),
        skipped: log.skipped().clone(),
        trigrams,
        parameters: config.encoder.parameters(trigrams).unwrap_or(u64::MAX).saturating_mul(towers),
    });
    Ok(flow.map_continue(|()| log))
}

/// What a model of this run says of it, but for the epoch.
pub(super) fn record(config: &TrainConfig, log: &ClickLog, options: &TrainOptions<'_>) -> TrainingRecord {
    let has_a_say = config.keep == Keep::Best || config.patience.is_some();
    let validation = options.validation.as_ref().filter(|_| has_a_say);
    TrainingRecord {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        level: options.device.unwrap_or(&Cpu).name(),
        config: config.clone(),
        log: log.statistics().clone(),
        log_fingerprint: format!("{:016x}", log.fingerprint()),
        validation_fingerprint: validation.map(|validation| format!("{:016x}", validation.fingerprint)),
        epoch: 0,
        updates: 0,
        loss: 0.0,
    }
}

/// A training run: everything that changes is in `learner` and `progress`.
pub(super) struct Run<'a, 'v> {
    config: &'a TrainConfig,
    log: &'a ClickLog,
    minibatches: Minibatches<'a>,
    learner: Box<dyn Learner>,
    progress: Progress,
    record: TrainingRecord,
    validation: Option<Validation<'v>>,
    output: Option<&'a Output<'a>>,
    /// The model of the epoch to be kept, if there is no output.
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
        let minibatch_config = MinibatchConfig {
            size: config.minibatch,
            negatives: config.negatives,
            source: config.negative_source,
            shared_tower: config.shared_towers,
            seed: config.seed,
        };
        let minibatches = Minibatches::new(log, minibatch_config, storage)?;
        let record = record(config, log, &options);
        let updates = minibatches.per_epoch() * u64::from(config.epochs);
        let optimizer = OptimizerConfig {
            kind: config.optimizer,
            learning_rate: config.learning_rate,
            clip_norm: config.clip_norm,
            momentum: MomentumSchedule::papers(updates),
        };
        let towers = if config.shared_towers { 1 } else { 2 };
        // The weights, and of each its velocity or its two moments; of gradients there are the rows that a minibatch has.
        let weights = config.encoder.parameters(log.dictionary().len());
        let bytes = weights.and_then(|weights| weights.checked_mul(towers * 3 * size_of::<f32>() as u64));
        room_for("the weights and what their updates remember", bytes)?;
        let plan = Plan { config: config.clone(), optimizer, towers: initial_towers(config, log) };
        let learner = options.device.unwrap_or(&Cpu).load(plan)?;
        let validation = options.validation;
        let progress = Progress::default();
        Ok(Run {
            config,
            log,
            minibatches,
            learner,
            progress,
            record,
            validation,
            output,
            model: None,
            fingerprint: None,
        })
    }

    /// Goes to where the checkpoint beside `output` is: epoch, counted from 1, and minibatches of it that are done.
    pub(super) fn resume(&mut self, output: &Path) -> Result<(u32, u64)> {
        let per_epoch = self.minibatches.per_epoch();
        let Resumed { progress, kept } = checkpoint::load(output, &self.record, per_epoch, &mut *self.learner)?;
        (self.progress, self.fingerprint) = (progress, kept);
        Ok((self.progress.epoch + 1, self.progress.minibatch))
    }

    /// The model of a run without an output that came to its end.
    pub(super) fn into_model(self) -> Model {
        self.model.expect("a run has an epoch at least, and the first is kept")
    }

    /// Puts the model of a run that came to its end in its place.
    pub(super) fn publish(self, output: &Path) -> Result<Written> {
        publish(&partial(output), output)?;
        checkpoint::remove(output);
        let fingerprint = self.fingerprint.expect("a run has an epoch at least, and the first is kept");
        Ok(Written { fingerprint, epoch: self.progress.kept, already: false })
    }

    /// The first epoch's time begins at `started`: it has the log to read and to hash.
    pub(super) fn train(
        &mut self,
        started: Instant,
        on_event: &mut dyn FnMut(&Event) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let mut begun = started;
        let mut buffers = [Minibatch::default(), Minibatch::default()];
        while self.progress.epoch < self.config.epochs && !self.out_of_patience() {
            let resumed_at = self.progress.pairs;
            let flow = self.epoch(&mut buffers, on_event)?;
            if self.progress.minibatch < self.minibatches.per_epoch() {
                return Ok(flow);
            }
            let seconds = begun.elapsed().as_secs_f64();
            let report = self.finish_epoch(seconds, resumed_at)?;
            if on_event(&Event::Epoch(report)).is_break() || flow.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            begun = Instant::now();
        }
        if self.progress.epoch == self.config.epochs {
            return Ok(ControlFlow::Continue(()));
        }
        Ok(on_event(&Event::StoppedEarly {
            epoch: self.progress.epoch,
            best: self.progress.best.map_or(0, |(epoch, _)| epoch),
            schedule_cut: self.config.optimizer == OptimizerKind::Nesterov,
        }))
    }

    fn out_of_patience(&self) -> bool {
        self.config.patience.is_some_and(|patience| self.progress.without_better >= patience)
    }

    /// The minibatches of an epoch that are still to do, or those until `on_event` breaks off; the next one is made while
    /// one is learnt.
    fn epoch(
        &mut self,
        buffers: &mut [Minibatch; 2],
        on_event: &mut dyn FnMut(&Event) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let minibatches = self.minibatches.per_epoch();
        let epoch = self.progress.epoch;
        let [now, next] = buffers;
        self.minibatches.fill(u64::from(epoch), self.progress.minibatch, now);
        while self.progress.minibatch < minibatches {
            let pairs = now.pairs.positive.len() as u64;
            let following = self.progress.minibatch + 1;
            let (source, learner) = (&self.minibatches, &mut self.learner);
            let (sum, ()) = rayon::join(
                || learner.step(now),
                || {
                    if following < minibatches {
                        source.fill(u64::from(epoch), following, next);
                    }
                },
            );
            let Some(sum) = sum? else { return Err(self.diverged(following)) };
            std::mem::swap(now, next);
            self.progress.minibatch += 1;
            self.progress.pairs += pairs;
            self.progress.loss += sum.loss;
            self.progress.without_negatives += sum.without_negatives;
            let flow = on_event(&Event::Minibatch {
                epoch: epoch + 1,
                minibatch: self.progress.minibatch,
                minibatches,
                pairs,
                loss: sum.loss / pairs as f64,
            });
            // After the last minibatch the epoch is finished first, so that a resumed run need not.
            if self.progress.minibatch < minibatches
                && let Some(Output { path, checkpoint_every: Some(every), .. }) = self.output
                && (flow.is_break() || self.learner.updates().is_multiple_of(*every))
            {
                checkpoint::save(path, &self.record, &self.progress, &*self.learner)?;
            }
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Measures and keeps the model of the epoch that just ended.
    fn finish_epoch(&mut self, seconds: f64, resumed_at: u64) -> Result<EpochReport> {
        let snapshot = self.learner.snapshot()?;
        // The last update may have ruined what no later loss will read.
        let is_finite = |tensor: &Tensor| tensor.value.data().iter().all(|x| x.is_finite());
        if !snapshot.iter().flatten().all(is_finite) {
            return Err(self.diverged(self.progress.minibatch));
        }
        self.progress.epoch += 1;
        let loss = self.progress.loss / self.progress.pairs as f64;
        self.record.epoch = self.progress.epoch;
        self.record.updates = self.learner.updates();
        self.record.loss = loss;
        let model = self.model_of(snapshot);
        let validation = self.validation.as_mut().map(|validation| (validation.judge)(&model));
        let progress = &mut self.progress;
        let mut kept = true;
        if let Some(score) = &validation {
            // A number that JSON can hold, whatever the caller made.
            let score = score.value.max(f64::MIN).min(f64::MAX);
            if progress.best.is_none_or(|(_, best)| score > best) {
                progress.best = Some((progress.epoch, score));
                progress.without_better = 0;
            } else {
                progress.without_better += 1;
                kept = self.config.keep == Keep::Last;
            }
        }
        if kept {
            progress.kept = progress.epoch;
            match self.output {
                None => self.model = Some(model),
                Some(output) => {
                    model.save(&partial(output.path))?;
                    self.fingerprint = Some(model.fingerprint().to_owned());
                }
            }
        }
        let report = EpochReport {
            epoch: progress.epoch,
            loss,
            pairs_per_second: (progress.pairs - resumed_at) as f64 / seconds,
            seconds,
            without_negatives: progress.without_negatives,
            validation,
            kept,
        };
        progress.begin_epoch();
        if let Some(Output { path, checkpoint_every: Some(_), .. }) = self.output {
            checkpoint::save(path, &self.record, &self.progress, &*self.learner)?;
        }
        Ok(report)
    }

    fn model_of(&self, towers: Vec<Vec<Tensor>>) -> Model {
        let encoder = |tensors: Vec<Tensor>| {
            let mut encoder = self.config.encoder.build(self.log.dictionary().len());
            for (tensor, now) in encoder.tensors_mut().iter_mut().zip(tensors) {
                *tensor = now;
            }
            encoder
        };
        let towers = towers.into_iter().map(encoder).collect();
        Model::new(self.log.dictionary().clone(), towers, self.record.clone())
    }

    /// The last good model stays in `.partial`: what is at the output was finished.
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

/// The towers before the first update.
fn initial_towers(config: &TrainConfig, log: &ClickLog) -> Vec<Box<dyn Encoder>> {
    let statistics = log.statistics();
    let of = |words: u64, trigrams: u64, texts: u64| TextStatistics {
        trigrams_per_word: trigrams as f64 / words as f64,
        words_per_text: words as f64 / texts as f64,
    };
    let (queries, titles) =
        ((statistics.query_words, statistics.query_trigrams), (statistics.title_words, statistics.title_trigrams));
    let sides = if config.shared_towers {
        vec![of(queries.0 + titles.0, queries.1 + titles.1, 2 * statistics.pairs)]
    } else {
        vec![of(queries.0, queries.1, statistics.pairs), of(titles.0, titles.1, statistics.pairs)]
    };
    let tower = |(prefix, statistics): (&str, TextStatistics)| {
        let mut encoder = config.encoder.build(log.dictionary().len());
        let side = prefix.trim_end_matches('.');
        initialize(&mut *encoder, &config.encoder, side, statistics, config.init_range, config.seed);
        encoder
    };
    prefixes(config.shared_towers).into_iter().zip(sides).map(tower).collect()
}
