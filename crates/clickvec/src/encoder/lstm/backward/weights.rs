//! The gradients of recurrent and peephole weights, from the errors of the gates.

use super::States;
use crate::encoder::lstm::{LstmConfig, PEEPHOLE, Peephole, RECURRENT};
use crate::math::Matrix;
use crate::math::gemm::{Left, gemm, gemm_ahead};

/// Adds one step's share of ∂L/∂W_rec and ∂L/∂W_p, computed from the errors of its gates, [n, G·H]. `ahead` is what
/// the next step will read.
pub(super) fn weight_gradients(
    config: LstmConfig,
    states: States<'_>,
    errors: &[f32],
    ahead: [&[f32]; 3],
    dense: &mut [Matrix],
) {
    let (h, width) = (config.cells, config.gates() * config.cells);
    let States { cell, cell_before, activation_before } = states;
    let count = cell.len() / h;
    let is_first = activation_before.is_empty();
    if !is_first {
        gemm_ahead(
            (h, width, count),
            Left::transposed(activation_before, h),
            (errors, width),
            (dense[RECURRENT].data_mut(), width),
            ahead,
        );
    }
    let columns = config.output_gate() - config.input_gate();
    match config.peephole {
        Peephole::None => {}
        Peephole::Full => {
            let stride = columns + h;
            if !is_first {
                let gates = &errors[config.input_gate()..];
                let into = dense[PEEPHOLE].data_mut();
                gemm((h, columns, count), Left::transposed(cell_before, h), (gates, width), (into, stride));
            }
            let (output, into) = (&errors[config.output_gate()..], &mut dense[PEEPHOLE].data_mut()[columns..]);
            gemm((h, h, count), Left::transposed(cell, h), (output, width), (into, stride));
        }
        Peephole::Diagonal => {
            let into = dense[PEEPHOLE].data_mut();
            for (row, errors) in errors.chunks_exact(width).enumerate() {
                if !is_first {
                    let cell = &cell_before[row * h..][..h];
                    for (j, sum) in into[..columns].iter_mut().enumerate() {
                        *sum += errors[config.input_gate() + j] * cell[j % h];
                    }
                }
                let cell = &cell[row * h..][..h];
                for j in 0..h {
                    into[columns + j] += errors[config.output_gate() + j] * cell[j];
                }
            }
        }
    }
}
