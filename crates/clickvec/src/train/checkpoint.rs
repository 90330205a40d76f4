//! The state of an unfinished run: weights, optimiser state and the place in the data. A run that resumes from it
//! writes the same bytes as one that was never interrupted. Rows that the optimiser has not brought up to date are
//! saved as they are.

use super::average::Average;
use super::learner::Learner;
use super::stage::{Stage, stage_after};
use super::step::{OptimizerState, TowerState};
use super::{partial, with_suffix};
use crate::encoder::Tensor;
use crate::math::Matrix;
use crate::model::{Model, prefixes};
use crate::settings::TrainingRecord;
use crate::settings::differences::{SettingDifference, listed_figures, listed_settings};
use crate::tensor_file::{Data, Entry, FORMAT, TensorFile, Tensors, entries, fingerprint, write_for};
use clickvec_tables::ErrorKind;
use clickvec_tables::shown::{shortened, shown};
use clickvec_tables::{Result, damaged};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The progress of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Finished epochs.
    pub(super) epoch: u32,
    /// Finished minibatches of the current epoch.
    pub(super) minibatch: u64,
    /// Pairs in these minibatches.
    pub(super) pairs: u64,
    /// Sum of the losses of these pairs.
    pub(super) loss: f64,
    /// Pairs in these minibatches that had no negative.
    pub(super) without_negatives: u64,
    /// The best epoch by validation, and its score.
    pub(super) best: Option<(u32, f64)>,
    /// The measures of the best epoch, query by query.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) best_queries: Vec<Vec<f64>>,
    /// Epochs since the best one.
    pub(super) without_better: u32,
    /// The epoch whose model is in `.partial`; 0 if there is none.
    pub(super) kept: u32,
}

impl Progress {
    pub(super) fn begin_epoch(&mut self) {
        self.minibatch = 0;
        self.pairs = 0;
        self.loss = 0.0;
        self.without_negatives = 0;
    }

    /// Returns whether a run can be here after `updates` updates. A checkpoint is taken between two minibatches, and only the
    /// last minibatch of an epoch is not full.
    fn is_possible(&self, updates: u64, stages: &[Stage<'_>]) -> bool {
        let stage = &stages[stage_after(stages, self.epoch)];
        let minibatches = stage.minibatches.per_epoch();
        let before = u64::from(self.epoch - stage.before).checked_mul(minibatches);
        updates.checked_sub(self.minibatch) == before
            && self.minibatch < minibatches
            && self.minibatch.checked_mul(stage.config.batch_size as u64) == Some(self.pairs)
            && self.epoch - stage.before <= stage.config.epochs
            && self.kept <= self.epoch
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    kind: String,
    fingerprint: String,
    updates: u64,
    progress: Progress,
    run: TrainingRecord,
}

const KIND: &str = "checkpoint";

pub(super) fn path(output: &Path) -> PathBuf {
    with_suffix(output, ".checkpoint")
}

/// Removes the checkpoint. It has no use once the model is written, and if it stays behind, it does no harm.
pub(super) fn remove(output: &Path) {
    let _ = std::fs::remove_file(path(output));
}

/// Writes the checkpoint next to `output`.
pub(super) fn save(
    output: &Path,
    run: &TrainingRecord,
    progress: &Progress,
    learner: &Learner,
    average: Option<&Average>,
) -> Result<()> {
    let (states, updates) = (learner.states(), learner.updates());
    let first: Vec<&[Tensor]> =
        average.iter().flat_map(|average| &average.first).map(|tower| tower.tensors()).collect();
    let all = all_entries(&states, &first);
    let header = Header {
        format: FORMAT,
        kind: KIND.to_owned(),
        fingerprint: fingerprint(&all, &(updates, progress, run)),
        updates,
        progress: progress.clone(),
        run: run.clone(),
    };
    write_for(&path(output), output, &header, all)
}

/// The prefix of the names of a stage's first weights.
const FIRST: &str = "first.";

/// Returns the weights and optimiser states of all towers, and the stage's first weights if they are needed, as entries of the
/// file.
fn all_entries<'a>(towers: &'a [TowerState<'_>], first: &[&'a [Tensor]]) -> Vec<Entry<'a>> {
    let mut all = Vec::new();
    for (prefix, tensors) in prefixes(first.len() == 1).into_iter().zip(first) {
        all.extend(entries(&format!("{FIRST}{prefix}"), tensors));
    }
    for (prefix, tower) in prefixes(towers.len() == 1).into_iter().zip(towers) {
        all.extend(entries(prefix, &tower.tensors));
        for (i, (tensor, state)) in tower.tensors.iter().zip(&tower.optimizer).enumerate() {
            for (stem, matrix) in [("velocity", &state.velocity), ("square", &state.square)] {
                if !matrix.data().is_empty() {
                    let name = format!("{prefix}{stem}.{i}");
                    all.push(Entry { name, data: Data::Columns(matrix, 0..tensor.value.columns()) });
                }
            }
            if !state.current.is_empty() {
                all.push(Entry { name: format!("{prefix}current.{i}"), data: Data::Counts(&state.current) });
            }
        }
    }
    all
}

