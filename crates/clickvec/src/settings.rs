//! The settings of a training run, and what it records in the model.

mod differences;
mod fault;
mod sources;

pub(crate) use differences::encoder_text;
pub use fault::SettingFault;
use sources::chances;
pub use sources::{TeacherConfig, TeacherStart, TitleConfig};

use crate::clicks::{LogStatistics, NegativeSource, Negatives, Section, Weighting};
use crate::encoder::{Bptt, ClsmConfig, EncoderConfig, InitRange, MembersConfig};
use crate::loss::LossKind;
use crate::math::Precision;
use crate::optimizer::OptimizerKind;
use crate::tables;
use crate::text::{Tail, WordLimit};
use crate::views::Views;
use serde::{Deserialize, Serialize};

/// Everything that decides what a training run learns, except for its data and the processor's instruction level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainConfig {
    /// The encoder of both towers.
    pub encoder: EncoderConfig,
    /// Whether queries and titles share one set of weights.
    pub shared_towers: bool,
    /// The number of pairs in a minibatch.
    pub minibatch: usize,
    /// The number of negatives of a pair.
    pub negatives: Negatives,
    /// The source of sampled negatives.
    pub negative_source: NegativeSource,
    /// The loss. Omitted if it is the softmax.
    #[serde(default, skip_serializing_if = "LossKind::is_softmax")]
    pub loss: LossKind,
    /// γ of the loss.
    pub gamma: f32,
    /// The optimiser.
    pub optimizer: OptimizerKind,
    /// The learning rate ε.
    pub learning_rate: f32,
    /// The limit th_G to which each tower's gradient is scaled down; `None` for no limit.
    pub clip_norm: Option<f32>,
    /// How errors flow back through a text's words.
    pub bptt: Bptt,
    /// The range of the initial weights.
    pub init_range: InitRange,
    /// The column of the log with the texts that were clicked. Like `precision`, omitted if it has the default,
    /// `title`.
    #[serde(default = "title", skip_serializing_if = "is_title")]
    pub field: String,
    /// How the log's `count` column weights a pair.
    pub weighting: Weighting,
    /// The number of passes over the log.
    pub epochs: u32,
    /// The epoch whose model is kept. The best needs a validation set.
    pub keep: Keep,
    /// The number of epochs without a better validation NDCG after which training stops.
    pub patience: Option<u32>,
    /// The number of words of a text that are read.
    pub max_words: usize,
    /// What becomes of a text's other words. Omitted if they are cut.
    #[serde(default, skip_serializing_if = "Tail::is_cut")]
    pub tail: Tail,
    /// The largest number of trigrams in the dictionary.
    pub max_trigrams: usize,
    /// Whole words that occur at least this often in the log are features too; `None` for letter trigrams alone.
    /// Omitted if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word_count: Option<u64>,
    /// The random seed of weights, order and negatives.
    pub seed: u64,
    /// The precision of recurrent products. Omitted if it is f32, because the fingerprint of a model from before there
    /// was a choice covers a record without it.
    #[serde(default, skip_serializing_if = "Precision::is_f32")]
    pub precision: Precision,
    /// Changes to queries when learning from clicks. Omitted if there are none.
    #[serde(default = "as_they_are", skip_serializing_if = "are_as_they_are")]
    pub augment: Views,
    /// How titles are learnt; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub titles: Option<TitleConfig>,
    /// The share of clicked queries that are not learnt but judge the model: at most 1,000, none if that is fewer than 100.
    /// Needs a validation, which gets them from [`crate::train::Event::HeldOut`]. Omitted if it is 0.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub held_out: f32,
    /// How the model learns from a teacher; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teacher: Option<TeacherConfig>,
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

fn as_they_are() -> Views {
    Views::NONE
}

fn are_as_they_are(views: &Views) -> bool {
    *views == Views::NONE
}

fn is_nothing(share: &f32) -> bool {
    *share == 0.0
}

pub(crate) fn title() -> String {
    tables::TITLE.to_owned()
}

pub(crate) fn is_title(field: &str) -> bool {
    field == tables::TITLE
}

impl Default for TrainConfig {
    /// The best settings in cross validation (docs/explanation/defaults.md).
    fn default() -> TrainConfig {
        TrainConfig {
            encoder: EncoderConfig::default(),
            shared_towers: true,
            minibatch: 64,
            negatives: Negatives::All,
            negative_source: NegativeSource::Minibatch,
            loss: LossKind::Softmax,
            gamma: 10.0,
            optimizer: OptimizerKind::Adam,
            learning_rate: 1e-3,
            clip_norm: None,
            bptt: Bptt::default(),
            init_range: InitRange::Uniform(0.01),
            field: title(),
            weighting: Weighting::Log,
            epochs: 5,
            keep: Keep::Last,
            patience: None,
            max_words: 64,
            tail: Tail::Cut,
            max_trigrams: 200_000,
            word_count: None,
            seed: 1,
            precision: Precision::F32,
            augment: Views::NONE,
            titles: None,
            held_out: 0.0,
            teacher: None,
        }
    }
}

impl TrainConfig {
    /// The settings for training on titles and clicks that are best in validation (docs/explanation/defaults.md).
    pub fn with_titles() -> TrainConfig {
        TrainConfig {
            encoder: EncoderConfig::Members(MembersConfig::default()),
            minibatch: 256,
            gamma: 12.0,
            epochs: 3,
            augment: Views { misspell: 0.1, ..Views::NONE },
            titles: Some(TitleConfig::default()),
            ..TrainConfig::default()
        }
    }

