//! Updating a model every day: it learns the new clicks, and the new model replaces the old one when a test of held-out clicks,
//! pooled over days, shows a gain, or when the mix of queries has drifted.
//!
//! A [`Window`] is the clicks of the last days. Some queries are held out. A hash of a query's words decides which, so they
//! are the same ones every day and no model in the chain learns from them. [`Survey`] describes the window and tells whether
//! its newest day looks like the days before. [`Update::run`] trains a new model, searches all titles with both, and decides; the
//! [`State`] between two updates has the [`PooledTest`] and the [`Mix`] of queries that the old model learnt.

mod churn;
mod gains;
mod learnt;
mod mix;
mod notice;
mod pooled;
mod queries;
mod run;
mod state;
mod suspicion;
mod trial;
mod window;

pub use churn::Churn;
pub use learnt::LearntBefore;
pub use mix::{Drift, Mix};
pub use notice::Notice;
pub use pooled::PooledTest;
pub use run::{Pooled, Progress, Reason, Report, Seconds, Update, Verdict};
pub use state::State;
pub use suspicion::{Suspicion, Witness};
pub use trial::{DEPTH, LEAST_QUERIES, Search, Trial, search_with_model};
pub use window::{DayCount, Pairs, Survey, Window};

use clickvec::Result;
use clickvec::fields;
use clickvec::internals::fields::{self, Rule, integer_or_none};
use clickvec::model::Model;
use clickvec::train::{Keep, TitleConfig, TrainConfig};

fields! {
    /// The settings of an update.
    pub struct UpdateConfig {
        /// The number of days, or files, after which a click counts half.
        pub half_life: f64 = 7.0 where Rule::Above0,
        /// The share of queries to hold out. It is to be the same every day.
        pub held_out: f64 = 0.1 where Rule::Within(0.01, 0.5),
        /// The number of epochs over the clicks, or `none`: 2 for each update since the model was replaced, at most 8; or those of
        /// the old model if the new one starts from random weights.
        #[serde(with = "integer_or_none")]
        pub epochs: Option<u32> = None where Rule::Within(1.0, 1000.0),
        /// Whether to start from random weights instead of the old model's.
        pub fresh: bool = false,
        /// η: users look at the title at rank r with probability r^−η. Clicks on what the old model showed are corrected for that.
        pub position_bias: f64 = 1.0 where Rule::Within(0.0, 3.0),
        /// The probability that a model is ever replaced by gain if no new one is better. 1 takes every new model, worse or not.
        pub error_rate: f64 = 0.05 where Rule::Within(1e-6, 1.0),
        /// The share of words that may become others, beyond chance, before a new model is taken that is not shown to be better.
        /// 1 switches this off.
        pub drift: f64 = 0.1 where Rule::Within(0.0, 1.0),
    }
}

impl UpdateConfig {
    /// Checks the bounds of all settings.
    ///
    /// # Errors
    ///
    /// The first setting that is out of bounds.
    pub fn check(&self) -> Result<()> {
        fields::check("", &fields::json(self), UpdateConfig::FIELDS)
    }

    /// Returns a line for each setting: its name, its default, what it means and its bounds.
    pub fn documentation() -> String {
        fields::described(&UpdateConfig::default(), UpdateConfig::FIELDS)
    }
}

/// Returns the settings for training the new model. It starts from the weights of `old` or, if `fresh`, from random weights.
///
/// From the weights of `old`, fewer epochs are enough: `epochs` if set, otherwise [`WARM_EPOCHS`] and as many more for each of
/// the `updates` that have tested new models against this one, but at most [`MOST_WARM_EPOCHS`]. So a model that is not replaced
/// does not keep later ones from learning as much as if each had begun with the one before. Titles are then learnt only together
/// with clicks, not on their own before.
pub fn training_config(old: &Model, fresh: bool, epochs: Option<u32>, updates: u64) -> TrainConfig {
    let mut config = old.training().config.clone();
    config.keep = Keep::Last;
    config.patience = None;
    config.held_out = 0.0;
    // A teacher's vectors belong to the texts of the old log, and what is best with them is not without them.
    let teacher = config.teacher.take();
    if let (Some(_), Some(titles)) = (teacher, &mut config.titles)
        && titles.among_clicks == TitleConfig::taught().among_clicks
    {
        titles.among_clicks = TitleConfig::default().among_clicks;
    }
    if !fresh {
        let times = u32::try_from(updates.saturating_add(1)).unwrap_or(u32::MAX);
        config.epochs = WARM_EPOCHS.saturating_mul(times).min(MOST_WARM_EPOCHS);
        if let Some(titles) = &mut config.titles {
            titles.epochs = 0;
        }
    }
    config.epochs = epochs.unwrap_or(config.epochs);
    config
}

/// The number of epochs over the window when training starts from the old model.
pub const WARM_EPOCHS: u32 = 2;
/// The largest number of these.
pub const MOST_WARM_EPOCHS: u32 = 8;
