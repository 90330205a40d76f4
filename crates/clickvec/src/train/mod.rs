//! Training: Algorithm 1 of Palangi et al. 2015, with the other updates and negatives beside it.

mod checkpoint;
mod step;

pub use crate::settings::{Keep, SettingFault, TrainConfig, TrainingRecord};

use crate::clicks::{ClickLog, LogConfig, LogStatistics, Minibatch, MinibatchConfig, Minibatches};
use crate::encoder::Tensor;
use crate::error::{Error, Result};
use crate::eval::{EvaluateOptions, Judgments, Metric, Metrics, evaluate};
use crate::files::{Claim, check_replaceable, folder_of, publish, remove_abandoned};
use crate::math::Level;
use crate::model::{Model, file as model_file};
use crate::ranker::Neural;
use crate::tables::Skipped;
use checkpoint::Progress;
use std::path::{Path, PathBuf};
use std::time::Instant;
use step::Towers;

/// The files of a training run.
#[derive(Debug, Clone, Copy)]
pub struct TrainOptions<'a> {
    /// The click log.
    pub clicks: &'a Path,
    /// Judged queries, to measure every epoch.
    pub validation: Option<&'a Judgments>,
    /// Where the model goes. Beside it, while training runs: `.partial`, the model that would be
    /// kept if training ended now, and `.checkpoint`.
    pub output: &'a Path,
    /// Write a checkpoint after this many minibatches.
    pub checkpoint_every: Option<u64>,
    /// Continue from the checkpoint beside `output`, if there is one; never over another run's model.
    pub resume: bool,
}

/// What a training run reports while it runs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The log is being read.
    Reading {
        /// Pairs so far.
        pairs: u64,
    },
    /// The log was read.
    Log {
        /// What was found.
        statistics: LogStatistics,
        /// Lines that were left out.
        skipped: Skipped,
        /// Trigrams in the dictionary.
        trigrams: usize,
        /// Weights of both towers.
        parameters: u64,
    },
    /// Training continues from a checkpoint.
    Resumed {
        /// Counted from 1.
        epoch: u32,
        /// Minibatches of that epoch that are done.
        minibatch: u64,
    },
    /// A minibatch is done.
    Minibatch {
        /// Counted from 1.
        epoch: u32,
        /// Minibatches of this epoch that are done.
        minibatch: u64,
        /// Minibatches in an epoch.
        minibatches: u64,
        /// Pairs in this minibatch.
        pairs: u64,
        /// Mean loss of its pairs.
        loss: f64,
    },
    /// An epoch is done.
    Epoch(EpochReport),
    /// Training ends before its last epoch.
    StoppedEarly {
        /// Epochs done.
        epoch: u32,
        /// The best of them.
        best: u32,
        /// Whether the schedule's last stretch, of low momentum, was not reached.
        schedule_cut: bool,
    },
    /// The model is written, or was already there.
    Done {
        /// Where it is.
        model: PathBuf,
        /// Its fingerprint.
        fingerprint: String,
        /// The epoch it was taken after.
        epoch: u32,
        /// Whether this run had been finished before.
        already: bool,
    },
}

/// An epoch in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochReport {
    /// Counted from 1.
    pub epoch: u32,
    /// Mean loss of a pair.
    pub loss: f64,
    /// Pairs of the epoch by its seconds.
    pub pairs_per_second: f64,
    /// Wall time of the minibatches, sampling included, and in this process's first epoch the time it
    /// took to read and hash the log; of this process, if the epoch was resumed.
    pub seconds: f64,
    /// Pairs for which no title was eligible as a negative: they add no loss.
    pub without_negatives: u64,
    /// Means over the validation queries.
    pub validation: Option<Metrics>,
    /// Whether the model of this epoch is the one to be kept so far.
    pub kept: bool,
}

