//! Flags for the encoder and its sizes.

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use clickvec::encoder::{
    ClsmConfig, DssmConfig, EncoderConfig, GruConfig, LstmConfig, MembersConfig, Peephole, RnnConfig, SizeFault,
    StackedConfig,
};

use super::settings::Given;

/// The encoder and its sizes.
#[derive(clap::Args)]
#[command(next_help_heading = "Encoder")]
pub(super) struct EncoderFlags {
    /// The network that turns a text into a vector [default: lstm; with --preset clsm: clsm].
    #[arg(long, value_enum)]
    encoder: Option<EncoderFlag>,

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

    /// The kind of an encoder.
    fn of(encoder: &EncoderConfig) -> EncoderFlag {
        match encoder {
            EncoderConfig::Lstm(_) | EncoderConfig::Stacked(_) | EncoderConfig::Members(_) => EncoderFlag::Lstm,
            EncoderConfig::Bilstm(_) => EncoderFlag::Bilstm,
            EncoderConfig::Gru(_) => EncoderFlag::Gru,
            EncoderConfig::Rnn(_) => EncoderFlag::Rnn,
            EncoderConfig::Clsm(_) => EncoderFlag::Clsm,
            EncoderConfig::Dssm(_) => EncoderFlag::Dssm,
        }
    }
}

