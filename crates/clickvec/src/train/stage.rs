//! The stages of a run: titles first, then clicks. Each has its own settings, minibatches and optimiser.

use crate::clicks::{ClickLog, Minibatches, Storage};
use crate::optimizer::{MomentumSchedule, OptimizerConfig};
use crate::settings::{Section, TrainConfig};
use clickvec_tables::Result;

/// A part of a run: some epochs over one section of the log.
pub(super) struct Stage<'a> {
    pub(super) section: Section,
    /// The settings of the run, with the values that this section overrides.
    pub(super) config: TrainConfig,
    pub(super) minibatches: Minibatches<'a>,
    /// The number of epochs in all earlier stages.
    pub(super) before: u32,
}

/// Returns the stages of a run over `log` that have at least one epoch.
pub(super) fn stages<'a>(config: &TrainConfig, log: &'a ClickLog, storage: Storage<'_>) -> Result<Vec<Stage<'a>>> {
    let mut stages: Vec<Stage<'a>> = Vec::new();
    for section in [Section::Titles, Section::Clicks] {
        let config = config.for_section(section);
        if log.section(section).is_empty() || config.epochs == 0 {
            continue;
        }
        let minibatches = Minibatches::new(log, section, config.clone(), storage)?;
        let before = stages.last().map_or(0, |stage| stage.before + stage.config.epochs);
        stages.push(Stage { section, config, minibatches, before });
    }
    Ok(stages)
}

/// Returns the stage that the next epoch belongs to after `epochs` finished epochs, or the last stage if all are finished.
pub(super) fn stage_after(stages: &[Stage<'_>], epochs: u32) -> usize {
    stages.iter().rposition(|stage| stage.before <= epochs).unwrap_or(0)
}

impl Stage<'_> {
    /// Returns the number of updates in this stage.
    pub(super) fn updates(&self) -> u64 {
        self.minibatches.per_epoch() * u64::from(self.config.epochs)
    }

    /// Returns the optimiser's configuration, with the schedule for all updates of this stage.
    pub(super) fn optimizer(&self) -> OptimizerConfig {
        OptimizerConfig {
            kind: self.config.optimizer,
            learning_rate: self.config.learning_rate,
            clip_norm: self.config.clip_norm,
            momentum: MomentumSchedule::papers(self.updates()),
        }
    }
}
