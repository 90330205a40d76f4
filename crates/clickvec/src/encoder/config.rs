//! The kind of an encoder and its sizes.

use super::bidirectional::BilstmConfig;
use super::members::MAX_MEMBERS;
use super::{
    ClsmConfig, Description, DssmConfig, Encoder, GruConfig, LstmConfig, MembersConfig, Misfit, Reading, RnnConfig,
    Size, Sizes, StackedConfig, State, TextStatistics,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The kind of an encoder and its sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum EncoderConfig {
    /// Feed-forward layers over the sum of the words' trigram counts (Huang et al. 2013).
    Dssm(DssmConfig),
    /// Convolution over windows of words, maximum over the text, one more layer (Shen et al. 2014).
    Clsm(ClsmConfig),
    /// Elman network (Palangi et al. 2015, eq. 1).
    Rnn(RnnConfig),
    /// Gated recurrent units (Chung et al. 2014), which the LSTM paper names as an alternative.
    Gru(GruConfig),
    /// Long short-term memory (Palangi et al. 2015, eq. 2).
    Lstm(LstmConfig),
    /// LSTMs on top of each other, each reading the outputs of the one below (Palangi et al. 2014).
    Stacked(StackedConfig),
    /// Two LSTMs, one of which reads from right to left. The embedding is both vectors, one after the other.
    Bilstm(LstmConfig),
    /// Several LSTMs, each trained on its own. The embedding is their unit vectors, one after the other, or a projection
    /// of these to fewer numbers.
    Members(MembersConfig),
}

/// What is known of a kind of encoder, given its sizes. Each encoder's file implements it.
pub(super) trait EncoderKind {
    /// The kind's name, as in a model file.
    fn name(&self) -> &'static str;

    /// The article before the name, which is read letter by letter.
    fn article(&self) -> &'static str {
        "a"
    }

    /// The kind by which it is asked for, one of [`EncoderConfig::defaults`]: its own, except that several LSTMs are an lstm
    /// with other sizes.
    fn family(&self) -> &'static str {
        self.name()
    }

    /// What the kind is, in a line.
    fn about(&self) -> &'static str;

    /// A description of the sizes.
    fn sizes(&self) -> String;

    /// The sizes that can be asked of it.
    fn takes(&self) -> &'static [Size];

    /// The same with the sizes that are asked for. No others are than those that it [takes](EncoderKind::takes).
    fn resized(&self, asked: &Sizes) -> Result<EncoderConfig, Misfit>;

    /// An encoder with all weights zero, over `features` trigrams.
    fn build(&self, features: usize) -> Box<dyn Encoder>;

    /// Number of weights over `features` trigrams; `None` if it cannot be counted.
    fn parameters(&self, features: u64) -> Option<u64>;

    /// The first size that no encoder can have; `None` if all are fine.
    fn fault(&self) -> Option<SizeFault>;

    /// The number of trigrams that one number of the input layer sums on average: the fan-in of the input matrix.
    fn fan_in(&self, texts: TextStatistics) -> f64 {
        texts.trigrams_per_word
    }

    /// How it reads, and what it has inside.
    fn description(&self) -> Description;

    /// Whether the published per-gate error signals are defined for it: for LSTMs that read words.
    fn has_published_signals(&self) -> bool {
        false
    }

    /// Whether it adds up what its words put in, as long as its other weights are small.
    fn adds_up(&self) -> bool {
        false
    }

    /// If it is made of encoders that are trained side by side: their number, and what each of them is.
    fn members(&self) -> Option<(usize, EncoderConfig)> {
        None
    }

    /// If a projection makes the embedding: the number of numbers that it reads, and the number that it writes.
    fn projection(&self) -> Option<(usize, usize)> {
        None
    }

    /// If a projection makes the embedding: the same without it.
    fn without_projection(&self) -> Option<EncoderConfig> {
        None
    }
}

/// An encoder with all weights zero, over `features` trigrams.
pub fn build(config: &EncoderConfig, features: usize) -> Box<dyn Encoder> {
    config.build(features)
}

/// The kind of an encoder with its article: `an lstm`.
pub fn named(config: &EncoderConfig) -> String {
    config.ask(|kind| format!("{} {}", kind.article(), kind.name()))
}

