//! Training of an encoder with several members. Each member has its own weights, minibatches and optimiser, independent
//! of the others.

use super::device::{Device, Learner, OptimizerState, RunPlan, TowerState};
use super::stage::Stage;
use crate::clicks::Minibatch;
use crate::encoder::{Encoder, Group, Tensor, member_prefix};
use crate::error::Result;
use crate::loss::LossSum;
use rayon::ScopeFifo;
use std::borrow::Cow;

/// A learner that starts a stage from the given weights. An encoder with several members gets one learner for each.
pub(super) fn begin(device: &dyn Device, stage: &Stage<'_>, towers: Vec<Box<dyn Encoder>>) -> Result<Box<dyn Learner>> {
    let (config, optimizer) = (stage.config.clone(), stage.optimizer());
    let Some(encoder) = config.encoder.member() else {
        return device.load(RunPlan { config, optimizer, towers });
    };
    let members = config.encoder.members();
    let learner = |member: usize| {
        let towers = towers.iter().map(|tower| {
            let tensors = tower.tensors();
            let each = tensors.len() / members;
            let mut part = encoder.build(tensors[0].value.rows());
            for (tensor, whole) in part.tensors_mut().iter_mut().zip(&tensors[member * each..]) {
                tensor.value = whole.value.clone();
            }
            part
        });
        let config = crate::settings::TrainConfig { encoder: encoder.clone(), ..config.clone() };
        device.load(RunPlan { config, optimizer: optimizer.clone(), towers: towers.collect() })
    };
    let learners = (0..members).map(learner).collect::<Result<Vec<_>>>()?;
    let at_a_time = (TOGETHER / stage.config.batch_size).clamp(1, MOST);
    Ok(Box::new(MembersLearner { learners, at_a_time }))
}

/// The number of pairs that each member learns before it waits for the others.
const TOGETHER: usize = 2048;

/// The most minibatches that each member learns before it waits for the others. All of them are in memory.
const MOST: usize = 8;

/// The learners of all members.
struct MembersLearner {
    learners: Vec<Box<dyn Learner>>,
    at_a_time: usize,
}

/// A member's way through some minibatches.
struct Turn<'a> {
    member: usize,
    learner: &'a mut dyn Learner,
    rest: &'a [Minibatch],
    losses: &'a mut Result<Vec<LossSum>>,
}

impl<'a> Turn<'a> {
    /// Learns the next minibatch, and queues behind the other members for the one after it. So with more members than
    /// threads all of them are done at about the same time.
    fn take(self, scope: &ScopeFifo<'a>) {
        let (Ok(losses), Some((next, rest))) = (&mut *self.losses, self.rest.split_first()) else { return };
        match self.learner.steps(std::slice::from_ref(next.of_member(self.member))) {
            Err(error) => *self.losses = Err(error),
            Ok(loss) if loss.is_empty() => {}
            Ok(loss) => {
                losses.extend(loss);
                scope.spawn_fifo(move |scope| Turn { rest, ..self }.take(scope));
            }
        }
    }
}

impl Learner for MembersLearner {
    fn updates(&self) -> u64 {
        self.learners[0].updates()
    }

    fn at_a_time(&self) -> usize {
        self.at_a_time
    }

    /// Returns the means of the members' losses. Each member learns from its own minibatches.
    fn steps(&mut self, minibatches: &[Minibatch]) -> Result<Vec<LossSum>> {
        let members = self.learners.len();
        let mut losses: Vec<Result<Vec<LossSum>>> = (0..members).map(|_| Ok(Vec::new())).collect();
        rayon::scope_fifo(|scope| {
            for (member, (learner, losses)) in self.learners.iter_mut().zip(&mut losses).enumerate() {
                let turn = Turn { member, learner: &mut **learner, rest: minibatches, losses };
                scope.spawn_fifo(|scope| turn.take(scope));
            }
        });
        let losses = losses.into_iter().collect::<Result<Vec<_>>>()?;
        // A member that diverged ends the run, whatever the others have learnt since.
        let learnt = losses.iter().map(Vec::len).min().unwrap_or(0);
        let mean = |number: usize| LossSum {
            loss: losses.iter().map(|of_member| of_member[number].loss / members as f64).sum(),
            ..losses[0][number]
        };
        Ok((0..learnt).map(mean).collect())
    }

    fn snapshot(&self) -> Result<Vec<Vec<Tensor>>> {
        let mut towers: Vec<Vec<Tensor>> = Vec::new();
        for learner in &self.learners {
            let snapshot = learner.snapshot()?;
            towers.resize_with(snapshot.len(), Vec::new);
            towers.iter_mut().zip(snapshot).for_each(|(tower, tensors)| tower.extend(tensors));
        }
        Ok(towers)
    }

    fn states(&self) -> Result<Vec<TowerState<'_>>> {
        let mut towers: Vec<(Vec<Tensor>, Vec<OptimizerState<'_>>)> = Vec::new();
        for (member, learner) in self.learners.iter().enumerate() {
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
        let members = self.learners.len();
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
        self.learners.iter_mut().zip(parts).try_for_each(|(learner, states)| learner.restore(updates, states))
    }
}
