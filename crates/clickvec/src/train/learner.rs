//! The weights in training. An encoder with several members has one learner for each: its weights, minibatches and optimiser are
//! independent of the others'.

use std::borrow::Cow;

use rayon::ScopeFifo;

use super::stage::Stage;
use super::step::{OptimizerState, TowerState, Towers};
use crate::clicks::Minibatch;
use crate::encoder::{Encoder, Group, Tensor, member_prefix};
use crate::loss::LossSum;
use crate::settings::TrainConfig;
use clickvec_tables::Result;

/// The number of pairs that each member learns before it waits for the others.
const TOGETHER: usize = 2048;

/// The most minibatches that each member learns before it waits for the others. All of them are in memory.
const MOST: usize = 8;

/// The weights in training.
pub(super) enum Learner {
    /// One encoder for each tower.
    Single(Box<Towers>),
    /// Several encoders for each tower.
    Members(Members),
}

/// The towers of all members.
pub(super) struct Members {
    members: Vec<Towers>,
    at_a_time: usize,
}

impl Learner {
    /// Starts a stage from the weights of the query tower and of the title tower, or of one for both.
    pub(super) fn new(stage: &Stage<'_>, towers: Vec<Box<dyn Encoder>>) -> Learner {
        let (config, optimizer) = (&stage.config, stage.optimizer());
        let Some(encoder) = config.encoder.member() else {
            return Learner::Single(Box::new(Towers::new(config.clone(), &optimizer, towers)));
        };
        let count = config.encoder.members();
        let part = |tower: &dyn Encoder, member: usize| {
            let tensors = tower.tensors();
            let each = tensors.len() / count;
            let mut part = encoder.build(tensors[0].value.rows());
            for (tensor, from) in part.tensors_mut().iter_mut().zip(&tensors[member * each..]) {
                tensor.value = from.value.clone();
            }
            part
        };
        let member = |member: usize| {
            let config = TrainConfig { encoder: encoder.clone(), ..config.clone() };
            Towers::new(config, &optimizer, towers.iter().map(|tower| part(&**tower, member)).collect())
        };
        let at_a_time = (TOGETHER / config.batch_size).clamp(1, MOST);
        Learner::Members(Members { members: (0..count).map(member).collect(), at_a_time })
    }

    fn members(&self) -> &[Towers] {
        match self {
            Learner::Single(towers) => std::slice::from_ref(towers),
            Learner::Members(Members { members, .. }) => members,
        }
    }

    /// Returns the number of updates so far.
    pub(super) fn updates(&self) -> u64 {
        self.members()[0].updates()
    }

    /// Returns the number of minibatches to hand over at a time. With more than one, members need not wait for each other after
    /// each of them.
    pub(super) fn at_a_time(&self) -> usize {
        match self {
            Learner::Single(_) => 1,
            Learner::Members(members) => members.at_a_time,
        }
    }

    /// Makes an update from each minibatch in turn, and returns their losses; of several members their mean. If a loss or a
    /// gradient is not finite, there is no loss from there on, and the weights are of no use any more.
    pub(super) fn steps(&mut self, minibatches: &[Minibatch]) -> Result<Vec<LossSum>> {
        match self {
            Learner::Single(towers) => towers.steps(minibatches),
            Learner::Members(members) => members.steps(minibatches),
        }
    }

    /// Returns a copy of the current parameters of each tower.
    pub(super) fn snapshot(&self) -> Vec<Vec<Tensor>> {
        let mut towers: Vec<Vec<Tensor>> = Vec::new();
        for member in self.members() {
            let snapshot = member.snapshot();
            towers.resize_with(snapshot.len(), Vec::new);
            towers.iter_mut().zip(snapshot).for_each(|(tower, tensors)| tower.extend(tensors));
        }
        towers
    }

