//! The settings of a training run, and what it records in the model.

use crate::clicks::{LogStatistics, NegativeSource, Negatives, Section, Weighting};
use crate::encoder::{Bptt, ClsmConfig, EncoderConfig, InitRange, LstmConfig, MembersConfig};
use crate::error::SettingDifference;
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

/// The settings by which a model learns a teacher's similarities.
///
/// For a text that the teacher has a vector for, the loss is (1 − share) · its usual loss + share · KL(teacher ‖ model),
/// where both distributions are the softmax of γ times the cosines with the minibatch's titles. For any other text the
/// loss is the usual one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TeacherConfig {
    /// γ: the factor that multiplies the teacher's and the model's cosines before the softmax.
    pub gamma: f32,
    /// The teacher's share of the loss of a title.
    pub titles: f32,
    /// Its share of the loss of a clicked pair.
    pub clicks: f32,
    /// The share of its scores in the loss of a pair whose query has scores of two titles or more: of what its vectors leave
    /// too, the pair keeps 1 − this. The loss of scores is half the mean squared difference of margins,
    /// γ (cosine_i − cosine_j) − (score_i − score_j), where scores are divided by their standard deviation within queries.
    /// Omitted if it has the default.
    #[serde(default = "half", skip_serializing_if = "is_half")]
    pub scores: f32,
}

fn half() -> f32 {
    0.5
}

fn is_half(share: &f32) -> bool {
    *share == half()
}

impl Default for TeacherConfig {
    /// What validation found best (docs/explanation/defaults.md); the share of scores was not tried.
    fn default() -> TeacherConfig {
        TeacherConfig { gamma: 10.0, titles: 0.8, clicks: 0.3, scores: half() }
    }
}

impl TeacherConfig {
    fn fault(&self) -> Option<SettingFault> {
        let gamma = self.gamma;
        let not_positive = SettingFault::NotPositive { name: "gamma of the teacher", value: gamma };
        (!(gamma.is_finite() && gamma > 0.0)).then_some(not_positive).or_else(|| {
            let shares = [
                ("share of the teacher in titles", self.titles),
                ("share of the teacher in clicks", self.clicks),
                ("share of the teacher's scores", self.scores),
            ];
            let wrong = shares.into_iter().find(|(_, share)| !(0.0..=1.0).contains(share));
            wrong.map(|(name, value)| SettingFault::Share { name, value })
        })
    }
}

/// The settings by which a model learns from titles, before clicks or without any.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TitleConfig {
    /// The number of passes over the titles before the clicks.
    pub epochs: u32,
    /// The number of pairs in a minibatch.
    pub minibatch: usize,
    /// γ of the loss.
    pub gamma: f32,
    /// The learning rate ε.
    pub learning_rate: f32,
    /// The changes that turn a title into a query to pair it with.
    pub views: Views,
    /// Titles to mix into each epoch of clicks, per clicked pair.
    pub among_clicks: f32,
}

impl Default for TitleConfig {
    /// The best settings in validation (docs/explanation/defaults.md).
    fn default() -> TitleConfig {
        TitleConfig {
            epochs: 3,
            minibatch: 512,
            gamma: 12.0,
            learning_rate: 2e-3,
            views: Views { few: 1.0, drop: 0.0, swap: 0.1, misspell: 0.1 },
            among_clicks: 1.0,
        }
    }
}

impl TitleConfig {
    fn fault(&self) -> Option<SettingFault> {
        let above_0 = |name, value: f32| {
            (!(value.is_finite() && value > 0.0)).then_some(SettingFault::NotPositive { name, value })
        };
        let among = self.among_clicks;
        above_0("gamma for titles", self.gamma)
            .or_else(|| above_0("learning rate for titles", self.learning_rate))
            .or_else(|| (self.minibatch == 0).then_some(SettingFault::Zero { name: "minibatch of titles" }))
            .or_else(|| chances(&self.views))
            .or_else(|| {
                let fault = SettingFault::Negative { name: "titles among clicks", value: among };
                (!(among.is_finite() && among >= 0.0)).then_some(fault)
            })
    }
}

fn chances(views: &Views) -> Option<SettingFault> {
    views.fault().map(|(name, value)| SettingFault::Chance { name, value })
}

/// The epoch whose model is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// The epoch with the best score of the validation.
    Best,
    /// The epoch with the smallest loss of held-out pairs, as the papers chose theirs. Queries must be held out, and the
    /// value of the validation must be minus the loss that [`crate::eval::HeldOutTest::loss`] measures.
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
    /// [`crate::update::Window`] does.
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

fn title() -> String {
    tables::TITLE.to_owned()
}

