//! The weights in training. An encoder with several members has one learner for each: its weights, minibatches and optimiser are
//! independent of the others'.

use std::borrow::Cow;

use rayon::ScopeFifo;

use super::stage::Stage;
use super::step::{OptimizerState, TowerState, Towers};
use crate::clicks::Minibatch;
use crate::encoder::{Encoder, Group, Tensor, member_prefix};
use crate::loss::LossSum;
use crate::ranks::{Teams, decode, encode};
use crate::settings::TrainConfig;
use clickvec_tables::Result;

/// The number of pairs that each member learns before it waits for the others.
const TOGETHER: usize = 2048;

/// The most minibatches that each member learns before it waits for the others. All of them are in memory.
const MOST: usize = 8;

/// The weights in training.
pub(super) struct Learner {
    /// The towers of each member, or of the one encoder that has no members.
    members: Vec<Towers>,
    /// Whether the names of a member's tensors begin with its prefix.
    has_prefixes: bool,
    /// The number of minibatches to hand over at a time. With more than one, members need not wait for each other after each of
    /// them.
    pub(super) at_a_time: usize,
    /// The ranks that the members are divided among, if there are several.
    teams: Option<Teams>,
}

impl Learner {
    /// Starts a stage from the weights of the query tower and of the title tower, or of one for both.
    pub(super) fn new(stage: &Stage<'_>, towers: Vec<Box<dyn Encoder>>, teams: Option<&Teams>) -> Learner {
        let (config, optimizer) = (&stage.config, stage.optimizer());
        let team = |member: usize| teams.filter(|teams| teams.learns(member)).map(|teams| teams.team(member));
        let Some(encoder) = config.encoder.member() else {
            let members = vec![Towers::new(config.clone(), &optimizer, towers, team(0))];
            return Learner { members, has_prefixes: false, at_a_time: 1, teams: None };
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
            let towers = towers.iter().map(|tower| part(&**tower, member)).collect();
            Towers::new(config, &optimizer, towers, team(member))
        };
        let at_a_time = (TOGETHER / config.batch_size).clamp(1, MOST);
        Learner { members: (0..count).map(member).collect(), has_prefixes: true, at_a_time, teams: teams.cloned() }
    }

    /// Returns the number of updates so far.
    pub(super) fn updates(&self) -> u64 {
        let own = (0..self.members.len()).find(|&member| self.learns(member));
        self.members[own.unwrap_or(0)].updates()
    }

    /// Returns a copy of the current parameters of each tower.
    pub(super) fn snapshot(&self) -> Vec<Vec<Tensor>> {
        let mut towers: Vec<Vec<Tensor>> = Vec::new();
        for member in &self.members {
            let snapshot = member.snapshot();
            towers.resize_with(snapshot.len(), Vec::new);
            towers.iter_mut().zip(snapshot).for_each(|(tower, tensors)| tower.extend(tensors));
        }
        towers
    }

    /// Makes an update from each minibatch in turn, and returns their losses; of several members their mean. If a loss or a
    /// gradient is not finite, there is no loss from there on, and the weights are of no use any more.
    pub(super) fn steps(&mut self, minibatches: &[Minibatch]) -> Result<Vec<LossSum>> {
        let count = self.members.len();
        let mut losses: Vec<Result<Vec<LossSum>>> = (0..count).map(|_| Ok(Vec::new())).collect();
        let learns: Vec<bool> = (0..count).map(|member| self.learns(member)).collect();
        let turns = self.members.iter_mut().zip(&mut losses).enumerate().filter(|&(number, _)| learns[number]);
        let turn = |(number, (towers, losses))| Turn { number, towers, rest: minibatches, losses };
        let mut turns: Vec<Turn<'_>> = turns.map(turn).collect();
        if let [turn] = &mut turns[..] {
            // Its towers may wait for other ranks, which no thread of the pool may.
            turn.take_all();
        } else {
            rayon::scope_fifo(|scope| turns.into_iter().for_each(|turn| scope.spawn_fifo(|scope| turn.take(scope))));
        }
        let mut losses = losses.into_iter().collect::<Result<Vec<_>>>()?;
        self.exchange(&mut losses)?;
        // A member that diverged ends the run, whatever the others have learnt since.
        let learnt = losses.iter().map(Vec::len).min().unwrap_or(0);
        let mean = |minibatch: usize| LossSum {
            loss: losses.iter().map(|losses| losses[minibatch].loss / count as f64).sum(),
            ..losses[0][minibatch]
        };
        Ok((0..learnt).map(mean).collect())
    }

