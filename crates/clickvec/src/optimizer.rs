//! Optimisers: Nesterov momentum (Palangi et al. 2015, eq. 6), plain momentum, Adam and plain gradient descent, for each
//! tower, with clipping of the gradient's norm.
//!
//! With momentum the update of an input matrix is lazy and exact. A row that a minibatch does not touch has no gradient: its
//! velocity only decays and its value only drifts, and both have a closed form for any number of updates. A row is brought
//! up to date when a minibatch reads it. The stored value is the point where the next gradient is taken: Θ = Λ + μΔ with
//! Nesterov momentum, Λ with the plain one. [`Optimizer::parameters`] returns Λ.

pub(crate) mod adam;
mod momentum;
mod schedule;

use crate::encoder::{Gradients, Motion, Tensor, TensorKind};
use crate::math::Matrix;
use crate::math::prefetch::prefetch;
use crate::math::vector::{add_scaled, sum_of_squares};
use adam::{AdamStep, adam};
use momentum::{Idle, Idles, nesterov, plain};
use rayon::prelude::*;
pub use schedule::MomentumSchedule;
use serde::{Deserialize, Serialize};

/// The number of rows in a task.
const CHUNK: usize = 128;

/// The number of rows between the one that is updated and the one that is prefetched. Touched rows are far apart, and
/// without it each update waits for memory.
const AHEAD: usize = 2;

/// The kind of update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptimizerKind {
    /// Nesterov momentum, the LSTM paper's.
    Nesterov,
    /// Momentum as Polyak (1964) has it, with the schedule of the LSTM paper: the gradient is taken where the weights are,
    /// not where momentum will carry them.
    Momentum,
    /// Adam (Kingma and Ba 2015) with β = 0.9, 0.999 and ε = 1e-8. Rows that a minibatch does not touch stay
    /// unchanged.
    Adam,
    /// Plain gradient descent, the CLSM paper's eq. (7).
    Sgd,
}

impl OptimizerKind {
    /// Returns whether a weight also moves at updates that have no gradient for it.
    pub(crate) fn is_lazy(self) -> bool {
        matches!(self, OptimizerKind::Nesterov | OptimizerKind::Momentum)
    }
}

/// The settings of an update.
#[derive(Debug, Clone, PartialEq)]
pub struct OptimizerConfig {
    /// The kind of update.
    pub kind: OptimizerKind,
    /// The learning rate ε.
    pub learning_rate: f32,
    /// The limit th_G: a gradient with a larger norm is scaled down to it.
    pub clip_norm: Option<f32>,
    /// μ; Adam and plain descent do not use it.
    pub momentum: MomentumSchedule,
}

/// The state of one tower's updates.
#[derive(Debug, Clone)]
pub struct Optimizer {
    config: OptimizerConfig,
    updates: u64,
    states: Vec<TensorState>,
}

/// The state of one tensor's updates.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TensorState {
    /// Δ (momentum; that of an input matrix is stored with the tensor) or the mean of gradients (Adam); otherwise empty.
    pub(crate) velocity: Matrix,
    /// The mean of squared gradients (Adam).
    pub(crate) square: Matrix,
    /// For each row of an input matrix (momentum), the last update that the row includes.
    pub(crate) current: Vec<u64>,
}

impl Optimizer {
    /// Creates the state before the first update of `tensors`.
    pub fn new(config: OptimizerConfig, tensors: &mut [Tensor]) -> Optimizer {
        let states = tensors
            .iter_mut()
            .map(|tensor| {
                let like = || Matrix::zeros(tensor.value.rows(), tensor.value.columns());
                match (config.kind, tensor.kind) {
                    (OptimizerKind::Sgd, _) => TensorState::default(),
                    (OptimizerKind::Adam, _) => TensorState { velocity: like(), square: like(), current: Vec::new() },
                    (OptimizerKind::Nesterov | OptimizerKind::Momentum, TensorKind::Dense | TensorKind::Bias) => {
                        TensorState { velocity: like(), ..TensorState::default() }
                    }
                    (OptimizerKind::Nesterov | OptimizerKind::Momentum, TensorKind::Input) => {
                        let rows = tensor.value.rows();
                        tensor.motion = Some(Motion { velocity: like(), drift: vec![0.0; rows] });
                        TensorState { current: vec![0; rows], ..TensorState::default() }
                    }
                }
            })
            .collect();
        Optimizer { config, updates: 0, states }
    }

    /// Returns the number of updates done.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Returns the settings.
    pub fn config(&self) -> &OptimizerConfig {
        &self.config
    }

