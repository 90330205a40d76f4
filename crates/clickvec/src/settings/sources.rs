//! Settings of what a model learns from besides clicks: a teacher and titles.

use serde::{Deserialize, Serialize};

use crate::fields::{Rule, fields};
use crate::views::Views;

fields! {
/// The settings by which a model learns a teacher's similarities.
///
/// For a text that the teacher has a vector for, the loss is (1 − share) · its usual loss + share · KL(teacher ‖ model),
/// where both distributions are the softmax of γ times the cosines with the minibatch's titles. For any other text the
/// loss is the usual one.
///
/// The defaults are the best settings for vectors in validation (docs/explanation/defaults.md); the share of scores was not tried, nor γ
/// for them.
    #[derive(Copy)]
    pub struct TeacherConfig {
        /// γ: the factor of the teacher's and the model's cosines before the softmax, and of the model's in the loss of scores.
        pub gamma: f32 = 5.0 where Rule::Above0,
        /// The teacher's share of the loss of a title.
        pub titles: f32 = 0.8 where Rule::Within(0.0, 1.0),
        /// The teacher's share of the loss of a clicked pair; the rest comes from the click.
        pub clicks: f32 = 0.3 where Rule::Within(0.0, 1.0),
        /// The share s of the teacher's scores in the loss of a pair whose query has two scored titles or more: (1 − s) times the
        /// loss without scores plus s times the loss of scores. The loss of scores is half the mean squared error of differences:
        /// for the query's scored titles i and j, γ (cosine_i − cosine_j) should be score_i − score_j, with scores divided by
        /// their standard deviation within queries.
        pub scores: f32 = 0.5 where Rule::Within(0.0, 1.0),
        /// The initial weights if the teacher has vectors: `random`, or `least-squares`, which fits them so that the sum of a
        /// title's features approximates the teacher's vector; for the encoders `lstm` and `members` without a forget gate.
        pub start: TeacherStart = (TeacherStart::LeastSquares),
        /// The share s of initial weights in a model, with least-squares: after each epoch, the model is (1 − s) times the trained
        /// weights plus s times those with which its stage (titles, then clicks) started. The clicks start from the last model of
        /// the titles. If the fit fails, the first stage is not averaged.
        pub start_share: f32 = 0.2 where Rule::Within(0.0, 1.0),
    }
}

/// The weights that a run with a teacher starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TeacherStart {
    /// Random numbers, as without a teacher.
    #[default]
    Random,
    /// W₄ by ridge regression from a title's features to the teacher's vector, the rest random in ±0.01 whatever the initial
    /// range. This is for LSTMs of one layer without a forget gate, and several of them side by side, and for vectors of at
    /// least half of the titles that do not leave more than half of the cells without a target; else weights are random.
    /// [`crate::train::Event::Start`] says which.
    LeastSquares,
}

fields! {
    /// The settings by which a model learns from titles, before clicks or without any. The defaults are the best in
    /// validation (docs/explanation/defaults.md).
    #[derive(Copy)]
    pub struct TitleConfig {
        /// The number of passes over the titles, before the clicks.
        pub epochs: u32 = 6,
        /// The number of titles in a minibatch.
        pub batch_size: usize = 512 where Rule::AtLeast(1.0),
        /// γ of the loss.
        pub gamma: f32 = 12.0 where Rule::Above0,
        /// The learning rate ε.
        pub learning_rate: f32 = 2e-3 where Rule::Above0,
        /// The random changes to the copy of itself that a title is paired with.
        pub views: Views = (Views { few: 1.0, drop: 0.0, swap: 0.1, misspell: 0.1 }) where Rule::Fields(Views::FIELDS),
        /// The number of titles to mix into each epoch of clicks, per clicked pair.
        pub among_clicks: f32 = 1.0 where Rule::AtLeast(0.0),
    }
}

impl TitleConfig {
    /// Returns the best settings in validation with [`TeacherStart::LeastSquares`].
    pub fn taught() -> TitleConfig {
        TitleConfig { among_clicks: 2.0, ..TitleConfig::default() }
    }
}