/// The kind by which an encoder is asked for, one of [`EncoderConfig::defaults`]: its own, but `lstm` for several LSTMs.
pub fn family(config: &EncoderConfig) -> &'static str {
    config.ask(|kind| kind.family())
}

/// What the kind of an encoder is, in a line.
pub fn about(config: &EncoderConfig) -> &'static str {
    config.ask(|kind| kind.about())
}

/// The kind of this name as [`named`] writes it; without an article if it is not among [`EncoderConfig::defaults`].
pub fn named_kind(name: &str) -> String {
    let kind = EncoderConfig::defaults().iter().find(|config| config.kind() == name).map(named);
    kind.unwrap_or_else(|| name.to_owned())
}

/// The kinds among [`EncoderConfig::defaults`] of which `has` is true.
pub fn kinds_that(has: impl Fn(&EncoderConfig) -> bool) -> Vec<&'static str> {
    EncoderConfig::defaults().iter().filter(|config| has(config)).map(EncoderConfig::kind).collect()
}

/// [`kinds_that`] as messages name them: `an lstm, a gru or an rnn`.
pub fn named_kinds_that(has: impl Fn(&EncoderConfig) -> bool) -> String {
    let kinds: Vec<String> = EncoderConfig::defaults().iter().filter(|config| has(config)).map(named).collect();
    match &kinds[..] {
        [several @ .., last] if !several.is_empty() => format!("{} or {last}", several.join(", ")),
        one => one.concat(),
    }
}

/// What a number of the vectors is called: only an encoder with gates has cells, and a projection mixes them.
pub fn unit_of_vectors(config: &EncoderConfig) -> &'static str {
    match config.projection() {
        Some(_) => "dimension",
        None if config.description().gates.is_empty() => "unit",
        None => "cell",
    }
}

/// How an encoder reads, and what it has inside.
pub fn describe(config: &EncoderConfig) -> Description {
    config.description()
}

impl EncoderConfig {
    /// An encoder of each kind with its default sizes, those of the papers.
    pub fn defaults() -> [EncoderConfig; 6] {
        [
            EncoderConfig::Lstm(LstmConfig::default()),
            EncoderConfig::Bilstm(LstmConfig::default()),
            EncoderConfig::Gru(GruConfig::default()),
            EncoderConfig::Rnn(RnnConfig::default()),
            EncoderConfig::Clsm(ClsmConfig::default()),
            EncoderConfig::Dssm(DssmConfig::default()),
        ]
    }

    /// Asks `question` of the kind. This is the only place that knows all kinds.
    pub(super) fn ask<T>(&self, question: impl FnOnce(&dyn EncoderKind) -> T) -> T {
        match self {
            EncoderConfig::Dssm(config) => question(config),
            EncoderConfig::Clsm(config) => question(config),
            EncoderConfig::Rnn(config) => question(config),
            EncoderConfig::Gru(config) => question(config),
            EncoderConfig::Lstm(config) => question(config),
            EncoderConfig::Stacked(config) => question(config),
            EncoderConfig::Bilstm(config) => question(&BilstmConfig(*config)),
            EncoderConfig::Members(config) => question(config),
        }
    }

    /// An encoder with all weights zero, over `features` trigrams.
    pub(crate) fn build(&self, features: usize) -> Box<dyn Encoder> {
        self.ask(|kind| kind.build(features))
    }

    /// Number of weights over `features` trigrams; `None` if it cannot be counted.
    pub fn parameters(&self, features: usize) -> Option<u64> {
        self.ask(|kind| kind.parameters(features as u64))
    }

