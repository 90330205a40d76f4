//! The settings of a training run, and what it records in the model.

pub(crate) mod differences;
mod overrides;
mod pairs;
mod reference;
mod sources;
mod statistics;

pub(crate) use differences::encoder_text;
pub use overrides::{Overrides, Preset};
pub use pairs::{NegativeSource, Negatives, Section, Weighting};
pub use reference::{documentation, reference};
pub use sources::{TeacherConfig, TeacherStart, TitleConfig};
pub use statistics::LogStatistics;

use clickvec_tables::{Error, ErrorKind};
use serde::{Deserialize, Serialize};

use crate::encoder::{Bptt, ClsmConfig, EncoderConfig, InitRange, MembersConfig, Signals};
use crate::fields::{self, Rule, fields};
use crate::loss::LossKind;
use crate::optimizer::OptimizerKind;
use crate::tables;
use crate::text::{Tail, TextConfig, Tokens, WordLimit};
use crate::views::Views;

fields! {
    /// Everything that decides what a training run learns, except for its data and the processor's instruction level. The defaults are
    /// the best settings in cross validation (docs/explanation/defaults.md).
    pub struct TrainConfig {
        /// The encoder of both towers: the network that turns a text into a vector.
        pub encoder: EncoderConfig = (EncoderConfig::default()) where Rule::Kinds(EncoderConfig::FIELDS),
        /// Whether queries and titles share one tower, that is, one set of weights.
        pub shared_towers: bool = true,
        /// The number of pairs in a minibatch.
        pub batch_size: usize = 64 where Rule::AtLeast(1.0),
        /// The number of negative titles of each pair, or `all`: every other title of the minibatch.
        pub negatives: Negatives = (Negatives::All) where Rule::AtLeast(1.0),
        /// Where a number of negatives comes from: `minibatch`, its titles, or `uniform`, any title of the log.
        pub negative_source: NegativeSource = (NegativeSource::Minibatch),
        /// The loss, for clicks and for titles.
        pub loss: LossConfig = (LossConfig::default()) where Rule::Fields(LossConfig::FIELDS),
        /// The optimiser: `adam`; `nesterov` or `momentum`, with the LSTM paper's schedule; `sgd`, plain gradient descent.
        pub optimizer: OptimizerKind = (OptimizerKind::Adam),
        /// The learning rate ε.
        pub learning_rate: f32 = 1e-3 where Rule::Above0,
        /// The norm to which a tower's gradient is scaled down if its norm is larger, or `none`.
        #[serde(with = "fields::real_or_none")]
        pub clip_norm: Option<f32> = None where Rule::Above0,
        /// Backpropagation through a text's words.
        pub bptt: Bptt = (Bptt::default()) where Rule::Fields(Bptt::FIELDS),
        /// The range of random initial weights: ± this number; `fan`, ±√(6/(fan-in + fan-out)); or `active-fan`, the same with the mean
        /// number of a text's trigrams as the fan-in of the input layer.
        pub init_range: InitRange = (InitRange::Uniform(0.01)) where Rule::Above0,
        /// The initial bias of forget gates, and minus that of a GRU's update gates: with 0, half of a cell is forgotten at each word.
        #[serde(skip_serializing_if = "is_forget_bias")]
        pub forget_bias: f32 = FORGET_BIAS where Rule::AtLeast(0.0),
        /// The column of texts to learn from, instead of the title; `title+text` joins two.
        pub field: String = (title()),
        /// The weight of a pair from the log's column `count`: `log`, ln(1 + count); `linear`; `none`, not at all; or `binary`, one click
        /// for each pair whatever the columns `count` and `weight` say.
        pub weighting: Weighting = (Weighting::Log),
        /// The number of passes over the clicks.
        pub epochs: u32 = 5 where Rule::AtLeast(1.0),
        /// The epoch whose model is kept: `best` in validation, the one with the smallest `loss` of held-out pairs, or the `last`.
        pub keep: Keep = (Keep::Last),
        /// The number of epochs without a better validation after which training stops, or `none`.
        #[serde(with = "fields::integer_or_none")]
        pub patience: Option<u32> = None where Rule::AtLeast(1.0),
        /// The number of words of a text that are read.
        pub max_words: usize = 64 where Rule::AtLeast(1.0),
        /// The treatment of a text's other words: `cut`, or `merge`, which joins them to the last word that is read.
        pub tail: Tail = (Tail::Cut),
        /// How texts become words.
        #[serde(skip_serializing_if = "TextConfig::is_usual")]
        pub text: TextConfig = (TextConfig::default()) where Rule::Fields(TextConfig::FIELDS),
        /// The largest number of letter trigrams in the dictionary; the most frequent ones stay.
        pub max_trigrams: usize = 200_000 where Rule::AtLeast(1.0),
        /// Whole words that occur at least this often in the log are features too, at most as many as `max_trigrams`; or `none`.
        #[serde(with = "fields::integer_or_none")]
        pub word_count: Option<u64> = None where Rule::AtLeast(1.0),
        /// The seed of all random numbers: the same seed, log and program give the same model.
        pub seed: u64 = 1,
        /// Random changes to queries when learning from clicks.
        pub augment: Views = (Views::NONE) where Rule::Fields(Views::FIELDS),
        /// Training on titles, before clicks or without any.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub titles: Option<TitleConfig> = None where Rule::Fields(TitleConfig::FIELDS),
        /// The share of clicked queries held out to evaluate the model after each epoch and at the end: at most 1,000 queries, and
        /// none if that is fewer than 100. If there are any, all clicks are learnt afterwards, for the best number of epochs.
        pub held_out: f32 = 0.0 where Rule::Within(0.0, 0.5),
        /// Learning from a teacher.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub teacher: Option<TeacherConfig> = None where Rule::Fields(TeacherConfig::FIELDS),
    }
}

