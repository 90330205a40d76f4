//! Where weights are learnt: two traits that a device implements, and the processor as one of them.

use std::borrow::Cow;

use super::step::Towers;
use crate::clicks::Minibatch;
use crate::encoder::{Encoder, Tensor};
use crate::error::Result;
use crate::loss::LossSum;
use crate::math::{Level, Matrix};
use crate::optimizer::OptimizerConfig;
use crate::settings::TrainConfig;

/// A device that weights can be learnt on.
pub trait Device: Sync {
    /// The name of the device, which the model records. The same name promises the same bytes, so a run can only be
    /// resumed on a device of the same name.
    fn name(&self) -> String;

    /// Checks the settings.
    ///
    /// # Errors
    /// The first setting that this device does not support.
    fn check(&self, config: &TrainConfig) -> Result<()>;

    /// The learner of a run, which takes over the towers before the first update.
    ///
    /// # Errors
    /// What the device reports.
    fn load(&self, plan: RunPlan) -> Result<Box<dyn Learner>>;
}

/// The facts of a run that a device needs.
pub struct RunPlan {
    /// The settings.
    pub config: TrainConfig,
    /// How gradients change weights, with the schedule for all updates of the run.
    pub optimizer: OptimizerConfig,
    /// The query tower and the title tower, or one for both, with their initial weights.
    pub towers: Vec<Box<dyn Encoder>>,
}

/// Weights that are being learnt on a device.
pub trait Learner: Send {
    /// The number of updates so far.
    fn updates(&self) -> u64;

    /// How many minibatches to hand over at a time. With more than one, parts that do not depend on each other need not
    /// wait for each other after each of them.
    fn at_a_time(&self) -> usize {
        1
    }

    /// The losses of the minibatches, each of which makes one update, in turn. If a loss or a gradient is not finite,
    /// there is no loss from there on, and the weights are of no use any more.
    ///
    /// # Errors
    /// What the device reports.
    fn steps(&mut self, minibatches: &[Minibatch]) -> Result<Vec<LossSum>>;

    /// A copy of the current parameters of each tower.
    ///
    /// # Errors
    /// What the device reports.
    fn snapshot(&self) -> Result<Vec<Vec<Tensor>>>;

    /// Everything that the next updates depend on, for each tower. A checkpoint stores this.
    ///
    /// # Errors
    /// What the device reports.
    fn states(&self) -> Result<Vec<TowerState<'_>>>;

    /// Continues from the states that [`Learner::states`] returned after `updates` updates.
    ///
    /// # Errors
    /// What the device reports.
    fn restore(&mut self, updates: u64, states: Vec<TowerState<'static>>) -> Result<()>;
}

/// A tower between two updates.
#[derive(Debug, Clone)]
pub struct TowerState<'a> {
    /// The weights as they are stored: with momentum, the points at which the next gradients are taken.
    pub tensors: Cow<'a, [Tensor]>,
    /// What the optimiser remembers of each tensor.
    pub optimizer: Vec<OptimizerState<'a>>,
}

/// The optimiser's memory of a tensor. Fields that it does not need are empty.
#[derive(Debug, Clone)]
pub struct OptimizerState<'a> {
    /// Δ (momentum) or the mean of gradients (Adam), shaped like the tensor.
    pub velocity: Cow<'a, Matrix>,
    /// The mean of squared gradients (Adam), shaped like the tensor.
    pub square: Cow<'a, Matrix>,
    /// For each row of an input matrix (momentum), the last update that the row includes.
    pub current: Cow<'a, [u64]>,
}

/// The processor, which trains unless the caller names another device.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cpu;

impl Device for Cpu {
    fn name(&self) -> String {
        Level::current().name().to_owned()
    }

    fn check(&self, _: &TrainConfig) -> Result<()> {
        Ok(())
    }

    fn load(&self, plan: RunPlan) -> Result<Box<dyn Learner>> {
        Ok(Box::new(Towers::new(plan)))
    }
}
