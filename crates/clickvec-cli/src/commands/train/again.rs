//! Training on all clicks, after a run that held queries out has found for how many epochs.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clickvec::internals::files::{self, Found};
use clickvec::internals::text::words;
use clickvec::model::Model;
use clickvec::train::{Keep, Output, TrainConfig, written_paths};

use super::learn::Clicks;
use crate::{input, output};

/// With fewer held-out queries than this, training learns them all (`clickvec::train::HeldOut`).
pub(super) const LEAST: f64 = 100.0;

/// The run that holds queries out, with a model of its own next to the output, or in memory if there is no output.
pub(crate) struct Trial {
    path: Option<PathBuf>,
}

impl Trial {
    /// The trial of a run that also reads these `files`; `None` if one training is enough: nothing is to be held out, there
    /// are too few queries for it, or the input is a pipe, which cannot be read twice.
    pub(crate) fn of(
        config: &TrainConfig,
        clicks: Clicks<'_>,
        files: &[&Path],
        output: Option<&Path>,
    ) -> Result<Option<Trial>> {
        if config.held_out <= 0.0 || files.iter().copied().chain(clicks.file()).any(files::is_stream) {
            return Ok(None);
        }
        // As the library counts: the share in 32 bits may be a little less than what was typed.
        let share = f64::from(config.held_out) * (1.0 + f64::from(f32::EPSILON));
        let least = (LEAST / share).ceil() as usize;
        if !clicks.have_queries(Queries::new(least), config)? {
            return Ok(None);
        }
        let Some(output) = output else { return Ok(Some(Trial { path: None })) };
        // Say before the first of two trainings, not after it, that the second has no place.
        if Found::is_special(output) {
            return Err(clickvec_tables::files::not_replaceable(output).into());
        }
        input::check_outputs(&written_paths(output))?;
        let path = held_out_path(output);
        // A private model stays private: the trial is written with the permissions of what it replaces.
        if let (Ok(metadata), false) = (output.metadata(), path.exists()) {
            let made = File::create(&path).and_then(|file| file.set_permissions(metadata.permissions()));
            made.map_err(|source| clickvec::Error::io(&path, "make", source))?;
        }
        name_files(&path);
        Ok(Some(Trial { path: Some(path) }))
    }

    /// Where its model is written; `None` if it is kept in memory.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The settings for all clicks, if the best model of the trial is of this epoch; `None` if that one has learnt no click
    /// yet.
    pub(super) fn all_clicks(config: &TrainConfig, best: u32) -> Option<TrainConfig> {
        let of_titles = config.titles.map_or(0, |titles| titles.epochs);
        let epochs = best.checked_sub(of_titles).filter(|&epochs| epochs > 0)?;
        Some(all_clicks(config, epochs))
    }

    /// The settings of the run that the model at the output is from, if that run is the second one of these settings. Its
    /// trial is gone.
    pub(super) fn finished(&self, config: &TrainConfig, output: &Path) -> Option<TrainConfig> {
        let path = self.path()?;
        if !self.is_empty() || written_paths(path)[1..].iter().any(|path| path.exists()) {
            return None;
        }
        let model = Model::load(output).ok()?;
        let all = all_clicks(config, model.training().config.epochs);
        (model.training().config == all && all.epochs <= config.epochs).then_some(all)
    }

    /// Makes the trial's model the result, if it is a file.
    pub(super) fn keep(&self, output: Option<&Path>) -> Result<()> {
        let (Some(path), Some(output)) = (self.path(), output) else { return Ok(()) };
        Ok(files::publish(path, output)?)
    }

    /// Whether there is no model yet.
    fn is_empty(&self) -> bool {
        self.path().is_none_or(|path| path.metadata().map_or(true, |metadata| metadata.len() == 0))
    }

    /// Removes the trial's model.
    pub(super) fn remove(self) {
        if let Some(path) = self.path() {
            // Nothing is lost if it stays; another run replaces it.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Whether a model has learnt clicks of queries that other runs hold out.
pub(super) fn has_learnt_all(model: &Model) -> bool {
    let training = model.training();
    training.log.pairs > 0 && training.config.held_out == 0.0
}

impl Drop for Trial {
    /// Leaves no empty file.
    fn drop(&mut self) {
        if let Some(path) = self.path()
            && self.is_empty()
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The output of the second run: it goes on from its checkpoint or is finished, or else it begins, and replaces what an
/// older run has left.
pub(super) fn second<'a>(all: &TrainConfig, output: Output<'a>) -> Output<'a> {
    let [model, _, checkpoint] = written_paths(output.path);
    let is_finished = || Model::load(&model).is_ok_and(|model| model.training().config == *all);
    Output { resume: output.resume && (checkpoint.exists() || is_finished()), ..output }
}

/// Where the trial of a run with this output has its model.
pub(super) fn held_out_path(output: &Path) -> PathBuf {
    let mut name = OsString::from(output);
    name.push(".held-out");
    PathBuf::from(name)
}

/// From now on, messages say what the trial's files are for.
fn name_files(path: &Path) {
    let [model, partial, checkpoint] = written_paths(path);
    let named = [
        (model, "the model that has not learnt the held-out queries"),
        (partial, "the best model so far of the run that holds queries out"),
        (checkpoint, "the checkpoint of the run that holds queries out"),
    ];
    for (path, what) in named {
        output::explain_file(&path, what);
    }
}

/// The settings of a run on all clicks for this many epochs.
pub(super) fn all_clicks(config: &TrainConfig, epochs: u32) -> TrainConfig {
    TrainConfig { held_out: 0.0, keep: Keep::Last, patience: None, epochs, ..config.clone() }
}

/// Looks for a number of different queries, no further than it must.
#[derive(Debug)]
pub struct Queries {
    least: usize,
    seen: HashSet<String>,
}

impl Queries {
    fn new(least: usize) -> Queries {
        Queries { least, seen: HashSet::new() }
    }

    /// Takes a clicked pair; returns whether there are enough queries now.
    pub fn add(&mut self, query: &str, title: &str) -> bool {
        let query = words(query).join(" ");
        if !query.is_empty() && !words(title).is_empty() {
            self.seen.insert(query);
        }
        self.seen.len() >= self.least
    }
}
