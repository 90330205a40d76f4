//! A model's record of the run that trained it.

use super::TrainOptions;
use crate::clicks::{ClickLog, Taught};
use crate::math::Level;
use crate::settings::{Keep, TrainConfig, TrainingRecord};

/// Returns the record of this run, without the epoch of a model.
pub(super) fn record(config: &TrainConfig, log: &ClickLog, options: &TrainOptions<'_>) -> TrainingRecord {
    let has_a_say = config.keep != Keep::Last || config.patience.is_some();
    let validation = options.validation.as_ref().filter(|_| has_a_say);
    TrainingRecord {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        level: Level::current().name().to_owned(),
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

/// Returns a fingerprint of the teacher's vectors and scores for the log, if there are any.
fn teacher(log: &ClickLog) -> Option<String> {
    let vectors = log.taught().map(Taught::fingerprint);
    let scores = log.scored().map(|scored| scored.fingerprint().rotate_left(1));
    let both = vectors.into_iter().chain(scores).reduce(|a, b| a ^ b);
    both.map(|fingerprint| format!("{fingerprint:016x}"))
}
