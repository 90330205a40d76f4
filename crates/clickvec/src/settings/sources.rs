//! What a model learns from besides clicks: a teacher and titles.

use serde::{Deserialize, Serialize};

use super::SettingFault;
use crate::views::Views;

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
    /// The weights that a run starts from if the teacher has vectors and no initial model gives any. Omitted if random.
    #[serde(default, skip_serializing_if = "is_random")]
    pub start: TeacherStart,
    /// With [`TeacherStart::LeastSquares`] and without an initial model: the share of the weights that a stage began with (the titles,
    /// then the clicks) in its models. A model's weights are 1 − this times those that were learnt, plus this times the first ones, and
    /// the next stage begins with that mean. If no weights could be fitted, the first stage begins with random ones, of which nothing
    /// is kept. Omitted if 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start_share: f32,
}

/// The weights that a run with a teacher starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TeacherStart {
    /// Random numbers, as without a teacher. Models without this setting started so.
    #[default]
    Random,
    /// W₄ by ridge regression from a title's features to the teacher's vector, the rest random in ±0.01 whatever the initial
    /// range. This is for LSTMs of one layer without a forget gate, and several of them side by side, and for vectors of at
    /// least half of the titles that do not leave more than half of the cells without a target; else weights are random.
    /// [`crate::train::Event::Start`] says which.
    LeastSquares,
}

fn is_random(start: &TeacherStart) -> bool {
    *start == TeacherStart::Random
}

fn is_zero(share: &f32) -> bool {
    *share == 0.0
}

fn half() -> f32 {
    0.5
}

fn is_half(share: &f32) -> bool {
    *share == half()
}

impl Default for TeacherConfig {
    /// What validation found best for vectors (docs/explanation/defaults.md); the share of scores was not tried, nor γ for
    /// them.
    fn default() -> TeacherConfig {
        TeacherConfig {
            gamma: 5.0,
            titles: 0.8,
            clicks: 0.3,
            scores: half(),
            start: TeacherStart::LeastSquares,
            start_share: 0.2,
        }
    }
}

impl TeacherConfig {
    pub(super) fn fault(&self) -> Option<SettingFault> {
        let gamma = self.gamma;
        let not_positive = SettingFault::NotPositive { name: "gamma of the teacher", value: gamma };
        (!(gamma.is_finite() && gamma > 0.0)).then_some(not_positive).or_else(|| {
            let shares = [
                ("share of the teacher in titles", self.titles),
                ("share of the teacher in clicks", self.clicks),
                ("share of the teacher's scores", self.scores),
                ("share of the weights that a stage began with", self.start_share),
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
    /// The best settings in validation with [`TeacherStart::LeastSquares`].
    pub fn taught() -> TitleConfig {
        TitleConfig { among_clicks: 2.0, ..TitleConfig::default() }
    }

    pub(super) fn fault(&self) -> Option<SettingFault> {
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

pub(super) fn chances(views: &Views) -> Option<SettingFault> {
    views.fault().map(|(name, value)| SettingFault::Chance { name, value })
}
