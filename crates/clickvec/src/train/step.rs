//! One update of both towers from one minibatch, on the processor.

use std::borrow::Cow;

use super::device::{Learner, OptimizerState, RunPlan, TowerState};
use crate::clicks::Minibatch;
use crate::encoder::{Encoder, Gradients, Input, Tensor, Trace};
use crate::error::Result;
use crate::loss::{Loss, LossSum, NegativeRows};
use crate::memory::room_for_numbers;
use crate::optimizer::{Optimizer, TensorState};
use crate::settings::TrainConfig;
use crate::text::batch::Batch;

/// The number of pairs that two towers learn before they stop for whatever comes between minibatches.
const TOGETHER: usize = 4096;

/// The most minibatches that two towers learn before they stop. All of them are in memory.
const MOST: usize = 8;

/// The weights in training and all working memory.
pub(super) struct Towers {
    config: TrainConfig,
    towers: Vec<Tower>,
    loss: Loss,
    /// The numbers of the largest minibatch that there was room for.
    room: usize,
}

/// An encoder in training.
struct Tower {
    /// The encoder. Its tables hold the points at which the next gradients are taken.
    encoder: Box<dyn Encoder>,
    optimizer: Optimizer,
    trace: Trace,
    gradients: Gradients,
}

impl Towers {
    pub(super) fn new(plan: RunPlan) -> Towers {
        let RunPlan { config, optimizer, towers } = plan;
        let tower = |mut encoder: Box<dyn Encoder>| {
            let optimizer = Optimizer::new(optimizer.clone(), encoder.tensors_mut());
            let trace = Trace { precision: config.precision, ..Trace::default() };
            Tower { encoder, optimizer, trace, gradients: Gradients::default() }
        };
        let towers = towers.into_iter().map(tower).collect();
        Towers { config, towers, loss: Loss::default(), room: 0 }
    }

    /// Checks that there is memory for the states of a minibatch, which were asked for already if one was as large.
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
            let of_words = batch.distinct_words().saturating_mul(2 * inputs);
            let states = batch.rows().saturating_mul(tower.encoder.numbers_per_word());
            numbers = numbers.saturating_add(of_words).saturating_add(states);
        }
        if numbers > self.room {
            room_for_numbers::<f32>("the states of a minibatch", &[&[numbers]])?;
            self.room = numbers;
        }
        Ok(())
    }

    /// Makes one update of the only tower. `None` if the loss or the gradient is not finite.
    fn step_of_one(&mut self, minibatch: &Minibatch) -> Option<LossSum> {
        let Towers { config, towers, loss, .. } = self;
        let [both] = &mut towers[..] else { unreachable!("one tower") };
        both.forward(&minibatch.queries);
        let dimension = both.encoder.dimension();
        let (queries, titles) = both.trace.embeddings.split_at(minibatch.pairs.positive.len() * dimension);
        let sum = loss.compute(config.gamma, queries, titles, dimension, &minibatch.pairs);
        let gradient = [&loss.query_gradient[..], &loss.title_gradient].concat();
        (sum.loss.is_finite() && both.learn(&minibatch.queries, &gradient, config, None)).then_some(sum)
    }

    /// Makes one update of two towers, whose forward passes are done, and runs those of the `next` minibatch. Only the loss needs
    /// both towers, so each goes from one loss to the next without waiting for the other. `None` if the loss or a gradient
    /// is not finite.
    fn step_of_two(&mut self, minibatch: &Minibatch, next: Option<&Minibatch>) -> Option<LossSum> {
        let Towers { config, towers, loss, .. } = self;
        let [query, title] = &mut towers[..] else { unreachable!("two towers") };
        let (queries, titles) = (&query.trace.embeddings, &title.trace.embeddings);
        let sum = loss.compute(config.gamma, queries, titles, query.encoder.dimension(), &minibatch.pairs);
        if !sum.loss.is_finite() {
            return None;
        }
        let (of_queries, of_titles) = (&loss.query_gradient, &loss.title_gradient);
        let learnt = rayon::join(
            || title.learn(&minibatch.titles, of_titles, config, next.map(|next| &next.titles)),
            || query.learn(&minibatch.queries, of_queries, config, next.map(|next| &next.queries)),
        );
        (learnt == (true, true)).then_some(sum)
    }
}

impl Learner for Towers {
    fn updates(&self) -> u64 {
        self.towers[0].optimizer.updates()
    }

    fn at_a_time(&self) -> usize {
        if self.towers.len() == 1 { 1 } else { (TOGETHER / self.config.minibatch).clamp(2, MOST) }
    }

    fn steps(&mut self, minibatches: &[Minibatch]) -> Result<Vec<LossSum>> {
        minibatches.iter().try_for_each(|minibatch| self.room_for(minibatch))?;
        if self.towers.len() == 1 {
            return Ok(minibatches.iter().map_while(|minibatch| self.step_of_one(minibatch)).collect());
        }
        if let ([query, title], Some(first)) = (&mut self.towers[..], minibatches.first()) {
            rayon::join(|| title.forward(&first.titles), || query.forward(&first.queries));
        }
        let following = minibatches.iter().skip(1).map(Some).chain([None]);
        Ok(minibatches.iter().zip(following).map_while(|(minibatch, next)| self.step_of_two(minibatch, next)).collect())
    }

    fn snapshot(&self) -> Result<Vec<Vec<Tensor>>> {
        Ok(self.towers.iter().map(|tower| tower.optimizer.parameters(tower.encoder.tensors())).collect())
    }

    fn states(&self) -> Result<Vec<TowerState<'_>>> {
        Ok(self.towers.iter().map(Tower::state).collect())
    }

    fn restore(&mut self, updates: u64, states: Vec<TowerState<'static>>) -> Result<()> {
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
        Ok(())
    }
}

impl Tower {
    fn state(&self) -> TowerState<'_> {
        let tensors = self.encoder.tensors();
        let states = tensors.iter().zip(self.optimizer.states()).map(|(tensor, state)| {
            // The velocity of a table is stored with its weights.
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

    /// Runs the backward pass, updates the weights, and runs the forward pass of the `next` batch, if there is one. Does
    /// not update and returns `false` if the gradient is not finite.
    fn learn(&mut self, batch: &Batch, grad: &[f32], config: &TrainConfig, next: Option<&Batch>) -> bool {
        self.encoder.backward(batch, &mut self.trace, grad, config.bptt, &mut self.gradients);
        let norm = Optimizer::norm(self.encoder.tensors(), &self.gradients);
        if !norm.is_finite() {
            return false;
        }
        self.optimizer.apply(self.encoder.tensors_mut(), batch.touched(), &self.gradients, norm);
        if let Some(next) = next {
            self.forward(next);
        }
        true
    }
}
