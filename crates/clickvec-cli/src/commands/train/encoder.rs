//! Flags for the encoder and its sizes. What sizes an encoder has, and how they act, the library knows; here they get the
//! names of flags.

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clickvec::encoder::{EncoderConfig, Peephole, SizeFault};
use clickvec::internals::encoder::{
    Misfit, Size, Sizes, about, family, kinds_that, named_kind, named_kinds_that, resized, takes,
};

use super::settings::Given;

/// The encoder and its sizes.
#[derive(clap::Args)]
#[command(next_help_heading = "Encoder")]
pub(super) struct EncoderFlags {
    /// The network that turns a text into a vector [default: lstm; with --preset clsm: clsm].
    #[arg(long, value_parser = kinds())]
    encoder: Option<EncoderConfig>,

    /// lstm, gru: number of cells; bilstm: number of cells in each direction; lstm with several layers: cells of each,
    /// bottom layer first, such as 96,64 [default: 96].
    #[arg(long, value_name = "N,…", value_delimiter = ',', num_args = 1, action = clap::ArgAction::Set)]
    cells: Option<Vec<usize>>,

    /// lstm: number of LSTMs in one model. Each is trained on its own, with its own seed, and their vectors are joined
    /// end to end [default: 1; 3 with --titles; the model's with --init].
    #[arg(long, value_name = "N")]
    members: Option<usize>,

    /// lstm with several members: the size of a text's vector. After each epoch, the principal components of up to
    /// 20,000 titles reduce the members' cells to this many numbers; the output says what share of the variance is kept [default: all cells; the
    /// model's with --init].
    #[arg(long, value_name = "D")]
    dimension: Option<usize>,

    /// rnn: number of units [default: 288]; clsm: units of the convolution and of the vector, with those of further
    /// semantic layers between; dssm: units of each layer [default: 288,96; clsm with --preset clsm: 300,128].
    #[arg(long, value_name = "N,…", value_delimiter = ',', num_args = 1, action = clap::ArgAction::Set)]
    hidden: Option<Vec<usize>>,

    /// lstm: number of LSTMs on top of each other, each reading the outputs of the one below; dssm: number of layers. If
    /// `--cells` or `--hidden` has a single number, all layers have that size [default: as many as there are numbers].
    #[arg(long, value_name = "N")]
    layers: Option<usize>,

    /// clsm: number of words in a window, which must be odd [default: 3].
    #[arg(long, value_name = "WORDS")]
    window: Option<usize>,

    /// clsm: use no biases, as in its paper [default: false; with --preset clsm: true].
    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true")]
    no_bias: Option<bool>,

    /// lstm, bilstm: use a forget gate. Without it f is 1, as in the paper's experiments.
    #[arg(long)]
    forget_gate: bool,

    /// lstm, bilstm: peephole connections, from the cells to the gates [default: none].
    #[arg(long, value_enum, value_name = "FORM")]
    peephole: Option<PeepholeFlag>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PeepholeFlag {
    /// None, as in the paper's experiments.
    None,
    /// From each cell to its own gates.
    Diagonal,
    /// From each cell to every gate.
    Full,
}

/// A parser of the kinds of encoders.
fn kinds() -> impl TypedValueParser<Value = EncoderConfig> {
    let kinds = EncoderConfig::defaults();
    let values = kinds.iter().map(|kind| PossibleValue::new(kind.kind()).help(about(kind)));
    PossibleValuesParser::new(values).try_map(|found| {
        let kind = EncoderConfig::defaults().into_iter().find(|kind| kind.kind() == found);
        kind.ok_or("expected one of the possible values")
    })
}

/// The flag that asks for a size.
fn flag(size: Size) -> &'static str {
    match size {
        Size::Cells => "--cells",
        Size::Members => "--members",
        Size::Dimension => "--dimension",
        Size::ForgetGate => "--forget-gate",
        Size::Peephole => "--peephole",
        Size::Hidden => "--hidden",
        Size::Layers => "--layers",
        Size::Window => "--window",
        Size::Bias => "--no-bias",
    }
}

impl EncoderFlags {
    /// Refuses a training flag that has no effect for this encoder.
    pub(super) fn refuse_unless(
        &self,
        encoder: &EncoderConfig,
        flag: &str,
        given: bool,
        has_meaning: fn(&EncoderConfig) -> bool,
    ) -> Result<()> {
        if !given || has_meaning(encoder) {
            return Ok(());
        }
        let owners = kinds_that(has_meaning);
        if let EncoderConfig::Stacked(stacked) = encoder {
            bail!(
                "`{flag}` belongs to --encoder {} with one layer; found an lstm with {} layers: leave one of the two out",
                owners.join(", "),
                stacked.layers.len()
            );
        }
        bail!(self.refusal(encoder, flag, &owners))
    }

