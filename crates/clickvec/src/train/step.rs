//! One update of both towers from one minibatch.

use std::borrow::Cow;

use crate::clicks::Minibatch;
use crate::encoder::{Encoder, Gradients, Input, Tensor, TensorKind, Trace};
use crate::loss::{Loss, LossSum, NegativeRows};
use crate::math::Matrix;
use crate::optimizer::{Optimizer, OptimizerConfig, TensorState};
use crate::ranks::{Chain, Team, decode, encode};
use crate::settings::TrainConfig;
use crate::text::batch::Batch;
use clickvec_tables::Result;
use clickvec_tables::memory::room_for_numbers;

/// The weights in training and all working memory.
pub(super) struct Towers {
    config: TrainConfig,
    towers: Vec<Tower>,
    loss: Loss,
    /// The numbers of the largest minibatch that there was room for.
    room: usize,
}

/// A tower between two updates.
pub(super) struct TowerState<'a> {
    /// The weights as they are stored: with momentum, the points at which the next gradients are taken.
    pub(super) tensors: Cow<'a, [Tensor]>,
    /// The optimiser's memory of each tensor.
    pub(super) optimizer: Vec<OptimizerState<'a>>,
}

/// The optimiser's memory of a tensor. Fields that it does not need are empty.
pub(super) struct OptimizerState<'a> {
    /// Δ (momentum) or the mean of gradients (Adam), shaped like the tensor.
    pub(super) velocity: Cow<'a, Matrix>,
    /// The mean of squared gradients (Adam), shaped like the tensor.
    pub(super) square: Cow<'a, Matrix>,
    /// For each row of an input matrix (momentum), the last update that the row includes.
    pub(super) current: Cow<'a, [u64]>,
}

/// An encoder in training.
struct Tower {
    /// The encoder. Its input matrices hold the points at which the next gradients are taken.
    encoder: Box<dyn Encoder>,
    optimizer: Optimizer,
    trace: Trace,
    gradients: Gradients,
}

impl Towers {
    /// Takes over the query tower and the title tower, or one for both, before the first update. Minibatches are divided among a team,
    /// if there is one.
    pub(super) fn new(
        config: TrainConfig,
        optimizer: &OptimizerConfig,
        towers: Vec<Box<dyn Encoder>>,
        team: Option<Team>,
    ) -> Towers {
        let team = team.filter(Team::is_divided);
        let tower = |(number, mut encoder): (usize, Box<dyn Encoder>)| {
            let optimizer = Optimizer::new(optimizer.clone(), encoder.tensors_mut());
            let (trace, mut gradients) = (Trace::default(), Gradients::default());
            gradients.scratch.chain = team.clone().map(|team| Chain::new(team, number));
            Tower { encoder, optimizer, trace, gradients }
        };
        let towers = towers.into_iter().enumerate().map(tower).collect();
        Towers { config, towers, loss: Loss::default(), room: 0 }
    }

    /// Checks that there is memory for the states and gradients of a minibatch, which is allocated already if an earlier one was
    /// as large.
    fn room_for(&mut self, minibatch: &Minibatch) -> Result<()> {
        let batches: &[&Batch] = match self.towers.len() {
            1 => &[&minibatch.queries],
            _ => &[&minibatch.queries, &minibatch.titles],
        };
        // Cosines, unless each pair has a few negatives of its own.
        let (pairs, texts) = (minibatch.pairs.positive.len(), minibatch.queries.texts() + minibatch.titles.texts());
        let mut numbers = match &minibatch.pairs.negatives {
            NegativeRows::AllBut(_) => pairs.saturating_mul(texts.saturating_sub(pairs)),
            NegativeRows::Listed(_) => 0,
        };
        for (tower, batch) in self.towers.iter().zip(batches) {
            let inputs: usize = tower.encoder.inputs().into_iter().map(Input::width).sum();
            // Each distinct word is projected, and has a gradient.
            let word_numbers = batch.distinct_words().saturating_mul(2 * inputs);
            let states = batch.rows().saturating_mul(tower.encoder.numbers_per_word());
            // Each block has gradients of its own, which are summed.
            let dense = tower.encoder.tensors().iter().filter(|tensor| tensor.kind != TensorKind::Input);
            let dense: usize = dense.map(|tensor| tensor.value.rows() * tensor.value.columns()).sum();
            let gradients = dense.saturating_mul(batch.blocks.len() + 1);
            numbers = numbers.saturating_add(word_numbers).saturating_add(states).saturating_add(gradients);
        }
        if numbers > self.room {
            room_for_numbers::<f32>("the states and gradients of a minibatch", &[&[numbers]])?;
            self.room = numbers;
        }
        Ok(())
    }