    /// The settings of the LSTM-DSSM's experiments (Palangi et al. 2015): two towers, Nesterov momentum with its
    /// schedule, four negatives from a minibatch of 1024, clipped gradients, and one click for each pair. What the paper
    /// does not print was chosen in cross validation (docs/explanation/defaults.md).
    pub fn lstm_dssm() -> TrainConfig {
        TrainConfig {
            shared_towers: false,
            minibatch: 1024,
            negatives: Negatives::Sampled(4),
            optimizer: OptimizerKind::Nesterov,
            learning_rate: 1e-3,
            clip_norm: Some(10.0),
            weighting: Weighting::Binary,
            epochs: 20,
            ..TrainConfig::default()
        }
    }

    /// The settings of the CLSM's experiments (Shen et al. 2014): a CLSM 300/128 over windows of three words, without
    /// biases; two towers, plain gradient descent (eq. 7) without a limit on its norm, four negatives from a minibatch of
    /// 1024, initial weights by the sizes of the layers, and one click for each pair. What the paper does not print was
    /// chosen in cross validation (docs/explanation/defaults.md).
    pub fn clsm() -> TrainConfig {
        TrainConfig {
            encoder: EncoderConfig::Clsm(ClsmConfig::papers()),
            optimizer: OptimizerKind::Sgd,
            learning_rate: 1e-2,
            clip_norm: None,
            init_range: InitRange::Fan,
            ..TrainConfig::lstm_dssm()
        }
    }

    /// How much of a text is read.
    pub fn limit(&self) -> WordLimit {
        WordLimit { words: self.max_words, tail: self.tail }
    }

    /// The settings for training on a section of the log: its own where it has any, otherwise these.
    pub(crate) fn of_section(&self, section: Section) -> TrainConfig {
        let mut config = self.clone();
        if let (Section::Titles, Some(titles)) = (section, &self.titles) {
            config.epochs = titles.epochs;
            config.minibatch = titles.minibatch;
            config.gamma = titles.gamma;
            config.learning_rate = titles.learning_rate;
        }
        config
    }

    /// The first setting that is not valid, if any.
    pub fn fault(&self) -> Option<SettingFault> {
        if let Some(fault) = self.encoder.fault() {
            return Some(SettingFault::Size(fault));
        }
        let positive = |name, value: f32| {
            (!(value.is_finite() && value > 0.0)).then_some(SettingFault::NotPositive { name, value })
        };
        let at_least_one = |name, value: usize| (value == 0).then_some(SettingFault::Zero { name });
        positive("gamma", self.gamma)
            .or_else(|| positive("learning rate", self.learning_rate))
            .or_else(|| self.clip_norm.and_then(|norm| positive("clip norm", norm)))
            .or_else(|| match self.init_range {
                InitRange::Uniform(range) => positive("init range", range),
                InitRange::Fan => None,
            })
            .or_else(|| at_least_one("minibatch", self.minibatch))
            .or_else(|| at_least_one("epochs", self.epochs as usize))
            .or_else(|| at_least_one("max words", self.max_words))
            .or_else(|| at_least_one("max trigrams", self.max_trigrams))
            .or_else(|| at_least_one("word count", self.word_count.map_or(1, |least| least.min(1) as usize)))
            .or_else(|| at_least_one("bptt words", self.bptt.words.unwrap_or(1)))
            .or_else(|| at_least_one("patience", self.patience.unwrap_or(1) as usize))
            .or_else(|| chances(&self.augment))
            .or_else(|| self.titles.as_ref().and_then(TitleConfig::fault))
            .or_else(|| {
                let fault = SettingFault::HeldOut { found: self.held_out };
                (!(0.0..=0.5).contains(&self.held_out)).then_some(fault)
            })
            .or_else(|| (self.keep == Keep::Loss && self.held_out == 0.0).then_some(SettingFault::LossOfNone))
            .or_else(|| self.teacher.as_ref().and_then(TeacherConfig::fault))
            .or_else(|| {
                let sampled = self.teacher.is_some() && self.negatives != Negatives::All;
                sampled.then_some(SettingFault::TaughtSamples)
            })
            .or_else(|| {
                let one_by_one = self.teacher.is_some() && self.loss != LossKind::Softmax;
                one_by_one.then_some(SettingFault::TaughtContrast)
            })
            .or_else(|| match self.negatives {
                Negatives::Sampled(n) => at_least_one("negatives", n),
                Negatives::All if self.negative_source == NegativeSource::Uniform => Some(SettingFault::AllUniform),
                Negatives::All => None,
            })
            .or_else(|| {
                let one = self.minibatch == 1 || self.titles.is_some_and(|titles| titles.minibatch == 1);
                let alone = one && self.negative_source == NegativeSource::Minibatch;
                alone.then_some(SettingFault::Alone)
            })
            .or_else(|| {
                let per_gate = self.bptt.signals == crate::encoder::Signals::PerGate;
                (per_gate && !self.encoder.has_published_signals())
                    .then_some(SettingFault::PerGate { kind: self.encoder.kind() })
            })
            .or_else(|| {
                (self.bptt.words.is_some() && !self.encoder.is_recurrent())
                    .then_some(SettingFault::BpttWords { kind: self.encoder.kind() })
            })
            .or_else(|| {
                (!self.precision.is_f32() && !self.encoder.is_recurrent())
                    .then_some(SettingFault::Precision { kind: self.encoder.kind() })
            })
    }
}

#[cfg(test)]
mod tests;