fn is_title(field: &str) -> bool {
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
            encoder: EncoderConfig::Members(MembersConfig { members: 3, lstm: LstmConfig::default(), dimension: None }),
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
    pub(crate) fn limit(&self) -> WordLimit {
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

    /// The settings in which this run differs from an earlier one.
    pub fn differences(&self, before: &TrainConfig) -> Vec<SettingDifference> {
        let as_map = |config: &TrainConfig| -> serde_json::Map<String, serde_json::Value> {
            let serde_json::Value::Object(mut map) = typed(config) else { return serde_json::Map::new() };
            // Settings that are omitted if they have the default.
            map.insert("precision".to_owned(), typed(&config.precision));
            map.insert("loss".to_owned(), typed(&config.loss));
            map.insert("tail".to_owned(), typed(&config.tail));
            map.insert("field".to_owned(), typed(&config.field));
            map.insert("augment".to_owned(), typed(&config.augment));
            map.insert("titles".to_owned(), typed(&config.titles));
            map.insert("held_out".to_owned(), typed(&config.held_out));
            map.insert("word_count".to_owned(), typed(&config.word_count));
            map.insert("teacher".to_owned(), typed(&config.teacher));
            map
        };
        let (mine, theirs) = (as_map(self), as_map(before));
        let differing = mine.iter().filter(|(name, value)| theirs.get(*name) != Some(value));
        differing
            .map(|(name, value)| SettingDifference {
                name: name.replace('_', "-"),
                now: shown(value),
                before: shown(theirs.get(name).unwrap_or(&serde_json::Value::Null)),
            })
            .collect()
    }
}

/// A setting as JSON. Going through text writes an f32 as short as it was typed.
fn typed(setting: &impl Serialize) -> serde_json::Value {
    serde_json::to_string(setting).and_then(|json| serde_json::from_str(&json)).unwrap_or_default()
}

/// An encoder and its sizes, for messages.
pub(crate) fn encoder_text(encoder: &EncoderConfig) -> String {
    serde_json::to_value(encoder).map_or_else(|_| encoder.kind().to_owned(), |value| shown(&value))
}

/// A setting as a user would type it.
fn shown(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "none".to_owned(),
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Object(fields) => match fields.values().collect::<Vec<_>>()[..] {
            [only] => shown(only),
            _ => fields.iter().map(|(name, value)| format!("{name}={}", shown(value))).collect::<Vec<_>>().join(","),
        },
        other => {
            let text = other.to_string();
            text.strip_suffix(".0").unwrap_or(&text).to_owned()
        }
    }
}