    /// Makes one update. If the loss or a gradient is not finite, returns `None` and updates nothing.
    fn step(&mut self, minibatch: &Minibatch) -> Result<Option<LossSum>> {
        let Towers { config, towers, loss, .. } = self;
        match &mut towers[..] {
            [both] => {
                both.forward(&minibatch.queries);
                both.exchange(&minibatch.queries)?;
                let (queries, titles) =
                    both.trace.embeddings.split_at(minibatch.pairs.positive.len() * both.encoder.dimension());
                let dimension = both.encoder.dimension();
                let sum = loss.compute(config.loss.gamma, queries, titles, dimension, &minibatch.pairs);
                let grad = [&loss.query_gradient[..], &loss.title_gradient].concat();
                let norm = both.backward(&minibatch.queries, &grad, config)?;
                if !sum.loss.is_finite() || !norm.is_finite() {
                    return Ok(None);
                }
                both.apply(&minibatch.queries, norm);
                Ok(Some(sum))
            }
            [query, title] => {
                rayon::join(|| query.forward(&minibatch.queries), || title.forward(&minibatch.titles));
                query.exchange(&minibatch.queries)?;
                title.exchange(&minibatch.titles)?;
                let (queries, titles) = (&query.trace.embeddings, &title.trace.embeddings);
                let dimension = query.encoder.dimension();
                let sum = loss.compute(config.loss.gamma, queries, titles, dimension, &minibatch.pairs);
                let is_divided = query.gradients.scratch.chain.is_some();
                let both = (
                    || query.backward(&minibatch.queries, &loss.query_gradient, config),
                    || title.backward(&minibatch.titles, &loss.title_gradient, config),
                );
                let (query_norm, title_norm) =
                    if is_divided { join_outside(both) } else { rayon::join(both.0, both.1) };
                let (query_norm, title_norm) = (query_norm?, title_norm?);
                if !(sum.loss.is_finite() && query_norm.is_finite() && title_norm.is_finite()) {
                    return Ok(None);
                }
                rayon::join(
                    || query.apply(&minibatch.queries, query_norm),
                    || title.apply(&minibatch.titles, title_norm),
                );
                Ok(Some(sum))
            }
            _ => unreachable!("one tower or two"),
        }
    }
}