fields! {
    /// The loss that training lowers.
    #[derive(Copy)]
    pub struct LossConfig {
        /// `softmax` over the clicked title and its negatives, as in the papers, or `nce`, noise-contrastive estimation: whether each
        /// title was clicked or is there by chance.
        pub kind: LossKind = (LossKind::Softmax),
        /// γ, the factor of the cosines.
        pub gamma: f32 = 10.0 where Rule::Above0,
    }
}

/// The epoch whose model is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// The epoch with the best score of the validation.
    Best,
    /// The epoch with the smallest loss of held-out pairs, as the papers chose theirs. Queries must be held out, and the
    /// value of the validation must be minus the loss that `HeldOutTest::loss` of clickvec-eval measures.
    Loss,
    /// The last epoch.
    Last,
}

/// The record of the run that made a model, in its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainingRecord {
    /// The version of clickvec.
    pub version: String,
    /// The instruction level of the kernels. Bytes may differ between levels.
    pub level: String,
    /// The settings.
    pub config: TrainConfig,
    /// The figures of the log.
    pub log: LogStatistics,
    /// A fingerprint of everything that training saw of the log, in hexadecimal.
    pub log_fingerprint: String,
    /// A fingerprint of the validation set, in hexadecimal, if it decided which weights were kept.
    pub validation_fingerprint: Option<String>,
    /// The epoch that these weights are from, counted from 1.
    pub epoch: u32,
    /// The number of updates until then.
    pub updates: u64,
    /// The mean loss of a pair in that epoch.
    pub loss: f64,
    /// The fingerprint of the initial model, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init: Option<String>,
    /// The share of all queries, those with the lowest hashes, whose clicks the caller left out, as a
    /// `Window` of clickvec-eval does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<f64>,
    /// The fingerprint of the teacher's vectors for the log's texts, in hexadecimal, if there was a teacher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teacher: Option<String>,
    /// The share of the variance of the titles' vectors that the projection of the members keeps, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variance: Option<f64>,
}

pub(crate) fn title() -> String {
    tables::TITLE.to_owned()
}

/// The default of `forget_bias`, which files omit.
const FORGET_BIAS: f32 = 3.0;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
fn is_forget_bias(bias: &f32) -> bool {
    *bias == FORGET_BIAS
}

impl TrainConfig {
    /// Returns the settings for training on titles and clicks that are best in validation (docs/explanation/defaults.md).
    pub fn with_titles() -> TrainConfig {
        TrainConfig {
            encoder: EncoderConfig::Members(MembersConfig::default()),
            batch_size: 256,
            loss: LossConfig { gamma: 12.0, ..LossConfig::default() },
            epochs: 3,
            augment: Views { misspell: 0.1, ..Views::NONE },
            word_count: Some(3),
            titles: Some(TitleConfig::default()),
            ..TrainConfig::default()
        }
    }