    pub(crate) fn states(&self) -> &[TensorState] {
        &self.states
    }

    /// Continues from a stored state.
    pub(crate) fn restore(&mut self, updates: u64, states: Vec<TensorState>, tensors: &mut [Tensor]) {
        self.updates = updates;
        self.states = states;
        for (tensor, state) in tensors.iter_mut().zip(&mut self.states) {
            if let Some(motion) = &mut tensor.motion {
                motion.velocity = std::mem::take(&mut state.velocity);
            }
        }
    }

    /// Computes the drift of the `touched` rows (ascending) of the input matrices. Must be called before each forward pass that
    /// an update follows.
    pub fn prepare(&mut self, tensors: &mut [Tensor], touched: &[u32]) {
        if !self.config.kind.is_lazy() {
            return;
        }
        let (config, updates) = (&self.config, self.updates);
        let idle = Idles::up_to(config, updates);
        for (tensor, state) in tensors.iter_mut().zip(&self.states) {
            if let Some(motion) = &mut tensor.motion {
                for &row in touched {
                    motion.drift[row as usize] = idle.since(state.current[row as usize]).drift;
                }
            }
        }
    }

    /// Returns the gradient's norm over all `tensors`.
    pub fn norm(tensors: &[Tensor], gradients: &Gradients) -> f64 {
        let dense = tensors.iter().zip(&gradients.tensors).filter(|(tensor, _)| tensor.kind != TensorKind::Input);
        let dense: f64 = dense.map(|(_, gradient)| sum_of_squares(gradient.data())).sum();
        (gradients.table_squares + dense).sqrt()
    }

    /// Makes one update with `gradients`, whose norm is `norm`. Their rows of input matrices are those of `touched`, for which
    /// [`Optimizer::prepare`] must have run since the last update.
    ///
    /// # Panics
    /// If `gradients.table_rows` does not have a row for each of `touched`.
    pub fn apply(&mut self, tensors: &mut [Tensor], touched: &[u32], gradients: &Gradients, norm: f64) {
        assert_eq!(gradients.table_rows.len(), touched.len(), "a row of the gradient for each that was touched");
        self.updates += 1;
        let k = self.updates;
        let clip = match self.config.clip_norm {
            Some(limit) if norm > f64::from(limit) => f64::from(limit) / norm,
            _ => 1.0,
        };
        let step = Step {
            scale: clip as f32,
            learning_rate: self.config.learning_rate,
            momentum: self.config.momentum.at(k) as f32,
            lookahead: self.config.momentum.at(k + 1) as f32,
            adam: AdamStep::new(k, f64::from(self.config.learning_rate), clip),
            idle: Idle::NONE,
        };
        let kind = self.config.kind;
        let idle = Idles::up_to(&self.config, k - 1);
        for ((tensor, state), gradient) in tensors.iter_mut().zip(&mut self.states).zip(&gradients.tensors) {
            match tensor.kind {
                TensorKind::Dense | TensorKind::Bias => {
                    let TensorState { velocity, square, .. } = state;
                    step.update(kind, tensor.value.data_mut(), velocity.data_mut(), square.data_mut(), gradient.data());
                }
                TensorKind::Input => {
                    RowTasks::cut(tensor, state, touched).into_par_iter().for_each(|task| {
                        let rows = &gradients.table_rows[task.start..];
                        let width = gradient.columns();
                        for (i, (&row, &at)) in task.touched.iter().zip(rows).enumerate() {
                            if let Some((&row, &at)) = task.touched.get(i + AHEAD).zip(rows.get(i + AHEAD)) {
                                task.prefetch(row, width);
                                prefetch(gradient.row(at as usize));
                            }
                            let gradient = gradient.row(at as usize);
                            let row = row as usize - task.first;
                            let span = row * width..(row + 1) * width;
                            // Empty if this kind of update has no such state.
                            let velocity = task.velocity.get_mut(span.clone()).unwrap_or_default();
                            let square = task.square.get_mut(span.clone()).unwrap_or_default();
                            let mut step = step;
                            if let Some(current) = task.current.get_mut(row) {
                                step.idle = idle.since(*current);
                                *current = k;
                            }
                            step.update(kind, &mut task.value[span], velocity, square, gradient);
                        }
                    });
                }
            }
        }
    }

    /// Returns the parameters Λ after the updates so far. The state does not change.
    pub fn parameters(&self, tensors: &[Tensor]) -> Vec<Tensor> {
        self.moved(tensors, |value, velocity, idle| value + velocity * idle.drift)
    }

