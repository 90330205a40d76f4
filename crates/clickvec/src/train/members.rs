//! Training of an encoder with several members. Each member has its own weights, minibatches and optimiser, independent
//! of the others.

use super::device::{Device, Learner, OptimizerState, Plan, TowerState};
use super::stage::Stage;
use crate::clicks::Minibatch;
use crate::encoder::{Encoder, EncoderConfig, Group, Tensor, member_prefix};
use crate::error::Result;
use crate::loss::LossSum;
use rayon::prelude::*;
use std::borrow::Cow;

/// A learner that starts a stage from the given weights. An encoder with several members gets one learner for each.
pub(super) fn begin(device: &dyn Device, stage: &Stage<'_>, towers: Vec<Box<dyn Encoder>>) -> Result<Box<dyn Learner>> {
    let (config, optimizer) = (stage.config.clone(), stage.optimizer());
    let EncoderConfig::Members(members) = config.encoder else {
        return device.load(Plan { config, optimizer, towers });
    };
    let encoder = EncoderConfig::Lstm(members.lstm);
    let learner = |member: usize| {
        let towers = towers.iter().map(|tower| {
            let tensors = tower.tensors();
            let each = tensors.len() / members.members;
            let mut part = encoder.build(tensors[0].value.rows());
            for (tensor, whole) in part.tensors_mut().iter_mut().zip(&tensors[member * each..]) {
                tensor.value = whole.value.clone();
            }
            part
        });
        let config = crate::settings::TrainConfig { encoder: encoder.clone(), ..config.clone() };
        device.load(Plan { config, optimizer: optimizer.clone(), towers: towers.collect() })
    };
    let learners = (0..members.members).map(learner).collect::<Result<Vec<_>>>()?;
    Ok(Box::new(MembersLearner(learners)))
}

/// The learners of all members.
struct MembersLearner(Vec<Box<dyn Learner>>);

impl Learner for MembersLearner {
    fn updates(&self) -> u64 {
        self.0[0].updates()
    }

    /// Returns the mean of the members' losses. Each member learns from its own minibatch.
    fn step(&mut self, minibatch: &Minibatch) -> Result<Option<LossSum>> {
        let sums: Vec<Result<Option<LossSum>>> = self
            .0
            .par_iter_mut()
            .enumerate()
            .with_max_len(1)
            .map(|(member, learner)| learner.step(minibatch.of_member(member)))
            .collect();
        let members = sums.len() as f64;
        let mut mean = LossSum::default();
        for (member, sum) in sums.into_iter().enumerate() {
            let Some(sum) = sum? else { return Ok(None) };
            mean.loss += sum.loss / members;
            if member == 0 {
                mean.without_negatives = sum.without_negatives;
            }
        }
        Ok(Some(mean))
    }

    fn snapshot(&self) -> Result<Vec<Vec<Tensor>>> {
        let mut towers: Vec<Vec<Tensor>> = Vec::new();
        for learner in &self.0 {
            let snapshot = learner.snapshot()?;
            towers.resize_with(snapshot.len(), Vec::new);
            towers.iter_mut().zip(snapshot).for_each(|(tower, tensors)| tower.extend(tensors));
        }
        Ok(towers)
    }

    fn states(&self) -> Result<Vec<TowerState<'_>>> {
        let mut towers: Vec<(Vec<Tensor>, Vec<OptimizerState<'_>>)> = Vec::new();
        for (member, learner) in self.0.iter().enumerate() {
            let states = learner.states()?;
            towers.resize_with(states.len(), Default::default);
            for (tower, state) in towers.iter_mut().zip(states) {
                tower.0.extend(state.tensors.iter().map(|tensor| {
                    let named = |group: &Group| Group {
                        name: format!("{}{}", member_prefix(member), group.name),
                        ..group.clone()
                    };
                    Tensor::new(tensor.kind, tensor.groups.iter().map(named).collect(), tensor.value.clone())
                }));
                tower.1.extend(state.optimizer);
            }
        }
        let state = |(tensors, optimizer)| TowerState { tensors: Cow::Owned(tensors), optimizer };
        Ok(towers.into_iter().map(state).collect())
    }

    fn restore(&mut self, updates: u64, states: Vec<TowerState<'static>>) -> Result<()> {
        let members = self.0.len();
        let mut parts: Vec<Vec<TowerState<'static>>> = (0..members).map(|_| Vec::new()).collect();
        for state in states {
            let mut tensors = state.tensors.into_owned().into_iter();
            let each = tensors.len() / members;
            let mut optimizer = state.optimizer.into_iter();
            for part in &mut parts {
                let tensors = Cow::Owned(tensors.by_ref().take(each).collect());
                part.push(TowerState { tensors, optimizer: optimizer.by_ref().take(each).collect() });
            }
        }
        self.0.iter_mut().zip(parts).try_for_each(|(learner, states)| learner.restore(updates, states))
    }
}
