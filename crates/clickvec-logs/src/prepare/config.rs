//! The settings of `prepare`.

use std::path::PathBuf;

use clickvec_tables::titles::Titles;

use super::positions::PositionWeighting;
use crate::preset::Preset;
use crate::robots::Limits;
use crate::tables::Options;

/// The default for the number of users who must have clicked for a query: what only one person typed stays out. Half of
/// the clicks of a long tail are on queries of fewer than 5, and without them a model can lose to BM25.
pub const DEFAULT_MIN_USERS: usize = 2;

/// The default if queries of fewer users are not left out but marked as rare, which costs no clicks.
pub const DEFAULT_PRIVATE_USERS: usize = 5;

/// The default limit of queries a day; a user with more is a robot.
pub const DEFAULT_PER_DAY: u64 = 200;

/// The share of broken rows from which a log is refused, and the memory to use.
const DEFAULT_MAX_BAD: f64 = 0.01;
const DEFAULT_MEMORY: usize = 400 << 20;

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
    pub titles: Option<Titles>,
    /// The table that gives queries their texts.
    pub queries: Option<PathBuf>,
    /// Whether items are their own titles.
    pub item_as_title: bool,
    /// Whether queries keep their case.
    pub keep_case: bool,
    /// Whether queries keep addresses and numbers.
    pub keep_personal: bool,
    /// The fewest users of a query that stays; `None`: [`DEFAULT_MIN_USERS`] if the log has users, or
    /// [`DEFAULT_PRIVATE_USERS`] for a private table.
    pub min_users: Option<usize>,
    /// Whether queries of fewer users stay, marked by 1 in a column `rare`. Training then learns them, and leaves trigrams
    /// that only they have out of the model.
    pub private: bool,
    /// The limits above which a user is a robot. Without users there are no robots.
    pub limits: Limits,
    /// Whether a log without users or times is an error if there is a limit per day.
    pub needs_day_limit: bool,
    /// The weighting of clicks by their position, if any.
    pub position_weighting: Option<PositionWeighting>,
    /// The share of queries whose titles that were shown and not clicked are written too, with 0 in a column `clicked`: those with the
    /// lowest [`query_hash`](clickvec::internals::clicks::query_hash), which training holds out first.
    pub impressions: f64,
    /// The share of rows that may be broken, 0 to 1.
    pub max_bad: f64,
    /// The memory to use, in bytes.
    pub memory: usize,
    /// The output; `-` is standard output.
    pub output: PathBuf,
}

impl Config {
    /// Creates the settings that are the defaults of `prepare`.
    pub fn new(inputs: Vec<PathBuf>, output: PathBuf) -> Config {
        Config {
            inputs,
            table: Options::default(),
            preset: None,
            titles: None,
            queries: None,
            item_as_title: false,
            keep_case: false,
            keep_personal: false,
            min_users: None,
            private: false,
            limits: Limits { day: Some(DEFAULT_PER_DAY), log: None },
            needs_day_limit: false,
            position_weighting: None,
            impressions: 0.0,
            max_bad: DEFAULT_MAX_BAD,
            memory: DEFAULT_MEMORY,
            output,
        }
    }
}