    /// Returns the settings of the LSTM-DSSM's experiments (Palangi et al. 2015): two towers, Nesterov momentum with its
    /// schedule, four negatives from a minibatch of 1024, clipped gradients, one click for each pair, and words that white space
    /// separates. What the paper does not print was chosen in cross validation (docs/explanation/defaults.md).
    pub fn lstm_dssm() -> TrainConfig {
        TrainConfig {
            shared_towers: false,
            batch_size: 1024,
            negatives: Negatives::Sampled(4),
            optimizer: OptimizerKind::Nesterov,
            learning_rate: 1e-3,
            forget_bias: 0.0,
            clip_norm: Some(10.0),
            weighting: Weighting::Binary,
            epochs: 20,
            text: TextConfig { tokens: Tokens::Spaces, ..TextConfig::USUAL },
            ..TrainConfig::default()
        }
    }

    /// Returns the settings of the CLSM's experiments (Shen et al. 2014): a CLSM 300/128 over windows of three words, without
    /// biases; two towers, plain gradient descent (eq. 7) without a limit on its norm, four negatives from a minibatch of
    /// 1024, initial weights by the sizes of the layers, one click for each pair, and texts without punctuation. What the paper does
    /// not print was chosen in cross validation (docs/explanation/defaults.md).
    pub fn clsm() -> TrainConfig {
        TrainConfig {
            encoder: EncoderConfig::Clsm(ClsmConfig::papers()),
            optimizer: OptimizerKind::Sgd,
            learning_rate: 1e-2,
            clip_norm: None,
            init_range: InitRange::Fan,
            text: TextConfig { tokens: Tokens::SpacesWithoutPunctuation, ..TextConfig::USUAL },
            ..TrainConfig::lstm_dssm()
        }
    }

    /// Returns the limit of the words read of a text.
    pub fn limit(&self) -> WordLimit {
        WordLimit { words: self.max_words, tail: self.tail, text: self.text }
    }

    /// Returns the settings for training on a section of the log: its own where it has any, otherwise these.
    pub(crate) fn for_section(&self, section: Section) -> TrainConfig {
        let mut config = self.clone();
        if let (Section::Titles, Some(titles)) = (section, &self.titles) {
            config.epochs = titles.epochs;
            config.batch_size = titles.batch_size;
            config.loss.gamma = titles.gamma;
            config.learning_rate = titles.learning_rate;
        }
        config
    }

    /// Checks the bounds of all settings, and whether they can act together.
    ///
    /// # Errors
    ///
    /// The first setting that is not valid, by its dotted name: `loss.gamma: expected a number above 0, found -1`.
    pub fn check(&self) -> clickvec_tables::Result<()> {
        fields::check("", &fields::json(self), TrainConfig::FIELDS)?;
        self.encoder.check()?;
        let refuse = |name: &'static str, expected: &'static str, found: String| {
            Err(Error::expected(ErrorKind::Setting, expected, found).within(name))
        };
        let kind = || format!("encoder.kind={}", self.encoder.kind());
        let one = self.batch_size == 1 || self.titles.is_some_and(|titles| titles.batch_size == 1);
        if self.keep == Keep::Loss && self.held_out == 0.0 {
            return refuse("keep", "held-out queries, whose loss decides", "held_out=0".to_owned());
        }
        if self.teacher.is_some() && self.negatives != Negatives::All {
            return refuse(
                "negatives",
                "`all` with a teacher, which compares all titles",
                fields::shown(&fields::json(&self.negatives)),
            );
        }
        if self.teacher.is_some() && self.loss.kind != LossKind::Softmax {
            return refuse(
                "loss.kind",
                "softmax with a teacher, which compares titles with each other",
                "nce".to_owned(),
            );
        }
        if self.negatives == Negatives::All && self.negative_source == NegativeSource::Uniform {
            return refuse("negatives", "a number with negative_source=uniform", "all".to_owned());
        }
        if one && self.negative_source == NegativeSource::Minibatch {
            return refuse("batch_size", "2 or more pairs with negative_source=minibatch", "1".to_owned());
        }
        if self.bptt.signals == Signals::PerGate && !self.encoder.has_published_signals() {
            return refuse("bptt.signals", "an LSTM for per-gate, as in the paper", kind());
        }
        if self.bptt.words.is_some() && !self.encoder.is_recurrent() {
            return refuse("bptt.words", "a recurrent encoder", kind());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