    /// Returns everything that the next updates depend on, for each tower. A checkpoint stores this.
    pub(super) fn states(&self) -> Vec<TowerState<'_>> {
        match self {
            Learner::Single(towers) => towers.states(),
            Learner::Members(members) => members.states(),
        }
    }

    /// Continues from the states that [`Learner::states`] returned after `updates` updates.
    pub(super) fn restore(&mut self, updates: u64, states: Vec<TowerState<'static>>) {
        match self {
            Learner::Single(towers) => towers.restore(updates, states),
            Learner::Members(members) => members.restore(updates, states),
        }
    }
}

impl Members {
    fn steps(&mut self, minibatches: &[Minibatch]) -> Result<Vec<LossSum>> {
        let count = self.members.len();
        let mut losses: Vec<Result<Vec<LossSum>>> = (0..count).map(|_| Ok(Vec::new())).collect();
        rayon::scope_fifo(|scope| {
            for (number, (towers, losses)) in self.members.iter_mut().zip(&mut losses).enumerate() {
                let turn = Turn { number, towers, rest: minibatches, losses };
                scope.spawn_fifo(|scope| turn.take(scope));
            }
        });
        let losses = losses.into_iter().collect::<Result<Vec<_>>>()?;
        // A member that diverged ends the run, whatever the others have learnt since.
        let learnt = losses.iter().map(Vec::len).min().unwrap_or(0);
        let mean = |minibatch: usize| LossSum {
            loss: losses.iter().map(|losses| losses[minibatch].loss / count as f64).sum(),
            ..losses[0][minibatch]
        };
        Ok((0..learnt).map(mean).collect())
    }

    fn states(&self) -> Vec<TowerState<'_>> {
        let mut towers: Vec<(Vec<Tensor>, Vec<OptimizerState<'_>>)> = Vec::new();
        for (number, member) in self.members.iter().enumerate() {
            let states = member.states();
            towers.resize_with(states.len(), Default::default);
            for (tower, state) in towers.iter_mut().zip(states) {
                tower.0.extend(state.tensors.iter().map(|tensor| {
                    let named = |group: &Group| Group {
                        name: format!("{}{}", member_prefix(number), group.name),
                        ..group.clone()
                    };
                    Tensor::new(tensor.kind, tensor.groups.iter().map(named).collect(), tensor.value.clone())
                }));
                tower.1.extend(state.optimizer);
            }
        }
        let state = |(tensors, optimizer)| TowerState { tensors: Cow::Owned(tensors), optimizer };
        towers.into_iter().map(state).collect()
    }

    fn restore(&mut self, updates: u64, states: Vec<TowerState<'static>>) {
        let count = self.members.len();
        let mut parts: Vec<Vec<TowerState<'static>>> = (0..count).map(|_| Vec::new()).collect();
        for state in states {
            let mut tensors = state.tensors.into_owned().into_iter();
            let each = tensors.len() / count;
            let mut optimizer = state.optimizer.into_iter();
            for part in &mut parts {
                let tensors = Cow::Owned(tensors.by_ref().take(each).collect());
                part.push(TowerState { tensors, optimizer: optimizer.by_ref().take(each).collect() });
            }
        }
        self.members.iter_mut().zip(parts).for_each(|(member, states)| member.restore(updates, states));
    }
}

/// A member's way through some minibatches.
struct Turn<'a> {
    number: usize,
    towers: &'a mut Towers,
    rest: &'a [Minibatch],
    losses: &'a mut Result<Vec<LossSum>>,
}

impl<'a> Turn<'a> {
    /// Learns the next minibatch, and queues behind the other members for the one after it. So with more members than
    /// threads all of them are done at about the same time.
    fn take(self, scope: &ScopeFifo<'a>) {
        let (Ok(losses), Some((next, rest))) = (&mut *self.losses, self.rest.split_first()) else { return };
        match self.towers.steps(std::slice::from_ref(next.member(self.number))) {
            Err(error) => *self.losses = Err(error),
            Ok(loss) if loss.is_empty() => {}
            Ok(loss) => {
                losses.extend(loss);
                scope.spawn_fifo(move |scope| Turn { rest, ..self }.take(scope));
            }
        }
    }
}