/// A setting that is not valid.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingFault {
    /// A size of the encoder is not valid.
    #[error(transparent)]
    Size(#[from] crate::encoder::SizeFault),
    /// A number must be finite and above zero.
    #[error("expected a {name} above 0, found {value}")]
    NotPositive {
        /// The setting.
        name: &'static str,
        /// The value.
        value: f32,
    },
    /// A number must be finite and not negative.
    #[error("expected {name} of 0 or more, found {value}")]
    Negative {
        /// The setting.
        name: &'static str,
        /// The value.
        value: f32,
    },
    /// A count must be at least one.
    #[error("expected {name} of at least 1, found 0")]
    Zero {
        /// The setting.
        name: &'static str,
    },
    /// All negatives were requested from all titles of the log.
    #[error(
        "expected sampled negatives with the uniform source, found all; give a number or take them from the minibatch"
    )]
    AllUniform,
    /// A minibatch of one pair has no title that could be a negative.
    #[error(
        "expected a minibatch of at least 2 pairs for negatives from the minibatch, found 1; take more, or `uniform`"
    )]
    Alone,
    /// The published error signals were requested for an encoder without them.
    #[error(
        "expected an lstm or a bilstm for per-gate error signals, found a {kind}; the papers give them for no other"
    )]
    PerGate {
        /// The encoder.
        kind: &'static str,
    },
    /// A probability is not between 0 and 1.
    #[error("expected a probability between 0 and 1 for `{name}`, found {value}")]
    Chance {
        /// The change.
        name: &'static str,
        /// The value.
        value: f32,
    },
    /// An invalid share.
    #[error("expected a {name} between 0 and 1, found {value}")]
    Share {
        /// Which.
        name: &'static str,
        /// Its value.
        value: f32,
    },
    /// A teacher together with sampled negatives.
    #[error("expected all titles of the minibatch as negatives, because a teacher compares them all, found samples")]
    TaughtSamples,
    /// A teacher together with noise-contrastive estimation.
    #[error("expected the loss softmax, because a teacher compares titles with each other, found nce")]
    TaughtContrast,
    /// A teacher without settings for it, or settings without a teacher.
    #[error("expected both a teacher and settings for it, or neither; found {teachers} teachers")]
    Teacher {
        /// How many there are.
        teachers: usize,
    },
    /// There are neither clicks nor titles.
    #[error("expected a click log, titles, or both to learn from, found neither")]
    NothingToLearnFrom,
    /// There are titles without settings for them, or settings without titles.
    #[error("expected settings for titles if there are any, and none if not; found {files} files of titles")]
    Titles {
        /// The number of files of titles.
        files: usize,
    },
    /// Truncated back-propagation through time was requested for an encoder that is not recurrent.
    #[error("expected an lstm, a bilstm, a gru or an rnn for truncated back-propagation, found a {kind}")]
    BpttWords {
        /// The encoder.
        kind: &'static str,
    },
    /// Rounded recurrent products were requested for an encoder without any.
    #[error("expected an lstm, a bilstm, a gru or an rnn for precision bf16, found a {kind}; leave it at f32")]
    Precision {
        /// The encoder.
        kind: &'static str,
    },
    /// Precision bf16 was requested on a processor without the instructions for it.
    #[error(
        "expected AVX512-BF16 or AMX instructions for precision bf16, found {found}; leave it at f32, which runs everywhere"
    )]
    NoBf16 {
        /// What the processor has instead.
        found: &'static str,
    },
    /// More queries would be held out than learnt.
    #[error("expected a share of held-out queries between 0 and 0.5, found {found}")]
    HeldOut {
        /// The share.
        found: f32,
    },
    /// The epoch with the smallest loss of held-out pairs was requested, and no queries are to be held out.
    #[error("expected a share of held-out queries, to keep the epoch with the smallest loss of them, found 0")]
    LossOfNone,
    /// There is no validation set to choose the best epoch or to stop early.
    #[error("expected a validation set to {purpose}, found none; name one or keep the last epoch")]
    NoValidation {
        /// What the validation set is needed for.
        purpose: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_older_models_do_not_have_is_written_only_if_it_is_not_the_default() {
        let exact = TrainConfig::default();
        let rounded = TrainConfig { precision: Precision::Bf16, ..exact.clone() };
        let json = |config: &TrainConfig| serde_json::to_string(config).expect("JSON");
        assert!(!json(&exact).contains("precision"), "fingerprints of older models are over JSON without it");
        for config in [&exact, &rounded] {
            assert_eq!(serde_json::from_str::<TrainConfig>(&json(config)).expect("a config"), *config);
        }
        let differences = |now: &TrainConfig, before: &TrainConfig| -> Vec<[String; 3]> {
            now.differences(before).into_iter().map(|of| [of.name, of.now, of.before]).collect()
        };
        assert_eq!(differences(&exact, &rounded), [["precision", "f32", "bf16"]]);
        assert_eq!(differences(&rounded, &exact), [["precision", "bf16", "f32"]]);
        let body = TrainConfig { field: "body".to_owned(), ..exact.clone() };
        assert!(!json(&exact).contains("field") && json(&body).contains("\"field\":\"body\""), "{}", json(&body));
        assert_eq!(differences(&body, &exact), [["field", "body", "title"]]);
        let merged = TrainConfig { tail: Tail::Merge, ..exact.clone() };
        assert!(!json(&exact).contains("tail") && json(&merged).contains("\"tail\":\"merge\""), "{}", json(&merged));
        assert_eq!(serde_json::from_str::<TrainConfig>(&json(&merged)).expect("a config"), merged);
        assert_eq!(differences(&merged, &exact), [["tail", "merge", "cut"]]);
        let contrast = TrainConfig { loss: LossKind::Nce, ..exact.clone() };
        assert!(!json(&exact).contains("loss") && json(&contrast).contains("\"loss\":\"nce\""), "{}", json(&contrast));
        assert_eq!(serde_json::from_str::<TrainConfig>(&json(&contrast)).expect("a config"), contrast);
        assert_eq!(differences(&contrast, &exact), [["loss", "nce", "softmax"]]);
        assert_eq!(differences(&exact, &contrast), [["loss", "softmax", "nce"]]);
        let taught = TrainConfig { teacher: Some(TeacherConfig::default()), ..contrast };
        assert_eq!(taught.fault(), Some(SettingFault::TaughtContrast));
        let feed_forward = EncoderConfig::Dssm(crate::encoder::DssmConfig { layers: vec![8] });
        let fault = TrainConfig { encoder: feed_forward, ..rounded }.fault();
        assert_eq!(fault, Some(SettingFault::Precision { kind: "dssm" }));
    }

    #[test]
    fn the_messages_name_all_recurrent_encoders_and_no_other() {
        let expected = [SettingFault::BpttWords { kind: "clsm" }, SettingFault::Precision { kind: "clsm" }];
        for fault in expected.map(|fault| fault.to_string()) {
            let named = fault.split(" for ").next().expect("a part");
            for encoder in EncoderConfig::defaults() {
                let is_named = named.contains(&format!(" {}", encoder.kind()));
                assert_eq!(is_named, encoder.is_recurrent(), "{}: {fault}", encoder.kind());
            }
        }
    }
}
