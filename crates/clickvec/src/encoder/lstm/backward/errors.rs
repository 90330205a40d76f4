//! The errors of the gates of one step, from those of its activation and its cell.

use crate::math::activation::{mul_add, tanh};
use crate::math::level::by_level;

by_level! {
    /// Replaces o in `gates` [n, G·H] by ∂L/∂(input of o), and adds ∂L/∂y ∘ o ∘ (1 − tanh² c) to `d_cell`, [n, H].
    pub(super) fn output_errors(gates: &mut [f32], cell: &[f32], d_activation: &[f32], d_cell: &mut [f32], h: usize)
        = output_errors_body
}

#[inline(always)]
fn output_errors_body<const FMA: bool>(
    gates: &mut [f32],
    cell: &[f32],
    d_activation: &[f32],
    d_cell: &mut [f32],
    h: usize,
) {
    let width = gates.len() / (cell.len() / h);
    let states = cell.chunks_exact(h).zip(d_activation.chunks_exact(h)).zip(d_cell.chunks_exact_mut(h));
    for (gates, ((cell, d_activation), d_cell)) in gates.chunks_exact_mut(width).zip(states) {
        output_errors_row::<FMA>(&mut gates[width - h..], cell, d_activation, d_cell);
    }
}

#[inline(always)]
fn output_errors_row<const FMA: bool>(o: &mut [f32], cell: &[f32], d_activation: &[f32], d_cell: &mut [f32]) {
    for (((o, &c), &d_y), d_c) in o.iter_mut().zip(cell).zip(d_activation).zip(d_cell) {
        // Compute it again, because storing it would cost more in memory traffic.
        let tanh_c = tanh::<FMA>(c);
        *d_c = mul_add::<FMA>(d_y * *o, 1.0 - tanh_c * tanh_c, *d_c);
        *o = d_y * tanh_c * *o * (1.0 - *o);
    }
}

by_level! {
    /// Replaces y_g, i and f in `gates` [n, G·H] by ∂L/∂(their inputs), and ∂L/∂c(t) in `d_cell` [n, H] by ∂L/∂c(t −
    /// 1) = f ∘ ∂L/∂c(t). `cell_before` is empty at the first word.
    pub(super) fn inner_errors(gates: &mut [f32], cell_before: &[f32], d_cell: &mut [f32], h: usize, forget: bool)
        = inner_errors_body
}

#[inline(always)]
fn inner_errors_body<const FMA: bool>(
    gates: &mut [f32],
    cell_before: &[f32],
    d_cell: &mut [f32],
    h: usize,
    forget: bool,
) {
    let width = gates.len() / (d_cell.len() / h);
    let mut before = cell_before.chunks_exact(h);
    for (gates, d_cell) in gates.chunks_exact_mut(width).zip(d_cell.chunks_exact_mut(h)) {
        inner_errors_row(gates, before.next(), d_cell, forget);
    }
}

#[inline(always)]
fn inner_errors_row(gates: &mut [f32], cell_before: Option<&[f32]>, d_cell: &mut [f32], forget: bool) {
    let (y_g, rest) = gates.split_at_mut(d_cell.len());
    let (i, rest) = rest.split_at_mut(d_cell.len());
    for ((y_g, i), &d_c) in y_g.iter_mut().zip(i).zip(d_cell.iter()) {
        let (g, open) = (*y_g, *i);
        *y_g = d_c * open * (1.0 - g * g);
        *i = d_c * g * open * (1.0 - open);
    }
    if !forget {
        return;
    }
    let f = &mut rest[..d_cell.len()];
    match cell_before {
        None => f.fill(0.0),
        Some(before) => {
            for ((f, &c_before), d_c) in f.iter_mut().zip(before).zip(d_cell) {
                let (error, carried) = (*d_c * c_before * *f * (1.0 - *f), *d_c * *f);
                (*f, *d_c) = (error, carried);
            }
        }
    }
}

by_level! {
    /// Computes [`output_errors`] and [`inner_errors`] in one pass over the gates, for LSTMs without peepholes between them.
    pub(super) fn all_errors(
        gates: &mut [f32], cell: &[f32], cell_before: &[f32], d_activation: &[f32], d_cell: &mut [f32], h: usize,
        forget: bool,
    ) = all_errors_body
}

#[inline(always)]
fn all_errors_body<const FMA: bool>(
    gates: &mut [f32],
    cell: &[f32],
    cell_before: &[f32],
    d_activation: &[f32],
    d_cell: &mut [f32],
    h: usize,
    forget: bool,
) {
    let width = gates.len() / (cell.len() / h);
    let mut before = cell_before.chunks_exact(h);
    let states = cell.chunks_exact(h).zip(d_activation.chunks_exact(h)).zip(d_cell.chunks_exact_mut(h));
    for (gates, ((cell, d_activation), d_cell)) in gates.chunks_exact_mut(width).zip(states) {
        output_errors_row::<FMA>(&mut gates[width - h..], cell, d_activation, d_cell);
        inner_errors_row(gates, before.next(), d_cell, forget);
    }
}