    /// Why a flag of the encoders `owners` is refused, and what to do. An encoder that nobody typed comes from the preset, if
    /// it is a CLSM, or else is the default.
    fn refusal(&self, encoder: &EncoderConfig, flag: &str, owners: &[&str]) -> String {
        let (kind, belongs) = (family(encoder), format!("`{flag}` belongs to --encoder {}", owners.join(", ")));
        let named = named_kind(kind);
        match (&self.encoder, owners) {
            (Some(_), _) => format!("{belongs}; found --encoder {kind}: leave one of the two out"),
            (None, _) if matches!(encoder, EncoderConfig::Clsm(_)) => format!(
                "{belongs}, and `--preset clsm` has {named}: leave `{flag}` out, or name one of these with `--encoder` too"
            ),
            (None, [owner]) => format!(
                "{belongs}, and without `--encoder` it is {named}: add `--encoder {owner}` or leave `{flag}` out"
            ),
            (None, _) => {
                format!("{belongs}, and without `--encoder` it is {named}: add one of these or leave `{flag}` out")
            }
        }
    }

    /// The encoder of these flags, with what `defaults` has where no flag says otherwise. `given` has the number of members of
    /// an initial model, and the size that a projection brings their vectors to.
    pub(super) fn config(&self, defaults: &EncoderConfig, given: &Given) -> Result<EncoderConfig> {
        let typed = self.encoder.as_ref().filter(|typed| family(typed) != family(defaults));
        let mut config = typed.unwrap_or(defaults).clone();
        let of_init = Sizes { members: given.members, dimension: given.dimension, ..Sizes::default() };
        // Two steps: of the initial model's sizes, which nobody typed, the library keeps what fits those that were typed.
        let initial = takes(&config, Size::Members).then_some(of_init);
        for asked in initial.into_iter().chain([self.sizes()]) {
            config = resized(&config, &asked).map_err(|misfit| anyhow!(self.misfit(&config, misfit)))?;
        }
        match config.fault() {
            Some(fault @ SizeFault::Projection { .. }) => bail!("--dimension: {fault}"),
            Some(fault) => bail!("--encoder {}: {fault}", family(&config)),
            None => Ok(config),
        }
    }

    /// The sizes that were typed.
    fn sizes(&self) -> Sizes {
        Sizes {
            cells: self.cells.clone(),
            members: self.members,
            dimension: self.dimension,
            forget_gate: self.forget_gate.then_some(true),
            peephole: self.peephole.map(|flag| match flag {
                PeepholeFlag::None => Peephole::None,
                PeepholeFlag::Diagonal => Peephole::Diagonal,
                PeepholeFlag::Full => Peephole::Full,
            }),
            hidden: self.hidden.clone(),
            layers: self.layers,
            window: self.window,
            bias: self.no_bias.map(|none| !none),
        }
    }

    /// Why the sizes that were typed do not fit the encoder.
    fn misfit(&self, encoder: &EncoderConfig, misfit: Misfit) -> String {
        let named = named_kind(family(encoder));
        match misfit {
            Misfit::Foreign(size) => {
                let owners = kinds_that(|kind| takes(kind, size));
                match (encoder, size) {
                    (EncoderConfig::Clsm(_), Size::Layers) => format!(
                        "`--layers` belongs to --encoder {}; the semantic layers of a clsm go in `--hidden`, such as \
                         300,200,128",
                        owners.join(", ")
                    ),
                    _ => self.refusal(encoder, flag(size), &owners),
                }
            }
            Misfit::Count { size, expected, meaning, found } => {
                let meaning = if meaning.is_empty() { String::new() } else { format!(" ({meaning})") };
                let others = match size {
                    Size::Cells => {
                        let layered = |kind: &EncoderConfig| takes(kind, Size::Cells) && takes(kind, Size::Layers);
                        format!("; only {} has layers", named_kinds_that(layered))
                    }
                    _ => String::new(),
                };
                format!("expected {expected} in `{}` for {named}{meaning}, found {found}{others}", flag(size))
            }
            Misfit::Layers { size, layers, found } => format!(
                "expected as many numbers in `{}` as `--layers` says ({layers}), or one; found {found}",
                flag(size)
            ),
            Misfit::LayersAndMembers { layers } => format!(
                "expected one LSTM with several layers or several members with one, found `--members` and {layers} layers; \
                 leave one of the two out"
            ),
            Misfit::Projected { layers: 1 } => {
                "`--dimension` is about the vectors of several members, found one; add `--members N` or leave it out"
                    .to_owned()
            }
            Misfit::Projected { layers } => format!(
                "`--dimension` is about the vectors of several members, found {named} with {layers} layers; leave one of \
                 the two out"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Args as _;

    use super::*;

    #[test]
    fn the_help_of_a_size_names_the_encoders_that_have_it() {
        let command = EncoderFlags::augment_args(clap::Command::new("train"));
        for (flag, owners) in Size::ALL.map(|size| (flag(size), kinds_that(|kind| takes(kind, size)))) {
            let argument = command.get_arguments().find(|argument| argument.get_long() == flag.strip_prefix("--"));
            let help = argument.and_then(clap::Arg::get_help).map(ToString::to_string).expect("help");
            let words: Vec<&str> = help.split(|letter: char| !letter.is_alphanumeric()).collect();
            for owner in owners {
                assert!(words.contains(&owner), "expected `{owner}` in the help of `{flag}`, found: {help}");
            }
        }
    }
}
