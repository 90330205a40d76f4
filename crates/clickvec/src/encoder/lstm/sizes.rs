//! Which encoder of LSTMs the sizes that are asked for make: one, several on top of each other, or several side by side.

use super::super::sizes::{Misfit, Size, Sizes, of_each_layer};
use super::super::{EncoderConfig, MembersConfig, StackedConfig};
use super::LstmConfig;

/// The sizes that can be asked of an encoder of LSTMs.
pub(in crate::encoder) const TAKES: &[Size] =
    &[Size::Cells, Size::Members, Size::Dimension, Size::ForgetGate, Size::Peephole, Size::Layers];

/// The encoder that is asked for, which otherwise has `cells` in each layer and is as `own`. Members and a projection that
/// nobody asked for give way to what is asked for.
pub(in crate::encoder) fn of_lstms(
    cells: &[usize],
    own: MembersConfig,
    asked: &Sizes,
) -> Result<EncoderConfig, Misfit> {
    let cells = of_each_layer(Size::Cells, asked.cells.as_deref(), cells, asked.layers)?;
    let LstmConfig { forget_gate, peephole, .. } = own.lstm.with_gates(asked);
    let &[cells] = &cells[..] else {
        let layers = cells.len();
        return match (asked.members, asked.dimension) {
            (Some(members), _) if members != 1 => Err(Misfit::LayersAndMembers { layers }),
            (_, Some(_)) => Err(Misfit::Projected { layers }),
            _ => Ok(EncoderConfig::Stacked(StackedConfig { layers: cells, forget_gate, peephole })),
        };
    };
    let lstm = LstmConfig { cells, forget_gate, peephole };
    match (asked.members.unwrap_or(own.members), asked.dimension) {
        (1, Some(_)) => Err(Misfit::Projected { layers: 1 }),
        (1, None) => Ok(EncoderConfig::Lstm(lstm)),
        (members, dimension) => {
            let fits = |dimension: &usize| *dimension <= members.saturating_mul(cells);
            let dimension = dimension.or(own.dimension.filter(fits));
            Ok(EncoderConfig::Members(MembersConfig { members, lstm, dimension }))
        }
    }
}