/// Trains a model and writes it to `options.output`.
///
/// Same seed, data, program and instruction level give the same bytes, at any number of threads
/// and through any number of interruptions.
///
/// # Errors
/// [`Error::Setting`] before anything is read; what [`ClickLog::read`] reports; [`Error::Resume`];
/// [`Error::Diverged`], which leaves the model of the last good epoch; [`Error::Io`] if something
/// cannot be written.
pub fn train(config: &TrainConfig, options: &TrainOptions<'_>, on_event: &mut dyn FnMut(&Event)) -> Result<()> {
    let no_precision = || config.precision.missing().map(|found| SettingFault::NoAmx { found });
    if let Some(fault) = config.fault().or_else(no_precision).or_else(|| validation_fault(config, options)) {
        return Err(Error::Setting(fault));
    }
    let started = Instant::now();
    // Whether they can be written, their names included, is better known before the training.
    for path in &written_paths(options.output) {
        check_replaceable(path)?;
    }
    let beside = folder_of(options.output);
    let _claim = Claim::new(options.output)?;
    for path in written_paths(options.output) {
        remove_abandoned(&path);
    }
    let log_config = LogConfig {
        field: &config.field,
        weighting: config.weighting,
        max_words: config.max_words,
        max_trigrams: config.max_trigrams,
    };
    let log = ClickLog::read(options.clicks, &beside, log_config, &mut |pairs| on_event(&Event::Reading { pairs }))?;
    on_event(&Event::Log {
        statistics: log.statistics().clone(),
        skipped: log.skipped().clone(),
        trigrams: log.dictionary().len(),
        parameters: config.encoder.parameters(log.dictionary().len()).unwrap_or(u64::MAX)
            * if config.shared_towers { 1 } else { 2 },
    });
    let minibatch_config = MinibatchConfig {
        size: config.minibatch,
        negatives: config.negatives,
        source: config.negative_source,
        shared_tower: config.shared_towers,
        seed: config.seed,
    };
    let minibatches = Minibatches::new(&log, minibatch_config, &beside)?;
    let record = TrainingRecord {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        level: Level::current().name().to_owned(),
        config: config.clone(),
        log: log.statistics().clone(),
        log_fingerprint: format!("{:016x}", log.fingerprint()),
        validation_fingerprint: options
            .validation
            .filter(|_| config.keep == Keep::Best || config.patience.is_some())
            .map(|judgments| format!("{:016x}", judgments.fingerprint())),
        epoch: 0,
        updates: 0,
        loss: 0.0,
    };
    let checkpoint = checkpoint::path(options.output);
    // A run that was killed after its model was published may have left its checkpoint, but no `.partial`.
    let may_be_finished = options.resume && !(checkpoint.exists() && partial(options.output).exists());
    if may_be_finished && let Some(event) = finished_before(&record, options.output)? {
        checkpoint::remove(options.output);
        on_event(&event);
        return Ok(());
    }
    let towers = Towers::new(config, &log, minibatches.per_epoch());
    let mut run = Run { config, options, log: &log, minibatches, towers, progress: Progress::default(), record };
    if !options.resume {
        // It would no longer belong to what this run leaves in `.partial`.
        checkpoint::remove(options.output);
    } else if checkpoint.exists() {
        run.progress = checkpoint::load(options.output, &run.record, run.minibatches.per_epoch(), &mut run.towers)?;
        on_event(&Event::Resumed { epoch: run.progress.epoch + 1, minibatch: run.progress.minibatch });
    }
    run.train(started, on_event)
}

fn validation_fault(config: &TrainConfig, options: &TrainOptions<'_>) -> Option<SettingFault> {
    let purpose = match (options.validation, config.keep, config.patience) {
        (Some(_), ..) => return None,
        (None, Keep::Best, _) => "keep the best epoch",
        (None, Keep::Last, Some(_)) => "stop early",
        (None, Keep::Last, None) => return None,
    };
    Some(SettingFault::NoValidation { purpose })
}

/// That the model at `output` is what this run would make; an error if it is another run's.
fn finished_before(record: &TrainingRecord, output: &Path) -> Result<Option<Event>> {
    // What is no model is overwritten, as without `resume`.
    let Ok(model) = Model::load(output) else { return Ok(None) };
    let found = model.training();
    if let Some(fault) = checkpoint::difference(found, record) {
        return Err(Error::Resume { path: output.to_owned(), fault });
    }
    // A model is at `output` only when its run is at an end, which may come before the last epoch.
    let config = &record.config;
    let whole = found.epoch == config.epochs || config.keep == Keep::Best || config.patience.is_some();
    Ok(whole.then(|| Event::Done {
        model: output.to_owned(),
        fingerprint: model.fingerprint().to_owned(),
        epoch: found.epoch,
        already: true,
    }))
}

/// A training run: everything that changes is in `towers` and `progress`.
struct Run<'a> {
    config: &'a TrainConfig,
    options: &'a TrainOptions<'a>,
    log: &'a ClickLog,
    minibatches: Minibatches<'a>,
    towers: Towers,
    progress: Progress,
    record: TrainingRecord,
}

