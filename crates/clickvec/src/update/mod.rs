//! From yesterday's model to today's: new clicks are learnt, and the new model takes the old one's place only if it is not
//! shown to be worse.
//!
//! A [`Window`] is the clicks of some days. Queries are held out of it by their words, so that the same ones are held out
//! every day and no model of such a chain has learnt from them. [`Survey`] says what is in the window, and whether its newest
//! day looks like the days before. [`Models`] searches all titles with the old and the new model: [`Models::trial`] compares
//! what both find, and [`Models::drift`] says how much changed.

mod drift;
mod trial;
mod window;

pub use drift::{Alignment, Drift};
pub use trial::{Models, Trial};
pub use window::{DayCount, Pairs, Survey, Suspicion, Window};

use crate::model::Model;
use crate::settings::{Keep, TrainConfig};

/// The settings of a training that goes on from `old`, or, if `fresh`, begins anew as `old` once did.
///
/// To go on takes fewer epochs, [`WARM_EPOCHS`] unless others are given, and learns from titles only among clicks.
pub fn training_config(old: &Model, fresh: bool, epochs: Option<u32>) -> TrainConfig {
    let mut config = old.training().config.clone();
    config.keep = Keep::Last;
    config.patience = None;
    // It knew the texts of the old log.
    config.teacher = None;
    if !fresh {
        config.epochs = WARM_EPOCHS;
        if let Some(titles) = &mut config.titles {
            titles.epochs = 0;
        }
    }
    config.epochs = epochs.unwrap_or(config.epochs);
    config
}

/// Times through the window, from an old model on.
pub const WARM_EPOCHS: u32 = 2;
