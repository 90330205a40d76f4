//! The first of two trainings, which holds queries out to find for how many epochs to learn.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use clickvec::Result;
use clickvec::model::Model;
use clickvec::train::{Keep, Output, RepeatableClicks, TrainConfig, written_paths};
use clickvec_tables::Error;
use clickvec_tables::files::not_replaceable;
use clickvec_tables::files::{self, Found, check_writable};

/// The first training. Its model is in a file next to the output, or in memory if there is no output.
pub(super) struct Trial {
    path: Option<PathBuf>,
}

impl Trial {
    /// Creates the first of two trainings; `None` if there are too few queries to hold any out.
    pub(super) fn new(
        config: &TrainConfig,
        clicks: &RepeatableClicks<'_>,
        output: Option<&Path>,
    ) -> Result<Option<Trial>> {
        if !clicks.can_hold_out(config.held_out, &config.field, config.weighting)? {
            return Ok(None);
        }
        let Some(output) = output else { return Ok(Some(Trial { path: None })) };
        // Say before the first training that the second cannot be written.
        if Found::is_special(output) {
            return Err(not_replaceable(output));
        }
        for path in &written_paths(output) {
            check_writable(path)?;
        }
        let path = held_out_path(output);
        // A private model stays private: this one is written with the permissions of the one that it replaces.
        if let (Ok(metadata), false) = (output.metadata(), path.exists()) {
            let made = File::create(&path).and_then(|file| file.set_permissions(metadata.permissions()));
            made.map_err(|source| Error::io(&path, "make", source))?;
        }
        Ok(Some(Trial { path: Some(path) }))
    }

    /// Returns the path of its model; `None` if it is in memory.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the settings of the second training, if the best model of the first is of this epoch; `None` if that one has not
    /// learnt a click yet.
    pub(super) fn all_clicks(config: &TrainConfig, best: u32) -> Option<TrainConfig> {
        let before = config.titles.map_or(0, |titles| titles.epochs);
        let epochs = best.checked_sub(before).filter(|&epochs| epochs > 0)?;
        Some(all_clicks(config, epochs))
    }

    /// Returns the settings of the training that the model at the output is from, if that is the second one of these settings. The
    /// files of the first are gone.
    pub(super) fn finished(&self, config: &TrainConfig, output: &Path) -> Option<TrainConfig> {
        let path = self.path()?;
        if !self.is_empty() || written_paths(path)[1..].iter().any(|path| path.exists()) {
            return None;
        }
        let model = Model::load(output).ok()?;
        let all = all_clicks(config, model.training().config.epochs);
        (model.training().config == all && all.epochs <= config.epochs).then_some(all)
    }

    /// Makes its model the result, if it is a file.
    pub(super) fn keep(&self, output: Option<&Path>) -> Result<()> {
        let (Some(path), Some(output)) = (self.path(), output) else { return Ok(()) };
        files::publish(path, output)
    }

    /// Returns whether there is no model yet.
    fn is_empty(&self) -> bool {
        self.path().is_none_or(|path| path.metadata().map_or(true, |metadata| metadata.len() == 0))
    }

    /// Removes its model.
    pub(super) fn remove(self) {
        if let Some(path) = self.path() {
            // Nothing is lost if it stays; another training replaces it.
            let _ = std::fs::remove_file(path);
        }
    }
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

/// Returns the output of the second training: it resumes its own checkpoint or finished model, and otherwise replaces what an older
/// training has left.
pub(super) fn second<'a>(all: &TrainConfig, output: Output<'a>) -> Output<'a> {
    let [model, _, checkpoint] = written_paths(output.path);
    let is_finished = || Model::load(&model).is_ok_and(|model| model.training().config == *all);
    Output { resume: output.resume && (checkpoint.exists() || is_finished()), ..output }
}

/// Returns the path of the first model of two trainings with this output.
pub fn held_out_path(output: &Path) -> PathBuf {
    let mut name = OsString::from(output);
    name.push(".held-out");
    PathBuf::from(name)
}

/// Returns the settings of a second training for this many epochs.
pub(super) fn all_clicks(config: &TrainConfig, epochs: u32) -> TrainConfig {
    TrainConfig { held_out: 0.0, keep: Keep::Last, patience: None, epochs, ..config.clone() }
}
