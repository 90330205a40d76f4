//! Checks whether a training can resume an earlier one, before anything is learnt.

use std::path::Path;

use clickvec::Result;
use clickvec::model::Model;
use clickvec::train::{SettingDifference, TrainConfig, other_settings, stopped_run};
use clickvec_tables::ErrorKind;

use super::trial::{self, Trial};

/// Looks at what an earlier training has left at the output and next to it. Returns the first training, if it is needed.
///
/// # Errors
///
/// These settings cannot resume the earlier training.
pub(super) fn check(config: &TrainConfig, trial: Option<Trial>, output: &Path) -> Result<Option<Trial>> {
    let refused = |differences: Vec<SettingDifference>| other_settings(&differences).at(output);
    let trial_config = settings_of(&trial::held_out_path(output))?;
    let stopped = stopped_run(output)?.map(|run| run.config);
    let finished = Model::load(output).ok().map(|model| model.training().config.clone());
    // The trial of a log from a pipe is the only run, and so is one that was best before it had learnt a click.
    if stopped.as_ref().or(finished.as_ref()) == Some(config) && trial_config.is_none() {
        return Ok(None);
    }
    match (&trial, &trial_config) {
        // The earlier run held queries out, or wanted to, and this one does not.
        (None, Some(before)) if stopped.as_ref().or(finished.as_ref()) != Some(config) => {
            let differences = config.differences(before);
            // The settings are the same, so the log has nothing to hold out.
            if differences.is_empty() {
                let error = clickvec_tables::Error::expected(
                    ErrorKind::Mismatch,
                    "the click log of the training to resume, of which queries are held out",
                    "one with too few queries for that, or a pipe",
                );
                return Err(error.at(output).help("name that log, or start afresh"));
            }
            Err(refused(differences))
        }
        (Some(_), Some(before)) if before != config => Err(refused(config.differences(before))),
        // The second run goes on, for as many epochs as the first has found.
        (Some(_), Some(_)) => match &stopped {
            Some(before) if *before != trial::all_clicks(config, before.epochs) => {
                Err(refused(trial::all_clicks(config, before.epochs).differences(before)))
            }
            _ => Ok(trial),
        },
        (Some(_), None) => match (&stopped, &finished) {
            (Some(before), _) => Err(refused(config.differences(before))),
            (None, Some(before)) => {
                // What `train` leaves at the end is the model of the second run.
                let second = trial::all_clicks(config, before.epochs.min(config.epochs)).differences(before);
                let first = config.differences(before);
                match second.len() {
                    0 => Ok(trial),
                    fewer if fewer < first.len() => Err(refused(second)),
                    _ => Err(refused(first)),
                }
            }
            (None, None) => Ok(trial),
        },
        (None, _) => Ok(None),
    }
}

/// Returns the settings of the run that holds queries out, if it has left a checkpoint or a model.
fn settings_of(trial: &Path) -> Result<Option<TrainConfig>> {
    let stopped = stopped_run(trial)?.map(|run| run.config);
    Ok(stopped.or_else(|| Model::load(trial).ok().map(|model| model.training().config.clone())))
}
