//! The settings of `prepare`.

use std::path::PathBuf;

use super::positions::PositionWeighting;
use crate::preset::Preset;
use crate::robots::Limits;
use crate::table::Options;
use crate::time::Time;

/// The default for the number of users who must have clicked for a query.
pub const DEFAULT_MIN_USERS: usize = 5;

/// Which rows go into the validation set.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Split {
    /// No rows.
    #[default]
    None,
    /// Rows from this time on.
    After(Time),
    /// Rows of a random share of the queries, 0 to 1.
    Part(f64),
}

/// The settings of `prepare`.
#[derive(Debug, Clone)]
pub struct Config {
    /// The logs; `-` is standard input.
    pub inputs: Vec<PathBuf>,
    /// The format of the logs.
    pub table: Options,
    /// The source of the logs, if it is known.
    pub preset: Option<Preset>,
    /// The table that gives items their titles.
    pub titles: Option<PathBuf>,
    /// The table that gives queries their texts.
    pub queries: Option<PathBuf>,
    /// Whether items are their own titles.
    pub item_as_title: bool,
    /// Whether queries keep their case.
    pub keep_case: bool,
    /// Whether queries keep addresses and numbers.
    pub keep_personal: bool,
    /// The fewest clicks of a pair that stays.
    pub min_count: u64,
    /// The fewest users of a query that stays; `None`: [`DEFAULT_MIN_USERS`] if the log has users.
    pub min_users: Option<usize>,
    /// The limits above which a user is a robot. Without users there are no robots.
    pub limits: Limits,
    /// Whether the limit per day was requested, so that a log without users or times is an error.
    pub day_limit_asked: bool,
    /// Which rows go into the validation set.
    pub split: Split,
    /// The number of titles without a click to add to each query of the validation set.
    pub validation_titles: usize,
    /// How clicks are weighted by their position, if at all.
    pub position_weighting: Option<PositionWeighting>,
    /// The share of rows that may be broken, 0 to 1.
    pub max_bad: f64,
    /// The memory to use, in bytes.
    pub memory: usize,
    /// The output for pairs; `-` is standard output.
    pub output: PathBuf,
    /// The output for the validation set.
    pub validation: Option<PathBuf>,
}
