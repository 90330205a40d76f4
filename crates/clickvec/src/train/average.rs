//! Averages of the weights before and after a stage.
//!
//! What a stage learns makes a model better at that and forgets some of what its first weights knew of other texts. A weighted mean of the
//! two often has both (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models").

use super::start::encoders;
use crate::clicks::ClickLog;
use crate::encoder::{Encoder, Tensor};
use crate::settings::{TeacherConfig, TeacherStart, TrainConfig};

/// The weights that a stage began with, and their share in its models.
pub(super) struct Average {
    share: f32,
    /// One for each tower, without a projection.
    pub(super) first: Vec<Box<dyn Encoder>>,
}

impl Average {
    /// The share of a stage's first weights in its models, if a run without an initial model gives them any.
    pub(super) fn share(config: &TrainConfig, log: &ClickLog) -> Option<f32> {
        let of = |teacher: TeacherConfig| (teacher.start == TeacherStart::LeastSquares).then_some(teacher.start_share);
        let has_vectors = log.taught().is_some();
        config.teacher.and_then(of).filter(|&share| share > 0.0 && has_vectors && config.encoder.adds_up())
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
