//! The seam behind which weights are learnt: the processor here, another device behind the same two traits.

use std::borrow::Cow;

use super::step::Towers;
use crate::clicks::Minibatch;
use crate::encoder::{Encoder, Tensor};
use crate::error::Result;
use crate::loss::LossSum;
use crate::math::{Level, Matrix};
use crate::optimizer::OptimizerConfig;
use crate::settings::{SettingFault, TrainConfig};

/// A device that weights can be learnt on.
pub trait Device: Sync {
    /// What a model says it was trained on: bytes may differ where this does, so no run goes on where it differs.
    fn name(&self) -> String;

    /// The first setting that this device cannot follow, if any.
    fn fault(&self, config: &TrainConfig) -> Option<SettingFault>;

    /// Takes over the towers as they are before the first update.
    ///
    /// # Errors
    /// What the device reports.
    fn load(&self, plan: Plan) -> Result<Box<dyn Learner>>;
}

/// What a device has to know of a run.
pub struct Plan {
    /// The settings.
    pub config: TrainConfig,
    /// How weights follow gradients, with the schedule over all updates of the run.
    pub optimizer: OptimizerConfig,
    /// The query tower and the title tower, or one for both, with their initial weights.
    pub towers: Vec<Box<dyn Encoder>>,
}

/// Weights that are being learnt on a device.
pub trait Learner: Send {
    /// Updates done.
    fn updates(&self) -> u64;

    /// One update from a minibatch; `None`, and nothing updated, if the loss or a gradient is not finite.
    ///
    /// # Errors
    /// What the device reports.
    fn step(&mut self, minibatch: &Minibatch) -> Result<Option<LossSum>>;

    /// The parameters as they are now, for each tower; training goes on undisturbed.
    ///
    /// # Errors
    /// What the device reports.
    fn snapshot(&self) -> Result<Vec<Vec<Tensor>>>;

    /// Everything that the next updates depend on, for each tower: what a checkpoint stores.
    ///
    /// # Errors
    /// What the device reports.
    fn states(&self) -> Result<Vec<TowerState<'_>>>;

    /// Goes on from states that [`Learner::states`] gave after so many updates.
    ///
    /// # Errors
    /// What the device reports.
    fn restore(&mut self, updates: u64, states: Vec<TowerState<'static>>) -> Result<()>;
}

/// A tower between two updates.
#[derive(Debug, Clone)]
pub struct TowerState<'a> {
    /// The weights as they are stored: of a table with momentum, the points where the next gradients are taken.
    pub tensors: Cow<'a, [Tensor]>,
    /// What the optimiser remembers of each tensor.
    pub optimizer: Vec<OptimizerState<'a>>,
}

/// What the optimiser remembers of a tensor; empty where it needs nothing.
#[derive(Debug, Clone)]
pub struct OptimizerState<'a> {
    /// Δ (Nesterov) or the mean of gradients (Adam), shaped like the tensor.
    pub velocity: Cow<'a, Matrix>,
    /// The mean of squared gradients (Adam), shaped like the tensor.
    pub square: Cow<'a, Matrix>,
    /// For each row of a table (Nesterov), the update after which it was last brought up to date.
    pub current: Cow<'a, [u64]>,
}

/// The processor: what trains unless another device is named.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cpu;

impl Device for Cpu {
    fn name(&self) -> String {
        Level::current().name().to_owned()
    }

    fn fault(&self, config: &TrainConfig) -> Option<SettingFault> {
        config.precision.missing().map(|found| SettingFault::NoAmx { found })
    }

    fn load(&self, plan: Plan) -> Result<Box<dyn Learner>> {
        Ok(Box::new(Towers::new(plan)))
    }
}
