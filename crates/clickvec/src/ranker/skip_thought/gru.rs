//! The gated recurrent unit of the authors' program, forward and backward.
//!
//! With the input x, the state before h⁻, and groups of columns r, z and h̃:
//!
//! ```text
//! r = σ(x W_r + h⁻ U_r + b_r)
//! z = σ(x W_z + h⁻ U_z + b_z)
//! h̃ = tanh(x W_h + r∘(h⁻ U_h) + b_h)
//! h = z∘h⁻ + (1 − z)∘h̃
//! ```
//!
//! In the paper (eq. 1–4), r∘h⁻ is inside the product with U_h, and z and 1 − z are exchanged. The published vectors
//! were made by the program, so this follows the program.

use crate::math::Buffer;
use crate::math::activation::{sigmoid, tanh};
use crate::math::gemm::{Left, gemm, gemm_into};
use crate::math::level::by_level;
use crate::math::matrix::transpose;
use crate::math::vector::add;

/// The weights, or their gradient, which has the same shapes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Gru {
    /// The size of an input.
    pub(super) inputs: usize,
    /// The size of a state.
    pub(super) units: usize,
    /// W: [inputs, 3 · units], for r, z and h̃.
    pub(super) input_weights: Buffer,
    /// U: [units, 3 · units]
    pub(super) recurrent_weights: Buffer,
    /// b: [3 · units]
    pub(super) bias: Buffer,
}

/// What a forward pass keeps for the backward pass, by row of the packed texts.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// h: [rows, units]
    pub(super) states: Buffer,
    /// h⁻: [rows, units]
    before: Buffer,
    /// r, z and h̃; after the backward pass the errors of their inputs: [rows, 3 · units]
    gates: Buffer,
    /// h⁻U; after the backward pass its error: [rows, 3 · units]
    products: Buffer,
}

/// Wᵀ and Uᵀ, which all backward passes with the same weights need.
#[derive(Debug, Default)]
pub(super) struct Transposed {
    input_weights: Buffer,
    recurrent_weights: Buffer,
}

impl Gru {
    /// Weights that are all zero.
    pub(super) fn zeros(inputs: usize, units: usize) -> Gru {
        Gru {
            inputs,
            units,
            input_weights: Buffer::zeros(inputs * 3 * units),
            recurrent_weights: Buffer::zeros(units * 3 * units),
            bias: Buffer::zeros(3 * units),
        }
    }

    /// All weights by tensor.
    pub(super) fn tensors(&self) -> [&Buffer; 3] {
        [&self.input_weights, &self.recurrent_weights, &self.bias]
    }

    /// All weights, to write to.
    pub(super) fn tensors_mut(&mut self) -> [&mut Buffer; 3] {
        [&mut self.input_weights, &mut self.recurrent_weights, &mut self.bias]
    }

    /// Wᵀ and Uᵀ.
    pub(super) fn transposed(&self) -> Transposed {
        let mut transposed = Transposed::default();
        transpose(&self.input_weights, 3 * self.units, &mut transposed.input_weights);
        transpose(&self.recurrent_weights, 3 * self.units, &mut transposed.recurrent_weights);
        transposed
    }

    /// Sets `gates` to xW + b for each row of `inputs`.
    fn project(&self, inputs: &[f32], gates: &mut [f32]) {
        let width = 3 * self.units;
        let rows = gates.len() / width;
        gates.chunks_exact_mut(width).for_each(|row| row.copy_from_slice(&self.bias));
        gemm((rows, width, self.inputs), Left::rows(inputs, self.inputs), (&self.input_weights, width), (gates, width));
    }