    fn learns(&self, member: usize) -> bool {
        self.teams.as_ref().is_none_or(|teams| teams.learns(member))
    }

    /// Fills in the losses of the members that other ranks learn.
    fn exchange(&self, losses: &mut [Vec<LossSum>]) -> Result<()> {
        let Some(teams) = &self.teams else { return Ok(()) };
        let count = losses.len();
        let told_by = |rank: usize| (0..count).filter(move |&member| teams.of(member)[0] == rank);
        let mut own = Vec::new();
        for member in told_by(teams.rank()) {
            own.push(losses[member].len() as u64);
            own.extend(losses[member].iter().flat_map(|sum| [sum.loss.to_bits(), sum.without_negatives]));
        }
        for (rank, told) in teams.share(&own)?.into_iter().enumerate() {
            let mut told = told.into_iter();
            for member in told_by(rank) {
                let count = told.next().unwrap_or(0) as usize;
                let mut sum = || Some(LossSum { loss: f64::from_bits(told.next()?), without_negatives: told.next()? });
                losses[member] = (0..count).map_while(|_| sum()).collect();
            }
        }
        Ok(())
    }

    /// Brings members that other ranks have learnt up to date, here and on all other ranks, or only on the first.
    pub(super) fn gather(&mut self, everywhere: bool) -> Result<()> {
        let Some(teams) = &self.teams else { return Ok(()) };
        for (number, member) in self.members.iter_mut().enumerate() {
            // From the first rank that has learnt it to the others, one after the other.
            let team = teams.of(number);
            let others = teams.all().filter(|rank| !team.contains(rank) && (everywhere || *rank == 0));
            let line: Vec<usize> = [team[0]].into_iter().chain(others).collect();
            let Some(place) = line.iter().position(|&rank| rank == teams.rank()) else { continue };
            let to = line.get(place + 1).copied();
            if place == 0 {
                teams.send(to, &encode(&[member.updates()]))?;
                member.states().iter().try_for_each(|state| state.send(&mut |numbers| teams.send(to, numbers)))?;
            } else {
                let mut from = |count| teams.receive(line[place - 1], to, count);
                let updates = decode(&from(2)?)[0];
                let states =
                    member.states().iter().map(|state| state.receive(&mut from)).collect::<Result<Vec<_>>>()?;
                member.restore(updates, states);
            }
        }
        Ok(())
    }

    /// Returns everything that the next updates depend on, for each tower. A checkpoint stores this.
    pub(super) fn states(&self) -> Vec<TowerState<'_>> {
        if !self.has_prefixes {
            return self.members[0].states();
        }
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

    /// Continues from the states that [`Learner::states`] returned after `updates` updates.
    pub(super) fn restore(&mut self, updates: u64, states: Vec<TowerState<'static>>) {
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
    /// Learns all minibatches.
    fn take_all(&mut self) {
        let learn = |next: &Minibatch| self.towers.steps(std::slice::from_ref(next.member(self.number)));
        let learnt = self.rest.iter().map(learn);
        *self.losses = learnt
            .take_while(|loss| !loss.as_ref().is_ok_and(Vec::is_empty))
            .collect::<Result<Vec<_>>>()
            .map(|losses| losses.concat());
    }

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