    /// Returns the velocities Δ after the updates so far, shaped like the parameters.
    pub fn velocities(&self, tensors: &[Tensor]) -> Vec<Tensor> {
        self.moved(tensors, |_, velocity, idle| velocity * idle.decay)
    }

    fn moved(&self, tensors: &[Tensor], number: impl Fn(f32, f32, Idle) -> f32 + Sync) -> Vec<Tensor> {
        let copy = |tensor: &Tensor| Tensor::new(tensor.kind, tensor.groups.clone(), tensor.value.clone());
        let mut out: Vec<Tensor> = tensors.iter().map(copy).collect();
        if !self.config.kind.is_lazy() {
            return out;
        }
        for ((now, tensor), state) in out.iter_mut().zip(tensors).zip(&self.states) {
            let width = tensor.value.columns();
            let velocity = tensor.motion.as_ref().map_or(&state.velocity, |motion| &motion.velocity);
            now.value.data_mut().par_chunks_mut(width).enumerate().for_each(|(row, values)| {
                let from = state.current.get(row).copied().unwrap_or(self.updates);
                let idle = self.config.landing(from, self.updates);
                for (value, &velocity) in values.iter_mut().zip(velocity.row(row)) {
                    *value = number(*value, velocity, idle);
                }
            });
        }
        out
    }
}

/// The constants of one update.
#[derive(Clone, Copy)]
struct Step {
    scale: f32,
    learning_rate: f32,
    /// μ of this update.
    momentum: f32,
    /// μ of the next update.
    lookahead: f32,
    adam: AdamStep,
    /// The drift of this row since its last update.
    idle: Idle,
}

impl Step {
    /// Updates the numbers that have a gradient.
    fn update(
        self,
        kind: OptimizerKind,
        value: &mut [f32],
        velocity: &mut [f32],
        square: &mut [f32],
        gradient: &[f32],
    ) {
        match kind {
            OptimizerKind::Nesterov => {
                let rate = -self.learning_rate * self.scale;
                nesterov(value, velocity, gradient, self.idle, rate, self.momentum, self.lookahead);
            }
            OptimizerKind::Momentum => {
                plain(value, velocity, gradient, self.idle, -self.learning_rate * self.scale, self.momentum);
            }
            OptimizerKind::Adam => adam(value, velocity, square, gradient, self.adam),
            OptimizerKind::Sgd => add_scaled(value, -self.learning_rate * self.scale, gradient),
        }
    }
}

/// A contiguous part of an input matrix and its state, with the touched rows in it.
struct RowTasks<'a> {
    /// The matrix row of the part's first row.
    first: usize,
    /// The place of the part's first touched row among all touched rows.
    start: usize,
    value: &'a mut [f32],
    velocity: &'a mut [f32],
    square: &'a mut [f32],
    current: &'a mut [u64],
    touched: &'a [u32],
}

impl<'a> RowTasks<'a> {
    /// Cuts an input matrix into parts of [`CHUNK`] touched rows each.
    fn cut(tensor: &'a mut Tensor, state: &'a mut TensorState, touched: &'a [u32]) -> Vec<RowTasks<'a>> {
        let width = tensor.value.columns();
        let mut value = tensor.value.data_mut();
        let velocity = tensor.motion.as_mut().map_or(&mut state.velocity, |motion| &mut motion.velocity);
        let mut velocity = velocity.data_mut();
        let mut square = state.square.data_mut();
        let mut current = &mut state.current[..];
        let mut tasks = Vec::with_capacity(touched.len().div_ceil(CHUNK));
        let mut first = 0;
        for (i, touched) in touched.chunks(CHUNK).enumerate() {
            let end = *touched.last().expect("chunks are not empty") as usize + 1;
            let rows = end - first;
            tasks.push(RowTasks {
                first,
                start: i * CHUNK,
                value: take(&mut value, rows * width),
                velocity: take(&mut velocity, rows * width),
                square: take(&mut square, rows * width),
                current: take(&mut current, rows),
                touched,
            });
            first = end;
        }
        tasks
    }

    /// Prefetches the numbers that the update of a row of the matrix reads and writes.
    fn prefetch(&self, row: u32, width: usize) {
        let row = row as usize - self.first;
        for numbers in [&*self.value, &*self.velocity, &*self.square] {
            prefetch(numbers.get(row * width..(row + 1) * width).unwrap_or_default());
        }
    }
}

/// Cuts off and returns the first `count` numbers; none of an empty slice.
fn take<'a, T>(slice: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let (part, rest) = std::mem::take(slice).split_at_mut_checked(count).unwrap_or_default();
    *slice = rest;
    part
}