    /// Reads packed texts, of which `alive` are left at each step. `inputs` has a row for each word. `start` is the
    /// state before the first word, with a row for each text in packed order; `None` is zero.
    pub(super) fn forward(&self, inputs: &[f32], start: Option<&[f32]>, alive: &[usize], trace: &mut Trace) {
        let (units, width) = (self.units, 3 * self.units);
        let rows: usize = alive.iter().sum();
        let Trace { states, before, gates, products } = trace;
        for (buffer, width) in [(&mut *states, units), (before, units), (gates, width), (products, width)] {
            buffer.resize(rows * width);
        }
        let Trace { states, before, gates, products } = trace;
        self.project(inputs, gates);
        let (mut row, mut previous) = (0, 0);
        for (step, &texts) in alive.iter().enumerate() {
            let (old, new) = states.split_at_mut(row * units);
            let (new, before) = (&mut new[..texts * units], &mut before[row * units..][..texts * units]);
            match (step, start) {
                (0, None) => before.fill(0.0),
                (0, Some(start)) => before.copy_from_slice(&start[..texts * units]),
                _ => before.copy_from_slice(&old[previous * units..][..texts * units]),
            }
            new.copy_from_slice(before);
            let products = &mut products[row * width..][..texts * width];
            self.recur(before, products, step > 0 || start.is_some());
            gate_step(&mut gates[row * width..][..texts * width], products, new, units);
            previous = row;
            row += texts;
        }
    }

    /// Sets `products` to h⁻U.
    fn recur(&self, before: &[f32], products: &mut [f32], nonzero: bool) {
        let width = 3 * self.units;
        match nonzero {
            true => gemm_into(
                (products.len() / width, width, self.units),
                Left::rows(before, self.units),
                (&self.recurrent_weights, width),
                (products, width),
            ),
            false => products.fill(0.0),
        }
    }

    /// Computes the last states of packed texts into `state`, [texts, units], with a row for each text in packed
    /// order. The result is that of [`Gru::forward`], bit for bit, but without a trace. `input` writes the input of a
    /// word.
    pub(super) fn encode(
        &self,
        words: &[u32],
        alive: &[usize],
        input: impl Fn(u32, &mut [f32]),
        scratch: &mut Scratch,
        state: &mut [f32],
    ) {
        let (units, width) = (self.units, 3 * self.units);
        state.fill(0.0);
        let (mut step, mut row) = (0, 0);
        while step < alive.len() {
            // A few steps are projected together so that their inputs make one product, with a limit for long texts.
            let (first, mut rows) = (step, 0);
            while step < alive.len() && (step == first || rows + alive[step] <= ROWS_TOGETHER) {
                rows += alive[step];
                step += 1;
            }
            scratch.inputs.resize(rows * self.inputs);
            scratch.gates.resize(rows * width);
            scratch.products.resize(alive[first] * width);
            for (out, &word) in scratch.inputs.chunks_exact_mut(self.inputs).zip(&words[row..]) {
                input(word, out);
            }
            self.project(&scratch.inputs, &mut scratch.gates);
            let mut place = 0;
            for (step, &texts) in alive.iter().enumerate().take(step).skip(first) {
                let (state, products) = (&mut state[..texts * units], &mut scratch.products[..texts * width]);
                self.recur(state, products, step > 0);
                gate_step(&mut scratch.gates[place * width..][..texts * width], products, state, units);
                place += texts;
            }
            row += rows;
        }
    }

    /// Computes the gradient. `errors` is the loss's error of each state, [rows, units], and is overwritten.
    /// `input_errors` is set to the error of each input. If there was a start, its error is added to `start_errors`.
    /// The gradient is added to `gradient`.
    pub(super) fn backward(
        &self,
        transposed: &Transposed,
        inputs: &[f32],
        alive: &[usize],
        trace: &mut Trace,
        errors: &mut [f32],
        input_errors: &mut Buffer,
        start_errors: Option<&mut [f32]>,
        gradient: &mut Gru,
    ) {
        let (units, width) = (self.units, 3 * self.units);
        let Trace { before, gates, products, .. } = trace;
        let rows: usize = alive.iter().sum();
        let mut carried = Buffer::zeros(alive.first().map_or(0, |&texts| texts * units));
        let mut start = rows;
        for (step, &texts) in alive.iter().enumerate().rev() {
            start -= texts;
            let carried = &mut carried[..texts * units];
            let products = &mut products[start * width..][..texts * width];
            gate_step_back(
                &mut gates[start * width..][..texts * width],
                products,
                &before[start * units..][..texts * units],
                &errors[start * units..][..texts * units],
                carried,
                units,
            );
            let product = |carried: &mut [f32]| {
                gemm(
                    (texts, units, width),
                    Left::rows(products, width),
                    (&transposed.recurrent_weights, units),
                    (carried, units),
                );
            };
            match step.checked_sub(1) {
                Some(before) => {
                    product(carried);
                    add(&mut errors[(start - alive[before]) * units..][..texts * units], carried);
                }
                None => {
                    if let Some(start_errors) = start_errors {
                        product(carried);
                        add(&mut start_errors[..texts * units], carried);
                    }
                    break;
                }
            }
        }
        let Gru { input_weights, recurrent_weights, bias, .. } = gradient;
        let (inputs_wide, units_wide) = (self.inputs, self.units);
        gemm(
            (inputs_wide, width, rows),
            Left::transposed(inputs, inputs_wide),
            (&*gates, width),
            (input_weights, width),
        );
        gemm(
            (units_wide, width, rows),
            Left::transposed(before, units),
            (&*products, width),
            (recurrent_weights, width),
        );
        gates.chunks_exact(width).for_each(|row| add(bias, row));
        input_errors.resize(rows * self.inputs);
        gemm_into(
            (rows, self.inputs, width),
            Left::rows(gates, width),
            (&transposed.input_weights, self.inputs),
            (input_errors, self.inputs),
        );
    }
}

