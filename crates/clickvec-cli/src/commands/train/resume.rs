//! Whether `--resume` can continue what was stopped, which is asked before anything is learnt.

use std::path::Path;

use anyhow::{Result, ensure};
use clickvec::model::Model;
use clickvec::train::{SettingDifference, TrainConfig, other_settings, stopped_run};

use super::again::{self, Trial};

/// Looks at what an earlier run has left at the output and next to it. Returns the run that holds queries out, if this one
/// needs it. An error if these settings cannot continue the earlier run.
pub(super) fn check(config: &TrainConfig, trial: Option<Trial>, output: &Path) -> Result<Option<Trial>> {
    let refused = |differences: Vec<SettingDifference>| -> anyhow::Error {
        clickvec::Error::from(other_settings(&differences).at(output)).into()
    };
    let of_trial = settings_of(&again::held_out_path(output))?;
    let stopped = stopped_run(output)?.map(|run| run.config);
    let finished = Model::load(output).ok().map(|model| model.training().config.clone());
    // The trial of a log from a pipe is the only run, and so is one that was best before it had learnt a click.
    if stopped.as_ref().or(finished.as_ref()) == Some(config) && of_trial.is_none() {
        return Ok(None);
    }
    match (&trial, &of_trial) {
        // The earlier run held queries out, or wanted to, and this one does not.
        (None, Some(before)) if stopped.as_ref().or(finished.as_ref()) != Some(config) => {
            let differences = config.differences(before);
            // The settings are the same, so it is the log that has nothing to hold out.
            ensure!(
                !differences.is_empty(),
                "{}: expected the click log of the run to resume, of which queries are held out, found one with too few queries \
                 for that, or a pipe; name that log, or leave --resume out",
                crate::output::path(output)
            );
            Err(refused(differences))
        }
        (Some(_), Some(before)) if before != config => Err(refused(config.differences(before))),
        // The second run goes on, for as many epochs as the first has found.
        (Some(_), Some(_)) => match &stopped {
            Some(before) if *before != again::all_clicks(config, before.epochs) => {
                Err(refused(again::all_clicks(config, before.epochs).differences(before)))
            }
            _ => Ok(trial),
        },
        (Some(_), None) => match (&stopped, &finished) {
            (Some(before), _) => Err(refused(config.differences(before))),
            (None, Some(before)) => {
                // What `train` leaves at the end is the model of the second run.
                let of_second = again::all_clicks(config, before.epochs.min(config.epochs)).differences(before);
                let of_first = config.differences(before);
                match of_second.len() {
                    0 => Ok(trial),
                    fewer if fewer < of_first.len() => Err(refused(of_second)),
                    _ => Err(refused(of_first)),
                }
            }
            (None, None) => Ok(trial),
        },
        (None, _) => Ok(None),
    }
}

/// The settings of the run that holds queries out, if it has left a checkpoint or a model.
fn settings_of(trial: &Path) -> Result<Option<TrainConfig>> {
    let stopped = stopped_run(trial)?.map(|run| run.config);
    Ok(stopped.or_else(|| Model::load(trial).ok().map(|model| model.training().config.clone())))
}
