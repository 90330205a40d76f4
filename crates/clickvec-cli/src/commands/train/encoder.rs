//! Flags for the encoder and its sizes.

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use clickvec::encoder::{
    ClsmConfig, DssmConfig, EncoderConfig, GruConfig, LstmConfig, MembersConfig, Peephole, RnnConfig,
};

/// The encoder and its sizes.
#[derive(clap::Args)]
#[command(next_help_heading = "Encoder")]
pub(super) struct EncoderFlags {
    /// The network that turns a text into a vector.
    #[arg(long, value_enum, default_value_t = EncoderFlag::Lstm)]
    pub(super) encoder: EncoderFlag,

    /// lstm, gru: number of cells; bilstm: number of cells in each direction [default: 96].
    #[arg(long, value_name = "N")]
    cells: Option<usize>,

    /// lstm: number of LSTMs in one model. Each is trained on its own, with its own seed, and their vectors are joined
    /// end to end [default: 1; 3 with --titles; the model's with --init].
    #[arg(long, value_name = "N")]
    members: Option<usize>,

    /// rnn: number of units [default: 288]; clsm: units of the convolution and of the vector; dssm: units of each
    /// layer [default: 288,96].
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    hidden: Option<Vec<usize>>,

    /// dssm: number of layers. If `--hidden` has a single number, all layers have that size [default: as many as
    /// `--hidden` has].
    #[arg(long, value_name = "N")]
    layers: Option<usize>,

    /// clsm: number of words in a window, which must be odd [default: 3].
    #[arg(long, value_name = "WORDS")]
    window: Option<usize>,

    /// clsm: use no biases, as in its paper.
    #[arg(long)]
    no_bias: bool,

    /// lstm, bilstm: use a forget gate. Without it f is 1, as in the paper's experiments.
    #[arg(long)]
    forget_gate: bool,

    /// lstm, bilstm: peephole connections, from the cells to the gates [default: none].
    #[arg(long, value_enum, value_name = "FORM")]
    peephole: Option<PeepholeFlag>,
}

/// The kind of an encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum EncoderFlag {
    /// Long short-term memory.
    Lstm,
    /// Two LSTMs, one that reads forwards and one that reads backwards.
    Bilstm,
    /// Gated recurrent units.
    Gru,
    /// A plain recurrent network.
    Rnn,
    /// A convolution over windows of words.
    Clsm,
    /// Layers over a bag of trigrams.
    Dssm,
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

impl EncoderFlag {
    const LSTMS: [EncoderFlag; 2] = [EncoderFlag::Lstm, EncoderFlag::Bilstm];

    fn name(self) -> &'static str {
        match self {
            EncoderFlag::Lstm => "lstm",
            EncoderFlag::Bilstm => "bilstm",
            EncoderFlag::Gru => "gru",
            EncoderFlag::Rnn => "rnn",
            EncoderFlag::Clsm => "clsm",
            EncoderFlag::Dssm => "dssm",
        }
    }

    /// Refuses a flag that has no effect for this encoder.
    fn refuse(self, flag: &str, given: bool, belongs_to: &[EncoderFlag]) -> Result<()> {
        let owners: Vec<&str> = belongs_to.iter().map(|kind| kind.name()).collect();
        refuse(self.name(), flag, given, &owners)
    }
}

/// Refuses a flag that has no effect for an encoder of this kind.
fn refuse(kind: &str, flag: &str, given: bool, owners: &[&str]) -> Result<()> {
    if !given || owners.contains(&kind) {
        return Ok(());
    }
    bail!("`{flag}` belongs to --encoder {}; found --encoder {kind}: leave one of the two out", owners.join(", "))
}

/// Refuses a training flag that has no effect for this encoder.
pub(super) fn refuse_unless(
    encoder: &EncoderConfig,
    flag: &str,
    given: bool,
    has_meaning: fn(&EncoderConfig) -> bool,
) -> Result<()> {
    let kinds = EncoderConfig::defaults();
    let owners: Vec<&str> = kinds.iter().filter(|kind| has_meaning(kind)).map(EncoderConfig::kind).collect();
    refuse(encoder.kind(), flag, given, &owners)
}

