//! Training on all clicks, after a run that held queries out has found for how many epochs.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clickvec::internals::clicks::ClickReader;
use clickvec::internals::text::words;
use clickvec::model::Model;
use clickvec::train::{Keep, TrainConfig, Written, written_paths};

use super::Args;
use crate::input;

/// With fewer held-out queries than this, training learns them all (`clickvec::train::HeldOut`).
const LEAST: f64 = 100.0;

/// The run that holds queries out, with a model of its own next to the output.
pub(super) struct Trial {
    pub(super) path: PathBuf,
}

impl Trial {
    /// The trial of a run; `None` if it has enough with one training: nothing is to be held out, there are too few queries
    /// for it, or the input is a pipe, which cannot be read twice.
    pub(super) fn of(args: &Args, config: &TrainConfig) -> Result<Option<Trial>> {
        let Some(clicks) = args.clicks.as_deref().filter(|_| config.held_out > 0.0) else { return Ok(None) };
        let inputs = args.titles.iter().chain(&args.teacher).map(PathBuf::as_path).chain([clicks]);
        if inputs.into_iter().any(|path| !path.is_file() && !path.is_dir()) {
            return Ok(None);
        }
        if !has_queries(clicks, config, (LEAST / f64::from(config.held_out)).ceil() as usize)? {
            return Ok(None);
        }
        // Say before the first of two trainings, not after it, that the second has no place.
        input::check_outputs(&written_paths(&args.output))?;
        let mut name = OsString::from(&args.output);
        name.push(".held-out");
        let path = PathBuf::from(name);
        // A private model stays private: the trial is written with the permissions of what it replaces.
        if let (Ok(metadata), false) = (args.output.metadata(), path.exists()) {
            let made = File::create(&path).and_then(|file| file.set_permissions(metadata.permissions()));
            made.map_err(|source| clickvec::Error::io(&path, "make", source))?;
        }
        Ok(Some(Trial { path }))
    }

    /// The settings for all clicks; `None` if the best model is one that has learnt no click yet.
    pub(super) fn all_clicks(&self, config: &TrainConfig, best: &Written) -> Option<TrainConfig> {
        let of_titles = config.titles.map_or(0, |titles| titles.epochs);
        let epochs = best.epoch.checked_sub(of_titles).filter(|&epochs| epochs > 0)?;
        Some(all_clicks(config, epochs))
    }

    /// The settings of the run that the model at the output is from, if the command is resumed and that run is the second
    /// one of these settings. Its trial is gone.
    pub(super) fn finished(&self, args: &Args, config: &TrainConfig) -> Option<TrainConfig> {
        if !args.resume || !self.is_empty() || written_paths(&self.path)[1..].iter().any(|path| path.exists()) {
            return None;
        }
        let model = Model::load(&args.output).ok()?;
        let all = all_clicks(config, model.training().config.epochs);
        (model.training().config == all && all.epochs <= config.epochs).then_some(all)
    }

    /// Makes the trial's model the result.
    pub(super) fn keep(&self, output: &Path) -> Result<()> {
        let moved = std::fs::rename(&self.path, output);
        Ok(moved.map_err(|source| clickvec::Error::io(output, "write", source))?)
    }

    /// Whether there is no model yet.
    fn is_empty(&self) -> bool {
        self.path.metadata().map_or(true, |metadata| metadata.len() == 0)
    }

    /// Removes the trial's model.
    pub(super) fn remove(self) {
        // Nothing is lost if it stays; another run replaces it.
        let _ = std::fs::remove_file(&self.path);
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
        if self.is_empty() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The settings of a run on all clicks for so many epochs.
fn all_clicks(config: &TrainConfig, epochs: u32) -> TrainConfig {
    TrainConfig { held_out: 0.0, keep: Keep::Last, patience: None, epochs, ..config.clone() }
}

/// Whether a log has at least so many different queries. It is read no further than that.
fn has_queries(clicks: &Path, config: &TrainConfig, least: usize) -> Result<bool> {
    let mut reader = ClickReader::open(clicks, &config.field, config.weighting)?;
    let mut queries = HashSet::new();
    while let Some(click) = reader.next()? {
        let query = words(click.query).join(" ");
        if !query.is_empty() && !words(click.title).is_empty() {
            queries.insert(query);
        }
        if queries.len() >= least {
            return Ok(true);
        }
    }
    Ok(false)
}