impl EncoderFlags {
    /// Refuses a flag that has no effect for an encoder of this kind.
    fn refuse(&self, kind: EncoderFlag, flag: &str, given: bool, owners: &[EncoderFlag]) -> Result<()> {
        let names: Vec<&str> = owners.iter().map(|owner| owner.name()).collect();
        match given && !owners.contains(&kind) {
            true => bail!(self.refusal(kind, flag, &names)),
            false => Ok(()),
        }
    }

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
        let kinds = EncoderConfig::defaults();
        let owners: Vec<&str> = kinds.iter().filter(|kind| has_meaning(kind)).map(EncoderConfig::kind).collect();
        if let EncoderConfig::Stacked(stacked) = encoder {
            bail!(
                "`{flag}` belongs to --encoder {} with one layer; found an lstm with {} layers: leave one of the two out",
                owners.join(", "),
                stacked.layers.len()
            );
        }
        bail!(self.refusal(EncoderFlag::of(encoder), flag, &owners))
    }

    /// Why a flag of the encoders `owners` is refused, and what to do. An encoder that nobody typed comes from the preset, if
    /// it is a CLSM, or else is the default.
    fn refusal(&self, kind: EncoderFlag, flag: &str, owners: &[&str]) -> String {
        let (kind_name, belongs) = (kind.name(), format!("`{flag}` belongs to --encoder {}", owners.join(", ")));
        if kind == EncoderFlag::Clsm && flag == "--layers" {
            return format!("{belongs}; the semantic layers of a clsm go in `--hidden`, such as 300,200,128");
        }
        match (self.encoder, owners) {
            (Some(_), _) => format!("{belongs}; found --encoder {kind_name}: leave one of the two out"),
            (None, _) if kind == EncoderFlag::Clsm => format!(
                "{belongs}, and `--preset clsm` has a clsm: leave `{flag}` out, or name one of these with `--encoder` too"
            ),
            (None, [owner]) => format!(
                "{belongs}, and without `--encoder` it is an {kind_name}: add `--encoder {owner}` or leave `{flag}` out"
            ),
            (None, _) => format!(
                "{belongs}, and without `--encoder` it is an {kind_name}: add one of these or leave `{flag}` out"
            ),
        }
    }

    /// The encoder of these flags, with what `defaults` has where no flag says otherwise. `given` has the number of members of
    /// an initial model, and the size that a projection brings their vectors to.
    pub(super) fn config(&self, defaults: &EncoderConfig, given: &Given) -> Result<EncoderConfig> {
        let kind = self.encoder.unwrap_or(EncoderFlag::of(defaults));
        self.refuse(
            kind,
            "--cells",
            self.cells.is_some(),
            &[EncoderFlag::Lstm, EncoderFlag::Bilstm, EncoderFlag::Gru],
        )?;
        self.refuse(kind, "--members", self.members.is_some(), &[EncoderFlag::Lstm])?;
        self.refuse(kind, "--dimension", self.dimension.is_some(), &[EncoderFlag::Lstm])?;
        self.refuse(kind, "--forget-gate", self.forget_gate, &EncoderFlag::LSTMS)?;
        self.refuse(kind, "--peephole", self.peephole.is_some(), &EncoderFlag::LSTMS)?;
        self.refuse(
            kind,
            "--hidden",
            self.hidden.is_some(),
            &[EncoderFlag::Rnn, EncoderFlag::Clsm, EncoderFlag::Dssm],
        )?;
        self.refuse(kind, "--layers", self.layers.is_some(), &[EncoderFlag::Lstm, EncoderFlag::Dssm])?;
        self.refuse(kind, "--window", self.window.is_some(), &[EncoderFlag::Clsm])?;
        self.refuse(kind, "--no-bias", self.no_bias.is_some(), &[EncoderFlag::Clsm])?;
        let config = match kind {
            EncoderFlag::Lstm => self.lstms(given.members.unwrap_or(defaults.members()), given.dimension)?,
            EncoderFlag::Bilstm => EncoderConfig::Bilstm(self.lstm(self.one_layer(kind)?)),
            EncoderFlag::Gru => EncoderConfig::Gru(GruConfig { cells: self.one_layer(kind)? }),
            EncoderFlag::Rnn => match self.hidden.as_deref() {
                None => EncoderConfig::Rnn(RnnConfig::default()),
                Some(&[hidden]) => EncoderConfig::Rnn(RnnConfig { hidden }),
                Some(several) => bail!("expected one number in `--hidden` for an rnn, found {}", several.len()),
            },
            EncoderFlag::Clsm => EncoderConfig::Clsm(self.clsm(defaults)?),
            EncoderFlag::Dssm => EncoderConfig::Dssm(DssmConfig {
                layers: layers(
                    "--hidden",
                    self.hidden.as_deref().unwrap_or(&DssmConfig::default().layers),
                    self.layers,
                )?,
            }),
        };
        match config.fault() {
            Some(fault @ SizeFault::Projection { .. }) => bail!("--dimension: {fault}"),
            Some(fault) => bail!("--encoder {}: {fault}", kind.name()),
            None => {}
        }
        Ok(config)
    }

    /// One LSTM, several side by side, or several on top of each other. `members` and `dimension` are those without a flag.
    fn lstms(&self, members: usize, dimension: Option<usize>) -> Result<EncoderConfig> {
        let cells = layers("--cells", self.cells.as_deref().unwrap_or(&[LstmConfig::default().cells]), self.layers)?;
        if let (&[cells], members) = (&cells[..], self.members.unwrap_or(members)) {
            let lstm = self.lstm(cells);
            ensure!(
                self.dimension.is_none() || members != 1,
                "`--dimension` is about the vectors of several members, found one; add `--members N` or leave it out"
            );
            // What nobody typed need not fit the flags; that the initial model does not is said later.
            let dimension = dimension.filter(|&dimension| dimension <= members.saturating_mul(cells));
            let dimension = self.dimension.or(dimension);
            return Ok(match members {
                1 => EncoderConfig::Lstm(lstm),
                members => EncoderConfig::Members(MembersConfig { members, lstm, dimension }),
            });
        }
        ensure!(
            self.members.is_none_or(|members| members == 1),
            "expected one LSTM with several layers or several members with one, found `--members` and {} layers; leave \
             one of the two out",
            cells.len()
        );
        ensure!(
            self.dimension.is_none(),
            "`--dimension` is about the vectors of several members, found an lstm with {} layers; leave one of the two out",
            cells.len()
        );
        let LstmConfig { forget_gate, peephole, .. } = self.lstm(0);
        Ok(EncoderConfig::Stacked(StackedConfig { layers: cells, forget_gate, peephole }))
    }

    /// The cells of an encoder with one layer.
    fn one_layer(&self, kind: EncoderFlag) -> Result<usize> {
        match self.cells.as_deref() {
            None => Ok(LstmConfig::default().cells),
            Some(&[cells]) => Ok(cells),
            Some(several) => {
                bail!(
                    "expected one number in `--cells` for a {}, found {}; only an lstm has layers",
                    kind.name(),
                    several.len()
                )
            }
        }
    }

    fn lstm(&self, cells: usize) -> LstmConfig {
        let peephole = match self.peephole {
            None | Some(PeepholeFlag::None) => Peephole::None,
            Some(PeepholeFlag::Diagonal) => Peephole::Diagonal,
            Some(PeepholeFlag::Full) => Peephole::Full,
        };
        LstmConfig { cells, forget_gate: self.forget_gate, peephole }
    }

    fn clsm(&self, defaults: &EncoderConfig) -> Result<ClsmConfig> {
        let mut config = match defaults {
            EncoderConfig::Clsm(config) => config.clone(),
            _ => ClsmConfig::default(),
        };
        config.window = self.window.unwrap_or(config.window);
        config.bias = self.no_bias.map_or(config.bias, |none| !none);
        match self.hidden.as_deref() {
            None => {}
            Some(&[convolution, ref hidden @ .., semantic]) => {
                (config.convolution, config.hidden, config.semantic) = (convolution, hidden.to_vec(), semantic);
            }
            Some(other) => bail!(
                "expected two numbers or more in `--hidden` for a clsm (convolution and vector, such as 288,96), found {}",
                other.len()
            ),
        }
        Ok(config)
    }
}

/// The units of each layer: the numbers of `flag`, or `number` times its only one.
fn layers(flag: &str, units: &[usize], number: Option<usize>) -> Result<Vec<usize>> {
    match (units, number) {
        (_, None) => Ok(units.to_vec()),
        // Check the number of layers before they are allocated.
        (&[units], Some(layers)) if layers <= 1024 => Ok(vec![units; layers]),
        (_, Some(layers)) => {
            ensure!(
                layers == units.len(),
                "expected as many numbers in `{flag}` as `--layers` says ({layers}), or one; found {}",
                units.len()
            );
            Ok(units.to_vec())
        }
    }
}