impl Run<'_> {
    /// The first epoch's time begins at `started`: it has the log to read and to hash.
    fn train(mut self, started: Instant, on_event: &mut dyn FnMut(&Event)) -> Result<()> {
        let mut begun = started;
        let mut buffers = [Minibatch::default(), Minibatch::default()];
        while self.progress.epoch < self.config.epochs && !self.out_of_patience() {
            let resumed_at = self.progress.pairs;
            self.epoch(&mut buffers, on_event)?;
            let seconds = begun.elapsed().as_secs_f64();
            let report = self.finish_epoch(seconds, resumed_at)?;
            on_event(&Event::Epoch(report));
            begun = Instant::now();
        }
        if self.progress.epoch < self.config.epochs {
            on_event(&Event::StoppedEarly {
                epoch: self.progress.epoch,
                best: self.progress.best.map_or(0, |(epoch, _)| epoch),
                schedule_cut: self.config.optimizer == crate::optimizer::OptimizerKind::Nesterov,
            });
        }
        publish(&partial(self.options.output), self.options.output)?;
        checkpoint::remove(self.options.output);
        let model = Model::load(self.options.output)?;
        on_event(&Event::Done {
            model: self.options.output.to_owned(),
            fingerprint: model.fingerprint().to_owned(),
            epoch: model.training().epoch,
            already: false,
        });
        Ok(())
    }

    fn out_of_patience(&self) -> bool {
        self.config.patience.is_some_and(|patience| self.progress.without_better >= patience)
    }

    /// The minibatches of an epoch that are still to do; the next one is made while one is learnt.
    fn epoch(&mut self, buffers: &mut [Minibatch; 2], on_event: &mut dyn FnMut(&Event)) -> Result<()> {
        let minibatches = self.minibatches.per_epoch();
        let epoch = self.progress.epoch;
        let [now, next] = buffers;
        self.minibatches.fill(u64::from(epoch), self.progress.minibatch, now);
        while self.progress.minibatch < minibatches {
            let pairs = now.pairs.positive.len() as u64;
            let following = self.progress.minibatch + 1;
            let (config, source, towers) = (self.config, &self.minibatches, &mut self.towers);
            let (sum, ()) = rayon::join(
                || towers.step(config, now),
                || {
                    if following < minibatches {
                        source.fill(u64::from(epoch), following, next);
                    }
                },
            );
            let Some(sum) = sum else { return Err(self.diverged(following)) };
            std::mem::swap(now, next);
            self.progress.minibatch += 1;
            self.progress.pairs += pairs;
            self.progress.loss += sum.loss;
            self.progress.without_negatives += sum.without_negatives;
            on_event(&Event::Minibatch {
                epoch: epoch + 1,
                minibatch: self.progress.minibatch,
                minibatches,
                pairs,
                loss: sum.loss / pairs as f64,
            });
            let due = self.options.checkpoint_every.is_some_and(|every| self.towers.updates().is_multiple_of(every));
            // After the last minibatch the epoch is finished first, so that a resumed run need not.
            if due && self.progress.minibatch < minibatches {
                checkpoint::save(self.options.output, &self.record, &self.progress, &self.towers)?;
            }
        }
        Ok(())
    }

    /// Measures and keeps the model of the epoch that just ended.
    fn finish_epoch(&mut self, seconds: f64, resumed_at: u64) -> Result<EpochReport> {
        let snapshot = self.towers.snapshot(self.config, self.log.dictionary().len());
        // The last update may have ruined what no later loss will read.
        let is_finite = |tensor: &Tensor| tensor.value.data().iter().all(|x| x.is_finite());
        if !snapshot.iter().all(|tower| tower.tensors().iter().all(is_finite)) {
            return Err(self.diverged(self.progress.minibatch));
        }
        let progress = &mut self.progress;
        progress.epoch += 1;
        let loss = progress.loss / progress.pairs as f64;
        self.record.epoch = progress.epoch;
        self.record.updates = self.towers.updates();
        self.record.loss = loss;
        let model = Model {
            dictionary: self.log.dictionary().clone(),
            towers: snapshot,
            training: self.record.clone(),
            fingerprint: String::new(),
        };
        let neural = Neural::new("model".to_owned(), model);
        let validation =
            self.options.validation.map(|judgments| evaluate(&neural, judgments, &EvaluateOptions::default()).mean);
        let model = neural.into_model();

        let mut kept = true;
        if let Some(metrics) = &validation {
            let score = metrics.get(Metric::Ndcg1) + metrics.get(Metric::Ndcg3);
            if progress.best.is_none_or(|(_, best)| score > best) {
                progress.best = Some((progress.epoch, score));
                progress.without_better = 0;
            } else {
                progress.without_better += 1;
                kept = self.config.keep == Keep::Last;
            }
        }
        if kept {
            let towers: Vec<&[Tensor]> = model.towers.iter().map(|tower| tower.tensors()).collect();
            model_file::save(&partial(self.options.output), &model.dictionary, &towers, &self.record)?;
            progress.kept = progress.epoch;
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
        if self.options.checkpoint_every.is_some() {
            checkpoint::save(self.options.output, &self.record, &self.progress, &self.towers)?;
        }
        Ok(report)
    }

    /// The last good model stays in `.partial`: what is at the output was finished.
    fn diverged(&self, minibatch: u64) -> Error {
        Error::Diverged {
            epoch: self.progress.epoch + 1,
            minibatch,
            learning_rate: self.config.learning_rate,
            model: (self.progress.kept > 0).then(|| (partial(self.options.output), self.progress.kept)),
        }
    }
}

/// The files that a run writes: `output`, and what lies beside it while training runs.
pub fn written_paths(output: &Path) -> [PathBuf; 3] {
    [output.to_owned(), partial(output), checkpoint::path(output)]
}

/// Where the model lies that would be kept if training ended now.
fn partial(output: &Path) -> PathBuf {
    with_suffix(output, ".partial")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
