//! The kind of an encoder and its sizes.

use super::joined::BilstmConfig;
use super::kind::EncoderKind;
use super::{
    ClsmConfig, Description, DssmConfig, Encoder, GruConfig, LstmConfig, MembersConfig, Reading, RnnConfig,
    StackedConfig, State, TextStatistics,
};
use crate::fields::{self, Field, Rule};
use clickvec_tables::Result;
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

impl EncoderConfig {
    /// The sizes of each kind, with documentation and bounds.
    pub(crate) const FIELDS: &'static [(&'static str, &'static [Field])] = &[
        ("lstm", LstmConfig::FIELDS),
        ("members", MembersConfig::FIELDS),
        ("stacked", StackedConfig::FIELDS),
        ("bilstm", LstmConfig::FIELDS),
        ("gru", GruConfig::FIELDS),
        ("rnn", RnnConfig::FIELDS),
        ("clsm", ClsmConfig::FIELDS),
        ("dssm", DssmConfig::FIELDS),
    ];

    /// Returns an encoder of each kind with its default sizes, those of the papers.
    pub fn defaults() -> [EncoderConfig; 8] {
        [
            EncoderConfig::Lstm(LstmConfig::default()),
            EncoderConfig::Members(MembersConfig::default()),
            EncoderConfig::Stacked(StackedConfig::default()),
            EncoderConfig::Bilstm(LstmConfig::default()),
            EncoderConfig::Gru(GruConfig::default()),
            EncoderConfig::Rnn(RnnConfig::default()),
            EncoderConfig::Clsm(ClsmConfig::default()),
            EncoderConfig::Dssm(DssmConfig::default()),
        ]
    }

    /// Returns the name of the kind, as in a model file, and a line about it.
    fn named(&self) -> (&'static str, &'static str) {
        match self {
            EncoderConfig::Dssm(_) => ("dssm", "Layers over a bag of trigrams"),
            EncoderConfig::Clsm(_) => ("clsm", "A convolution over windows of words"),
            EncoderConfig::Rnn(_) => ("rnn", "A plain recurrent network"),
            EncoderConfig::Gru(_) => ("gru", "Gated recurrent units"),
            EncoderConfig::Lstm(_) => ("lstm", "Long short-term memory"),
            EncoderConfig::Stacked(_) => {
                ("stacked", "LSTMs on top of each other, each reading the outputs of the one below")
            }
            EncoderConfig::Bilstm(_) => ("bilstm", "Two LSTMs, one that reads forwards and one that reads backwards"),
            EncoderConfig::Members(_) => ("members", "Several LSTMs, each trained on its own"),
        }
    }

    /// Asks `question` of the kind. Only this file knows all kinds.
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

    /// Returns an encoder with all weights zero, over `features` trigrams.
    #[doc(hidden)]
    pub fn build(&self, features: usize) -> Box<dyn Encoder> {
        self.ask(|kind| kind.build(features))
    }

    /// Returns the number of weights over `features` trigrams; `None` if it cannot be counted.
    pub fn parameters(&self, features: usize) -> Option<u64> {
        self.ask(|kind| kind.parameters(features as u64))
    }

    /// Returns the name of the kind: `lstm`, `stacked`, `bilstm`, `gru`, `rnn`, `clsm`, `dssm` or `members`.
    pub fn kind(&self) -> &'static str {
        self.named().0
    }

    /// Checks the sizes.
    ///
    /// # Errors
    ///
    /// The first that no encoder can have, by its dotted name.
    pub fn check(&self) -> Result<()> {
        let sizes = fields::json(self);
        fields::check("encoder", &sizes, fields::parts(&Rule::Kinds(EncoderConfig::FIELDS), &sizes))?;
        self.ask(|kind| kind.check())
    }

    /// Returns the number of encoders that are trained side by side, each on its own: 1 except for [`EncoderConfig::Members`].
    pub fn members(&self) -> usize {
        self.side_by_side().map_or(1, |config| config.members)
    }

    /// Returns each of the encoders that are trained side by side; `None` if it is one that is trained as a whole.
    pub(crate) fn member(&self) -> Option<EncoderConfig> {
        self.side_by_side().map(|config| EncoderConfig::Lstm(config.lstm()))
    }

    /// Returns the same without a projection of the members' vectors: what training changes. A projection is fitted to it
    /// afterwards.
    pub(crate) fn without_projection(&self) -> EncoderConfig {
        self.side_by_side().map_or_else(|| self.clone(), |config| EncoderConfig::Members(config.without_projection()))
    }

    /// Returns the input and output size of the projection that makes the embedding, if there is one: the size of the members'
    /// vectors together, and that of the embedding.
    pub fn projection(&self) -> Option<(usize, usize)> {
        self.side_by_side()?.projection()
    }

    /// Returns the configuration of encoders that are trained side by side, if it has such.
    fn side_by_side(&self) -> Option<&MembersConfig> {
        match self {
            EncoderConfig::Members(config) => Some(config),
            _ => None,
        }
    }

    /// Returns whether it reads word by word and has a state, so that errors flow back through the words.
    pub fn is_recurrent(&self) -> bool {
        self.description().reading == Reading::WordByWord
    }

    /// Returns whether gated cells keep what it remembers, as in an LSTM.
    pub fn has_cells(&self) -> bool {
        self.description().gates.contains(&State::InputGate)
    }

    /// Returns whether the published per-gate error signals are defined for it: for LSTMs that read words.
    pub fn has_published_signals(&self) -> bool {
        self.ask(|kind| kind.has_published_signals())
    }

    /// Returns whether it adds up what its words put in, as long as its other weights are small: an LSTM of one layer
    /// without a forget gate, or several side by side. Such an encoder can start from the weights of
    /// [`crate::train::TeacherStart::LeastSquares`].
    pub fn adds_up(&self) -> bool {
        self.ask(|kind| kind.adds_up())
    }

    /// Describes how it reads a text, and its states.
    #[doc(hidden)]
    pub fn description(&self) -> Description {
        self.ask(|kind| kind.description())
    }

    /// Describes the kind in a line.
    #[doc(hidden)]
    pub fn about(&self) -> &'static str {
        self.named().1
    }

    /// Returns the name of a number of the vectors: only an encoder with gates has cells, and a projection mixes them.
    #[doc(hidden)]
    pub fn unit_name(&self) -> &'static str {
        match self.projection() {
            Some(_) => "dimension",
            None if self.description().gates.is_empty() => "unit",
            None => "cell",
        }
    }

    /// Returns the number of words whose trigrams are inputs of one number of the input layer: the window of a CLSM.
    pub(super) fn input_places(&self) -> usize {
        self.ask(|kind| kind.input_places())
    }

    /// Returns the mean number of trigrams that one number of the input layer sums.
    pub(super) fn active_inputs(&self, texts: TextStatistics) -> f64 {
        self.ask(|kind| kind.active_inputs(texts))
    }
}

impl Default for EncoderConfig {
    /// Returns the LSTM of the paper's experiments.
    fn default() -> EncoderConfig {
        EncoderConfig::Lstm(LstmConfig::default())
    }
}

impl fmt::Display for EncoderConfig {
    /// Returns a description of kind and sizes: `lstm, 96 cells`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.kind(), self.ask(|kind| kind.sizes()))
    }
}