    /// Name of the kind: `lstm`, `stacked`, `bilstm`, `gru`, `rnn`, `clsm`, `dssm` or `members`.
    pub fn kind(&self) -> &'static str {
        self.ask(|kind| kind.name())
    }

    /// The first size that no encoder can have, and the reason; `None` if all are fine.
    pub fn fault(&self) -> Option<SizeFault> {
        self.ask(|kind| kind.fault())
    }

    /// The number of encoders that are trained side by side, each on its own: 1 except for [`EncoderConfig::Members`].
    pub fn members(&self) -> usize {
        self.ask(|kind| kind.members()).map_or(1, |(members, _)| members)
    }

    /// Each of the encoders that are trained side by side; `None` if it is one that is trained as a whole.
    pub(crate) fn member(&self) -> Option<EncoderConfig> {
        self.ask(|kind| kind.members()).map(|(_, member)| member)
    }

    /// The same without a projection of the members' vectors: what training changes. A projection is fitted to it afterwards.
    pub(crate) fn without_projection(&self) -> EncoderConfig {
        self.ask(|kind| kind.without_projection()).unwrap_or_else(|| self.clone())
    }

    /// If a projection makes the embedding: the number of numbers that the members' vectors have together, and the number
    /// that the embedding has.
    pub fn projection(&self) -> Option<(usize, usize)> {
        self.ask(|kind| kind.projection())
    }

    /// Whether it reads word by word and has a state, so that errors flow back through the words.
    pub fn is_recurrent(&self) -> bool {
        self.description().reading == Reading::WordByWord
    }

    /// Whether gated cells keep what it remembers, as in an LSTM.
    pub fn has_cells(&self) -> bool {
        self.description().gates.contains(&State::InputGate)
    }

    /// Whether the published per-gate error signals are defined for it: for LSTMs that read words.
    pub fn has_published_signals(&self) -> bool {
        self.ask(|kind| kind.has_published_signals())
    }

    /// Whether it adds up what its words put in, as long as its other weights are small: an LSTM of one layer without a forget
    /// gate, or several side by side. Such an encoder can start from the weights of
    /// [`crate::train::TeacherStart::LeastSquares`].
    pub fn adds_up(&self) -> bool {
        self.ask(|kind| kind.adds_up())
    }

    /// How it reads, and what it has inside.
    #[doc(hidden)]
    pub fn description(&self) -> Description {
        self.ask(|kind| kind.description())
    }

    /// How many trigrams one number of the input layer sums on average.
    pub(super) fn fan_in(&self, texts: TextStatistics) -> f64 {
        self.ask(|kind| kind.fan_in(texts))
    }
}

impl Default for EncoderConfig {
    /// The LSTM of the paper's experiments.
    fn default() -> EncoderConfig {
        EncoderConfig::Lstm(LstmConfig::default())
    }
}

impl fmt::Display for EncoderConfig {
    /// A description of kind and sizes: `lstm, 96 cells`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ask(|kind| write!(f, "{}, {}", kind.name(), kind.sizes()))
    }
}

/// Limits on what a configuration may ask for, so that a hostile file cannot exhaust memory.
const MAX_UNITS: usize = 16_384;
const MAX_LAYERS: usize = 16;
pub(super) const MAX_WINDOW: usize = 31;

/// A size that no encoder can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SizeFault {
    /// The window is even or too long.
    #[error("expected a window of an odd number of words, at most {MAX_WINDOW}, found {0}")]
    Window(usize),
    /// A layer has no units or too many.
    #[error("expected 1 to {MAX_UNITS} units in a layer, found {0}")]
    Units(usize),
    /// There are no members or too many.
    #[error("expected 1 to {MAX_MEMBERS} members, found {0}")]
    Members(usize),
    /// A projection of a single member's vector.
    #[error("expected two members or more whose vectors are brought to fewer numbers, found one")]
    ProjectedAlone,
    /// A projection to no number, or to more than there are.
    #[error("expected vectors of 1 to {units} numbers, as the members have together, found {found}")]
    Projection {
        /// The numbers of the members' vectors.
        units: usize,
        /// The numbers asked for.
        found: usize,
    },
    /// There are no layers or too many.
    #[error("expected 1 to {MAX_LAYERS} layers, found {0}")]
    Layers(usize),
}

/// The first fault among the sizes of layers.
pub(super) fn layer_fault(layers: &[usize]) -> Option<SizeFault> {
    if layers.is_empty() || layers.len() > MAX_LAYERS {
        return Some(SizeFault::Layers(layers.len()));
    }
    layers.iter().find(|&&units| units == 0 || units > MAX_UNITS).map(|&units| SizeFault::Units(units))
}

/// Number of weights of a layer with a bias; `None` if it cannot be counted.
pub(super) fn layer_parameters(inputs: u64, units: u64) -> Option<u64> {
    inputs.checked_add(1)?.checked_mul(units)
}