impl EncoderFlags {
    /// The encoder of these flags. An LSTM has `members` members unless a flag gives their number.
    pub(super) fn config(&self, members: usize) -> Result<EncoderConfig> {
        let kind = self.encoder;
        kind.refuse("--cells", self.cells.is_some(), &[EncoderFlag::Lstm, EncoderFlag::Bilstm, EncoderFlag::Gru])?;
        kind.refuse("--members", self.members.is_some(), &[EncoderFlag::Lstm])?;
        kind.refuse("--forget-gate", self.forget_gate, &EncoderFlag::LSTMS)?;
        kind.refuse("--peephole", self.peephole.is_some(), &EncoderFlag::LSTMS)?;
        kind.refuse("--hidden", self.hidden.is_some(), &[EncoderFlag::Rnn, EncoderFlag::Clsm, EncoderFlag::Dssm])?;
        kind.refuse("--layers", self.layers.is_some(), &[EncoderFlag::Dssm])?;
        kind.refuse("--window", self.window.is_some(), &[EncoderFlag::Clsm])?;
        kind.refuse("--no-bias", self.no_bias, &[EncoderFlag::Clsm])?;
        let config = match kind {
            EncoderFlag::Lstm => match self.members.unwrap_or(members) {
                1 => EncoderConfig::Lstm(self.lstm()),
                members => EncoderConfig::Members(MembersConfig { members, lstm: self.lstm() }),
            },
            EncoderFlag::Bilstm => EncoderConfig::Bilstm(self.lstm()),
            EncoderFlag::Gru => {
                EncoderConfig::Gru(self.cells.map_or_else(GruConfig::default, |cells| GruConfig { cells }))
            }
            EncoderFlag::Rnn => match self.hidden.as_deref() {
                None => EncoderConfig::Rnn(RnnConfig::default()),
                Some(&[hidden]) => EncoderConfig::Rnn(RnnConfig { hidden }),
                Some(several) => bail!("expected one number in `--hidden` for an rnn, found {}", several.len()),
            },
            EncoderFlag::Clsm => EncoderConfig::Clsm(self.clsm()?),
            EncoderFlag::Dssm => EncoderConfig::Dssm(DssmConfig { layers: self.dssm_layers()? }),
        };
        if let Some(fault) = config.fault() {
            bail!("--encoder {}: {fault}", kind.name());
        }
        Ok(config)
    }

    fn lstm(&self) -> LstmConfig {
        let peephole = match self.peephole {
            None | Some(PeepholeFlag::None) => Peephole::None,
            Some(PeepholeFlag::Diagonal) => Peephole::Diagonal,
            Some(PeepholeFlag::Full) => Peephole::Full,
        };
        let cells = self.cells.unwrap_or(LstmConfig::default().cells);
        LstmConfig { cells, forget_gate: self.forget_gate, peephole }
    }

    fn clsm(&self) -> Result<ClsmConfig> {
        let mut config = ClsmConfig { bias: !self.no_bias, ..ClsmConfig::default() };
        config.window = self.window.unwrap_or(config.window);
        match self.hidden.as_deref() {
            None => {}
            Some(&[convolution, semantic]) => (config.convolution, config.semantic) = (convolution, semantic),
            Some(other) => bail!(
                "expected two numbers in `--hidden` for a clsm (convolution and vector, such as 288,96), found {}",
                other.len()
            ),
        }
        Ok(config)
    }

    fn dssm_layers(&self) -> Result<Vec<usize>> {
        let default = DssmConfig::default().layers;
        let hidden = self.hidden.as_deref().unwrap_or(&default);
        match (hidden, self.layers) {
            (_, None) => Ok(hidden.to_vec()),
            // Check the number of layers before they are allocated.
            (&[units], Some(layers)) if layers <= 1024 => Ok(vec![units; layers]),
            (_, Some(layers)) => {
                ensure!(
                    layers == hidden.len(),
                    "expected as many numbers in `--hidden` as `--layers` says ({layers}), or one; found {}",
                    hidden.len()
                );
                Ok(hidden.to_vec())
            }
        }
    }
}
