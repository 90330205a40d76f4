//! Averages of the weights before and after a stage.
//!
//! A stage makes a model better at what it learns, and the model forgets some of what its first weights knew of other texts. A
//! weighted mean of the two often has both (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models").

use super::least_squares::Start;
use super::start::encoders;
use crate::clicks::ClickLog;
use crate::encoder::{Encoder, Tensor};
use crate::settings::TrainConfig;

/// The weights that a stage began with, and their share in its models.
pub(super) struct Average {
    share: f32,
    /// One for each tower, without a projection.
    pub(super) first: Vec<Box<dyn Encoder>>,
}

impl Average {
    /// Returns the share of first weights that the settings of a run without an initial model keep.
    pub(super) fn share(config: &TrainConfig, log: &ClickLog) -> Option<f32> {
        let teacher = config.teacher.filter(|_| Start::is_configured(config, log) && config.encoder.adds_up());
        teacher.map(|teacher| teacher.start_share).filter(|&share| share > 0.0)
    }

    pub(super) fn new(share: f32, config: &TrainConfig, log: &ClickLog, first: Vec<Vec<Tensor>>) -> Average {
        Average { share, first: encoders(config, log, first) }
    }

    /// Moves `weights`, one list for each tower, towards the first weights.
    pub(super) fn apply(&self, weights: &mut [Vec<Tensor>]) {
        for (tensors, first) in weights.iter_mut().zip(&self.first) {
            for (tensor, first) in tensors.iter_mut().zip(first.tensors()) {
                for (x, first) in tensor.value.data_mut().iter_mut().zip(first.value.data()) {
                    *x = (1.0 - self.share) * *x + self.share * first;
                }
            }
        }
    }
}
