//! Sizes that somebody asks of an encoder. Which of them a kind has, and what it makes of them, is in its file: see
//! [`EncoderKind::takes`](super::config::EncoderKind::takes).

use super::{EncoderConfig, Peephole};

/// Sizes and gates that are asked for; `None` leaves what an encoder has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The number of cells, or those of each layer.
    pub cells: Option<Vec<usize>>,
    /// The number of LSTMs side by side.
    pub members: Option<usize>,
    /// The size that a projection brings the members' vectors to.
    pub dimension: Option<usize>,
    /// Whether there is a forget gate.
    pub forget_gate: Option<bool>,
    /// Connections from the cells to the gates.
    pub peephole: Option<Peephole>,
    /// The number of units, or those of each layer.
    pub hidden: Option<Vec<usize>>,
    /// The number of layers.
    pub layers: Option<usize>,
    /// Words in a window.
    pub window: Option<usize>,
    /// Whether there are biases.
    pub bias: Option<bool>,
}

/// A field of [`Sizes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields of Sizes say it")]
pub enum Size {
    Cells,
    Members,
    Dimension,
    ForgetGate,
    Peephole,
    Hidden,
    Layers,
    Window,
    Bias,
}

/// Why sizes do not fit an encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misfit {
    /// The encoder has no such size.
    Foreign(Size),
    /// A list has too few numbers or too many.
    Count {
        /// The list.
        size: Size,
        /// How many there should be, in words.
        expected: &'static str,
        /// What they are and an example; empty if one number is expected.
        meaning: &'static str,
        /// How many there are.
        found: usize,
    },
    /// A list has neither one number nor one for each layer.
    Layers {
        /// The list.
        size: Size,
        /// The number of layers that is asked for.
        layers: usize,
        /// How many numbers there are.
        found: usize,
    },
    /// Several members with several layers are asked for.
    LayersAndMembers {
        /// The number of layers.
        layers: usize,
    },
    /// A projection of members' vectors is asked for, but there is one encoder, with this many layers.
    Projected {
        /// The number of layers.
        layers: usize,
    },
}

impl Size {
    /// All of them.
    pub const ALL: [Size; 9] = [
        Size::Cells,
        Size::Members,
        Size::Dimension,
        Size::ForgetGate,
        Size::Peephole,
        Size::Hidden,
        Size::Layers,
        Size::Window,
        Size::Bias,
    ];
}

impl Sizes {
    fn is_asked(&self, size: Size) -> bool {
        match size {
            Size::Cells => self.cells.is_some(),
            Size::Members => self.members.is_some(),
            Size::Dimension => self.dimension.is_some(),
            Size::ForgetGate => self.forget_gate.is_some(),
            Size::Peephole => self.peephole.is_some(),
            Size::Hidden => self.hidden.is_some(),
            Size::Layers => self.layers.is_some(),
            Size::Window => self.window.is_some(),
            Size::Bias => self.bias.is_some(),
        }
    }
}

/// Whether the kind has this size.
pub fn takes(config: &EncoderConfig, size: Size) -> bool {
    config.ask(|kind| kind.takes().contains(&size))
}

/// An encoder with the sizes that are `asked` for, and otherwise those of `config`. Limits are not checked; see
/// [`EncoderConfig::fault`].
pub fn resized(config: &EncoderConfig, asked: &Sizes) -> Result<EncoderConfig, Misfit> {
    match Size::ALL.into_iter().find(|&size| asked.is_asked(size) && !takes(config, size)) {
        Some(size) => Err(Misfit::Foreign(size)),
        None => config.ask(|kind| kind.resized(asked)),
    }
}

/// The only number of a list that is asked for, or `own`.
pub(super) fn only(size: Size, asked: Option<&[usize]>, own: usize) -> Result<usize, Misfit> {
    match asked {
        None => Ok(own),
        Some(&[only]) => Ok(only),
        Some(several) => Err(Misfit::Count { size, expected: "one number", meaning: "", found: several.len() }),
    }
}

/// The units of each layer: the list that is asked for or `own`, or its only number in all `layers`.
pub(super) fn of_each_layer(
    size: Size,
    asked: Option<&[usize]>,
    own: &[usize],
    layers: Option<usize>,
) -> Result<Vec<usize>, Misfit> {
    match (asked.unwrap_or(own), layers) {
        (units, None) => Ok(units.to_vec()),
        // Check the number of layers before they are allocated.
        (&[units], Some(layers)) if layers <= 1024 => Ok(vec![units; layers]),
        (units, Some(layers)) if units.len() == layers => Ok(units.to_vec()),
        (units, Some(layers)) => Err(Misfit::Layers { size, layers, found: units.len() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::MembersConfig;
    use crate::encoder::config::family;

    /// Sizes with one that is asked for, and which no default has; a projection needs members.
    fn asked(size: Size) -> Sizes {
        let mut sizes = Sizes::default();
        match size {
            Size::Cells => sizes.cells = Some(vec![7]),
            Size::Members => sizes.members = Some(2),
            Size::Dimension => (sizes.members, sizes.dimension) = (Some(2), Some(7)),
            Size::ForgetGate => sizes.forget_gate = Some(true),
            Size::Peephole => sizes.peephole = Some(Peephole::Full),
            Size::Hidden => sizes.hidden = Some(vec![7]),
            Size::Layers => sizes.layers = Some(3),
            Size::Window => sizes.window = Some(7),
            Size::Bias => sizes.bias = Some(false),
        }
        sizes
    }

    #[test]
    fn a_size_changes_an_encoder_or_is_refused() {
        for config in EncoderConfig::defaults() {
            assert_eq!(resized(&config, &Sizes::default()), Ok(config.clone()));
            for size in Size::ALL {
                let foreign = matches!(resized(&config, &asked(size)), Err(Misfit::Foreign(_)));
                assert_eq!(foreign, !takes(&config, size), "{config}: {size:?}");
                assert_ne!(resized(&config, &asked(size)).as_ref(), Ok(&config), "{config}: {size:?}");
            }
        }
    }

    #[test]
    fn what_nobody_asked_for_gives_way() {
        let own = EncoderConfig::Members(MembersConfig { dimension: Some(100), ..MembersConfig::default() });
        let dimension = |asked: &Sizes| resized(&own, asked).map(|config| config.projection().map(|(_, to)| to));
        let cells = |cells: &[usize]| Sizes { cells: Some(cells.to_vec()), ..Sizes::default() };
        assert_eq!(resized(&own, &Sizes::default()), Ok(own.clone()));
        assert_eq!(dimension(&cells(&[34])), Ok(Some(100)));
        assert_eq!(dimension(&cells(&[33])), Ok(None), "99 numbers");
        let stacked = resized(&own, &cells(&[9, 8])).unwrap();
        assert!(matches!(stacked, EncoderConfig::Stacked(_)));
        let both = Sizes { members: Some(2), ..cells(&[9, 8]) };
        assert_eq!(resized(&own, &both), Err(Misfit::LayersAndMembers { layers: 2 }));
        assert_eq!(resized(&stacked, &asked(Size::Members)), Err(Misfit::LayersAndMembers { layers: 2 }));
    }

    #[test]
    fn several_lstms_are_asked_for_as_an_lstm() {
        for config in EncoderConfig::defaults() {
            assert_eq!(family(&config), config.kind());
            for size in Size::ALL {
                if let Ok(other) = resized(&config, &asked(size)) {
                    assert_eq!(family(&other), config.kind(), "{other}: {size:?}");
                }
            }
        }
    }
}