/// The number of rows that [`Gru::encode`] projects at once.
const ROWS_TOGETHER: usize = 2048;

/// The working memory of [`Gru::encode`].
#[derive(Debug, Default)]
pub(super) struct Scratch {
    inputs: Buffer,
    gates: Buffer,
    products: Buffer,
}

by_level! {
    /// One step. `gates` is xW + b and becomes r, z, h̃; `products` is h⁻U; `state` is h⁻ and becomes h.
    fn gate_step(gates: &mut [f32], products: &[f32], state: &mut [f32], units: usize) = gate_step_body
}

#[inline(always)]
fn gate_step_body<const FMA: bool>(gates: &mut [f32], products: &[f32], state: &mut [f32], units: usize) {
    let rows =
        gates.chunks_exact_mut(3 * units).zip(products.chunks_exact(3 * units)).zip(state.chunks_exact_mut(units));
    for ((gates, products), state) in rows {
        let (r, rest) = gates.split_at_mut(units);
        let (z, candidate) = rest.split_at_mut(units);
        for i in 0..units {
            r[i] = sigmoid::<FMA>(r[i] + products[i]);
            z[i] = sigmoid::<FMA>(z[i] + products[units + i]);
            candidate[i] = tanh::<FMA>(candidate[i] + r[i] * products[2 * units + i]);
            state[i] = z[i] * state[i] + (1.0 - z[i]) * candidate[i];
        }
    }
}

by_level! {
    /// One backward step. `gates` is r, z, h̃ and becomes the errors of xW + b; `products` is h⁻U and becomes its
    /// error; `errors` is the error of h; `carried` becomes the error of h⁻ without the part that comes through the
    /// product.
    fn gate_step_back(
        gates: &mut [f32], products: &mut [f32], before: &[f32], errors: &[f32], carried: &mut [f32], units: usize,
    ) = gate_step_back_body
}

#[inline(always)]
fn gate_step_back_body<const FMA: bool>(
    gates: &mut [f32],
    products: &mut [f32],
    before: &[f32],
    errors: &[f32],
    carried: &mut [f32],
    units: usize,
) {
    let rows = gates.chunks_exact_mut(3 * units).zip(products.chunks_exact_mut(3 * units));
    let states = before.chunks_exact(units).zip(errors.chunks_exact(units)).zip(carried.chunks_exact_mut(units));
    for ((gates, products), ((before, errors), carried)) in rows.zip(states) {
        let (reset, rest) = gates.split_at_mut(units);
        let (update, candidate) = rest.split_at_mut(units);
        let (of_reset, rest) = products.split_at_mut(units);
        let (of_update, of_candidate) = rest.split_at_mut(units);
        for i in 0..units {
            let (r, z, h, error) = (reset[i], update[i], candidate[i], errors[i]);
            let candidate_error = error * (1.0 - z) * (1.0 - h * h);
            let reset_error = candidate_error * of_candidate[i] * r * (1.0 - r);
            let update_error = error * (before[i] - h) * z * (1.0 - z);
            (reset[i], update[i], candidate[i]) = (reset_error, update_error, candidate_error);
            (of_reset[i], of_update[i], of_candidate[i]) = (reset_error, update_error, candidate_error * r);
            carried[i] = error * z;
        }
    }
}
