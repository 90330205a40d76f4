//! The gated recurrent unit of the authors' program.
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

use clickvec::internals::math::Buffer;
use clickvec::internals::math::activation::{sigmoid_slice, tanh_slice};
use clickvec::internals::math::gemm::{Left, gemm, gemm_into};
use clickvec::internals::math::vector::add;

/// The weights.
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

    /// Returns all weights, to write to.
    pub(super) fn tensors_mut(&mut self) -> [&mut Buffer; 3] {
        [&mut self.input_weights, &mut self.recurrent_weights, &mut self.bias]
    }

    /// Sets `gates` to xW + b for each row of `inputs`.
    fn project(&self, inputs: &[f32], gates: &mut [f32]) {
        let width = 3 * self.units;
        let rows = gates.len() / width;
        gates.chunks_exact_mut(width).for_each(|row| row.copy_from_slice(&self.bias));
        gemm((rows, width, self.inputs), Left::rows(inputs, self.inputs), (&self.input_weights, width), (gates, width));
    }

    /// Sets `products` to h⁻U.
    fn recur(&self, before: &[f32], products: &mut [f32], nonzero: bool) {
        let width = 3 * self.units;
        if !nonzero {
            products.fill(0.0);
            return;
        }
        gemm_into(
            (products.len() / width, width, self.units),
            Left::rows(before, self.units),
            (&self.recurrent_weights, width),
            (products, width),
        );
    }

    /// Computes the last states of packed texts into `state`, [texts, units], with a row for each text in packed
    /// order. `input` writes the input of a word.
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
            let mut position = 0;
            for (step, &texts) in alive.iter().enumerate().take(step).skip(first) {
                let (state, products) = (&mut state[..texts * units], &mut scratch.products[..texts * width]);
                self.recur(state, products, step > 0);
                gate_step(&mut scratch.gates[position * width..][..texts * width], products, state, units);
                position += texts;
            }
            row += rows;
        }
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

/// Makes one step. `gates` is xW + b and becomes r, z, h̃; `products` is h⁻U; `state` is h⁻ and becomes h.
fn gate_step(gates: &mut [f32], products: &[f32], state: &mut [f32], units: usize) {
    let rows =
        gates.chunks_exact_mut(3 * units).zip(products.chunks_exact(3 * units)).zip(state.chunks_exact_mut(units));
    for ((gates, products), state) in rows {
        let (reset_and_update, candidate) = gates.split_at_mut(2 * units);
        add(reset_and_update, &products[..2 * units]);
        sigmoid_slice(reset_and_update);
        let (r, z) = reset_and_update.split_at(units);
        for i in 0..units {
            candidate[i] += r[i] * products[2 * units + i];
        }
        tanh_slice(candidate);
        for i in 0..units {
            state[i] = z[i] * state[i] + (1.0 - z[i]) * candidate[i];
        }
    }
}