/// The state of a run in its checkpoint.
pub(super) struct Resumed {
    pub(super) progress: Progress,
    /// The fingerprint of the model in `.partial`, if the run has kept one.
    pub(super) partial: Option<String>,
    /// The weights that the stage began with, if its models need them.
    pub(super) first: Option<Vec<Vec<Tensor>>>,
}

/// The help for a checkpoint with contents that no run writes.
const CHANGED: &str = "the file was changed or damaged; start the training over";

/// Returns the record of the run whose checkpoint is next to `output`, without reading the states.
pub(super) fn record(output: &Path) -> Result<TrainingRecord> {
    let path = path(output);
    let file = TensorFile::open(&path)?;
    match file.parse::<Header>(KIND) {
        Ok((_, header)) => Ok(header.run),
        Err(fault) => Err(fault.at(&path)),
    }
}

/// Brings `learner` to the state of the checkpoint next to `output`, if both belong to the same run. For a stage other
/// than the first, `begin` begins the stage with the learner's weights. On an error the weights are unchanged.
pub(super) fn load(
    output: &Path,
    run: &TrainingRecord,
    stages: &[Stage<'_>],
    learner: &mut Learner,
    begin: impl FnOnce(usize, &mut Learner),
) -> Result<Resumed> {
    let path = path(output);
    let file = TensorFile::open(&path)?;
    let here = |fault: clickvec_tables::Error| fault.at(&path);
    let (tensors, header) = file.parse::<Header>(KIND).map_err(here)?;
    if let Some(difference) = difference(&header.run, run) {
        return Err(here(difference.refuse()));
    }
    if !header.progress.is_possible(header.updates, stages) {
        let Progress { epoch, minibatch, pairs, .. } = header.progress;
        return Err(here(
            clickvec_tables::Error::expected(
                ErrorKind::Damaged,
                "counts of epochs and minibatches that this run can reach",
                format!(
                    "{epoch} epochs, then {minibatch} minibatches of {pairs} pairs, after {} updates in all",
                    header.updates
                ),
            )
            .help(CHANGED),
        ));
    }
    let best = stored_model(output, &path, run, header.progress.kept)?;
    let states = read(&tensors, header.updates, &learner.states()).map_err(here)?;
    let first = read_first(&tensors, &states).map_err(here)?;
    let first_of_towers: Vec<&[Tensor]> = first.iter().flatten().map(Vec::as_slice).collect();
    let all = all_entries(&states, &first_of_towers);
    let found = fingerprint(&all, &(header.updates, &header.progress, &header.run));
    if found != header.fingerprint {
        return Err(here(damaged::fingerprint(&header.fingerprint, &found)));
    }
    let stage = stage_after(stages, header.progress.epoch);
    if stage > 0 {
        begin(stage, learner);
    }
    learner.restore(header.updates, states);
    Ok(Resumed { progress: header.progress, partial: best, first })
}

/// Checks the model in `.partial` and returns its fingerprint. It becomes the output if no better epoch follows, so it
/// must be whole, belong to this run and be of `epoch` or later.
fn stored_model(output: &Path, checkpoint: &Path, run: &TrainingRecord, epoch: u32) -> Result<Option<String>> {
    if epoch == 0 {
        return Ok(None);
    }
    let partial = partial(output);
    if !partial.exists() {
        let message = format!("the model of epoch {epoch}, the best so far, is not at {}", shown(&partial));
        let error = clickvec_tables::Error::new(ErrorKind::Mismatch, message);
        return Err(error.help("start the training over").at(checkpoint));
    }
    let model = Model::load(&partial)?;
    if let Some(difference) = difference(model.training(), run) {
        return Err(difference.refuse_model().at(&partial));
    }
    // A kill between writing the model and writing the checkpoint leaves the model of a later epoch. The resumed run
    // repeats that epoch and writes the same model.
    let found = model.training().epoch;
    if found < epoch {
        let expected = format!("the model of epoch {epoch}, which the checkpoint continues");
        let error = clickvec_tables::Error::expected(ErrorKind::Mismatch, expected, format!("epoch {found}"));
        return Err(error.help("start the training over").at(&partial));
    }
    Ok(Some(model.fingerprint().to_owned()))
}

/// The first thing in which two runs differ.
pub(super) struct Difference {
    expected: String,
    found: String,
    help: &'static str,
    /// The difference of a model of the other run.
    model: String,
}

impl Difference {
    /// Returns the error of a run that cannot resume an interrupted one.
    pub(super) fn refuse(self) -> clickvec_tables::Error {
        clickvec_tables::Error::expected(ErrorKind::Mismatch, self.expected, self.found).help(self.help)
    }

    fn refuse_model(self) -> clickvec_tables::Error {
        let found = format!("a model of another run ({})", self.model);
        clickvec_tables::Error::expected(ErrorKind::Mismatch, "the best model so far of the run to resume", found)
            .help("restore that run's model, or start the training over")
    }
}

/// Returns the error of settings that differ from those of the run to resume.
pub fn other_settings(differences: &[SettingDifference]) -> clickvec_tables::Error {
    settings_difference(differences).refuse()
}

fn settings_difference(differences: &[SettingDifference]) -> Difference {
    let before = listed_settings(differences, |difference| &difference.before);
    Difference {
        expected: format!("the settings of the run to resume ({before})"),
        found: listed_settings(differences, |difference| &difference.now),
        help: "resume it with those settings, or start the training over",
        model: before,
    }
}

/// Returns the first thing in which two runs differ.
pub(super) fn difference(interrupted: &TrainingRecord, run: &TrainingRecord) -> Option<Difference> {
    let differences = run.config.differences(&interrupted.config);
    if !differences.is_empty() {
        return Some(settings_difference(&differences));
    }
    if interrupted.log_fingerprint != run.log_fingerprint || interrupted.log != run.log {
        let differences = run.log_differences(interrupted);
        let before = listed_figures(&differences, |difference| &difference.before);
        return Some(Difference {
            expected: format!("the click log of the run to resume ({before})"),
            found: format!("one with {}", listed_figures(&differences, |difference| &difference.now)),
            help: "name that log, or start the training over",
            model: format!("of a click log with {before}"),
        });
    }
    let [interrupted_validation, validation] = [interrupted, run].map(|record| &record.validation_fingerprint);
    for (before, now, what, help) in [
        (&interrupted.init, &run.init, "initial model", "begin with that model, or start the training over"),
        (&interrupted.teacher, &run.teacher, "teacher", "name that one, or start the training over"),
        (interrupted_validation, validation, "validation set", "name that one, or start the training over"),
    ] {
        if before != now {
            return Some(Difference {
                expected: format!("the {what} of the run to resume ({})", or_none(before)),
                found: or_none(now),
                help,
                model: format!("with another {what}"),
            });
        }
    }
    let (level, version) = (shortened(&interrupted.level), shortened(&interrupted.version));
    for (is_same, program, found) in [
        (interrupted.level == run.level, format!("instruction level {level}"), &run.level),
        (interrupted.version == run.version, format!("clickvec {version}"), &run.version),
    ] {
        if !is_same {
            return Some(Difference {
                expected: format!("{program}, as in the run to resume"),
                found: found.clone(),
                help: "use the same one, or start the training over",
                model: format!("by {program}"),
            });
        }
    }
    None
}

fn or_none(fingerprint: &Option<String>) -> String {
    match fingerprint {
        Some(fingerprint) => format!("fingerprint {}", shortened(fingerprint)),
        None => "none".to_owned(),
    }
}

/// Returns a tensor of this shape for numbers that are read.
fn like(tensor: &Tensor) -> Tensor {
    let zeros = Matrix::zeros(tensor.value.rows(), tensor.value.columns());
    Tensor::new(tensor.kind, tensor.groups.clone(), zeros)
}

/// Reads the weights that the stage began with, which are shaped like those of `towers`; `None` if the file has none.
fn read_first(
    file: &Tensors<'_>,
    towers: &[TowerState<'_>],
) -> Result<Option<Vec<Vec<Tensor>>>, clickvec_tables::Error> {
    if !file.has(FIRST) {
        return Ok(None);
    }
    let tensors = |(prefix, tower): (&str, &TowerState<'_>)| {
        let mut tensors: Vec<Tensor> = tower.tensors.iter().map(like).collect();
        file.read(&format!("{FIRST}{prefix}"), &mut tensors)?;
        Ok(tensors)
    };
    prefixes(towers.len() == 1).into_iter().zip(towers).map(tensors).collect::<Result<_, _>>().map(Some)
}

/// Reads the states of all towers, which are shaped like `towers`.
fn read(
    file: &Tensors<'_>,
    updates: u64,
    towers: &[TowerState<'_>],
) -> Result<Vec<TowerState<'static>>, clickvec_tables::Error> {
    let mut all = Vec::with_capacity(towers.len());
    for (prefix, tower) in prefixes(towers.len() == 1).into_iter().zip(towers) {
        let mut tensors: Vec<Tensor> = tower.tensors.iter().map(like).collect();
        file.read(prefix, &mut tensors)?;
        let mut states = Vec::new();
        for (i, state) in tower.optimizer.iter().enumerate() {
            let matrix = |stem: &str, like: &Matrix| {
                if like.data().is_empty() {
                    return Ok::<_, clickvec_tables::Error>(Matrix::default());
                }
                let mut tensor = Tensor::named(&format!("{stem}.{i}"), like.rows(), like.columns());
                file.read(prefix, std::slice::from_mut(&mut tensor))?;
                Ok(tensor.value)
            };
            let name = format!("{prefix}current.{i}");
            let current = match state.current.len() {
                0 => Vec::new(),
                rows => file.counts(&name, rows)?,
            };
            if let Some(row) = current.iter().position(|&update| update > updates) {
                let expected = format!("row {row} of `{name}` to be of update {updates} or before");
                let found = current[row].to_string();
                return Err(clickvec_tables::Error::expected(ErrorKind::Damaged, expected, found).help(CHANGED));
            }
            states.push(OptimizerState {
                velocity: Cow::Owned(matrix("velocity", &state.velocity)?),
                square: Cow::Owned(matrix("square", &state.square)?),
                current: Cow::Owned(current),
            });
        }
        all.push(TowerState { tensors: Cow::Owned(tensors), optimizer: states });
    }
    Ok(all)
}