/// Runs both on threads that are in no pool. They wait for other ranks, for which the pool's threads would have to wait, too.
pub(super) fn join_outside<A, B: Send>(both: (impl FnOnce() -> A, impl FnOnce() -> B + Send)) -> (A, B) {
    std::thread::scope(|scope| {
        let second = scope.spawn(both.1);
        let first = both.0();
        (first, second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

impl TowerState<'_> {
    /// Hands over all numbers.
    pub(super) fn send(&self, to: &mut impl FnMut(&[f32]) -> Result<()>) -> Result<()> {
        self.tensors.iter().try_for_each(|tensor| to(tensor.value.data()))?;
        self.optimizer.iter().try_for_each(|state| {
            to(state.velocity.data())?;
            to(state.square.data())?;
            to(&encode(&state.current))
        })
    }

    /// Takes over the numbers of a state that is shaped like this one. `from` gives as many as it is asked for.
    pub(super) fn receive(&self, from: &mut impl FnMut(usize) -> Result<Vec<f32>>) -> Result<TowerState<'static>> {
        let mut numbers = |like: &Matrix| -> Result<Matrix> {
            Ok(Matrix::from_vec(like.rows(), like.columns(), from(like.data().len())?))
        };
        let mut tensors = Vec::with_capacity(self.tensors.len());
        for like in &*self.tensors {
            tensors.push(Tensor::new(like.kind, like.groups.clone(), numbers(&like.value)?));
        }
        let mut optimizer = Vec::with_capacity(self.optimizer.len());
        for like in &self.optimizer {
            let [velocity, square] = [numbers(&like.velocity)?, numbers(&like.square)?].map(Cow::Owned);
            // As many numbers as `encode` writes.
            let current = numbers(&Matrix::zeros(like.current.len(), 2))?;
            optimizer.push(OptimizerState { velocity, square, current: Cow::Owned(decode(current.data())) });
        }
        Ok(TowerState { optimizer, tensors: Cow::Owned(tensors) })
    }
}

impl Towers {
    /// Returns the number of updates so far.
    pub(super) fn updates(&self) -> u64 {
        self.towers[0].optimizer.updates()
    }

    /// Makes an update from each minibatch in turn, until a loss or a gradient is not finite.
    pub(super) fn steps(&mut self, minibatches: &[Minibatch]) -> Result<Vec<LossSum>> {
        let mut sums = Vec::with_capacity(minibatches.len());
        for minibatch in minibatches {
            self.room_for(minibatch)?;
            let Some(sum) = self.step(minibatch)? else { break };
            sums.push(sum);
        }
        Ok(sums)
    }

    pub(super) fn snapshot(&self) -> Vec<Vec<Tensor>> {
        self.towers.iter().map(|tower| tower.optimizer.parameters(tower.encoder.tensors())).collect()
    }

    pub(super) fn states(&self) -> Vec<TowerState<'_>> {
        self.towers.iter().map(Tower::state).collect()
    }

    pub(super) fn restore(&mut self, updates: u64, states: Vec<TowerState<'static>>) {
        for (tower, state) in self.towers.iter_mut().zip(states) {
            for (tensor, stored) in tower.encoder.tensors_mut().iter_mut().zip(state.tensors.into_owned()) {
                tensor.value = stored.value;
            }
            let states = state.optimizer.into_iter().map(|state| TensorState {
                velocity: state.velocity.into_owned(),
                square: state.square.into_owned(),
                current: state.current.into_owned(),
            });
            tower.optimizer.restore(updates, states.collect(), tower.encoder.tensors_mut());
        }
    }
}

impl Tower {
    fn state(&self) -> TowerState<'_> {
        let tensors = self.encoder.tensors();
        let states = tensors.iter().zip(self.optimizer.states()).map(|(tensor, state)| {
            // The velocity of an input matrix is stored with its weights.
            let velocity = tensor.motion.as_ref().map_or(&state.velocity, |motion| &motion.velocity);
            OptimizerState {
                velocity: Cow::Borrowed(velocity),
                square: Cow::Borrowed(&state.square),
                current: Cow::Borrowed(&state.current[..]),
            }
        });
        TowerState { tensors: Cow::Borrowed(tensors), optimizer: states.collect() }
    }

    fn forward(&mut self, batch: &Batch) {
        self.optimizer.prepare(self.encoder.tensors_mut(), batch.touched());
        self.encoder.forward(batch, &mut self.trace);
    }

    /// Fills in the vectors of those texts of a divided batch that other ranks have encoded.
    fn exchange(&mut self, batch: &Batch) -> Result<()> {
        match (&self.gradients.scratch.chain, &batch.division) {
            (Some(chain), Some(division)) => {
                let texts = |place| division.texts.get(place);
                chain.exchange(texts, self.encoder.dimension(), &mut self.trace.embeddings)
            }
            _ => Ok(()),
        }
    }

    /// Runs the backward pass and returns the norm of the gradient.
    fn backward(&mut self, batch: &Batch, grad: &[f32], config: &TrainConfig) -> Result<f64> {
        self.encoder.backward(batch, &mut self.trace, grad, config.bptt, &mut self.gradients);
        self.gradients.scratch.chain.as_mut().map_or(Ok(()), Chain::fault)?;
        Ok(Optimizer::norm(self.encoder.tensors(), &self.gradients))
    }

    fn apply(&mut self, batch: &Batch, norm: f64) {
        self.optimizer.apply(self.encoder.tensors_mut(), batch.touched(), &self.gradients, norm);
    }
}
